"""A policy and what it is worth, as a file that pytest runs anywhere.

    mx.policies.export_test(BestFit, "test_best_fit.py")

The file holds the source of the class, word for word, and asserts that it keeps the
rules and still scores what it scored. So what was found in a notebook can be kept, or
handed in, without the notebook.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import os
import sys
import textwrap
from typing import Any

from minimx.core.errors import ArgumentError
from minimx.core.files import write_whole
from minimx.policies.kinds import function_of
from minimx.policies.registry import check
from minimx.policies.scoring import Score, score

TEMPLATE = '''"""{name}, a {kind} for minimx, as it was when it scored {score:.3f}."""

from __future__ import annotations

{imports}import minimx as mx


{source}

def test_{lower}_keeps_the_rules():
    mx.policies.check({name})


def test_{lower}_scores_what_it_scored():
    found = mx.policies.score({name}, seed={seed}, traces={traces})
    assert round(found.score, 6) == {score:.6f}
{beaten}'''


def export_test(policy: Any, path: str | os.PathLike[str]) -> Score:
    """Write a pytest file of a policy; returns the score that it asserts.

    path: of the file, which is replaced; its name should begin with `test_`. Modules
    that the class uses are imported in the file; other names that it takes from the
    notebook are an error, since they are not in its source. Raises `ArgumentError`
    where the source is not known or not complete, and `PolicyError` where the policy
    breaks a rule; then nothing is written.
    """
    check(policy)
    source = _source(policy)
    imports = _imports(policy, source)
    found = score(policy)
    beaten = [name for name in found.ratios if found.score < found.of(name)]
    text = TEMPLATE.format(
        name=policy.__name__,
        lower=policy.__name__.lower(),
        kind=found.kind,
        score=found.score,
        seed=found.seed,
        traces=found.traces,
        source=source,
        imports=imports,
        beaten="".join(
            f"    assert found.score < found.of({name!r})\n" for name in beaten
        ),
    )
    write_whole(path, text.encode(), "export_test")
    return found


def _source(policy: type) -> str:
    """The class as it was written, without decorators."""
    function = function_of(policy)
    lines, line = [], 0
    if function is not None:
        lines = linecache.getlines(function.__code__.co_filename, function.__globals__)
        line = function.__code__.co_firstlineno
    try:
        tree = ast.parse("".join(lines))
    except SyntaxError:
        tree = ast.parse("")
    named = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and node.name == policy.__name__
    ]
    for node in named:
        if node.lineno <= line <= (node.end_lineno or 0):
            return textwrap.dedent("".join(lines[node.lineno - 1 : node.end_lineno]))
    raise ArgumentError(
        f"export_test: the source of {policy.__name__} is not known. Write the class "
        "in a notebook cell or in a file, and run it again; a plain Python prompt "
        "keeps no source, and a class made by `exec` has none."
    )


def _imports(policy: type, source: str) -> str:
    """Import statements for the names that the class takes from around it."""
    tree = ast.parse(source)
    made = {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    made |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    function = function_of(policy)
    around = {} if function is None else function.__globals__
    found, missing = [], []
    for name in sorted(
        {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)} - made - {"mx"}
    ):
        value = around.get(name)
        if inspect.ismodule(value):
            alias = "" if value.__name__ == name else f" as {name}"
            found.append(f"import {value.__name__}{alias}")
        elif value is not None and _importable(value):
            alias = "" if value.__name__ == name else f" as {name}"
            found.append(f"from {value.__module__} import {value.__name__}{alias}")
        elif name in around and name != policy.__name__:
            missing.append(name)
    if missing:
        raise ArgumentError(
            f"export_test: {policy.__name__} uses {', '.join(missing)} from around it, "
            "which its source does not hold. Move that into the class, as attributes "
            "or methods."
        )
    return "".join(f"{line}\n" for line in [*found, ""]) if found else ""


def _importable(value: Any) -> bool:
    """Whether a module that can be imported offers a value under its name."""
    module = sys.modules.get(getattr(value, "__module__", None) or "")
    name = getattr(value, "__name__", "")
    return (
        module is not None
        and module.__name__ != "__main__"
        and getattr(module, name, None) is value
    )
