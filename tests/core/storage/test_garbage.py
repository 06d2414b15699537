"""A collection is over when the call returns, also while another thread collects."""

from __future__ import annotations

import gc
import threading
import time
import weakref
from collections.abc import Callable, Iterator

import pytest

from minimx import nd
from minimx.core.device import gpu
from minimx.core.knobs import knobs
from minimx.core.storage import garbage


class Node:
    """An object in a cycle, so that only the garbage collector finds it."""

    def __init__(self, finish: Callable[[], object] = lambda: None) -> None:
        self.me = self
        self.finish = finish

    def __del__(self) -> None:
        self.finish()


@pytest.fixture
def collecting() -> Iterator[threading.Event]:
    """Another thread is in the middle of a collection until the event is set."""
    inside, free = threading.Event(), threading.Event()

    def finish() -> None:
        inside.set()
        free.wait(30)

    Node(finish)
    other = threading.Thread(target=gc.collect)
    other.start()
    assert inside.wait(30)
    yield free
    free.set()
    other.join()


def test_a_collection_of_another_thread_is_waited_for(
    collecting: threading.Event,
) -> None:
    gone = weakref.ref(Node())
    assert gc.collect() == 0 and gone() is not None, "Python's own does nothing"
    threading.Timer(0.1, collecting.set).start()
    garbage.collect()
    assert gone() is None


def test_it_gives_up_where_the_other_collection_does_not_end(
    collecting: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(garbage, "PATIENCE", 0.05)
    callbacks = list(gc.callbacks)
    began = time.monotonic()
    garbage.collect()
    assert 0.05 <= time.monotonic() - began < 5
    assert gc.callbacks == callbacks


def test_gpus_can_be_taken_away_while_another_thread_collects(
    collecting: threading.Event,
) -> None:
    with knobs(MINIMX_SIM_GPUS=2):
        cycle = [nd.ones(4, ctx=gpu(1))]
        cycle.append(cycle)  # type: ignore[arg-type]
        del cycle
        threading.Timer(0.1, collecting.set).start()
        knobs.set(MINIMX_SIM_GPUS=1)
