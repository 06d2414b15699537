"""Batches, in this thread and from workers."""

from __future__ import annotations

import threading
import time
import traceback
from typing import Any

import numpy as np
import pytest

from minimx import nd
from minimx.core import events
from minimx.core.device import cpu, cpu_pinned, cpu_shared, gpu
from minimx.core.errors import ArgumentError, DataError
from minimx.gluon.data import (
    ArrayDataset,
    BatchSampler,
    DataLoader,
    Dataset,
    RandomSampler,
    SequentialSampler,
    SimpleDataset,
)
from minimx.gluon.data.batchify import Pad
from minimx.gluon.data.vision import transforms

IMAGES = np.random.default_rng(0).integers(0, 255, (11, 4, 4, 1)).astype(np.uint8)
LABELS = np.arange(11, dtype=np.int32)


def threads() -> list[threading.Thread]:
    return [t for t in threading.enumerate() if t.name.startswith("DataLoader")]


@pytest.mark.parametrize("num_workers", [0, 1, 3])
def test_batches_come_in_order(num_workers: int) -> None:
    data = ArrayDataset(IMAGES, LABELS)
    loader = DataLoader(data, batch_size=4, num_workers=num_workers)
    assert len(loader) == 3
    for _ in range(2):
        batches = list(loader)
        assert [x.shape for x, _ in batches] == [(4, 4, 4, 1)] * 2 + [(3, 4, 4, 1)]
        labels = np.concatenate([y.asnumpy() for _, y in batches])
        np.testing.assert_array_equal(labels, LABELS)
        images = np.concatenate([x.asnumpy() for x, _ in batches])
        np.testing.assert_array_equal(images, IMAGES)
        assert isinstance(batches[0], list)
        assert batches[0][0].dtype is np.uint8
    assert not threads()


@pytest.mark.parametrize("num_workers", [0, 2])
def test_shuffling_is_repeated_by_numpys_seed(num_workers: int) -> None:
    loader = DataLoader(ArrayDataset(LABELS), 4, shuffle=True, num_workers=num_workers)
    passes = []
    for seed in (1, 1, 2):
        np.random.seed(seed)
        passes.append([int(n) for batch in loader for n in batch.asnumpy()])
    assert passes[0] == passes[1] != passes[2]
    assert sorted(passes[0]) == list(range(11))


@pytest.mark.parametrize(("last", "sizes"), [("keep", [4, 4, 3]), ("discard", [4, 4])])
def test_the_last_batch(last: str, sizes: list[int]) -> None:
    loader = DataLoader(ArrayDataset(LABELS), 4, last_batch=last)
    assert [len(batch) for batch in loader] == sizes


def test_a_batch_sampler_decides_alone() -> None:
    order = BatchSampler(SequentialSampler(11), 5, "discard")
    loader = DataLoader(ArrayDataset(LABELS), batch_sampler=order)
    assert [batch.asnumpy().tolist() for batch in loader] == [
        [0, 1, 2, 3, 4],
        [5, 6, 7, 8, 9],
    ]


def test_a_function_makes_the_batch() -> None:
    loader = DataLoader(SimpleDataset([[1], [2, 3]]), 2, batchify_fn=Pad())
    (batch,) = loader
    assert batch.asnumpy().tolist() == [[1, 0], [2, 3]]


def test_whole_batches_and_single_samples_give_the_same() -> None:
    pairs = ArrayDataset(nd.array(IMAGES, dtype="uint8"), LABELS)
    change = transforms.Compose([transforms.ToTensor(), transforms.Normalize(0.1, 0.3)])
    data = pairs.transform_first(change)
    assert data.batch([0]) is not None
    fast = list(DataLoader(data, 4))
    slow = list(DataLoader(data, 4, batchify_fn=lambda s: _stack(s)))
    for (x, y), (p, q) in zip(fast, slow, strict=True):
        np.testing.assert_array_equal(x.asnumpy(), p.asnumpy())
        np.testing.assert_array_equal(y.asnumpy(), q.asnumpy())
        assert x.dtype is p.dtype is np.float32
        assert x.shape[1:] == (1, 4, 4)


def _stack(samples: Any) -> Any:
    from minimx.gluon.data.batchify import default_batchify_fn

    return default_batchify_fn(samples)


WORKERS: list[dict[str, Any]] = [
    {},
    {"num_workers": 2},
    {"num_workers": 2, "thread_pool": True},
]


