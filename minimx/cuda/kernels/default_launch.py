"""The default launch: a function of this package that runs an operator as it is.

    @runs("LRN", types=real)
    def neighbours(data, alpha, beta, knorm, nsize, out): ...

The function gets the operator's inputs, then those of its settings that the parameters
behind them name, then the outputs and, if the operator draws numbers, the generator.
Such an operator needs no rule in `minimx.cuda.launches`; to see how it runs, search
this package for its name.

The predicates say which element types a kernel knows; `types` is one of them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from itertools import takewhile
from typing import TypeVar

from minimx.core.dtypes import NARROW
from minimx.core.ops.registry import Kernel, Op
from minimx.core.ops.spec import Spec

Maker = Callable[..., Kernel | None]
Types = Callable[..., bool]
Function = TypeVar("Function", bound=Callable[..., None])

#: {operator: what makes its launch} of all operators with a default launch.
DEFAULTS: dict[str, Maker] = {}


def real(*specs: Spec) -> bool:
    """Whether all are float32 or float64, the types that layers compute in."""
    return all(spec.dtype.kind == "f" and spec.dtype.itemsize >= 4 for spec in specs)


def numeric(*specs: Spec) -> bool:
    """Whether each is float32, float64 or of a type of whole numbers."""
    return all(spec.dtype.kind in "iu" or real(spec) for spec in specs)


def real_first(first: Spec, *rest: Spec) -> bool:
    """Whether the first input is `real` and the others are `numeric`."""
    return real(first) and numeric(*rest)


def builtin(*specs: Spec) -> bool:
    """Whether numba knows the types; enough where elements are only moved."""
    return all(spec.dtype.isbuiltin == 1 for spec in specs)


def wide(*specs: Spec) -> bool:
    """Whether numba computes in the types as they are: `builtin` without two bytes."""
    return builtin(*specs) and not any(spec.dtype in NARROW for spec in specs)


def countable(*specs: Spec) -> bool:
    """Whether there are neither two-byte numbers nor truth values."""
    return not any(spec.dtype in NARROW or spec.dtype.kind == "b" for spec in specs)


def runs(*names: str, types: Types) -> Callable[[Function], Function]:
    """Let a function be the launch of some operators; see the module's docstring.

    types: a predicate on the specs of the inputs. Where it is false, arrays of two-byte
    numbers go through float32 and all others through the host.
    """

    def enter(function: Function) -> Function:
        parameters = [*inspect.signature(function).parameters]

        def make(op: Op, *specs: Spec) -> Kernel | None:
            if not types(*specs):
                return None
            count = len(specs)
            chosen = takewhile(op.settings.__contains__, parameters[count:])
            settings = [getattr(op, name) for name in chosen]
            return lambda *arrays: function(*arrays[:count], *settings, *arrays[count:])

        make.__module__ = function.__module__
        DEFAULTS.update(dict.fromkeys(names, make))
        return function

    return enter
