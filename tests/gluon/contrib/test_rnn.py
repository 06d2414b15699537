"""Cells that MXNet tried out. Numbers were measured with MXNet 1.9.1."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx import nd
from minimx.core import autograd
from minimx.core.errors import ArgumentError
from minimx.gluon import contrib, rnn

CELLS = contrib.rnn


def filled(cell: Any) -> Any:
    """Parameters of sines, the same in any library."""
    cell.initialize()
    for parameter in cell.collect_params().values():
        numbers = np.sin(np.arange(np.prod(parameter.shape)))
        parameter.set_data(nd.array(numbers.reshape(parameter.shape)))
    return cell


def waves(*shape: int) -> Any:
    return nd.array(np.cos(np.arange(np.prod(shape))).reshape(shape))


@pytest.mark.parametrize(
    ("name", "shape", "total", "squares"),
    [
        ("Conv1DRNNCell", (2, 5), 58.314, [70.159]),
        ("Conv2DLSTMCell", (2, 4, 3), 18.042, [1.851, 95.098]),
        ("Conv2DGRUCell", (2, 4, 3), 114.206, [88.081]),
        ("Conv3DGRUCell", (1, 3, 3, 3), 713.879, [14408.05]),
    ],
)
def test_a_sequence_of_images_as_in_mxnet(
    name: str, shape: tuple[int, ...], total: float, squares: list[float]
) -> None:
    cell = filled(getattr(CELLS, name)(shape, 3, 3, 3, i2h_pad=1, activation="relu"))
    out, states = cell.unroll(3, waves(1, 3, *shape), merge_outputs=True)
    assert out.sum().asscalar() == pytest.approx(total, abs=2e-3)
    found = [(state**2).sum().asscalar() for state in states]
    assert found == pytest.approx(squares, abs=2e-2)


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_channels_are_learnt_and_gradients_flow(kind: str, dims: int) -> None:
    cell = getattr(CELLS, f"Conv{dims}D{kind}Cell")((0, *[5] * dims), 2, 3, 1)
    cell.initialize()
    cell.hybridize()
    x = nd.ones((1, 2, 4, *[5] * dims))
    x.attach_grad()
    with autograd.record():
        out, states = cell.unroll(2, x, merge_outputs=True)
    out.backward()
    assert cell.i2h_weight.shape[1] == 4
    assert out.shape == (1, 2, 2, *[3] * dims)
    assert states[0].shape == (1, 2, *[3] * dims)
    assert abs(x.grad.asnumpy()).sum() > 0


def test_what_a_convolutional_cell_refuses() -> None:
    assert repr(CELLS.Conv1DGRUCell((2, 5), 3, 3, 3)) == (
        "Conv1DGRUCell(2 -> 9, tanh, NCW)"
    )
    for make, words in (
        (lambda: CELLS.Conv1DRNNCell((2, 5), 3, 3, 2), "must be odd"),
        (lambda: CELLS.Conv2DRNNCell((2, 5), 3, 3, 3), "3 axes of NCHW"),
        (lambda: CELLS.Conv1DRNNCell((2, 5), 3, (3, 3), 3), "one number"),
        (lambda: CELLS.Conv1DRNNCell((2, 5), 3, 3, 3, conv_layout="WNC"), "NCW or"),
    ):
        with pytest.raises(ArgumentError, match=words):
            make()


@pytest.mark.parametrize("layout", ["TNC", "NTC"])
@pytest.mark.parametrize("valid", [None, [1, 3]])
def test_a_loop_in_a_graph_does_what_unroll_does(layout: str, valid: Any) -> None:
    cell = filled(rnn.LSTMCell(4, input_size=3))
    x = waves(3, 2, 3) if layout == "TNC" else waves(2, 3, 3)
    begin = [waves(2, 4), waves(2, 4)]
    length = None if valid is None else nd.array(valid)
    expected, last = cell.unroll(
        3, x, begin, layout=layout, merge_outputs=True, valid_length=length
    )
    out, states = CELLS.dynamic_unroll(
        cell, x, begin, layout=layout, valid_length=length
    )
    for one, other in zip([out, *states], [expected, *last], strict=True):
        np.testing.assert_allclose(one.asnumpy(), other.asnumpy(), rtol=1e-5)
    with pytest.raises(ArgumentError, match="choose TNC or NTC"):
        CELLS.dynamic_unroll(cell, x, begin, layout="NCT")


def test_a_loop_drops_the_same_numbers_at_every_step() -> None:
    mx.random.seed(1)
    cell = filled(rnn.RNNCell(50, input_size=3))
    with autograd.record():
        out, _ = CELLS.dynamic_unroll(cell, waves(4, 2, 3), [waves(2, 50)], 0, 0.5)
    gone = out.asnumpy() == 0
    assert 20 < gone[0].sum() < 80
    assert (gone == gone[0]).all()


def test_the_sampler_of_contrib() -> None:
    assert list(contrib.data.IntervalSampler(4, 2)) == [0, 2, 1, 3]
