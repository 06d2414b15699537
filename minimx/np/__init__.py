"""`mx.np`: arrays in NumPy's manners, over the same memory, operators and tape.

    from minimx import np, npx
    npx.set_np()

Reading order: `multiarray.py` (the class), `promotion.py`, `arithmetic.py` (which types
meet how), `creation.py`, `ufuncs.py`, `reductions.py`, `products.py`, `shaping.py`,
`dispatch.py` (NumPy's own functions on our arrays).
"""

from __future__ import annotations

import sys
from typing import Any

import minimx.nd as _nd
from minimx.absent import missing
from minimx.np import constants, creation, products, reductions, shaping, ufuncs
from minimx.np import methods as _methods  # noqa: F401  (gives the class its methods)
from minimx.np.multiarray import ndarray

#: The modules whose `__all__` is offered here; a later one may not repeat a name.
ROOMS = (constants, creation, shaping, reductions, products)

_names: dict[str, Any] = {"ndarray": ndarray, **ufuncs.FUNCTIONS}
for _room in ROOMS:
    _names |= {name: getattr(_room, name) for name in _room.__all__}
globals().update(_names)

__all__ = sorted(_names)

# `F.np` in a hybrid_forward, and the module's other name in MXNet.
_nd.np = sys.modules["minimx.numpy"] = sys.modules[__name__]


def __getattr__(name: str) -> Any:
    raise missing("mx.np", name, __all__)


def __dir__() -> list[str]:
    return __all__
