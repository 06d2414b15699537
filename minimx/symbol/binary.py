"""Operators of two operands by name: `sym.maximum(a, 2)`; either may be a number."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from minimx.core.errors import OperatorError
from minimx.core.ops.registry import lookup
from minimx.nd.binary import _PLAIN, of_two
from minimx.symbol.arithmetic import OPERATORS, SymbolOperator
from minimx.symbol.symbol import Symbol, applied


def _named(word: str) -> SymbolOperator:
    scalar = f"_{word}_scalar"
    barred = "_scalar" if word.startswith("logical") else ""
    return SymbolOperator(f"_{word}", scalar, scalar, barred)


_LOGICAL = ("logical_and", "logical_or", "logical_xor")
_OPERATORS = {
    **OPERATORS,
    "true_divide": OPERATORS["divide"],
    "power": SymbolOperator("_power", "_power_scalar", "_rpower_scalar"),
    **{word: _named(word) for word in ("maximum", "minimum", "hypot", *_LOGICAL)},
}
_WITHOUT: dict[str, Callable[[Any, Any], Any]] = {
    **_PLAIN,
    "hypot": lambda a, b: (a * a + b * b) ** 0.5,
    "logical_and": lambda a, b: bool(a and b),
    "logical_or": lambda a, b: bool(a or b),
    "logical_xor": lambda a, b: bool(a) != bool(b),
    "power": operator.pow,
}


PAIRS = {n: of_two(n, op, Symbol, _WITHOUT[n]) for n, op in _OPERATORS.items()}
for _name, _function in PAIRS.items():
    _pair = _OPERATORS[_name].pair
    _function.__doc__ = f"`{_pair}` of two symbols, or a symbol and a number."
    _function.__module__ = __name__


def pow(base: Any, exp: Any) -> Any:
    """`power` under its old name."""
    return PAIRS["power"](base, exp)


def split_v2(
    ary: Symbol,
    indices_or_sections: int | Sequence[int],
    axis: int = 0,
    squeeze_axis: bool = False,
) -> Symbol:
    """Cut an axis into equal pieces (a number of them), or at given places."""
    settings: dict[str, Any] = {"axis": axis, "squeeze_axis": squeeze_axis}
    if isinstance(indices_or_sections, int):
        settings |= {"indices": (), "sections": indices_or_sections}
    else:
        settings |= {"indices": (0, *indices_or_sections)}
    return applied(lookup("_split_v2").of(**settings), [ary], "_split_v2")


def histogram(
    a: Symbol,
    bins: int | Symbol = 10,
    range: tuple[float, float] | None = None,
    name: str | None = None,
) -> Symbol:
    """How many elements lie in each bin, and the edges of the bins.

    bins: a symbol of edges, or how many of equal width `range` is cut into.
    """
    if isinstance(bins, Symbol):
        return applied(lookup("_histogram").of(), [a, bins], "_histogram", name)
    if range is None:
        raise OperatorError(
            "sym.histogram: a number of bins needs range=(low, high); a symbol has no "
            "numbers from which it could follow."
        )
    op = lookup("_histogram").of(bin_cnt=bins, range=tuple(map(float, range)))
    return applied(op, [a], "_histogram", name)


setattr(Symbol, "split_v2", split_v2)  # noqa: B010 (not declared in the class)
