"""Ways to make a batch of samples."""

from __future__ import annotations

import numpy as np
import pytest

from minimx import nd
from minimx.core.device import cpu_shared
from minimx.core.errors import ArgumentError, ShapeError
from minimx.gluon.data.batchify import (
    Append,
    AsList,
    Group,
    List,
    Pad,
    Stack,
    Tuple,
    default_batchify_fn,
    default_mp_batchify_fn,
)


def test_arrays_are_stacked() -> None:
    found = default_batchify_fn([nd.array([1, 2]), nd.array([3, 4])])
    assert found.asnumpy().tolist() == [[1, 2], [3, 4]]


def test_numbers_keep_their_dtype() -> None:
    assert default_batchify_fn([1, 2]).dtype is np.int64
    assert default_batchify_fn([1.0, 2.0]).dtype is np.float64
    assert default_batchify_fn([np.int32(1), np.int32(2)]).dtype is np.int32


def test_tuples_become_a_list_of_stacks() -> None:
    found = default_batchify_fn([(nd.ones((2,)), 1), (nd.ones((2,)), 2)])
    assert isinstance(found, list)
    assert found[0].shape == (2, 2)
    assert found[1].asnumpy().tolist() == [1, 2]


def test_samples_of_different_shapes_are_explained() -> None:
    with pytest.raises(ShapeError, match=r"different shapes.*batchify\.Pad"):
        Stack()([np.ones(2), np.ones(3)])


def test_padding() -> None:
    found = Pad(val=-1)([nd.array([1, 2, 3]), nd.array([4])])
    assert found.asnumpy().tolist() == [[1, 2, 3], [4, -1, -1]]
    assert Pad(dtype="int32")([[1.5], [2.5, 3.5]]).dtype is np.int32
    square = Pad()([np.ones((1, 2)), np.ones((2, 1))])
    assert square.asnumpy().tolist() == [[[1, 1], [0, 0]], [[1, 0], [1, 0]]]
    with pytest.raises(ShapeError, match="numbers of axes"):
        Pad()([np.ones(2), np.ones((2, 2))])


def test_a_function_for_each_part() -> None:
    first, second = Group(Pad(), Stack())([([1, 2], 5), ([3], 6)])
    assert first.shape == (2, 2)
    assert second.asnumpy().tolist() == [5, 6]
    assert len(Group([Stack()])([(1,), (2,)])) == 1
    with pytest.raises(ArgumentError, match="2 functions, but a sample has 1 parts"):
        Group(Pad(), Stack())([([1],)])
    with pytest.raises(ArgumentError, match="takes functions"):
        Group(Pad(), 3)  # type: ignore[arg-type]


def test_lengths_may_be_rounded_up() -> None:
    assert Pad(round_to=4)([np.ones(3), np.ones(5)]).shape == (2, 8)
    with pytest.raises(ArgumentError, match="round_to=0"):
        Pad(round_to=0)


def test_samples_may_stay_apart() -> None:
    samples = [np.ones((2, 3), np.float32), nd.zeros((1, 3))]
    assert AsList()(samples) == samples
    assert [x.shape for x in Append()(samples)] == [(1, 2, 3), (1, 1, 3)]
    last = Append(batch_axis=2)(samples)
    assert [x.shape for x in last] == [(2, 3, 1), (1, 3, 1)]
    assert [x.shape for x in Append(expand=False)(samples)] == [(2, 3), (1, 3)]
    assert (List, Tuple) == (AsList, Group)


def test_batches_in_memory_that_processes_share() -> None:
    samples = [nd.ones((2,)), nd.ones((2,))]
    for stack in (
        Stack(use_shared_mem=True),
        Pad(use_shared_mem=True),
        default_mp_batchify_fn,
    ):
        batch = stack(samples)
        assert (batch.context, batch.shape) == (cpu_shared(0), (2, 2))
        assert (batch.asnumpy() == 1).all()
    for one in Append(use_shared_mem=True)(samples):
        assert one.context is cpu_shared(0)
    rows, numbers = default_mp_batchify_fn([(nd.ones((2,)), 3), (nd.ones((2,)), 4)])
    assert rows.context is numbers.context is cpu_shared(0)
    assert numbers.asnumpy().tolist() == [3, 4]
    with pytest.raises(ShapeError, match="different shapes|stack"):
        default_mp_batchify_fn([nd.ones((2,)), nd.ones((3,))])
