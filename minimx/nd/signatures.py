"""Functions that only hand their arguments on, written from the rows of a table.

    ROWS = functions(_draw, __name__, '''
        uniform(low=0.0, high=1.0, size=None)
            Numbers evenly distributed in [low, high).

        power(a, size=None): powerd
            Numbers in [0, 1] with a density that grows like x^(a - 1).
    ''')

A row is a signature as after `def`, the operator if its name is another than the
function's, and the docstring. What becomes of a call is written once, in the body:

    uniform(0.5)         calls _draw("uniform", low=0.5, high=1.0, size=None)
    power(2, size=3)     calls _draw("powerd", a=2, size=3)

They are functions as if written by hand, by the same means as `dataclasses`: Python
itself binds their arguments and refuses wrong ones. A module that holds them in its
namespace pickles them. `minimx.nd.stubs` tells editors and type checkers of them.
"""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Callable
from inspect import cleandoc
from pathlib import Path
from typing import Any

HOME = Path(__file__).parents[1]
# name, (parameters), -> type of the result, : operator, and the indented docstring
_ROW = re.compile(r"(\w+)(\(.*?\))(?: -> ([^\n:]+))?(?:: ([\w.]+))?\n(.*)", re.DOTALL)
_FLAG = re.compile(r"(\w+)=(True|False)\b")  # whose type goes without saying


def functions(
    body: Callable[..., Any],
    module: str,
    table: str,
    inputs: int = 0,
    returns: str = "Any",
    contract: str = "",
) -> dict[str, Callable[..., Any]]:
    """The functions of a table's rows, by name.

    body: is called with the row's operator, then the arguments. module: where they are
    found. inputs: how many of the first arguments the body takes by position; it takes
    the others by name, as all those behind a `*`. returns: the type of the result of a
    row without `-> …`. contract: what holds for all of them; it ends each docstring.
    Raises ValueError for a row that is none.
    """
    space: dict[str, Any] = {"__name__": module, "_body": body}
    made = {}
    for row in re.split(r"\n+(?=\w)", cleandoc(table)):
        if (found := _ROW.fullmatch(row)) is None:
            raise ValueError(f"not a signature and a docstring: {row!r}")
        name, parameters, result, operator, doc = found.groups()
        parameters = _FLAG.sub(r"\1: bool = \2", parameters)
        head = f"def {name}{parameters} -> {result or returns}:"
        passed = ", ".join([repr(operator or name), *_handed_on(head, inputs)])
        source = f"{head}\n    return _body({passed})\n"
        exec(compile(source, _shown(module, name, source), "exec"), space)
        made[name] = space[name]
        made[name].__doc__ = f"{cleandoc(doc)}\n\n{cleandoc(contract)}".rstrip()
    return made


def _handed_on(head: str, inputs: int) -> list[str]:
    """The arguments of a function as it hands them on: a, *rest, size=size."""
    [function] = ast.parse(f"{head} ...").body
    assert isinstance(function, ast.FunctionDef)
    has = function.args
    by_position, by_name = has.args[:inputs], has.args[inputs:] + has.kwonlyargs
    passed = [arg.arg for arg in by_position]
    passed += [f"*{has.vararg.arg}"] if has.vararg else []
    passed += [f"{arg.arg}={arg.arg}" for arg in by_name]
    return passed + ([f"**{has.kwarg.arg}"] if has.kwarg else [])


def _shown(module: str, name: str, source: str) -> str:
    """The file that the source seems to be in; tracebacks and `np.sum??` show it.

    It is in minimx's folder, so that nothing takes the line for one of the user's.
    """
    file = f"{HOME.joinpath(*module.split('.')[1:])}.py ({name})"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    return file
