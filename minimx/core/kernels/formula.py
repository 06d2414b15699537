"""One scalar formula, many readers.

A pointwise operator is a line of text such as `"1 / (1 + exp(-x))"`. Who reads it:

    codegen.write      writes a Python file with loops for numba
    evaluate           computes with whatever values and functions it is given
    the operators      take the names that a gradient uses as the list of its inputs

Operators are `+ - * / **`, comparisons, `and or not`; functions are those of
`FUNCTIONS`. A comparison is 1 or 0 where a number is expected.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from minimx.core.errors import OperatorError

#: The functions a formula may call, and how many arguments each takes.
FUNCTIONS: dict[str, int] = {
    **dict.fromkeys(
        ["exp", "expm1", "log", "log1p", "log2", "log10", "sqrt", "cbrt"], 1
    ),
    **dict.fromkeys(["sin", "cos", "tan", "arcsin", "arccos", "arctan"], 1),
    **dict.fromkeys(["sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh"], 1),
    **dict.fromkeys(["gamma", "gammaln", "digamma", "trigamma", "erf", "erfinv"], 1),
    **dict.fromkeys(["abs", "sign", "floor", "ceil", "trunc", "rint", "round"], 1),
    **dict.fromkeys(["isnan", "isinf", "isfinite"], 1),
    **dict.fromkeys(["maximum", "minimum", "div", "mod", "power", "hypot"], 2),
    **dict.fromkeys(["arctan2", "copysign", "fmod", "floor_div"], 2),
    "where": 3,
}


class Formula:
    """A parsed formula over named operands.

    >>> Formula("dy * y * (1 - y)", ("x", "y", "dy")).names
    ('y', 'dy')
    """

    def __init__(self, text: str, operands: tuple[str, ...]) -> None:
        self.text = text
        self.operands = operands
        self.tree = ast.parse(text, mode="eval")
        for node in ast.walk(self.tree):
            _check(node, text, operands)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The operands that the formula uses, in the order of `operands`."""
        walked = ast.walk(self.tree)
        used = {node.id for node in walked if isinstance(node, ast.Name)}
        return tuple(name for name in self.operands if name in used)

    @cached_property
    def steps(self) -> int:
        """How many operations and function calls the formula is made of, at least 1."""
        kinds = (ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp, ast.Call)
        return max(1, sum(isinstance(node, kinds) for node in ast.walk(self.tree)))

    @cached_property
    def code(self) -> Any:
        """The compiled expression, for `evaluate`."""
        return compile(self.tree, f"<formula {self.text}>", "eval")

    def evaluate(
        self, functions: Mapping[str, Callable[..., Any]], values: Mapping[str, Any]
    ) -> Any:
        """Compute with values and functions of any kind.

        >>> Formula("a + 2 * b", ("a", "b")).evaluate({}, {"a": 1, "b": 3})
        7
        """
        return eval(self.code, {"__builtins__": {}, **functions}, dict(values))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Formula) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[str, tuple[str, ...]]:
        return self.text, self.operands

    def __repr__(self) -> str:
        return f"Formula({self.text!r}, {self.operands})"


_ALLOWED = (
    ast.Expression, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.Call,
    ast.Name, ast.Constant, ast.Load, ast.operator, ast.unaryop, ast.boolop, ast.cmpop,
)  # fmt: skip


def _check(node: ast.AST, text: str, operands: tuple[str, ...]) -> None:
    if not isinstance(node, _ALLOWED):
        what = type(node).__name__
        raise OperatorError(f"formula {text!r}: {what} is not part of the language.")
    if isinstance(node, ast.Call):
        name = node.func.id if isinstance(node.func, ast.Name) else "?"
        if FUNCTIONS.get(name) != len(node.args):
            raise OperatorError(
                f"formula {text!r}: there is no function {name} of {len(node.args)} "
                f"arguments. There are: {', '.join(FUNCTIONS)}."
            )
    if isinstance(node, ast.Name) and node.id not in (*operands, *FUNCTIONS):
        raise OperatorError(
            f"formula {text!r}: {node.id} is neither an operand "
            f"({', '.join(operands)}) nor a function."
        )
