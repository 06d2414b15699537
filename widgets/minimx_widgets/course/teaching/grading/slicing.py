"""What an attempt needs of its notebook: imports, functions, classes, values.

A notebook as a whole trains networks and measures. An attempt needs little of it: the
statements that bind the names it uses, those that bind the names that these use, and so
on. A learner's own helper functions, in whatever cell, are found the same way.

    needed(cells, 44)        # the statements for the attempt in cell 44, in order

What a statement changes in place counts as well (`seen.append(3)`, `table["a"] = 1`),
if it stands behind the binding and the name is no import.
"""

from __future__ import annotations

import ast
import re
import symtable
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from minimx_widgets.course.teaching.exercises import is_check

COMMAND = re.compile(r"[%!?]|[\w.]+\?+\s*$")


class Line(NamedTuple):
    """A statement of a notebook. cell: the number of its cell."""

    cell: int
    node: ast.stmt


def lines(cells: Sequence[str], last: int) -> list[Line]:
    """The statements of all cells up to one, without calls of checks.

    Cells that are no Python are left out, except the last: raises its SyntaxError.
    """
    found = []
    for number, source in enumerate(cells[: last + 1]):
        try:
            body = ast.parse(plain(source)).body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            if number == last:
                raise
            continue
        found += [Line(number, node) for node in body if not is_check(node)]
    return found


def plain(source: str) -> str:
    """A cell without commands of the notebook (`%env`, `!ls`, `what?`)."""
    if source.lstrip().startswith("%%"):
        return ""
    return "\n".join("" if COMMAND.match(line) else line for line in source.split("\n"))


def needed(cells: Sequence[str], last: int, names: Iterable[str] = ()) -> list[Line]:
    """The last cell, and what it needs of those above, in the order of the notebook.

    names: that are needed as well. Raises SyntaxError where the last is no Python.
    """
    every = lines(cells, last)
    wanted = {k for k, line in enumerate(every) if line.cell == last}
    below = min(wanted, default=len(every))
    open_ = [(name, below) for name in names]
    for k in wanted:
        open_ += _uses(every[k].node, below, below)
    seen = set()
    while open_:
        name, before = open_.pop()
        if (name, before) in seen:
            continue
        seen.add((name, before))
        for k in _about(every, name, before):
            if k not in wanted:
                wanted.add(k)
                open_ += _uses(every[k].node, k, below)
    return [every[k] for k in sorted(wanted)]


def _uses(node: ast.stmt, here: int, below: int) -> Iterator[tuple[str, int]]:
    """(a name that a statement uses, above which statement it has to be bound).

    What stands in a function is used when it is called: not before the attempt.
    """
    at_once, later = used(node)
    yield from ((name, here) for name in at_once)
    yield from ((name, below) for name in later)


def _about(every: Sequence[Line], name: str, before: int) -> Iterator[int]:
    """The last statement that binds a name, and those that then change its value."""
    for k in range(before - 1, -1, -1):
        if name in bound(every[k].node):
            yield k
            if not isinstance(every[k].node, ast.Import | ast.ImportFrom):
                between = range(k + 1, before)
                yield from (j for j in between if changed(every[j].node) == name)
            if not isinstance(every[k].node, ast.AugAssign):
                return


def used(node: ast.stmt) -> tuple[set[str], set[str]]:
    """The names of the notebook that a statement uses: itself, and in its functions."""
    table = symtable.symtable(ast.unparse(node), "cell", "exec")
    names = {each.get_name() for each in table.get_symbols() if each.is_referenced()}
    later: set[str] = set()
    rest = list(table.get_children())
    while rest:
        inner = rest.pop()
        found = {each.get_name() for each in inner.get_symbols() if each.is_global()}
        if inner.get_type() == "class":  # whose body runs at once
            names |= found
        later |= found
        rest += inner.get_children()
    return names, later


def bound(node: ast.stmt) -> set[str]:
    """The names that a statement gives a value to."""
    table = symtable.symtable(ast.unparse(node), "cell", "exec")
    return {
        each.get_name()
        for each in table.get_symbols()
        if each.is_assigned() or each.is_imported()
    }


def changed(node: ast.stmt) -> str:
    """The name whose value a statement changes in place, or may change; or empty."""
    target: ast.AST | None = None
    if isinstance(node, ast.Assign | ast.AugAssign | ast.Delete):
        targets = [node.target] if isinstance(node, ast.AugAssign) else node.targets
        target = targets[0]
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        target = node.value.func
    if isinstance(target, ast.Attribute | ast.Subscript):
        while isinstance(target, ast.Attribute | ast.Subscript | ast.Call):
            target = target.func if isinstance(target, ast.Call) else target.value
        return target.id if isinstance(target, ast.Name) else ""
    return ""
