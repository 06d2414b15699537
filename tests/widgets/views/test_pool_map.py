"""The pool map says the same in a line, a table, a picture and the browser."""

from __future__ import annotations

import random
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from minimx.core.device import gpu
from minimx.core.errors import ArgumentError, KnobError
from minimx.core.events import Owner
from minimx.core.knobs import knobs
from minimx.core.record import Record
from minimx.core.replay import History, replay_pool
from minimx.core.storage import pool_for
from minimx_widgets import PoolMap
from minimx_widgets.course.pooling import MIB, fresh_gpu, lengths, run
from minimx_widgets.pictures.pool_scene import holes, regions_at, size_classes
from tests import pace
from tests.widgets.conftest import at_times

pytestmark = pytest.mark.usefixtures("knobs_at_rest")

SIZE = "MINIMX_SIM_GPU_MEMORY"
TYPE = "MXNET_GPU_MEM_POOL_TYPE"


@pytest.fixture(scope="module")
def batches() -> Record:
    """The 200 batches of the syllabus."""
    with fresh_gpu():
        return run(lengths())


@pytest.fixture
def view(batches: Record) -> Iterator[PoolMap]:
    made = PoolMap(batches)
    yield made
    made.close()


def test_one_line_tells_the_key_numbers(view: PoolMap) -> None:
    assert repr(view) == (
        "PoolMap(gpu(0) Naive, reserved=346 MiB, calls=184, hits=1416, flushes=0)"
    )
    view.ghost = "Round"
    view.what_if(capacity="200MiB", reserve=0)
    assert repr(view) == (
        "PoolMap(gpu(0) Naive, reserved=200 MiB, calls=488, hits=1112, flushes=6, "
        "Round: 120 MiB/32)"
    )
    assert len(repr(view)) < 110


def test_it_shows_the_replay_and_turns_no_knob(view: PoolMap) -> None:
    before = knobs.snapshot()
    view.what_if(type="Round", cutoff=20, page=8192)
    names = {TYPE: "Round", "MXNET_GPU_MEM_POOL_ROUND_LINEAR_CUTOFF": 20}
    names["MXNET_GPU_MEM_POOL_PAGE_SIZE"] = 8192
    truth = replay_pool(view.record, gpu(), knobs=names).history
    assert np.array_equal(view.shown().history.address, truth.address)
    assert view.tried == {"type": "Round", "cutoff": "20", "page": "8KiB"}
    assert knobs.snapshot() == before
    code = view.code()
    assert f'{TYPE}="Round"' in code and "CUTOFF=20" in code
    view.what_if(type=None, cutoff=None, page=None)
    recorded = History.recorded(view.record, "gpu(0)")
    assert np.array_equal(view.shown().history.address, recorded.address)


def test_what_cannot_be_tried_says_why_and_changes_nothing(view: PoolMap) -> None:
    view.what_if(type="Round")
    before = repr(view)
    with pytest.raises(KnobError, match="power of two"):
        view.what_if(page=5000)
    with pytest.raises(KnobError, match="Did you mean Naive"):
        view.what_if(type="Naiv")
    with pytest.raises(ArgumentError, match="Did you mean cutoff"):
        view.what_if(cut_off=3)
    with pytest.raises(ArgumentError, match="Did you mean Round"):
        view.ghost = "Roun"
    with pytest.raises(ArgumentError, match="has no pool"):
        PoolMap(view.record, device="tpu(0)")
    assert repr(view) == before


def test_the_moment_is_that_of_the_highest_reserve_or_the_chosen(
    view: PoolMap,
) -> None:
    shown = view.shown()
    most = shown.history.reserved[view.moment(shown)]
    assert most == shown.history.peak_reserved == 346.5 * MIB
    assert sum(one.size for one in view.regions(shown)) == most
    view.at = 7
    classes = size_classes(view.regions(view.shown()))
    assert [(one.size, one.in_use, one.waste) for one in classes] == [
        (4 * MIB, 8, 8 * (4 * MIB - (59 << 16)))
    ]
    view.at = 15
    classes = size_classes(view.regions(view.shown()))
    assert (classes[0].in_use, classes[0].cached, classes[0].stranded) == (0, 8, 0)


def test_blocks_of_a_size_that_is_not_asked_for_again_are_stranded() -> None:
    owner = Owner("op", "", "forward", "activation")
    with fresh_gpu("64MiB"), Record() as record:
        pool = pool_for(gpu())
        for size in (5000, 100_000, 5000, 100_000):
            pool.alloc(size, owner).free()
        pool.alloc(3 * MIB, owner).free()
    history = History.recorded(record, "gpu(0)")
    states = {one.size: one.state for one in regions_at(history, len(history) - 1)}
    assert set(states.values()) == {"stranded"}
    going_on = regions_at(history, len(history) - 1, ended=False)
    assert {one.state for one in going_on} == {"cached"}
    early = {one.size: one.state for one in regions_at(history, 3)}
    assert early == {8192: "cached", 102_400: "cached"}
    assert holes(regions_at(history, 0), 64 * MIB) == [(8192, 64 * MIB - 8192)]


