"""Type stubs: they say what the functions are, and mypy reads them."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

HOME = Path(import_module("minimx").__file__ or "").parent
FOLDERS = {"nd": HOME / "nd", "np": HOME, "symbol": HOME / "symbol"}

#: What a type checker is to know, and what it is to find wrong.
PROGRAM = """\
import minimx as mx
import minimx.ndarray
from minimx import np, npx
from minimx.autograd import record  # modules that an import finder leads elsewhere
from minimx.engine import bulk

reveal_type(mx.nd.Convolution(mx.nd.ones((1, 1, 4, 4)), num_filter=1, kernel=(2, 2)))
reveal_type(mx.nd.add(mx.nd.ones(2), 1))
reveal_type(mx.nd.ones(2).sigmoid())
reveal_type(mx.nd.linalg.potrf(mx.nd.ones((1, 1))))
reveal_type(np.sin(np.ones(2), out=None))
reveal_type(np.sum(np.ones(2), axis=0))
reveal_type(np.ones(2).sum(axis=0, keepdims=True))
reveal_type(np.linalg.svd(np.ones((2, 2))))
reveal_type(np.random.normal(0, 1, size=(2,)))
reveal_type(np.cov(np.ones((2, 2)), rowvar=False))
reveal_type(npx.relu(np.ones(2)))
reveal_type(npx.image.to_tensor(np.ones((4, 4, 3))))
x = mx.sym.Variable("x")
reveal_type(mx.sym.FullyConnected(x, num_hidden=3, name="fc"))
reveal_type(mx.sym.contrib.box_iou(x, x))
reveal_type(x.softmax(axis=0))
reveal_type(minimx.ndarray.ones(2))
record(), bulk(2)
minimx.engine.bulk("two")  # wrong
mx.nd.softmax(mx.nd.ones(2), axes=0)  # wrong
np.sum(np.ones(2), axes=0)  # wrong
npx.softmax(np.ones(2), axes=0)  # wrong
mx.sym.FullyConnected(x, hidden=3)  # wrong
"""
ARRAY, OF_NP = "minimx.core.arrays.array.NDArray", "minimx.np.multiarray.ndarray"
SYMBOL = "minimx.symbol.symbol.Symbol"
KNOWN = (
    [ARRAY] * 4
    + [OF_NP] * 3
    + [f"tuple[{OF_NP}, {OF_NP}, {OF_NP}]"]
    + [OF_NP] * 4
    + [SYMBOL] * 3
    + [ARRAY]
)


@pytest.mark.parametrize("front", FOLDERS)
def test_the_stubs_are_what_their_rooms_write(front: str) -> None:
    stubs = import_module(f"minimx.{front}.stubs")
    for name, text in stubs.files().items():
        written = (FOLDERS[front] / name).read_text(encoding="utf-8")
        if name == "np/official.pyi" and f"# NumPy {stubs.NUMPY}\n" not in written:
            continue  # another NumPy, other parameters
        assert written == text, f"Run: python -m minimx.{front}.stubs"


def test_mypy_knows_the_functions(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    # Beside the project's own settings.
    settings = ["--follow-imports=silent", "--no-pretty", "--no-color-output"]
    found = subprocess.run(
        [sys.executable, "-m", "mypy", *settings, str(program)],
        capture_output=True,
        text=True,
        cwd=HOME.parent,
        timeout=250,
    )
    # (The folder may be that of an earlier run, out of mypy's cache.)
    said = (line.partition("program.py:")[2] for line in found.stdout.splitlines())
    lines = [line for line in said if line]
    told = [line.partition('"')[2].rstrip('"') for line in lines if "note: Rev" in line]
    assert told == KNOWN, found.stdout + found.stderr
    wrong = [k for k, line in enumerate(PROGRAM.splitlines(), 1) if "# wrong" in line]
    errors = [line for line in lines if ": error: " in line]
    assert [int(line.split(":")[0]) for line in errors] == wrong, found.stdout
