"""Sketches, histories of events, AdaGrad and folded convolutions on CUDA.

The rows of the operators' tables ask little of them: here are collisions, what does not
exist, and gradients that are not 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minimx.core.ops.registry import lookup
from minimx.core.ops.spec import Spec
from tests.core.ops import interpreter
from tests.cuda.kernels.test_every_op import on_device

RNG = np.random.default_rng(5)
REALS = ("float32", "float64")


def draw(*shape: int, low: float = -1.0) -> Any:
    return RNG.uniform(low, 1, shape)


def compared(name: str, *inputs: Any, rtol: float = 1e-5, **settings: Any) -> Any:
    """The outputs on the device, after they were compared with the CPU's."""
    op = lookup(name).of(**settings)
    plan = op.plan(tuple(Spec.of(a.shape, a.dtype) for a in inputs)).on_cuda
    assert plan.native
    copied = [a.copy() for a in inputs]
    mine, changed = on_device(op, plan, list(inputs))
    its = interpreter.run(op, *copied)
    for here, there in zip((*mine, *changed), (*its, *copied), strict=True):
        np.testing.assert_allclose(here, there, rtol=rtol, atol=rtol)
    return mine


@pytest.mark.parametrize("dtype", REALS)
def test_columns_of_a_sketch_meet_at_one_place(dtype: str) -> None:
    h, s = RNG.integers(0, 4, (1, 20)), RNG.choice([-1.0, 1.0], (1, 20))
    x = draw(2, 3, 20).astype(dtype)
    compared("_contrib_count_sketch", x, h, s.astype(dtype), out_dim=5)


def test_a_column_that_is_sent_nowhere_is_left_out() -> None:
    op = lookup("_contrib_count_sketch").of(out_dim=2)
    x, s = np.array([[1.0, 2.0, 4.0]], np.float32), np.ones((1, 3), np.float32)
    h = np.array([[0.0, 7.0, -1.0]], np.float32)
    plan = op.plan(tuple(Spec.of(a.shape, a.dtype) for a in (x, h, s))).on_cuda
    np.testing.assert_array_equal(on_device(op, plan, [x, h, s])[0][0], [[1, 4]])


def history(dtype: str) -> list[Any]:
    samples, kinds, events = 3, 2, 5
    reals = [
        draw(samples, kinds, low=0.1), draw(kinds, low=0.1), draw(kinds, low=0.1),
        draw(samples, kinds, low=0.1), draw(samples, events, low=0.0),
    ]  # fmt: skip
    marks = RNG.integers(0, kinds, (samples, events))
    rest = [marks.astype(np.int32), np.array([5, 0, 3]), np.full(samples, 6.0)]
    return [a.astype(dtype) for a in reals] + [*rest[:2], rest[2].astype(dtype)]


@pytest.mark.parametrize("dtype", REALS)
def test_events_and_their_gradients(dtype: str) -> None:
    inputs = history(dtype)
    compared("_contrib_hawkesll", *inputs)
    compared("_contrib_backward_hawkesll", *inputs, np.array([1, -2, 3], dtype))


def test_an_event_of_no_known_kind_lets_time_pass() -> None:
    inputs = history("float64")
    without = [a.copy() for a in inputs]
    inputs[5][0, 1], without[4][0, 2] = 9, inputs[4][0, 1] + inputs[4][0, 2]
    without[4][0] = np.append(np.delete(without[4][0], 1), 0)
    without[5][0] = np.append(np.delete(without[5][0], 1), 0)
    without[6][0] = 4
    op = lookup("_contrib_hawkesll").of()
    plan = op.plan(tuple(Spec.of(a.shape, a.dtype) for a in inputs)).on_cuda
    found, expected = on_device(op, plan, inputs)[0], interpreter.run(op, *without)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-12)


@pytest.mark.parametrize("clip", [-1.0, 0.3])
def test_a_step_length_for_each_row_or_element(clip: float) -> None:
    weight, grad = (draw(4, 3, 2).astype(np.float32) for _ in range(2))
    settings = {"lr": 0.1, "rescale_grad": 2.0, "clip_gradient": clip}
    rows = draw(4, 1, low=0.1).astype(np.float32)
    compared("_contrib_group_adagrad_update", weight, grad, rows, **settings)
    own = draw(4, 3, 2, low=0.1).astype(np.float32)
    compared("_sparse_adagrad_update", weight, grad, own, **settings)


@pytest.mark.parametrize("pixels", [6, 1])
@pytest.mark.parametrize("biased", [True, False])
def test_a_normalization_is_folded_into_the_smaller_array(
    pixels: int, biased: bool
) -> None:
    data, weight = draw(1, 3, pixels, pixels), draw(4, 3, 1, 1)
    norm = [draw(4) for _ in range(3)] + [draw(4, low=0.1)]
    inputs = [data, weight, *([draw(4)] if biased else []), *norm]
    settings = {"kernel": (1, 1), "num_filter": 4, "cudnn_tune": "off"}
    more = {"act_type": "relu", "fix_gamma": not biased, "no_bias": not biased}
    compared("_sg_minimx_conv", *inputs, rtol=1e-10, **settings, **more)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32"])
def test_elements_that_are_not_0_are_counted(dtype: str) -> None:
    x = np.array([[0, 1, -2], [0, 0, 0], [3, 4, 5]], dtype)
    assert compared("_contrib_getnnz", x)[0].tolist() == [5]
    assert compared("_contrib_getnnz", x, axis=1)[0].tolist() == [2, 0, 3]


def test_rows_named_twice_or_from_behind_are_kept() -> None:
    x = draw(4, 2, 3)
    found = compared("_sparse_retain", x, np.array([1, -1, 1]))[0]
    np.testing.assert_array_equal(found != 0, (x != 0) & [[[0]], [[1]], [[0]], [[1]]])
