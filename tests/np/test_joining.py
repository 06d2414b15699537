"""Joining, cutting, framing, inserting and moving give what NumPy gives."""

from __future__ import annotations

from typing import Any

import numpy as onp
import pytest

from minimx import np
from minimx.core import autograd
from minimx.core.errors import MXNetError, ShapeError

CUBE = onp.arange(24, dtype="float32").reshape(2, 3, 4)
ROW = onp.arange(6, dtype="float32")


SAME: list[tuple[str, Any, tuple[Any, ...], dict[str, Any]]] = [
    ("tile", CUBE, ((2, 1),), {}),
    ("repeat", CUBE, (2,), {}),
    ("repeat", CUBE, ([1, 0, 2],), {"axis": 1}),
    ("resize", ROW, ((4, 4),), {}),
    ("resize", ROW, ((2, 0),), {}),
    ("pad", CUBE, (((1, 0), (0, 2), (1, 1)),), {}),
    ("pad", ROW, ((2, 3),), {"mode": "constant", "constant_values": 7}),
    ("pad", CUBE, (((1, 1), (2, 2), (0, 1)),), {"mode": "reflect"}),
    ("pad", CUBE, (((1, 1), (2, 2), (0, 1)),), {"mode": "maximum"}),
    ("pad", CUBE, (((1, 0), (0, 2), (3, 1)),), {"mode": "minimum"}),
    ("insert", ROW, (2, 9.0), {}),
    ("insert", ROW, ([1, 4], [7.0, 8.0]), {}),
    ("insert", CUBE, (1, 5.0), {"axis": 2}),
    ("insert", CUBE, (slice(0, 2), 5.0), {"axis": 1}),
    ("insert", CUBE, ([-1], onp.ones((2, 2, 4), "float32")), {"axis": 1}),
    ("delete", ROW, (2,), {}),
    ("delete", CUBE, (slice(0, 3, 2),), {"axis": 1}),
    ("delete", CUBE, (-1,), {"axis": 2}),
    ("moveaxis", CUBE, ((0, 1), (-1, 0)), {}),
    ("rollaxis", CUBE, (2,), {}),
    ("rollaxis", CUBE, (0, 3), {}),
    ("roll", CUBE, ((1, -1), (0, 2)), {}),
    ("rot90", CUBE, (3, (1, 2)), {}),
    ("flip", CUBE, (), {}),
    ("flip", CUBE, ((0, 2),), {}),
    ("flipud", CUBE, (), {}),
    ("fliplr", CUBE, (), {}),
    ("diag", ROW, (-1,), {}),
    ("diag", CUBE[0], (1,), {}),
    ("diag", CUBE[0], (9,), {}),
    ("diagflat", CUBE[0, :2, :2], (), {}),
    ("diagonal", CUBE, (1, 1, 2), {}),
    ("trace", CUBE, (0, 1, 2), {}),
]


@pytest.mark.parametrize(("name", "x", "args", "kwargs"), SAME)
def test_one_array(name: str, x: Any, args: Any, kwargs: Any) -> None:
    expected = getattr(onp, name)(x, *args, **kwargs)
    ours = [np.array(a) if isinstance(a, onp.ndarray) else a for a in args]
    found = getattr(np, name)(np.array(x), *ours, **kwargs)
    assert found.shape == expected.shape
    assert found.dtype == onp.float32
    onp.testing.assert_array_equal(found.asnumpy(), expected)


@pytest.mark.parametrize(
    ("name", "kwargs"),
    [
        ("concatenate", {"axis": -1}),
        ("concatenate", {"axis": None}),
        ("stack", {"axis": 1}),
        ("vstack", {}),
        ("hstack", {}),
        ("dstack", {}),
        ("column_stack", {}),
    ],
)
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 3, 2), (0, 3)])
def test_several_arrays(name: str, kwargs: Any, shape: Any) -> None:
    a = onp.full(shape, 2, "float32")
    try:
        expected = getattr(onp, name)([a, a + 1], **kwargs)
    except ValueError:
        with pytest.raises(ValueError):
            getattr(np, name)([np.array(a), np.array(a + 1)], **kwargs)
        return
    found = getattr(np, name)([np.array(a), np.array(a + 1)], **kwargs)
    assert found.shape == expected.shape
    onp.testing.assert_array_equal(found.asnumpy(), expected)


@pytest.mark.parametrize("where", [3, (1, 2), (2, 9), (4, 2), [0, 0, 6]])
def test_pieces(where: Any) -> None:
    expected = onp.array_split(ROW, where)
    for name in ("split", "array_split", "hsplit"):
        found = getattr(np, name)(np.array(ROW), where)
        assert [x.shape for x in found] == [x.shape for x in expected]
        for mine, its in zip(found, expected, strict=True):
            onp.testing.assert_array_equal(mine.asnumpy(), its)


def test_pieces_of_nearly_one_length() -> None:
    found = np.array_split(np.array(ROW), 4)
    assert [x.size for x in found] == [2, 2, 1, 1]
    with pytest.raises(ValueError, match="array_split"):
        np.split(np.array(ROW), 4)


