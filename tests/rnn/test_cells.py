"""The cells of `mx.rnn` give the networks that the fused operator computes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minimx as mx

T, N, C, H = 3, 2, 4, 5


def run(outputs: Any, args: dict[str, Any]) -> Any:
    data = np.random.default_rng(0).normal(size=(N, T, C)).astype("float32")
    names = set(outputs.list_arguments())
    given = {k: v for k, v in args.items() if k in names} | {"data": mx.nd.array(data)}
    (found,) = outputs.eval(mx.cpu(), **given)
    return found.asnumpy()


def weights_of(cell: Any, outputs: Any) -> dict[str, Any]:
    shapes, _, _ = outputs.infer_shape(data=(N, T, C))
    start = mx.init.Uniform(0.7)
    found = {}
    for name, shape in zip(outputs.list_arguments(), shapes, strict=True):
        found[name] = mx.nd.zeros(shape)
        start._init_weight(name, found[name])
    return found


@pytest.mark.parametrize("mode", ["rnn_relu", "rnn_tanh", "lstm", "gru"])
@pytest.mark.parametrize("both", [False, True])
def test_a_stack_of_cells_is_what_the_fused_operator_computes(
    mode: str, both: bool
) -> None:
    mx.random.seed(1)
    fused = mx.rnn.FusedRNNCell(H, 2, mode, bidirectional=both, prefix="net_")
    whole, _ = fused.unroll(T, mx.sym.var("data"), merge_outputs=True)
    args = weights_of(fused, whole)
    stack = fused.unfuse()
    steps, states = stack.unroll(T, mx.sym.var("data"), merge_outputs=True)
    assert len(states) == len(stack.state_info) or both
    parts = stack.pack_weights(fused.unpack_weights(args))
    expected = run(whole, args)
    assert expected.shape == (N, T, H * (1 + both))
    np.testing.assert_allclose(run(steps, parts), expected, rtol=1e-4, atol=1e-5)
    again = fused.pack_weights(fused.unpack_weights(args))["net_parameters"]
    assert (again.asnumpy() == args["net_parameters"].asnumpy()).all()


def test_modifiers_keep_names_and_shapes() -> None:
    cell = mx.rnn.SequentialRNNCell()
    cell.add(mx.rnn.ResidualCell(mx.rnn.GRUCell(C, prefix="a_")))
    cell.add(mx.rnn.DropoutCell(0.5))
    cell.add(mx.rnn.ZoneoutCell(mx.rnn.RNNCell(H, prefix="b_"), 0.3, 0.3))
    steps = [mx.sym.var(f"x{k}") for k in range(T)]
    outputs, states = cell.unroll(T, steps)
    assert len(outputs) == T
    assert len(states) == 2
    shapes = {f"x{k}": (N, C) for k in range(T)}
    assert mx.sym.Group(outputs).infer_shape(**shapes)[1] == [(N, H)] * T
    assert sorted(cell.params._params) == [
        f"{p}_{g}_{k}" for p in "ab" for g in ("h2h", "i2h") for k in ("bias", "weight")
    ]
    with pytest.raises(mx.MXNetError, match="modifier"):
        cell._cells[0].base_cell.begin_state()  # type: ignore[attr-defined]


def test_cells_over_images_keep_their_size() -> None:
    for kind, count in ((mx.rnn.ConvRNNCell, 1), (mx.rnn.ConvLSTMCell, 2)):
        cell = kind((1, 3, 8, 6), 10)
        outputs, states = cell.unroll(2, [mx.sym.var("a"), mx.sym.var("b")])
        assert len(states) == count
        shape = (1, 3, 8, 6)
        found = mx.sym.Group(outputs).infer_shape(a=shape, b=shape)[1]
        assert found == [(1, 10, 8, 6)] * 2
    with pytest.raises(mx.MXNetError, match="odd"):
        mx.rnn.ConvGRUCell((1, 3, 8, 6), 10, h2h_kernel=(2, 2))


def test_the_fused_parameters_begin_gate_by_gate() -> None:
    cell = mx.rnn.FusedRNNCell(H, mode="lstm", prefix="f_")
    start = mx.init.FusedRNN("ones", H, 1, "lstm", False, 2.0)
    again = mx.init.create(start.dumps())
    flat = mx.nd.zeros(4 * H * (C + H + 2))
    again._init_weight("f_parameters", flat)
    parts = cell.unpack_weights({"f_parameters": flat})
    assert parts["f_l0_i2h_c_weight"].asnumpy().tolist() == [[1.0] * C] * H
    assert parts["f_l0_i2h_f_bias"].asnumpy().tolist() == [2.0] * H
    assert parts["f_l0_h2h_f_bias"].asnumpy().tolist() == [0.0] * H


def test_checkpoints_hold_gates(tmp_path: Path) -> None:
    cell = mx.rnn.LSTMCell(H, prefix="l_")
    outputs, _ = cell.unroll(T, mx.sym.var("data"), merge_outputs=True)
    args = weights_of(cell, outputs)
    args = {k: v for k, v in args.items() if k.startswith("l_") and "begin" not in k}
    prefix = str(tmp_path / "net")
    mx.rnn.do_rnn_checkpoint(cell, prefix)(0, outputs, args, {})
    stored = mx.nd.load(f"{prefix}-0001.params")
    assert "arg:l_i2h_f_weight" in stored
    _, again, _ = mx.rnn.load_rnn_checkpoint(cell, prefix, 1)
    assert sorted(again) == sorted(args)
    assert all((again[k].asnumpy() == args[k].asnumpy()).all() for k in args)


def test_sentences_in_buckets() -> None:
    text = [["a", "b"], ["b", "c"], ["c", "a", "b"], ["a"] * 9]
    coded, vocab = mx.rnn.encode_sentences(text, start_label=1, invalid_label=0)
    assert vocab == {"\n": 0, "a": 1, "b": 2, "c": 3}
    known, _ = mx.rnn.encode_sentences([["z"]], dict(vocab), unknown_token="a")
    assert known == [[0]]  # MXNet numbers the word that stands for others anew
    with pytest.raises(mx.MXNetError, match="Unknown token"):
        mx.rnn.encode_sentences([["z"]], vocab)
    batches = mx.rnn.BucketSentenceIter(coded, 1, [2, 4], invalid_label=0)
    found = {batch.bucket_key: batch for batch in batches}
    data, label = found[4].data, found[4].label
    assert data is not None
    assert label is not None
    assert data[0].asnumpy().tolist() == [[3, 1, 2, 0]]
    assert label[0].asnumpy().tolist() == [[1, 2, 0, 0]]
    assert batches.provide_data[0].shape == (1, 4)
    with pytest.raises(mx.MXNetError, match="layout"):
        mx.rnn.BucketSentenceIter(coded, 1, [2], layout="NTC")
