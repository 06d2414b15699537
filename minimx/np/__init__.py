"""`mx.np`: arrays in NumPy's manners, over the same memory, operators and tape.

    from minimx import np, npx
    npx.set_np()

Reading order: `multiarray.py` (the class), `promotion.py`, `arithmetic.py` (which types
meet how), `creation.py`, `ufuncs.py`, `reductions.py`, `products.py`, `shaping.py`,
`moving.py`, `joining.py`, `sums.py`, `searching.py`, `linalg.py`, `random.py`,
`dispatch.py` (NumPy's own functions on our arrays), `fallback.py` (what is left to it),
`help.py` (the examples).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minimx.aliases import resolve
from minimx.np import (
    aliases,
    constants,
    creation,
    joining,
    linalg,
    moving,
    products,
    random,
    reductions,
    searching,
    shaping,
    sums,
    ufuncs,
)
from minimx.np import help as _help
from minimx.np import methods as _methods
from minimx.np.calling import fallback, fallback_linalg
from minimx.np.multiarray import ndarray as ndarray  # noqa: PLC0414 (an export)

#: The modules whose `__all__` is offered here; a later one may not repeat a name.
NAMESPACES = (
    constants, creation, shaping, moving, joining, reductions, products, sums,
    searching, aliases,
)  # fmt: skip

if TYPE_CHECKING:  # what the lines below bring together, for editors and type checkers
    from minimx.np.aliases import *  # noqa: F403
    from minimx.np.constants import *  # noqa: F403
    from minimx.np.creation import *  # noqa: F403
    from minimx.np.creation_rows import *  # noqa: F403
    from minimx.np.elementwise import *  # noqa: F403
    from minimx.np.joining import *  # noqa: F403
    from minimx.np.moving import *  # noqa: F403
    from minimx.np.official import *  # noqa: F403
    from minimx.np.products import *  # noqa: F403
    from minimx.np.reductions import *  # noqa: F403
    from minimx.np.reductions_rows import *  # noqa: F403
    from minimx.np.searching import *  # noqa: F403
    from minimx.np.shaping import *  # noqa: F403
    from minimx.np.sums import *  # noqa: F403

_names: dict[str, Any] = {"linalg": linalg, "random": random, "fallback": fallback}
_names |= {"fallback_linalg": fallback_linalg}
_names |= {name: getattr(fallback, name) for name in fallback.__all__}
_names |= {"ndarray": ndarray, **ufuncs.FUNCTIONS}
for _namespace in NAMESPACES:
    _names |= {name: getattr(_namespace, name) for name in _namespace.__all__}
globals().update(_names)

__all__ = sorted(_names)

_help.explain(_names)
_help.explain(_help.public(linalg), "linalg.")
_help.explain(_help.public(random), "random.")
_methods.explain()

ndarray.__module__ = "minimx.numpy"  # what `type(x)` says


def __getattr__(name: str) -> Any:
    return resolve(__name__, name, __all__)


def __dir__() -> list[str]:
    return __all__
