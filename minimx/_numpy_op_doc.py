"""Where MXNet keeps the help texts of the `_np_*` operators; here sheets have them.

`_numpy_op_doc._np_sum` is a function with the signature and the text of the operator.
"""

from __future__ import annotations

from typing import Any

from minimx.aliases import unsupported
from minimx.nd.functions import FUNCTIONS


def __getattr__(name: str) -> Any:
    if name not in FUNCTIONS or not name.startswith("_np_"):
        raise unsupported("mx._numpy_op_doc", name, FUNCTIONS)
    return FUNCTIONS[name]
