"""Blocks that turn knobs: they overlap in any order, and end whatever happens."""

from __future__ import annotations

import gc
import random
import threading
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from hypothesis import given
from hypothesis import strategies as st

import minimx as mx
from minimx import nd
from minimx.core.errors import KnobBusy, KnobError
from minimx.core.knobs import Knob, Knobs, KnobWarning

MEMORY = "MINIMX_SIM_GPU_MEMORY"
NAMES = "ABC"


def registry(environ: dict[str, str] | None = None) -> Knobs:
    declared = [
        Knob(name=name, type="int", default=0, meaning="", status="live")
        for name in NAMES
    ]
    return Knobs(declared, {} if environ is None else environ)


def test_the_newest_open_block_rules_and_the_base_comes_back() -> None:
    knobs = registry()
    first, second = ExitStack(), ExitStack()
    first.enter_context(knobs(A=10))
    second.enter_context(knobs(A=20))
    first.close()
    assert knobs.get("A") == 20
    second.close()
    assert knobs.get("A") == 0
    assert not knobs.is_set("A")


def test_what_is_set_inside_ends_with_the_block_that_turned_the_knob() -> None:
    knobs = registry()
    with knobs(A=1):
        with knobs(A=2):
            knobs.set(A=3, B=7)
            assert knobs.get("A") == 3
        assert knobs.get("A") == 1
    assert (knobs.get("A"), knobs.get("B")) == (0, 7)


Step = tuple[str, int, str, int]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["open", "open", "close", "set", "reset"]),
            st.integers(0, 9),
            st.sampled_from(NAMES),
            st.integers(0, 5),
        ),
        max_size=40,
    )
)
def test_any_order_of_opening_and_closing(steps: list[Step]) -> None:
    environ: dict[str, str] = {}
    knobs = registry(environ)
    blocks: list[ExitStack] = []
    model: list[dict[str, int | None]] = [{}]  # the base, and the open blocks

    def in_force(name: str) -> int | None:
        return next((one[name] for one in reversed(model) if name in one), None)

    for what, which, name, value in steps:
        if what == "open":
            other = NAMES[(NAMES.index(name) + which) % len(NAMES)]
            turned = {name: value} | {other: which}
            blocks.append(ExitStack())
            blocks[-1].enter_context(knobs(**turned))
            model.append(dict(turned))
        elif what == "close" and blocks:
            number = which % len(blocks)
            blocks.pop(number).close()
            model.pop(number + 1)
        elif what in ("set", "reset"):
            if what == "set":
                knobs.set(**{name: value})
            else:
                knobs.reset(name)
            ruling = next((one for one in reversed(model) if name in one), model[0])
            ruling[name] = value if what == "set" else None
        assert {n: knobs.get(n) for n in NAMES} == {n: in_force(n) or 0 for n in NAMES}
        texts = {n: str(in_force(n)) for n in NAMES if in_force(n) is not None}
        assert environ == texts
    for block in blocks:
        block.close()
    assert {n: knobs.get(n) for n in NAMES} == {n: model[0].get(n) or 0 for n in NAMES}


def test_many_threads_open_and_close_blocks() -> None:
    """Watchers hear one chain of values, and at the end all is as it was."""
    knobs = registry()
    knobs.set(A=7)
    chain: list[tuple[int, int]] = []
    knobs.watch("A", lambda name, new, old: chain.append((old, new)))
    start = threading.Barrier(6)
    wrong: list[int] = []

    def work(number: int) -> None:
        dice = random.Random(number)
        start.wait()
        for _ in range(60):
            mine = 100 + number
            with knobs(A=mine, B=number), knobs(A=mine + 100):
                if dice.random() < 0.5 and knobs.get("A") < 100:
                    wrong.append(knobs.get("A"))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong  # inside a block the base is never in force
    assert (knobs.get("A"), knobs.get("B")) == (7, 0)
    assert [old for old, _ in chain] == [7, *(new for _, new in chain[:-1])]
    assert chain[-1][1] == 7


def test_a_block_that_is_refused_leaves_no_trace() -> None:
    knobs = registry()

    def refuse(name: str, new: int, old: int) -> None:
        if new == 2:
            raise OSError("not two")

    knobs.watch("A", refuse)
    with knobs(A=1):
        with pytest.raises(OSError, match="not two"), knobs(A=2):
            raise AssertionError("the block ran")
        assert knobs.get("A") == 1
    assert knobs.get("A") == 0


def test_leaving_puts_everything_back_though_a_watcher_fails() -> None:
    knobs = registry()
    heard: list[tuple[str, int]] = []

    def fail(name: str, new: int, old: int) -> None:
        if new == 0:
            raise OSError("no way back")

    knobs.watch("A", fail)
    knobs.watch(["A", "B"], lambda name, new, old: heard.append((name, new)))
    with pytest.raises(OSError, match="no way back") as caught, knobs(A=1, B=1):
        heard.clear()
    assert sorted(heard) == [("A", 0), ("B", 0)]
    assert (knobs.get("A"), knobs.get("B")) == (0, 0)
    assert any("put back" in note for note in caught.value.__notes__)


def test_what_cannot_be_obeyed_at_the_end_of_a_block_is_obeyed_later() -> None:
    knobs = registry()
    later: list[str] = []

    def busy(name: str, new: int, old: int) -> None:
        if new == 0:
            raise KnobBusy("A: in use", lambda: later.append("asked"))

    knobs.watch("A", busy)
    words = "A is '0' again, but not yet obeyed"
    with pytest.warns(KnobWarning, match=words), knobs(A=1):
        assert not later
    assert later == ["asked"]
    assert knobs.get("A") == 0
    knobs.set(A=1)
    with pytest.raises(KnobBusy, match="in use"):  # but `set` is all or nothing
        knobs.set(A=0)
    assert knobs.get("A") == 1


@pytest.fixture
def simulated() -> Iterator[int]:
    """The memory of the simulated GPU; arrays of other tests are gone."""
    gc.collect()
    nd.waitall()
    yield mx.context.gpu_memory_info(0)[1]


def test_a_simulated_gpu_is_resized_when_its_arrays_are_gone(simulated: int) -> None:
    words = "again, but not yet obeyed.*arrays live"
    with pytest.warns(KnobWarning, match=words), mx.knobs(**{MEMORY: "64MiB"}):
        x = nd.ones((1000,), ctx=mx.gpu())
        x.wait_to_read()
    assert not mx.knobs.is_set(MEMORY)
    assert mx.context.gpu_memory_info(0)[1] == 64 << 20  # while they live
    y = x + 1
    assert y.sum().asscalar() == 2000
    with pytest.raises(KnobError, match="arrays live"):
        mx.knobs.set(MINIMX_SIM_GPU_MEMORY="32MiB")
    del x, y
    nd.waitall()
    assert mx.context.gpu_memory_info(0)[1] == simulated
    assert nd.ones((10,), ctx=mx.gpu()).sum().asscalar() == 10


def test_a_simulated_gpu_too_many_goes_when_its_arrays_are_gone(simulated: int) -> None:
    there = mx.context.num_gpus()
    words, more = "arrays live on gpu", there + 1
    with pytest.warns(KnobWarning, match=words), mx.knobs(MINIMX_SIM_GPUS=more):
        x = nd.ones((1000,), ctx=mx.gpu(there))
        x.wait_to_read()
    assert mx.context.num_gpus() == there
    assert (x * 2).sum().asscalar() == 2000
    del x
    nd.waitall()
    with pytest.raises(mx.MXNetError, match="does not exist"):
        nd.ones((1,), ctx=mx.gpu(there)).wait_to_read()
