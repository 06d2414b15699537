"""What Python's operators mean on symbols: `a + b`, `2 - a`, `a > b`.

Two symbols are combined element by element, without stretching, as in MXNet; for that
there are the `broadcast_*` operators. Where arrays are those of `mx.np` (`npx.set_np`),
shapes are stretched as NumPy does.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Number
from typing import Any

import numpy as np

from minimx.core.errors import NotImplementedForSymbol
from minimx.core.ops.registry import lookup

#: NumPy's words for the operators, where they stretch shapes and convert types.
NUMPYS = {
    "plus": "add", "minus": "subtract", "mul": "multiply", "div": "true_divide",
    "lesser": "less", "lesser_equal": "less_equal",
}  # fmt: skip


def numpys(name: str) -> str:
    """The operator of NumPy's half for one of `mx.nd`'s.

    >>> numpys("_plus"), numpys("_rminus_scalar"), numpys("_equal")
    ('_npi_add', '_npi_rsubtract_scalar', '_npi_equal')
    """
    word = name.removeprefix("_").removesuffix("_scalar")
    swapped = word[:1] if word[:1] == "r" else ""
    word = word.removeprefix("r")
    ending = "_scalar" if name.endswith("_scalar") else ""
    return f"_npi_{swapped}{NUMPYS.get(word, word)}{ending}"


def with_number(name: str, symbol: Any, number: Any) -> Any:
    """An operator of NumPy's half on a symbol and a number."""
    from minimx.symbol.functions import FUNCTIONS

    sheet = lookup(name)
    words = {"is_int"} & set(sheet.__dataclass_fields__)  # type: ignore[attr-defined]
    is_int = isinstance(number, (bool, int, np.integer))
    settings = dict.fromkeys(words, is_int)
    return FUNCTIONS[name](symbol, scalar=float(number), **settings)


class SymbolOperator:
    """One operator: its form for two symbols, and those for symbol and number.

    Names that nodes get when they are given none are made from the same words.
    """

    __slots__ = ("barred", "pair", "reflected", "scalar")

    def __init__(
        self, pair: str, scalar: str, reflected: str, barred: str = ""
    ) -> None:
        self.pair = pair
        self.scalar = scalar
        self.reflected = reflected
        # `_plusscalar0`, but `_equal_scalar0`: names that MXNet leaves their bar.
        self.barred = barred

    def __call__(self, left: Any, right: Any) -> Any:
        """Apply to (left, right), with `left` a symbol."""
        from minimx.symbol.symbol import Symbol, applied

        if isinstance(right, Symbol):
            name = self.pair if left.is_classic else numpys(self.pair)
            made = applied(lookup(name).of(), (left, right), name)
            return made.as_kind_of(left)
        return self._with_number(self.scalar, left, right)

    def swapped(self, left: Any, right: Any) -> Any:
        """Apply to (right, left), with `left` a symbol."""
        return self._with_number(self.reflected, left, right)

    def _with_number(self, name: str, symbol: Any, number: Any) -> Any:
        from minimx.symbol.symbol import applied

        if not isinstance(number, Number):
            return NotImplemented
        if not symbol.is_classic:
            return with_number(numpys(name), symbol, number)
        op = lookup(name).of(scalar=float(number))  # type: ignore[arg-type]
        keeps = self.barred and name.endswith(self.barred)
        hint = name if keeps else name.replace("_scalar", "scalar")
        return applied(op, (symbol,), hint).as_kind_of(symbol)


#: By the names that functions have; those of comparisons keep their bar.
OPERATORS = {
    "add": SymbolOperator("_plus", "_plus_scalar", "_plus_scalar"),
    "subtract": SymbolOperator("_minus", "_minus_scalar", "_rminus_scalar"),
    "multiply": SymbolOperator("_mul", "_mul_scalar", "_mul_scalar"),
    "divide": SymbolOperator("_div", "_div_scalar", "_rdiv_scalar"),
    "modulo": SymbolOperator("_mod", "_mod_scalar", "_rmod_scalar"),
    "power": SymbolOperator(
        "_power", "_power_scalar", "_rpower_scalar", "_rpower_scalar"
    ),
}
for _name, _mirrored in {
    "equal": "equal", "not_equal": "not_equal", "greater": "lesser",
    "lesser": "greater", "greater_equal": "lesser_equal",
    "lesser_equal": "greater_equal",
}.items():  # fmt: skip
    OPERATORS[_name] = SymbolOperator(
        f"_{_name}", f"_{_name}_scalar", f"_{_mirrored}_scalar", "_scalar"
    )


def _in_place(self: Any, other: Any) -> Any:
    raise NotImplementedForSymbol(
        "a Symbol cannot be changed in place (+=, -=, …). Write x = x + … instead."
    )


class Arithmetic:
    """The Python operators of a symbol; most are written from the table."""

    __slots__ = ()

    __iadd__ = __isub__ = __imul__ = __itruediv__ = __imod__ = __ipow__ = _in_place

    def __neg__(self) -> Any:
        return OPERATORS["multiply"](self, -1.0)

    def __abs__(self) -> Any:
        return self.abs()  # type: ignore[attr-defined]

    def __eq__(self, other: object) -> Any:
        return OPERATORS["equal"](self, other)

    def __ne__(self, other: object) -> Any:
        return OPERATORS["not_equal"](self, other)

    def __hash__(self) -> int:
        return id(self) >> 4


def _forms(operator: SymbolOperator) -> dict[str, Callable[..., Any]]:
    """X + other, and other + x."""

    def left(self: Any, other: Any) -> Any:
        return operator(self, other)

    def right(self: Any, other: Any) -> Any:
        return operator.swapped(self, other)

    return {"": left, "r": right}


_WORDS = {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide",
    "mod": "modulo", "pow": "power", "gt": "greater", "ge": "greater_equal",
    "lt": "lesser", "le": "lesser_equal",
}  # fmt: skip
#: The methods that are written from the table: `__add__`, `__radd__`, …, `__gt__`.
METHODS = {
    f"__{prefix}{word}__": method
    for word, name in _WORDS.items()
    for prefix, method in _forms(OPERATORS[name]).items()
    if not prefix or len(word) > 2  # comparisons have one form
}
for _name, _method in METHODS.items():
    _method.__name__, _method.__qualname__ = _name, f"Arithmetic.{_name}"
    setattr(Arithmetic, _name, _method)
