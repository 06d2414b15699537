"""`mx.sym`: computations written down as graphs, before any array is there."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from minimx.aliases import resolve
from minimx.nd.functions import function_caches
from minimx.symbol import (
    _internal,
    contrib,
    functions,
    image,
    linalg,
    np,
    npx,
    random,
    sparse,
)
from minimx.symbol.binary import PAIRS, histogram, pow, split_v2
from minimx.symbol.constructors import Group, Variable, fromjson, load, load_json, var
from minimx.symbol.creation import arange, eye, full, linspace, ones, zeros
from minimx.symbol.custom import Custom
from minimx.symbol.symbol import Symbol

__all__ = [
    "Custom", "Group", "Symbol", "Variable", "_internal", "arange", "contrib", "eye",
    "fromjson", "full", "histogram", "image", "linalg", "linspace", "load", "load_json",
    "np", "npx", "ones", "pow", "random", "sparse", "split_v2", "var", "zeros",
]  # fmt: skip
BY_HAND = frozenset(__all__)  # the others are written from the registry
__all__ += [name for name in functions.FUNCTIONS if not name.startswith("_")]
__all__ += [name for name in PAIRS if name not in __all__]

__all__ = list(dict.fromkeys(__all__))

if TYPE_CHECKING:  # the functions, as `python -m minimx.symbol.stubs` says
    from minimx.symbol.operators import *  # noqa: F403

# MXNet keeps the class and the functions in modules of their own.
op = sys.modules[__name__]


def __getattr__(name: str) -> Any:
    found = PAIRS.get(name) or functions.FUNCTIONS.get(name)
    if found is None:
        return resolve(__name__, name, __dir__())
    globals()[name] = found
    return found


function_caches.append(globals())


def __dir__() -> list[str]:
    public = (name for name in functions.FUNCTIONS if not name.startswith("_"))
    return sorted({*__all__, *public})
