"""The lines that obey a knob or define an operator are those of the package."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

import minimx as mx
from minimx.core import engine
from minimx.core.arrays import transfer
from minimx.core.errors import ArgumentError
from minimx.core.knobs import knobs
from minimx.core.operators import matmul
from minimx.core.ops.registry import REGISTRY
from minimx_widgets import source

ROOT = Path(mx.__file__).parents[1]


def marked(name: str) -> list[str]:
    return [text for p in source(name).pieces for _, text, mark in p.lines if mark]


def test_a_knob_shows_the_function_that_obeys_it_and_who_reads_it() -> None:
    found = source("MXNET_ENGINE_TYPE")
    obeys, *others = found.pieces
    assert obeys.text == inspect.getsource(engine._make).rstrip()
    assert obeys.file == "minimx/core/engine/__init__.py"
    read = [text for text in marked("MXNET_ENGINE_TYPE") if "knobs.get(" in text]
    assert read == [
        '    name, clock = knobs.get("MXNET_ENGINE_TYPE"), knobs.get("MINIMX_CLOCK")'
    ]
    assert others[-1].why == "declared"
    assert 'name="MXNET_ENGINE_TYPE"' in others[-1].text
    assert source("MXNET_EXEC_MATCH_RANGE").pieces == source(
        "NNVM_EXEC_MATCH_RANGE"
    ).pieces, "by an alias as well"  # fmt: skip


@pytest.mark.parametrize("name", knobs.declared)
def test_every_knob_is_found_and_the_lines_stand_in_the_files(name: str) -> None:
    for piece in source(name).pieces:
        lines = (ROOT / piece.file).read_text(encoding="utf-8").splitlines()
        text = "\n".join(lines[piece.line - 1 :][: len(piece.lines)])
        assert text == piece.text and piece.marks


def test_an_operator_is_its_data_sheet() -> None:
    (found,) = source("dot").pieces
    assert found.text == inspect.getsource(REGISTRY["dot"]).rstrip()
    assert found.file == "minimx/core/operators/matmul.py"
    assert any("register" in text and '"dot"' in text for text in marked("dot"))
    both = source("[dot,FullyConnected]").pieces
    assert [piece.text.splitlines()[0] for piece in both] == [
        marked("dot")[0], marked("FullyConnected")[0],
    ]  # fmt: skip
    assert matmul.__name__.replace(".", "/") in both[1].file


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("square", '    ("square", "x * x", '),
        ("_backward_square", '    ("square", "x * x", '),
        ("elemwise_add", '    ("add", "a + b", '),
    ],
)
def test_a_formula_is_its_row_in_the_table(name: str, line: str) -> None:
    assert any(text.startswith(line) for text in marked(name))


def test_a_name_that_is_put_together_shows_the_function_that_does_so() -> None:
    (found,) = source("CopyCPU2GPU").pieces[:1]
    assert found.file.startswith("minimx/")
    texts = [piece.text for piece in source("CopyGPU2GPU").pieces]
    assert any("def " in text and "Copy" in text for text in texts)
    assert transfer.__name__.split(".")[-1] in " ".join(
        piece.file for piece in source("CopyGPU2GPU").pieces
    )


def test_it_prints_marks_and_escapes() -> None:
    found = source("MXNET_ENGINE_TYPE")
    lines = repr(found).splitlines()
    assert lines[0].startswith("minimx/core/engine/__init__.py:")
    assert any(line.startswith(">") and "knobs.get" in line for line in lines)
    html = source("CopyGPU2GPU")._repr_html_()
    assert "<mark>" in html and "-&gt;" in html
    message = found.as_message()
    assert message["kind"] == "source" and len(message["pieces"]) == len(found.pieces)


def test_what_minimx_does_not_have_is_said_with_the_nearest_name() -> None:
    with pytest.raises(ArgumentError, match="Did you mean MXNET_ENGINE_TYPE"):
        source("MXNET_ENGINE_TIPE")
