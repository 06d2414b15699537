"""One attempt, judged in a process of its own that is confined already.

The check is that of the course's own notebook. It is looked up before a line of the
learner's has run. Two things tell afterwards whether it is still the same check: no
function and no class of minimx or of Python's builtins was replaced, and the untouched
version of the exercise does not pass.
"""

from __future__ import annotations

import ast
import gc
import linecache
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import BuiltinFunctionType, CodeType, FunctionType
from typing import Any

from minimx_widgets.course.parts import checks
from minimx_widgets.course.parts.checks import Feedback
from minimx_widgets.course.teaching.exercises import Exercise
from minimx_widgets.course.teaching.grading import rules, slicing
from minimx_widgets.course.teaching.grading.slicing import Line

SOLVED, OPEN, REFUSED, STOPPED = "solved", "not yet", "refused", "stopped"
LONGEST = 600  # characters of what a check says that are kept
#: Modules whose numbers and tables are part of checks, and those that remember.
JUDGES = "minimx_widgets.course"
REMEMBERING = ("minimx_widgets.course.predicting", "minimx_widgets.course.teaching")
WATCHED = ("builtins", "math", "time", "minimx", "minimx_widgets")


@dataclass(frozen=True)
class Task:
    """An attempt to judge.

    cells: the sources of what was handed in; place: the cell of the attempt, among
    them. own: the sources of the course's notebook. exercise: the one that is tried.
    """

    cells: Sequence[str]
    place: int
    own: Sequence[str]
    exercise: Exercise


@dataclass(frozen=True)
class Verdict:
    """What became of an attempt. result: one of the four words above."""

    result: str
    seen: str
    expected: str = ""
    idea: str = ""
    took: float = field(default=0.0, compare=False)

    @classmethod
    def of(cls, feedback: Feedback) -> Verdict:
        """What a check said."""
        result = SOLVED if feedback.passed is True else OPEN
        words = (feedback.seen, feedback.expected, feedback.idea)
        seen, expected, idea = (str(each)[:LONGEST] for each in words)
        return cls(result, seen, expected, idea)


def judge(task: Task, seconds: float) -> Verdict:
    """Run an attempt and have it judged; whatever it does becomes a verdict.

    seconds: that the check lets it run.
    """
    checks.LIMIT = seconds
    try:
        found = slicing.needed(task.cells, task.place, _names(task))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        where = f", line {error.lineno}" if isinstance(error, SyntaxError) else ""
        return Verdict(OPEN, f"the cell is no Python{where}", "a cell that runs")
    own = slicing.lines(task.own, len(task.own) - 1)
    nodes = [line.node for line in own]
    refused = list(rules.refusals(found, nodes, rules.said(nodes)))
    if refused:
        return Verdict(
            REFUSED,
            f"not run: {refused[0]}"[:LONGEST],
            "an attempt without it",
            "to be looked at by a person",
        )
    check = _check_of(task)
    before = _known or list(_watched())
    verdict = _said(task, found, task.cells, check)
    changed = [name for name, old, now in before if _differs(old, now())]
    if changed:
        return Verdict(
            REFUSED,
            f"it replaces {changed[0]}, by which it is judged"[:LONGEST],
            "an attempt that leaves minimx and Python as they are",
            "to be looked at by a person",
        )
    if verdict.result == SOLVED and _untouched(task, check).result == SOLVED:
        return Verdict(
            REFUSED,
            "after it, the untouched exercise passes as well",
            "an attempt that leaves its check as it is",
            "to be looked at by a person",
        )
    return verdict


def _untouched(task: Task, check: Any) -> Verdict:
    """What the check says to the exercise as the course has it."""
    place = task.exercise.place
    found = slicing.needed([*task.own[:place], task.exercise.attempt], place)
    return _said(task, found, task.own, check)


def _call(task: Task) -> ast.Call:
    (statement,) = ast.parse(task.exercise.check).body
    assert isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)
    return statement.value


def _names(task: Task) -> set[str]:
    """The names that the check asks the notebook for."""
    call = _call(task)
    given = [*call.args, *(each.value for each in call.keywords)]
    return {
        node.id
        for each in given
        for node in ast.walk(each)
        if isinstance(node, ast.Name)
    }


