"""Run one program cell by cell and write down what it shows, as JSON.

    python worker.py PROGRAM MODULE

A program is a text with `import mxnet as mx`, cut into cells by lines that begin with
`# %%`, as editors do. MODULE takes the place of the word `mxnet`: "only the import
changed". A cell shows what it prints, the value of its last expression, or the error
that it ends with; the cells after it still run, as in a notebook.

This file runs under MXNet's own old interpreter and must not import minimx.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import re
import resource
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

# A program that runs away must not take the machine with it.
resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))


def cells_of(text: str) -> list[tuple[int, str, str]]:
    """(line number, title, code) of each cell."""
    found: list[tuple[int, str, list[str]]] = [(1, "", [])]
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("# %%"):
            found.append((number, line[4:].strip(), []))
        else:
            found[-1][2].append(line)
    return [(at, title, "\n".join(lines)) for at, title, lines in found]


def described(value: Any) -> Any:
    """A value in JSON's words."""
    if isinstance(value, np.generic):  # a scalar, whoever made it
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return {"is": type(value).__name__, "value": value}
    if isinstance(value, type):
        return {"is": "type", "value": value.__name__}
    if isinstance(value, np.ndarray) or hasattr(value, "asnumpy"):
        numbers = np.asarray(value.asnumpy() if hasattr(value, "asnumpy") else value)
        return {
            "is": "array" if hasattr(value, "asnumpy") else "numpy",
            "dtype": str(numbers.dtype),
            "shape": list(numbers.shape),
            "value": numbers.astype(np.float64).ravel().tolist()
            if numbers.dtype.kind in "fiub"
            else numbers.tolist(),
        }
    if isinstance(value, (list, tuple)):
        return {"is": type(value).__name__, "value": [described(v) for v in value]}
    if isinstance(value, dict):
        items = [[described(k), described(v)] for k, v in value.items()]
        return {"is": "dict", "value": items}
    plain = repr(value) == object.__repr__(value)
    return {"is": "object", "value": type(value).__name__ if plain else repr(value)}


def run_cell(code: str, names: dict[str, Any], at: int) -> dict[str, Any]:
    """Run one cell among the names of the earlier ones."""
    printed = io.StringIO()
    shown: dict[str, Any] = {}
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            tree = ast.parse(code)
            last = tree.body.pop() if tree.body else None
            if last is not None and not isinstance(last, ast.Expr):
                tree.body.append(last)
            exec(compile(tree, f"<cell at line {at}>", "exec"), names)
            if isinstance(last, ast.Expr):
                compiled = compile(ast.Expression(last.value), "<cell>", "eval")
                shown["value"] = described(eval(compiled, names))
        except Exception as error:  # whatever a program may end with is its answer
            shown["error"] = [kind.__name__ for kind in type(error).__mro__]
            shown["message"] = str(error)[:300]
    shown["printed"] = re.sub(r"0x[0-9a-f]+", "0x…", printed.getvalue())
    return shown


def main(program: str, module: str) -> None:
    """Run the whole program in a fresh directory, and print the list of answers."""
    text = re.sub(r"\bmxnet\b", module, Path(program).read_text())
    names: dict[str, Any] = {"__name__": "__main__"}
    with tempfile.TemporaryDirectory() as here:
        os.chdir(here)
        answers = [
            {"line": at, "title": title, **run_cell(code, names, at)}
            for at, title, code in cells_of(text)
        ]
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
