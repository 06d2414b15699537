"""What a record knows of an allocation, in words and for a page."""

from __future__ import annotations

from pathlib import Path

import pytest

import minimx as mx
from minimx import autograd, nd
from minimx.core.errors import ArgumentError
from minimx.core.record import Record
from minimx_widgets import MemoryTimeline
from minimx_widgets.allocations import allocation, facts_for_page, source_of


@pytest.fixture(scope="module")
def trained() -> tuple[Record, dict[str, int]]:
    """Three operations and a gradient, and the blocks of what they made."""
    x = nd.ones((40, 50))
    x.attach_grad()
    nd.waitall()
    with Record() as record:
        with autograd.record():
            y = x * 3  # asked for here
            z = y.sum()
        z.backward()
        nd.waitall()  # else y may get its memory after the step
        record.metric(1, "loss", 0.5)
        blocks = {
            name: getattr(array.chunk.block, "id", 0)
            for name, array in (("x", x), ("y", y), ("z", z))
        }
        del y
        nd.waitall()
    return record, blocks


def test_who_asked_who_wrote_and_who_read_last(
    trained: tuple[Record, dict[str, int]],
) -> None:
    record, blocks = trained
    made = allocation(record, blocks["y"])
    assert (made.name, made.category, made.event) == (
        "_mul_scalar", "activation", made.event,
    )  # fmt: skip
    assert made.asked == 40 * 50 * 4 and made.got >= made.asked
    assert [use.name for use in made.writes] == ["_mul_scalar"]
    assert made.reads[0].name == "sum"
    assert made.end is not None and made.end > made.begin, "it was let go"
    assert made.steps == 1 and made.operations >= 2
    rows = dict(made.rows())
    assert rows["asked for"] == "7.81 KiB (8,000 B)"
    assert rows["read last by"].startswith(f"{made.reads[-1].name} #")
    assert "got" in rows and "got" not in dict(made.rows(placed=False))


def test_the_line_that_asked_is_found(trained: tuple[Record, dict[str, int]]) -> None:
    record, blocks = trained
    line = allocation(record, blocks["y"]).line
    assert line.startswith("test_allocations.py:")
    code = source_of(record, blocks["y"])
    asked, *pool = code.pieces
    (text,) = (text for _, text, marked in asked.lines if marked)
    assert text.strip() == "y = x * 3  # asked for here"
    assert {piece.file for piece in pool} == {"minimx/core/storage/pool.py"}


def test_memory_from_before_the_record_says_so(
    trained: tuple[Record, dict[str, int]],
) -> None:
    record, blocks = trained
    old = allocation(record, blocks["x"])
    assert old.event == "live" and old.line == "" and old.end is None
    assert old.life.startswith("since before the record")
    assert old.reads[0].name == "_mul_scalar"
    code = source_of(record, blocks["x"])
    assert "before the record began" in code.missing
    assert "error" in code.as_message() and code.pieces, "the pool is shown"


def test_a_record_from_a_file_names_its_lines_and_shows_no_others(
    trained: tuple[Record, dict[str, int]], tmp_path: Path
) -> None:
    record, blocks = trained
    loaded = Record.load(record.save(tmp_path / "run.npz"))
    assert allocation(loaded, blocks["y"]) == allocation(record, blocks["y"])
    assert "comes from a file" in source_of(loaded, blocks["y"]).missing


def test_what_is_not_there_is_said(trained: tuple[Record, dict[str, int]]) -> None:
    record, _ = trained
    with pytest.raises(ArgumentError, match="no allocation #123456789"):
        allocation(record, 123456789)
    answer = facts_for_page(record, {"block": 123456789})
    assert answer["block"] == 123456789
    assert "no allocation" in answer["rows"][0][1]
    with pytest.raises(ArgumentError, match="pool has no 'hitt'.*hit"):
        source_of(record, 0, "hitt")


def test_the_view_tells_and_lists_the_lines(
    trained: tuple[Record, dict[str, int]],
) -> None:
    record, blocks = trained
    view = MemoryTimeline(record, show="blocks")
    assert view.about(blocks["y"]) == allocation(record, blocks["y"])
    assert view.source_for({"block": 0, "event": "flush"}).name == "a flush of the pool"
    owners = repr(view.table())
    assert "line" in owners
    view.run.close()


def test_joined_operations_do_not_hide_their_parts() -> None:
    x = nd.ones((10,))
    nd.waitall()
    with Record() as record, mx.engine.bulk(4):
        y = x + 1
        y += x
        nd.waitall()
    block = getattr(y.chunk.block, "id", 0)
    names = [use.name for use in allocation(record, block).writes]
    assert "ImperativeBulk" not in names and len(names) == 2
