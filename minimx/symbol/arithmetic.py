"""What Python's operators mean on symbols: `a + b`, `2 - a`, `a > b`.

Two symbols are combined element by element, without stretching, as in MXNet; for that
there are the `broadcast_*` operators. Where arrays are those of `mx.np` (`npx.set_np`),
shapes are stretched as NumPy does.
"""

from __future__ import annotations

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


add = SymbolOperator("_plus", "_plus_scalar", "_plus_scalar")
sub = SymbolOperator("_minus", "_minus_scalar", "_rminus_scalar")
mul = SymbolOperator("_mul", "_mul_scalar", "_mul_scalar")
div = SymbolOperator("_div", "_div_scalar", "_rdiv_scalar")
mod = SymbolOperator("_mod", "_mod_scalar", "_rmod_scalar")
power = SymbolOperator("_power", "_power_scalar", "_rpower_scalar", "_rpower_scalar")
equal = SymbolOperator("_equal", "_equal_scalar", "_equal_scalar", "_scalar")
not_equal = SymbolOperator(
    "_not_equal", "_not_equal_scalar", "_not_equal_scalar", "_scalar"
)
greater = SymbolOperator("_greater", "_greater_scalar", "_lesser_scalar", "_scalar")
lesser = SymbolOperator("_lesser", "_lesser_scalar", "_greater_scalar", "_scalar")
greater_equal = SymbolOperator(
    "_greater_equal", "_greater_equal_scalar", "_lesser_equal_scalar", "_scalar"
)
lesser_equal = SymbolOperator(
    "_lesser_equal", "_lesser_equal_scalar", "_greater_equal_scalar", "_scalar"
)


def _in_place(self: Any, other: Any) -> Any:
    raise NotImplementedForSymbol(
        "a Symbol cannot be changed in place (+=, -=, …). Write x = x + … instead."
    )


class Arithmetic:
    """The Python operators of a symbol."""

    __slots__ = ()

    __iadd__ = __isub__ = __imul__ = __itruediv__ = __imod__ = __ipow__ = _in_place

    def __add__(self, other: Any) -> Any:
        return add(self, other)

    def __radd__(self, other: Any) -> Any:
        return add.swapped(self, other)

    def __sub__(self, other: Any) -> Any:
        return sub(self, other)

    def __rsub__(self, other: Any) -> Any:
        return sub.swapped(self, other)

    def __mul__(self, other: Any) -> Any:
        return mul(self, other)

    def __rmul__(self, other: Any) -> Any:
        return mul.swapped(self, other)

    def __truediv__(self, other: Any) -> Any:
        return div(self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return div.swapped(self, other)

    def __mod__(self, other: Any) -> Any:
        return mod(self, other)

    def __rmod__(self, other: Any) -> Any:
        return mod.swapped(self, other)

    def __pow__(self, other: Any) -> Any:
        return power(self, other)

    def __rpow__(self, other: Any) -> Any:
        return power.swapped(self, other)

    def __neg__(self) -> Any:
        return mul(self, -1.0)

    def __abs__(self) -> Any:
        return self.abs()  # type: ignore[attr-defined]

    def __eq__(self, other: object) -> Any:
        return equal(self, other)

    def __ne__(self, other: object) -> Any:
        return not_equal(self, other)

    def __gt__(self, other: Any) -> Any:
        return greater(self, other)

    def __ge__(self, other: Any) -> Any:
        return greater_equal(self, other)

    def __lt__(self, other: Any) -> Any:
        return lesser(self, other)

    def __le__(self, other: Any) -> Any:
        return lesser_equal(self, other)

    def __hash__(self) -> int:
        return id(self) >> 4
