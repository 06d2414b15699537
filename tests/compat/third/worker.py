"""Models of GluonCV, GluonNLP and GluonTS, run by the MXNet or minimx of this process.

    python worker.py minimx|mxnet out.npz [case …]

Parameters are filled by number, from NumPy's generator, so that both frameworks have
the same. A case gives arrays: outputs in prediction, and the gradients of a step.
"""

from __future__ import annotations

import builtins
import os
import sys
import time
import traceback
import warnings

import numpy as np

warnings.simplefilter("ignore")
for word in ("bool", "float", "int", "object"):  # GluonCV asks NumPy 2 for them
    if not hasattr(np, word):
        setattr(np, word, getattr(builtins, word))
if sys.argv[1] == "minimx":
    # GluonTS takes a GPU where it finds one, and a simulated one looks like one.
    os.environ["MINIMX_SIM_GPUS"] = "0"
    from minimx.libraries import as_mxnet

    as_mxnet()

import forecasts  # noqa: E402, F401 (fill CASES)
import language  # noqa: E402, F401
import vision  # noqa: E402, F401
from common import CASES  # noqa: E402


def main() -> None:
    stored = {}
    wanted = sys.argv[3:] or list(CASES)
    for name in wanted:
        began = time.time()
        try:
            found = CASES[name]()
            for place, array in enumerate(found):
                stored[f"{name}/{place:03d}"] = np.asarray(array)
            word = "ok"
        except Exception as error:
            word = f"{type(error).__name__}: {str(error)[:150]}"
            stored[f"{name}/error"] = np.array(word)
            if os.environ.get("TRACE"):
                traceback.print_exc()
        print(
            f"{name}: {word.splitlines()[0]} ({time.time() - began:.1f} s)", flush=True
        )
        np.savez(sys.argv[2], **stored)


if __name__ == "__main__":
    main()
