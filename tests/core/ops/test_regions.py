"""Means over regions of images are of the pixels they look at, and of no others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx import nd
from minimx.core import autograd
from minimx.core.errors import OperatorError, ShapeError
from minimx.core.ops.registry import lookup
from minimx.core.ops.spec import Spec

UPRIGHT, TURNED = [0, 1, 1, 5, 5], [0, 3, 3, 2, 2, 0]


@pytest.mark.parametrize(
    ("name", "region"), [("_contrib_ROIAlign", UPRIGHT), ("_contrib_RROIAlign", TURNED)]
)
def test_neither_other_pixels_nor_what_was_in_the_memory_count(
    name: str, region: Any
) -> None:
    data, rois = np.ones((1, 1, 6, 6), np.float32), np.array([region], np.float32)
    data[0, 0, 0, 0] = np.nan
    out = np.full((1, 1, 2, 2), np.nan, np.float32)
    op = lookup(name).of(pooled_size=(2, 2), spatial_scale=1.0)
    specs = tuple(Spec.of(x.shape, x.dtype) for x in (data, rois))
    op.plan(specs).kernel(data, rois, out)
    assert (out == 1).all()


# -- cells that are moved --------------------------------------------------------------

SETTINGS: dict[str, Any] = {
    "spatial_scale": 1,
    "output_dim": 2,
    "group_size": 2,
    "pooled_size": 2,
}
POOLING: Any = nd.contrib.DeformablePSROIPooling


def asked(moves: Any, **settings: Any) -> Any:
    data = nd.ones((1, 8, 6, 6))
    rois = nd.array([[0, 1, 1, 4, 4]])
    return POOLING(data, rois, *moves, **SETTINGS, **settings)


def test_a_move_of_one_side_is_the_neighbouring_region() -> None:
    data = nd.random.uniform(shape=(1, 8, 9, 9))
    settings = {**SETTINGS, "sample_per_part": 3}
    here, right_of_it = nd.array([[0, 1, 2, 3, 4]]), nd.array([[0, 4, 2, 6, 4]])
    wanted = POOLING(data, right_of_it, no_trans=True, **settings).asnumpy()
    right = nd.array([[[[1, 1], [1, 1]], [[0, 0], [0, 0]]]])
    found = POOLING(data, here, right * 2, trans_std=0.5, **settings).asnumpy()
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


@pytest.mark.parametrize("move", [100.0, -100.0, np.nan, np.inf])
def test_a_cell_that_is_moved_out_of_the_image_is_0(move: float) -> None:
    moves = nd.zeros((1, 2, 2, 2))
    moves[0, 1, 0, 1] = move
    moves.attach_grad()
    with autograd.record():
        found = asked([moves], trans_std=1.0)
    found.backward()
    assert found.asnumpy().tolist() == [[[[1, 0], [1, 1]]] * 2]
    assert not moves.grad.asnumpy()[0, :, 0, 1].any()


def test_without_moves_images_get_the_same_gradient() -> None:
    data, rois = nd.random.uniform(shape=(1, 8, 6, 6)), nd.array([[0, 1, 1, 4, 4]])
    found = []
    for moves in ([], [nd.zeros((1, 4, 2, 2))]):
        data.attach_grad()
        with autograd.record():
            out = POOLING(data, rois, *moves, no_trans=not moves, **SETTINGS)
        out.backward()
        found.append((out.asnumpy(), data.grad.asnumpy()))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_array_equal(found[0][1], found[1][1])
    assert found[0][1].sum() == pytest.approx(8)


def test_moved_cells_are_refused_that_cannot_be() -> None:
    with pytest.raises(ShapeError, match=r"trans is \(1, 2, 3, 3\).*\(1, 2, 2, 2\)"):
        asked([nd.zeros((1, 2, 3, 3))])
    with pytest.raises(ShapeError, match="has 3 classes"):
        asked([nd.zeros((1, 6, 2, 2))])
    with pytest.raises(OperatorError, match="sample_per_part=0 count"):
        asked([nd.zeros((1, 2, 2, 2))], sample_per_part=0)
    with pytest.raises(OperatorError, match="the input trans is missing"):
        asked([])
    with pytest.raises(ShapeError, match=r"data is \(1, 7, 6, 6\).*\(1, 8, 6, 6\)"):
        POOLING(nd.ones((1, 7, 6, 6)), nd.ones((1, 5)), no_trans=True, **SETTINGS)


def test_symbols_of_moved_cells_have_the_names_of_mxnet() -> None:
    found = mx.sym.contrib.DeformablePSROIPooling(
        mx.sym.var("x"), mx.sym.var("r"), no_trans=True, name="p", **SETTINGS
    )
    assert found.list_arguments() == ["x", "r"]
    assert found.list_outputs() == ["p_output"]
    assert found.infer_shape(x=(1, 8, 6, 6), r=(3, 5))[1] == [(3, 2, 2, 2)]
