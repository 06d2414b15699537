"""Runs pytest with `import mxnet` meaning minimx: suite_worker.py minimx|mxnet ARG…

It is a plugin as well, so that the processes that pytest starts have the same names.
"""

from __future__ import annotations

import builtins
import os
import sys

import numpy as np

for word in ("bool", "float", "int", "object"):  # older code asks NumPy 2 for them
    if not hasattr(np, word):
        setattr(np, word, getattr(builtins, word))
if __name__ == "__main__":
    os.environ["SUITE_FRAMEWORK"] = sys.argv[1]
if os.environ["SUITE_FRAMEWORK"] == "minimx":
    # GluonTS takes a GPU where it finds one, and a simulated one looks like one.
    os.environ["MINIMX_SIM_GPUS"] = "0"
    from minimx.libraries import as_mxnet

    as_mxnet()

if __name__ == "__main__":
    import pytest

    sys.exit(pytest.main(["-p", "suite_worker", *sys.argv[2:]]))