@pytest.mark.parametrize("kwargs", WORKERS)
def test_an_error_in_a_sample_keeps_its_traceback(kwargs: Any) -> None:
    def unlucky_sample(x: Any) -> Any:
        if x == 6:
            raise ZeroDivisionError("sample 6")
        return x

    data = SimpleDataset(list(range(11))).transform(unlucky_sample)
    seen = []
    with pytest.raises(ZeroDivisionError, match="sample 6") as caught:
        for batch in DataLoader(data, 2, **kwargs):
            seen.append(batch.asnumpy().tolist())
    assert seen == [[0, 1], [2, 3], [4, 5]]
    assert "unlucky_sample" in "".join(traceback.format_exception(caught.value))
    assert not threads()


def test_leaving_early_stops_the_workers() -> None:
    data = ArrayDataset(LABELS)
    passing = iter(DataLoader(data, 2, num_workers=2, thread_pool=True))
    next(passing)
    passing.close()  # type: ignore[attr-defined]
    assert not threads()


def test_at_most_prefetch_batches_are_made_ahead() -> None:
    made: list[int] = []

    def note(x: int) -> int:
        made.append(x)
        return x

    data = SimpleDataset(list(range(20))).transform(note)
    loader = DataLoader(data, 1, num_workers=1, prefetch=3, thread_pool=True)
    passing = iter(loader)
    next(passing)
    passing.close()  # type: ignore[attr-defined]
    assert len(made) <= 4


def test_a_stuck_thread_is_reported() -> None:
    release = threading.Event()
    data = SimpleDataset([1, 2]).transform(lambda x: release.wait(60))
    loader = DataLoader(data, 1, num_workers=1, timeout=0.05, thread_pool=True)
    with pytest.raises(DataError, match=r"in 0\.05 seconds"):
        list(loader)
    release.set()
    deadline = time.monotonic() + 30
    while threads() and time.monotonic() < deadline:
        threads()[0].join(1)
    assert not threads()


class Where(Dataset):
    """Notes on whose behalf samples are made."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str]] = []

    def __len__(self) -> int:
        return 2

    def __getitem__(self, idx: Any) -> Any:
        at = events.attribution
        self.seen.append((at.phase, at.category))
        return nd.ones((2,))


@pytest.mark.parametrize("kwargs", [{}, {"num_workers": 1, "thread_pool": True}])
def test_batches_are_made_on_behalf_of_the_data(kwargs: Any) -> None:
    data = Where()
    (batch,) = DataLoader(data, 2, **kwargs)
    assert data.seen == [("data", "data")] * 2
    assert batch.chunk.owner.category == "data"
    (rows,) = DataLoader(ArrayDataset(IMAGES), 11, **kwargs)
    assert rows.chunk.owner.category == "data"
    assert events.attribution.category == "temporary"


@pytest.mark.parametrize("kwargs", WORKERS)
def test_batches_go_where_they_are_wanted(kwargs: Any) -> None:
    data = ArrayDataset(LABELS)
    (pinned,) = DataLoader(data, 11, pin_memory=True, **kwargs)
    assert pinned.context is cpu_pinned(0)
    (plain,) = DataLoader(data, 11, **kwargs)
    assert plain.context is (cpu_shared(0) if kwargs else cpu(0))
    with gpu(0):
        (moved,) = DataLoader(data, 11, **kwargs)
    assert moved.context is (cpu_shared(0) if kwargs else gpu(0))
    assert moved.asnumpy().tolist() == LABELS.tolist()
    function = DataLoader(
        data, 11, pin_memory=True, batchify_fn=lambda s: (nd.ones((2,)), 3), **kwargs
    )
    ((array, number),) = function
    assert (array.context, number) == (cpu_pinned(0), 3)


@pytest.mark.parametrize(
    ("kwargs", "words"),
    [
        ({}, "how many samples"),
        ({"batch_size": 0}, "batch_size=0"),
        ({"batch_size": 2, "num_workers": -1}, "num_workers=-1"),
        ({"batch_size": 2, "timeout": 0}, "timeout=0"),
        ({"batch_size": 2, "shuffle": True, "sampler": RandomSampler(3)}, "shuffle"),
        ({"batch_size": 2, "last_batch": "drop"}, "keep, discard, rollover"),
        ({"batch_size": 2, "batch_sampler": [[0]]}, "decides alone"),
    ],
)
def test_wishes_that_do_not_go_together(kwargs: Any, words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        DataLoader(SimpleDataset([1, 2, 3]), **kwargs)