def test_types_meet_and_out_is_written() -> None:
    a, b = np.ones((2,)), np.ones((2,), dtype="float64")
    assert np.concatenate([a, b]).dtype == onp.float64
    out = np.zeros((4,))
    assert np.concatenate([a, a], out=out) is out
    assert out.sum() == 4


def test_gradients_flow_through_insert_and_delete() -> None:
    a, values = np.array(ROW), np.array([1.0, 2.0])
    a.attach_grad()
    values.attach_grad()
    with autograd.record():
        y = np.delete(np.insert(a, [1, 3], values), 0)
        loss = (y * np.arange(7)).sum()
    loss.backward()
    assert a.grad.tolist() == [0, 1, 2, 4, 5, 6]
    assert values.grad.tolist() == [0, 3]


def test_gradient_through_maximum_padding() -> None:
    a = np.array([1.0, 5.0, 2.0])
    a.attach_grad()
    with autograd.record():
        np.pad(a, (2, 1), mode="maximum").sum().backward()
    assert a.grad.tolist() == [1, 4, 1]


def test_places_that_do_not_exist() -> None:
    with pytest.raises(MXNetError, match="out of bounds"):
        np.insert(np.array(ROW), 99, 1.0)
    with pytest.raises(MXNetError, match="out of bounds"):
        np.delete(np.array(ROW), 99)
    # As in MXNet: in an array of places they are passed over.
    assert np.delete(np.array(ROW), np.array([0, 99])).size == 5
    with pytest.raises(ShapeError, match="may differ"):
        np.concatenate([np.ones((2, 3)), np.ones((3, 2))])
    with pytest.raises(TypeError, match="pad_width"):
        np.pad(np.ones((2,)), "two")


def test_indices_of_diagonals_and_triangles() -> None:
    x = np.zeros((3, 3))
    x[np.diag_indices_from(x)] = 1
    assert x.sum() == 3
    rows, columns = np.tril_indices_from(x, -1)
    assert (rows.tolist(), columns.tolist()) == ([1, 2, 2], [0, 0, 1])
    assert np.triu_indices(3, 1)[0].tolist() == [0, 0, 1]


def test_arrays_stretch_together() -> None:
    found = np.broadcast_arrays(np.ones((2, 1)), np.ones((3,)), np.ones(()))
    assert [x.shape for x in found] == [(2, 3)] * 3
    with pytest.raises(ShapeError, match="do not stretch"):
        np.broadcast_arrays(np.ones((2,)), np.ones((3,)))


@pytest.mark.parametrize(
    "name", ["concatenate", "stack", "vstack", "hstack", "dstack", "column_stack"]
)
def test_numpy_arrays_are_joined_like_ours(name: str) -> None:
    ours, theirs = np.array(ROW), ROW + 1
    expected = getattr(onp, name)([ROW, theirs, ROW])
    for several in ([ours, theirs, ROW], [ROW, theirs, ROW], [ours, list(theirs), ROW]):
        found = getattr(np, name)(several)
        assert isinstance(found, np.ndarray)
        assert found.dtype == onp.float32
        onp.testing.assert_array_equal(found.asnumpy(), expected)


@pytest.mark.parametrize("name", ["stack", "vstack", "hstack", "dstack"])
def test_numbers_are_joined_as_arrays_without_axes(name: str) -> None:
    several = [np.array(2.5), onp.float64(0.5), onp.int32(3), 4, True]
    found = getattr(np, name)(several)
    assert (
        found.dtype == onp.float32
    )  # as in arithmetic, a number takes the array's type
    onp.testing.assert_array_equal(
        found.asnumpy(), getattr(onp, name)([2.5, 0.5, 3, 4, 1])
    )


def test_the_type_of_joined_arrays() -> None:
    whole, half = np.array([1, 2], dtype="int32"), onp.array([0.5], "float16")
    assert np.concatenate([whole, half]).dtype == onp.float16
    assert np.append(whole, 2).dtype == onp.int32
    assert np.append(np.array([True]), 2).tolist() == [1, 2]
    assert np.stack([onp.int64(1), onp.int64(2)]).dtype == onp.int64
    assert np.concatenate(onp.ones((2, 3), "float16")).dtype == onp.float16


def test_append_to_what_is_no_array_of_ours() -> None:
    found = np.append(onp.float32(1), np.array([2.0, 3.0]))
    assert found.tolist() == [1, 2, 3]
    assert np.append([1, 2], 3).tolist() == [1, 2, 3]


def test_gradients_flow_to_ours_among_numpy_arrays() -> None:
    a = np.array([1.0, 2.0])
    a.attach_grad()
    with autograd.record():
        total = (np.stack([a, onp.ones(2, "float32")]) * 3).sum()
    total.backward()
    assert a.grad.tolist() == [3, 3]


def test_what_is_no_array_is_not_joined() -> None:
    with pytest.raises(TypeError, match="must be an mx"):
        np.stack([np.ones(2), "ab"])
    with pytest.raises(MXNetError, match="a list of at least one"):
        np.concatenate(3)
