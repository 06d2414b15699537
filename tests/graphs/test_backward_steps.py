"""What a monitor is told of a backward pass; tests/compat asks MXNet the same."""

from __future__ import annotations

from typing import Any

import pytest

import minimx as mx
from minimx.graphs.backward_steps import Step, backward_steps

sym = mx.sym
a, b = sym.var("a"), sym.var("b")


def steps(symbol: Any, *wanted: str) -> list[Step]:
    graph = symbol.graph
    asked = [node for node in graph.arguments if not wanted or node.name in wanted]
    return backward_steps(graph, asked)


def names(symbol: Any, *wanted: str) -> list[str]:
    return [name for step in steps(symbol, *wanted) for name in step.names]


def test_it_goes_depth_first_from_the_gradients_that_are_asked_for() -> None:
    left = sym.FullyConnected(a, num_hidden=2, name="left")
    right = sym.tanh(b, name="right")
    both = sym.SoftmaxOutput(sym.concat(left, right, name="cat"), name="out")
    assert names(both) == [
        "out_backward_output0", "out_backward_output1", "cat_backward_output0",
        "cat_backward_output1", "left_backward_output0", "left_backward_output1",
        "left_backward_output2", "right_backward_output",
    ]  # fmt: skip
    assert names(both, "b")[-1:] == ["right_backward_output"]
    assert not [name for name in names(both, "b") if name.startswith("left")]
    assert steps(both)[0].about.name == "out"


def test_a_loss_asks_for_no_gradient() -> None:
    assert names(sym.tanh(a, name="t"))[0] == "_head_grad_0_id_output"
    assert names(sym.make_loss(a, name="loss")) == ["loss_backward_output"]
    assert names(sym.MakeLoss(a, name="loss")) == ["loss_backward_data"]


def test_gradients_that_meet_are_added() -> None:
    t = sym.tanh(a, name="t")
    found = steps(sym.elemwise_mul(t, sym.sin(t, name="s"), name="m"))
    assert [step.kind for step in found] == ["head", "rule", "rule", "sum", "rule"]
    assert found[3].names == ("sum_grad_output",) and found[3].upto == 2
    assert found[-1].ends == {0: found[-1].about.inputs[0].node}


def test_many_are_added_one_by_one() -> None:
    """So many as the knob says; rules add in place, and nobody hears of it."""
    t = sym.exp(a, name="t")
    one, all_ = sym.add_n(t, t, t), sym.elemwise_add(sym.elemwise_add(t, t), t)
    with mx.knobs(MXNET_EXEC_INPLACE_GRAD_SUM_CAP=3):
        assert names(one)[1:] == [
            "output", "output", "output", "sum_grad_final_output", "t_backward_output",
        ]  # fmt: skip
        sums = [f"sum_grad_{word}_output" for word in ("1", "2", "final")]
        assert names(all_) == ["_head_grad_0_id_output", *sums, "t_backward_output"]
    assert names(all_)[1:] == ["sum_grad_output", "t_backward_output"]


@pytest.mark.parametrize(
    ("symbol", "expected"),
    [
        (sym.BlockGrad(a, name="n"), ["n_backward_output"]),
        (sym.floor(a, name="n"), ["n_backward_output"]),
        (
            sym.broadcast_greater(a, b, name="n"),
            ["n_in0_backward_output", "n_in1_backward_output"],
        ),
        (
            sym.pick(a, b, name="n"),
            ["_head_grad_0_id_output", "n_backward_output", "n_index_backward_output"],
        ),
        (
            sym.where(a, b, sym.var("c"), name="n"),
            [
                "n_cond_backward_output",
                "_head_grad_0_id_output",
                "n_backward_output0",
                "n_backward_output1",
            ],
        ),  # fmt: skip
        (
            sym.batch_dot(a, b, name="n"),
            [
                "_head_grad_0_id_output",
                "n_backward_lhs_output",
                "n_backward_rhs_output",
            ],
        ),  # fmt: skip
        (
            sym.elemwise_add(a, b, name="n"),
            ["_head_grad_0_id_output", "_head_grad_0_id_1_copy_output"],
        ),
    ],
    ids=lambda value: "" if isinstance(value, list) else str(value.name),
)
def test_operators_with_ways_of_their_own(symbol: Any, expected: list[str]) -> None:
    assert names(symbol) == expected


def test_zeros_are_not_added() -> None:
    stopped = sym.elemwise_add(sym.BlockGrad(a, name="stop"), sym.tanh(a, name="t"))
    assert names(stopped) == ["_head_grad_0_id_output", "t_backward_output"]
    through = sym.BlockGrad(sym.elemwise_mul(a, b, name="m"), name="stop")
    assert names(through) == ["m_in0_backward_output", "m_in1_backward_output"]
    half = sym.tanh(sym.split(a, num_outputs=2, name="sp")[0], name="t")
    assert names(half)[-2:] == ["zeros_without_dtype_output", "sp_backward_data"]
