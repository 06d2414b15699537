"""Each kind of decision that the runtime knows has lines, those that it runs."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

import minimx as mx
from minimx.core.errors import ArgumentError
from minimx.core.graph.memory import sharing
from minimx.core.graph.memory.inplace import Verdict
from minimx.core.knobs import knobs
from minimx.core.record import MEMORY_EVENTS
from minimx.kvstore.simulation import STORES
from minimx_widgets.code.decisions import KINDS, decision
from minimx_widgets.pictures.engine_picture import KINDS as EDGES
from minimx_widgets.scheduler import stepping
from minimx_widgets.views.mirror_explorer import FATES

ROOT = Path(mx.__file__).parents[1]
EVERY = [(area, kind) for area, kinds in KINDS.items() for kind in kinds]


def literals(module: object, name: str) -> set[str]:
    """The words that a module gives to a call first, such as a `Step`."""
    text = inspect.getsource(module)  # type: ignore[arg-type]
    return set(re.findall(rf'{name}\(\s*"(\w+)"', text))


@pytest.mark.parametrize(("area", "kind"), EVERY)
def test_a_decision_shows_lines_that_stand_in_the_file(area: str, kind: str) -> None:
    found = decision(area, kind)
    assert found.pieces
    for piece in found.pieces:
        lines = (ROOT / piece.file).read_text(encoding="utf-8").splitlines()
        shown = lines[piece.line - 1 :][: len(piece.lines)]
        assert "\n".join(shown) == piece.text
        assert piece.marks and piece.why


def test_a_new_kind_needs_lines() -> None:
    assert set(KINDS["pool"]) == set(MEMORY_EVENTS)
    assert set(KINDS["pool type"]) == set(
        knobs.declared["MXNET_GPU_MEM_POOL_TYPE"].choices or ()
    )
    assert set(KINDS["in place"]) == {one.name for one in Verdict}
    steps = literals(sharing, "Step") | {"reuse", "grow"}
    assert set(KINDS["sharing"]) == steps
    moves = literals(stepping, "self._moment")
    assert {"push", "start", "finish", "begin"} == moves
    assert moves | {*EDGES, "BULK"} <= set(KINDS["scheduler"])
    assert set(KINDS["kvstore"]) == set(STORES.values())
    assert set(KINDS["mirror"]) == set(FATES)


def test_the_verdict_itself_is_marked() -> None:
    (piece,) = decision("in place", "READ").pieces
    marked = [text.strip() for _, text, mark in piece.lines if mark]
    assert marked == ["return Verdict.READ"]


def test_several_kinds_are_shown_together() -> None:
    both = decision("sharing", "new", "free")
    assert both.name == "sharing: new and free"
    assert len(both.pieces) == 3


def test_an_unknown_kind_is_said() -> None:
    with pytest.raises(ArgumentError, match="Did you mean pool"):
        decision("pol", "hit")
    with pytest.raises(ArgumentError, match="pool has no 'git'"):
        decision("pool", "git")