def test_the_table_has_classes_device_and_both_pools(view: PoolMap) -> None:
    view.ghost = "Round"
    lines = [" ".join(line.split()) for line in repr(view.table()).splitlines()]
    assert "8 MiB 0 0 8 0 B 64 MiB" in lines
    assert "832 KiB 8 0 0 0 B 6.50 MiB" in lines
    assert "largest hole 166 MiB" in lines
    assert "Naive 346 MiB 184 1416 (88 %) 0 0" in lines
    assert "ghost: Round 120 MiB 32 1568 (98 %) 0 0" in lines


@pytest.mark.parametrize("dark", [False, True])
def test_the_picture_is_well_formed_and_complete(view: PoolMap, dark: bool) -> None:
    view.ghost = "Round"
    picture = view.svg(dark=dark)
    words = set(ET.fromstring(picture).itertext())
    assert {"Addresses", "driver calls", "flushes", "stranded"} <= words
    assert "23 size classes, 12 shown" in words
    assert "ghost: Round, 120 MiB, 32 calls" in words
    assert "free 166 MiB, largest hole 166 MiB" in words
    assert picture == view.svg(dark=dark)


def test_an_empty_record_says_so() -> None:
    view = PoolMap(Record())
    assert "no pool events" in view.svg()
    assert repr(view).startswith("PoolMap(gpu(0) Naive, reserved=0 B, calls=0")
    assert "In all" in repr(view.table())


def test_a_record_of_the_host_is_replayed(record: Record) -> None:
    view = PoolMap(record)
    assert view.shown_device == "cpu(0)"
    assert "capacity" not in view.controls.values()
    assert repr(view).startswith(
        "PoolMap(cpu(0) Naive, reserved=8 KiB, calls=2, hits=1"
    )
    owner = Owner("late", "", "forward", "activation")
    with at_times(record, range(200, 300, 10)):
        record.memory("alloc", "gpu(0)", 99, 8, 4096, 0, owner)
    assert view.shown_device == "gpu(0)", "the one with an address space"


def test_the_frame_has_everything_that_is_drawn(view: PoolMap) -> None:
    view.ghost = "Unpooled"
    view.freeze()
    header, buffers = view.frozen
    assert header["pool"] == "Naive" and header["ghost"] == "Unpooled"
    assert header["values"][SIZE] == "512MiB"
    assert header["values"]["MXNET_GPU_MEM_LARGE_ALLOC_ROUND_SIZE"] == "2MiB"
    columns = [name for name, _ in header["tables"]["shown"]]
    events = np.frombuffer(buffers[columns.index("event")], "u1")
    assert np.array_equal(events, view.shown().history.event)
    ops = np.frombuffer(buffers[columns.index("op")], "<u4")
    assert ops.max() > 0


def test_the_browser_asks_and_is_answered(view: PoolMap) -> None:
    said: list[dict[str, Any]] = []
    view.tell = said.append  # type: ignore[assignment,method-assign]
    knob = "MXNET_GPU_MEM_POOL_ROUND_LINEAR_CUTOFF"
    wishes = [
        {"kind": "set", "name": TYPE, "text": "Naive"},
        {"kind": "set", "name": TYPE, "text": "Round"},
        {"kind": "set", "name": knob, "text": "99"},
        {"kind": "ghost", "name": "recorded"},
    ]
    view._wishes = [*wishes]
    view._grant()
    assert (view.pool, view.ghost) == ("Round", "recorded")
    assert [message["ok"] for message in said] == [True, False, True]
    assert "20 to 34" in str(said[1]["text"])
    view._wishes = [{"kind": "reset"}]
    view._grant()
    assert view.pool == "Naive"
    view._wishes = [{"kind": "device", "name": "cpu(0)"}]
    view._grant()
    assert view.declared[0]["name"] == "MXNET_CPU_MEM_POOL_TYPE"


@pytest.mark.alone
def test_ten_thousand_events_are_redrawn_within_a_tenth_of_a_second() -> None:
    """A knob of the view: two replays and a frame for the browser."""
    owner = Owner("op", "", "forward", "activation")
    chance, live = random.Random(1), []
    with fresh_gpu("512MiB"), Record() as record:
        pool = pool_for(gpu())
        for _ in range(5000):
            live.append(pool.alloc(chance.randrange(1, 4 * MIB), owner))
            if len(live) > 40:
                live.pop(chance.randrange(40)).free()
        for block in live:
            block.free()
    assert len(record.mem()) >= 10_000
    view = PoolMap(record, ghost="Round")
    reserves = iter(range(20))

    def redrawn() -> None:
        reserve = next(reserves)
        view.what_if(reserve=reserve, cutoff=20 + reserve % 10)
        view._frames([], 0, 0)

    took = pace.typical(redrawn, 20)
    print(f"\n10,000 events under other knobs: {1e3 * took:.0f} ms")
    assert took < 0.1
    view.close()


def test_bytes_are_tried_with_and_without_a_unit(view: PoolMap) -> None:
    view.what_if(large="4MiB", page="8 KiB")
    assert view.tried == {"large": "4MiB", "page": "8KiB"}
    view.what_if(page=None)
    view.what_if(large="1048576")
    assert view.tried == {"large": "1MiB"}
    control = next(c for c in view.declared if c["name"].endswith("ROUND_SIZE"))
    assert control["type"] == "size"
