"""`mx.nd.linalg`: the operators of linear algebra under their short names.

`nd.linalg.gemm2` is `nd.linalg_gemm2`.
"""

from __future__ import annotations

from typing import Any

from minimx.absent import missing
from minimx.nd.functions import FUNCTIONS

_PREFIX = "linalg_"
__all__ = [  # noqa: PLE0604 (read off the registry)
    name.removeprefix(_PREFIX) for name in FUNCTIONS if name.startswith(_PREFIX)
]


def __getattr__(name: str) -> Any:
    found = FUNCTIONS.get(_PREFIX + name)
    if found is None:
        raise missing("mx.nd", _PREFIX + name, FUNCTIONS)
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
