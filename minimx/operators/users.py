"""`mx.ops.register`: a user's own data sheet, with a kernel of his own.

    from numba import njit
    from minimx.ops import Op, register

    @njit(nogil=True)
    def shrink(x, limit, out):
        for i in range(x.size):
            v = x.flat[i]
            out.flat[i] = v - limit if v > limit else v + limit if v < -limit else 0.0

    @register("soft_shrink")
    class SoftShrink(Op):
        "Move every number towards zero by `limit`: out has the shape of data."

        limit: float = 0.5                        # a setting, after the arrays
        saves = ("data",)                         # what grad() needs

        def infer(self, data):                    # what comes out
            return data

        def kernel(self, data):                   # (*ins, *outs) on NumPy arrays
            return lambda x, out: shrink(x, self.limit, out)

        def grad(self, at, dout, data):           # written with operators
            return (dout * (data.abs() > self.limit),)

From then on there are `mx.nd.soft_shrink(x, limit=0.1)` and `mx.sym.soft_shrink`, with
gradients, help and tab completion, in hybridized blocks as well. Running the cell again
replaces the sheet.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar, dataclass_transform

from minimx.core.errors import MXNetError, OperatorError, ShapeError
from minimx.core.ops import Op, registry
from minimx.core.ops.registry import ALIASES, REGISTRY
from minimx.core.ops.spec import Spec

OpT = TypeVar("OpT", bound=Op)

#: Called with a sheet that comes (True) or goes (False), to make functions of sheets.
listeners: list[Callable[[type[Op], bool], None]] = []

_entered: set[type[Op]] = set()
_FACTS = (
    "inputs", "variadic", "visible", "saves", "mutates", "inplace", "unchanged",
    "ignores", "needs_rng",
)  # fmt: skip


@dataclass_transform(frozen_default=True)
def register(name: str, *aliases: str) -> Callable[[type[OpT]], type[OpT]]:
    """Enter a data sheet of your own: it becomes `mx.nd.<name>` and `mx.sym.<name>`.

    name, aliases: words that no operator of minimx has. A sheet of the same module with
    the same name is replaced, so that a notebook's cell can be run again.
    Raises OperatorError if the sheet lacks something or is not made as it must be.

    >>> import numpy as np
    >>> import minimx as mx
    >>> from numba import njit
    >>> @njit(nogil=True)
    ... def cube(x, out):
    ...     for i in range(x.size):
    ...         out.flat[i] = x.flat[i] ** 3
    >>> @mx.ops.register("cube_of_mine")
    ... class Cube(mx.ops.Op):
    ...     '''The third power: out has the shape of data.'''
    ...     saves = ("data",)
    ...     def infer(self, data):
    ...         return data
    ...     def kernel(self, data):
    ...         return cube
    ...     def grad(self, at, dout, data):
    ...         return (3 * dout * data * data,)
    >>> x = mx.nd.array([1.0, 2.0])
    >>> x.attach_grad()
    >>> with mx.autograd.record():
    ...     y = mx.nd.cube_of_mine(x)
    >>> y.backward()
    >>> print(y.asnumpy(), x.grad.asnumpy())
    [1. 8.] [ 3. 12.]
    >>> mx.ops.unregister("cube_of_mine")
    """

    def enter(sheet: type[OpT]) -> type[OpT]:
        _check(name, sheet)
        for word in (name, *aliases):
            _make_room(word, sheet)
        sheet.infer = _checked_infer(name, sheet.infer)  # type: ignore[method-assign]
        which = "kernel" if sheet.compute is Op.compute else "compute"
        setattr(sheet, which, _checked_kernel(name, getattr(sheet, which)))
        entered = registry.register(name, *aliases)(sheet)
        _entered.add(entered)
        for listener in listeners:
            listener(entered, True)
        return entered

    return enter


def unregister(name: str) -> None:
    """Take a sheet of your own out again, with all its names.

    Raises OperatorError for the operators of minimx itself.
    """
    sheet = registry.lookup(name)
    if sheet not in _entered:
        raise OperatorError(
            f"{name!r} is one of minimx's own operators; only sheets of yours can be "
            "taken out."
        )
    _entered.remove(sheet)
    del REGISTRY[sheet.name]
    for alias in [a for a, of in ALIASES.items() if of == sheet.name]:
        del ALIASES[alias]
    for listener in listeners:
        listener(sheet, False)


def _make_room(word: str, sheet: type[Op]) -> None:
    """Take out what the same module entered under this word before."""
    before = REGISTRY.get(ALIASES.get(word, word))
    if before is None:
        return
    if before not in _entered or before.__module__ != sheet.__module__:
        raise OperatorError(
            f"there is an operator {word!r} already, from {before.__module__}. Choose "
            "another name for yours."
        )
    unregister(word)


def _check(name: str, sheet: Any) -> None:
    if not (inspect.isclass(sheet) and issubclass(sheet, Op)):
        raise OperatorError(
            f"register({name!r}) goes above a class derived from mx.ops.Op, not above "
            f"{sheet!r}."
        )
    if not name.isidentifier():
        raise OperatorError(f"{name!r} cannot be the name of a function in Python.")
    asked = ["infer"]
    if sheet.compute is Op.compute:
        asked.append("kernel")
    for method in asked if sheet.eager is None else ():
        if getattr(sheet, method) is getattr(Op, method):
            raise OperatorError(
                f"the sheet of {name!r} has no {method}(). {_WANTED[method]}"
            )
    typed = sheet.__dict__.get("__annotations__", ())
    fields = [fact for fact in _FACTS if fact in typed]
    if fields:
        raise OperatorError(
            f"the sheet of {name!r} says `{fields[0]}: …`, which makes it a setting "
            f"that callers give. Write `{fields[0]} = …` without a type: it is a fact."
        )


_WANTED = {
    "infer": "Write `def infer(self, data): return data`, with the shapes and element "
    "types of the inputs going in and those of the outputs coming out (Specs).",
    "kernel": "Write `def kernel(self, data): return function`, where the function "
    "takes NumPy arrays, first the inputs, then the outputs, which it fills.",
}


def _checked_infer(name: str, infer: Any) -> Any:
    """`infer`, and OperatorError if what comes out is not Specs."""

    @functools.wraps(infer)
    def checked(self: Op, *specs: Spec) -> Any:
        _fits(name, "infer", infer, (self, *specs))
        found = infer(self, *specs)
        outs = found if isinstance(found, tuple) and found else (found,)
        for out in outs:
            if not isinstance(out, Spec):
                raise OperatorError(
                    f"{name}: infer returned {found!r}. It returns a Spec, or a tuple "
                    "of them for several outputs: data.with_shape((2, 3)), "
                    "data.with_dtype(…) or mx.ops.Spec.of(shape, dtype)."
                )
        if len(outs) < self.visible:
            raise ShapeError(
                f"{name}: infer returned {len(outs)} Specs, and the sheet says "
                f"visible = {self.visible} outputs."
            )
        return found

    return checked


def _checked_kernel(name: str, kernel: Any) -> Any:
    """`kernel`, and OperatorError if what it returns cannot be called as a kernel."""

    @functools.wraps(kernel)
    def checked(self: Op, *specs: Spec) -> Any:
        _fits(name, "kernel", kernel, (self, *specs))
        found = kernel(self, *specs)
        if not callable(found):
            raise OperatorError(
                f"{name}: kernel returned {found!r}, which cannot be called. "
                f"{_WANTED['kernel']}"
            )

        def run(*arrays: Any) -> None:
            try:
                result = found(*arrays)
            except MXNetError:
                raise
            except Exception as error:
                lines = str(error).strip().splitlines() or [""]
                raise OperatorError(
                    f"{name}: its kernel was called with {_described(arrays)} and "
                    f"raised {type(error).__name__}: {lines[0]} A kernel takes the "
                    "inputs, then the outputs, then a workspace and a random "
                    "generator if the sheet asks for them."
                ) from error
            if result is not None:
                raise OperatorError(
                    f"{name}: its kernel returned {type(result).__name__}. A kernel "
                    "returns nothing: it fills the arrays it is given last, such as "
                    "`out[...] = result`."
                )

        return run

    return checked


def _fits(name: str, method: str, function: Any, args: tuple[Any, ...]) -> None:
    try:
        inspect.signature(function).bind(*args)
    except TypeError as error:
        raise OperatorError(
            f"{name}: {method}() was called with {len(args) - 1} Specs, one for each "
            f"input, and takes others ({error}). Name the inputs in the sheet: "
            'inputs = ("data", "weight").'
        ) from None


def _described(arrays: tuple[Any, ...]) -> str:
    return ", ".join(
        f"{a.dtype.name}{list(a.shape)}" if hasattr(a, "dtype") else type(a).__name__
        for a in arrays
    )
