"""Programs written for MXNet show what they showed there; only the import changed.

The answers were given by MXNet 1.9.1: `make compat` asks it again.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import minimx as mx
from tests.compat import exchange, operators, run


@pytest.mark.parametrize("program", run.PROGRAMS, ids=lambda path: path.stem)
def test_a_program_shows_what_it_showed_under_mxnet(program: Path) -> None:
    theirs = run.kept_answers(program)
    ours = run.answers_of(sys.executable, program, "minimx")
    places = [(answer["line"], answer["title"]) for answer in theirs]
    assert places == [(answer["line"], answer["title"]) for answer in ours], (
        "the program was changed: make compat FLAGS=--record"
    )
    wrong = [
        run.difference(program, their, our)
        for their, our in zip(theirs, ours, strict=True)
        if not run.is_to_differ(our) and not run.same_cell(their, our)
    ]
    assert not wrong, "\n".join(wrong)


def test_operators_answer_as_mxnet_did() -> None:
    theirs = operators.kept()
    asked = [case for case in operators.cases() if case.key in theirs]
    verdict = operators.judge(
        asked, theirs, operators.ask(sys.executable, "minimx", asked)
    )
    assert not verdict.surprises(), "\n".join(verdict.surprises())
    assert len(verdict.compared) >= 700, str(verdict)
    assert len(verdict.backward) >= 400, str(verdict)
    assert len(verdict.agreeing) >= 0.98 * len(verdict.compared), str(verdict)


def test_what_mxnet_wrote_is_the_same_to_us() -> None:
    apart = exchange.work(sys.executable, "minimx", "read", exchange.KEPT)
    assert not exchange.too_far(apart), str(apart)


def test_networks_are_exported_as_mxnet_exports_them(tmp_path: Path) -> None:
    """The same nodes; that MXNet computes the same of them, `exchange.py` has seen."""
    exchange.work(sys.executable, "minimx", "make", tmp_path)
    for name in exchange.NETWORKS[:3]:  # for the last MXNet has operators of its own
        assert exchange.nodes(tmp_path, name) == exchange.nodes(exchange.KEPT, name)
        ours = mx.nd.load(str(tmp_path / f"{name}-0000.params"))
        theirs = mx.nd.load(str(exchange.KEPT / f"{name}-0000.params"))
        assert isinstance(ours, dict)
        assert isinstance(theirs, dict)
        assert {k: v.shape for k, v in ours.items()} == {
            k: v.shape for k, v in theirs.items()
        }
    for name in exchange.FILES:
        assert (tmp_path / name).read_bytes() == (exchange.KEPT / name).read_bytes()
