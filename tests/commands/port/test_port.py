"""What `minimx port` finds in old programs, and what it leaves alone."""

from __future__ import annotations

import importlib
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from minimx.commands.cli import main
from minimx.commands.port import findings, run
from minimx.commands.port.reading import Part
from minimx.commands.port.rules import NUMPY


def told(source: str) -> list[str]:
    """What is said of each line, with its number."""
    return [f"{one.line}: {one.text}" for one in findings(Part("p.py", source))]


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("import numpy as np\nnp.int(3)", "2: np.int is gone from NumPy. Write int."),
        (
            "import numpy\nx = numpy.product([2])",
            "2: np.product is gone from NumPy. Write np.prod.",
        ),
        (
            "from numpy import float_",
            "1: np.float_ is gone from NumPy. Write np.float64.",
        ),
        ("import cPickle as pickle", "1: cPickle is gone. Write pickle."),
        ("from urllib2 import urlopen", "1: urllib2 is gone. Write urllib.request."),
        (
            "from collections import Mapping",
            "1: collections.Mapping is gone. Write collections.abc.Mapping.",
        ),
        (
            "import time\ntime.clock()",
            "2: time.clock is gone. Write time.perf_counter.",
        ),
        ("for i in xrange(3): pass", "1: xrange is gone since Python 3. Write range."),
        ("{}.iteritems()", "1: .iteritems(…) is gone. Write items()."),
        (
            "import minimx as mx\nmx.nd.sofmax(3)",
            "2: mx.nd has no 'sofmax'. Did you mean softmax?",
        ),
        (
            "from minimx.gluon import nn\nnn.Dens(3)",
            "2: mx.gluon.nn has no 'Dens'. Did you mean Dense?",
        ),
        (
            "import minimx as mx\nmx.nd.NDArray.no_such_method",
            "2: mx.nd.NDArray has no 'no_such_method'.",
        ),
        (
            "print 'hello'",
            "1: print is a function since Python 3. Write print(…), or run 2to3.",
        ),
    ],
)
def test_a_line_gets_the_answer(line: str, answer: str) -> None:
    assert told(line) == [answer]


def test_bytes_and_text_are_told_apart() -> None:
    source = (
        "import numpy as np\n"
        "a = np.fromstring(b'ab', dtype=np.uint8)\n"
        "b = np.fromstring('1 2', sep=' ')\n"
    )
    (only,) = told(source)
    assert only.startswith(
        "2: np.fromstring reads text only. For bytes write np.frombu"
    )


def test_names_of_mxnet_are_looked_up_in_minimx() -> None:
    source = (
        "import mxnet as mx\n"
        "from mxnet import gluon, nd\n"
        "from mxnet.gluon.data.vision import datasets\n"
        "net = gluon.nn.Dense(3)\n"
        "net.anything\n"
        "nd.relu(nd.ones(3)); mx.sym.var('x'); mx.metric.Accuracy\n"
        "mx.gluon.probability.Normal\n"
        "mx.library.load('x.so')\n"
        "mx.gpu(0)\n"
    )
    hint, lacking, library, gpu = findings(Part("p.py", source))
    assert (hint.line, hint.stops) == (1, False)
    assert (lacking.line, lacking.stops) == (7, True)
    assert library.text.startswith("mx.library.load loads operators compiled against")
    assert (gpu.line, gpu.stops) == (9, False)


def test_what_a_program_names_itself_is_left_alone() -> None:
    source = "def unicode(x): return x\nreduce = 3\nunicode(reduce)\nself.iteritems\n"
    assert told(source) == []


def test_what_numpy_has_is_not_said_to_be_gone() -> None:
    for name in NUMPY:
        place, _, word = f"numpy.{name}".rpartition(".")
        there = word in dir(importlib.import_module(place))
        assert bool(told(f"import numpy as np\nnp.{name}")) != there


def test_cells_of_a_notebook_are_read_with_the_imports_before_them(
    tmp_path: Path,
) -> None:
    cells = [
        {"cell_type": "code", "source": ["%matplotlib inline\n", "import numpy as np"]},
        {"cell_type": "markdown", "source": ["np.int"]},
        {"cell_type": "code", "source": ["!ls\n", "np.int(3)"]},
    ]
    book = tmp_path / "old.ipynb"
    book.write_text(json.dumps({"cells": cells}), encoding="utf-8")
    out = io.StringIO()
    assert run([str(tmp_path)], out) == 1
    first, last = out.getvalue().splitlines()
    assert first == f"{book}[3]:2: np.int is gone from NumPy. Write int."
    assert last == "1 files: 1 places would stop them, 0 hints."


def test_the_commands_say_by_their_code_whether_a_program_stops(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good, bad = tmp_path / "good.py", tmp_path / "bad.py"
    good.write_text("import minimx as mx\nmx.nd.ones(3)\n", encoding="utf-8")
    bad.write_text("xrange\n", encoding="utf-8")
    assert main(["port", str(good)]) == 0
    assert main(["doctor", str(bad)]) == 1
    assert main(["port", str(tmp_path / "none.py")]) == 2
    assert "xrange is gone" in capsys.readouterr().out


def test_a_program_runs_with_mxnet_meaning_minimx(tmp_path: Path) -> None:
    program = tmp_path / "old.py"
    program.write_text(
        "import sys, mxnet as mx\n"
        "from mxnet.gluon import nn\n"
        "import mxnet.gluon.data.vision, minimx\n"
        "assert mx is minimx and nn is minimx.gluon.nn\n"
        "assert mx.__version__ == '1.9.1' and mx.__minimx_version__\n"
        "print(mx.nd.ones(2).sum().asscalar(), sys.argv[1:])\n",
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "minimx", "run", str(program), "--lr", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "2.0 ['--lr', '1']\n"