def imports(own: Sequence[str]) -> dict[str, Any]:
    """The names that the imports of a notebook of the course bind."""
    names: dict[str, Any] = {}
    for line in slicing.lines(own, len(own) - 1):
        if isinstance(line.node, ast.Import | ast.ImportFrom):
            exec(compile(ast.Module([line.node], []), "imports", "exec"), names)
    return names


#: (name, what it is, a function that gives what it is later) of all code there is.
_known: list[tuple[str, Any, Any]] = []


def prepare(notebooks: Iterable[Sequence[str]]) -> None:
    """Import what notebooks of the course import, and note all code, before any fork.

    Forks then need not do either. Nothing of a learner's may have run before.
    """
    for own in notebooks:
        imports(own)
    _known[:] = _watched()
    gc.freeze()  # forks share these objects, and need not look through them


def _check_of(task: Task) -> Any:
    called = ast.Expression(_call(task).func)
    return eval(compile(called, "the check", "eval"), imports(task.own))


def _said(
    task: Task, found: Sequence[Line], cells: Sequence[str], check: Any
) -> Verdict:
    """Run the statements of an attempt, then its check."""
    names: dict[str, Any] = {"__name__": "__main__", "display": lambda *_: None}
    call, where = _call(task), ""
    try:
        for line in found:
            where = _text(cells, line)
            name = f"cell {line.cell}"
            linecache.cache[name] = (1, None, cells[line.cell].splitlines(True), name)
            program = ast.Module([line.node], [])
            exec(compile(program, name, "exec", dont_inherit=True), names)
        where = task.exercise.check
        args = [_value(each, names) for each in call.args]
        options = {str(each.arg): _value(each.value, names) for each in call.keywords}
        feedback = check(*args, **options)
    except SystemExit:
        return Verdict(OPEN, "the attempt ends the program (exit or quit)", "", where)
    except BaseException as error:
        seen = f"{type(error).__name__}: {error}"[:LONGEST]
        return Verdict(OPEN, seen, "a cell without an exception", f"the line `{where}`")
    if type(feedback) is not Feedback:
        return Verdict(REFUSED, "the check gave no answer of a check")
    return Verdict.of(feedback)


def _value(node: ast.expr, names: dict[str, Any]) -> Any:
    return eval(compile(ast.Expression(node), "the check", "eval"), names)


def _text(cells: Sequence[str], line: Line) -> str:
    text = cells[line.cell].split("\n")
    return text[line.node.lineno - 1].strip() if line.node.lineno <= len(text) else ""


def _watched() -> Iterator[tuple[str, Any, Any]]:
    """(name, what it is now, a function that says what it is later) of all code."""
    for module in [*sys.modules.values()]:
        name = getattr(module, "__name__", "")
        if not isinstance(name, str) or name.partition(".")[0] not in WATCHED:
            continue
        ours = name.startswith(JUDGES) and not name.startswith(REMEMBERING)
        for key, value in [*vars(module).items()]:
            yield from _parts(f"{name}.{key}", value, vars(module), key)
            if (name, key) == (checks.__name__, "LIMIT"):
                continue  # which `judge` sets
            if ours and isinstance(value, int | float | str | tuple | frozenset):
                yield f"{name}.{key}", value, partial(vars(module).get, key)
            elif ours and isinstance(value, dict):  # which may get more entries
                entries = partial(_entries, vars(module), key, list(value))
                yield f"{name}.{key}", entries(), entries


def _entries(names: Any, key: str, keys: Sequence[Any]) -> str:
    table = names.get(key)
    return repr([table.get(each) for each in keys] if type(table) is dict else table)


def _differs(old: Any, now: Any) -> bool:
    return old is not now and bool(old != now)


def _parts(name: str, value: Any, names: Any, key: str) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, FunctionType | BuiltinFunctionType | type):
        yield name, value, partial(names.get, key)
    if isinstance(value, FunctionType):
        code: CodeType = value.__code__
        yield name, code, lambda: value.__code__
    if isinstance(value, type) and value.__module__.startswith("minimx"):
        for inner, method in [*vars(value).items()]:
            if isinstance(method, FunctionType | property | classmethod | staticmethod):
                yield f"{name}.{inner}", method, partial(vars(value).get, inner)
