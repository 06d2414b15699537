"""Which operators know sparse arrays, and how: a table by name and storage types.

    @rule("dot", "csr default")
    def dot(op, lhs, rhs):
        return Answer(spec of the output, kernel)

A rule is asked with the operator and the specs of its inputs, and answers like a data
sheet: what comes out, in which storage type, and who computes it. It may answer None:
with these settings there is no sparse way, and the operator runs on dense arrays.

A kernel takes what the inputs store (`Rows`, `Entries`, or a NumPy array) and then one
target for each output: a NumPy array to fill, or for a sparse output something that
allocates it once its size is known:

    data, indices = out.rows(count)
    data, indices, indptr = out.entries(count)
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, Protocol, cast

from minimx.core.ops import Op
from minimx.core.ops.registry import ALIASES
from minimx.core.ops.spec import Spec
from minimx.core.ops.stypes import Entries, Rows, stypes_of

_MODULES = ("pointwise", "pairs", "products", "reduce", "rows", "storage", "updates")


class Target(Protocol):
    """Where a kernel puts a sparse output."""

    #: What it stores now.
    parts: Rows | Entries

    def rows(self, count: int) -> Rows:
        """Room for so many rows."""

    def entries(self, count: int) -> Entries:
        """Room for so many elements."""


Outs = Spec | tuple[Spec, ...]


class Answer:
    """What comes out of a call, and the kernel that computes it.

    by_rows: of all arrays it touches only the rows that its second input stores.
    """

    __slots__ = ("by_rows", "kernel", "outs")

    def __init__(self, outs: Outs, kernel: Any, by_rows: bool = False) -> None:
        self.outs = outs if isinstance(outs, tuple) else (outs,)
        self.by_rows = by_rows
        self.kernel: Callable[..., None] = kernel


Rule = Callable[..., Answer | None]

#: {(operator, storage types of its inputs): rule}; "any" stands for every combination
#: of an operator that takes any number of inputs.
TABLE: dict[tuple[str, tuple[str, ...]], Rule] = {}


def rule(names: str, *combinations: str) -> Callable[[Rule], Rule]:
    """Enter a rule for operators and for combinations of storage types, in words."""

    def enter(function: Rule) -> Rule:
        for name in names.split():
            for words in combinations:
                key = (ALIASES.get(name, name), tuple(words.split()))
                assert key not in TABLE, key
                TABLE[key] = function
        return function

    return enter


@cache
def _load() -> None:
    """Fill the table; these modules need the whole dictionary of operators."""
    for module in _MODULES:
        import_module(f"minimx.operators.sparse.{module}")


def answer(op: Op, specs: tuple[Spec, ...]) -> Answer | None:
    """How an operator computes with inputs of these specs; None: only densely."""
    key: Any = (specs,)  # kept beside the plan for these specs, and forgotten with it
    if key not in op.plans:
        _load()
        found = TABLE.get((op.name, stypes_of(specs))) or TABLE.get((op.name, ("any",)))
        op.plans[key] = cast(Any, None if found is None else found(op, *specs))
    return cast("Answer | None", op.plans[key])
