"""Recurrent layers and cells: two ways to the same numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx import gluon, nd
from minimx.core import autograd
from minimx.core.errors import ArgumentError, ShapeError
from minimx.gluon import rnn

STEPS, BATCH, INPUTS, HIDDEN = 4, 3, 2, 5
LAYERS: dict[str, Any] = {
    "relu": lambda **k: rnn.RNN(HIDDEN, activation="relu", **k),
    "tanh": lambda **k: rnn.RNN(HIDDEN, activation="tanh", **k),
    "lstm": lambda **k: rnn.LSTM(HIDDEN, **k),
    "gru": lambda **k: rnn.GRU(HIDDEN, **k),
}
CELLS: dict[str, Any] = {
    "rnn": lambda **k: rnn.RNNCell(HIDDEN, **k),
    "lstm": lambda **k: rnn.LSTMCell(HIDDEN, **k),
    "gru": lambda **k: rnn.GRUCell(HIDDEN, **k),
}


def sequence(layout: str = "NTC") -> Any:
    shape = (BATCH, STEPS, INPUTS) if layout == "NTC" else (STEPS, BATCH, INPUTS)
    return nd.array(np.random.default_rng(0).normal(size=shape))


def filled(block: Any) -> Any:
    block.initialize(mx.init.Uniform(0.5))
    return block


@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("layout", ["NTC", "TNC"])
def test_a_layer_is_its_stack_of_cells(kind: str, both: bool, layout: str) -> None:
    layer = LAYERS[kind](
        num_layers=2, bidirectional=both, layout=layout, i2h_bias_initializer="ones"
    )
    x = sequence(layout)
    out = filled(layer)(x)
    stack = layer._unfuse()
    parts, _ = stack.unroll(STEPS, x, layout=layout, merge_outputs=True)
    np.testing.assert_allclose(out.asnumpy(), parts.asnumpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize(("steps", "batch"), [(3, 17), (5, 1), (6, 33)])
def test_a_layer_of_any_batch_has_the_gradients_of_its_cells(
    kind: str, steps: int, batch: int
) -> None:
    """Weights are turned for several steps and samples, which threads share."""
    layer = filled(LAYERS[kind](layout="NTC", bidirectional=True))
    x = nd.random.normal(shape=(batch, steps, INPUTS))
    x.attach_grad()

    def computed(run: Any) -> list[Any]:
        with autograd.record():
            square = run(x) ** 2
        square.backward()
        return [square.asnumpy(), x.grad.asnumpy()]

    layer(x)  # now its parameters have shapes
    stack = layer._unfuse()
    cells = computed(lambda x: stack.unroll(steps, x, merge_outputs=True)[0])
    for ours, theirs in zip(computed(layer), cells, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


def test_states_are_returned_if_they_are_given() -> None:
    layer = filled(rnn.LSTM(HIDDEN, layout="NTC", input_size=INPUTS))
    x, states = sequence(), layer.begin_state(BATCH)
    out, (h, c) = layer(x, states)
    np.testing.assert_array_equal(out.asnumpy(), layer(x).asnumpy())
    np.testing.assert_array_equal(h[0].asnumpy(), out[:, -1].asnumpy())
    first, middle = layer(x[:, :2], states)
    second, _ = layer(x[:, 2:], middle)
    np.testing.assert_allclose(second.asnumpy(), out[:, 2:].asnumpy(), rtol=1e-5)
    assert c.shape == (1, BATCH, HIDDEN)


def test_a_layer_saves_under_the_names_of_its_cells(tmp_path: Path) -> None:
    layer = filled(rnn.GRU(HIDDEN, num_layers=2, bidirectional=True, input_size=INPUTS))
    layer.save_parameters(str(tmp_path / "gru.params"))
    names = set(nd.load(str(tmp_path / "gru.params")))
    assert "_unfused.1.r_cell.h2h_bias" in names
    other = rnn.GRU(HIDDEN, num_layers=2, bidirectional=True)
    other.load_parameters(str(tmp_path / "gru.params"))
    x = sequence("TNC")
    np.testing.assert_array_equal(layer(x).asnumpy(), other(x).asnumpy())


def test_steps_beyond_a_samples_length_do_not_count() -> None:
    layer = filled(rnn.LSTM(HIDDEN, use_sequence_length=True, bidirectional=True))
    x, lengths = sequence("TNC"), nd.array([1, 4, 2])
    out, (h, _) = layer(x, layer.begin_state(BATCH), lengths)
    assert not out.asnumpy()[1:, 0].any()
    short = layer(x[:2, 2:], None, nd.array([2])).asnumpy()
    np.testing.assert_allclose(out.asnumpy()[:2, 2:], short, rtol=1e-5)
    np.testing.assert_allclose(h.asnumpy()[0, 2], short[1, 0, :HIDDEN], rtol=1e-5)


def test_a_projected_state_is_narrower_than_its_cell() -> None:
    layer = filled(rnn.LSTM(HIDDEN, projection_size=2, num_layers=2, layout="NTC"))
    out, (h, c) = layer(sequence(), layer.begin_state(BATCH))
    assert (out.shape, h.shape, c.shape) == ((3, 4, 2), (2, 3, 2), (2, 3, 5))


def test_gradients_reach_every_parameter() -> None:
    layer = filled(rnn.GRU(HIDDEN, num_layers=2, dropout=0.3, bidirectional=True))
    with autograd.record():
        loss = (layer(sequence("TNC")) ** 2).sum()
    loss.backward()
    for parameter in layer.collect_params().values():
        assert np.abs(parameter.grad().asnumpy()).sum() > 0, parameter.name


def test_dropout_is_drawn_between_layers_only() -> None:
    x = sequence("TNC")
    single, double = (
        filled(rnn.LSTM(HIDDEN, num_layers=n, dropout=0.5)) for n in (1, 2)
    )
    quiet = single(x).asnumpy(), double(x).asnumpy()
    with autograd.record():
        np.testing.assert_array_equal(single(x).asnumpy(), quiet[0])
        assert np.abs(double(x).asnumpy() - quiet[1]).max() > 0


@pytest.mark.parametrize("kind", CELLS)
def test_unrolling_is_stepping(kind: str) -> None:
    cell, x = filled(CELLS[kind]()), sequence()
    states, outputs = cell.begin_state(BATCH), []
    for t in range(STEPS):
        out, states = cell(x[:, t], states)
        outputs.append(out.asnumpy())
    merged, after = cell.unroll(STEPS, x, merge_outputs=True)
    steps, _ = cell.unroll(STEPS, [x[:, t] for t in range(STEPS)], merge_outputs=False)
    np.testing.assert_allclose(merged.asnumpy(), np.stack(outputs, 1), rtol=1e-6)
    np.testing.assert_allclose(steps[2].asnumpy(), outputs[2], rtol=1e-6)
    for a, b in zip(after, states, strict=True):
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-6)


def test_parameters_are_named_as_in_mxnet() -> None:
    cell = rnn.LSTMCell(HIDDEN, prefix="lstm_")
    assert sorted(cell.collect_params().keys()) == [
        "lstm_h2h_bias", "lstm_h2h_weight", "lstm_i2h_bias", "lstm_i2h_weight",
    ]  # fmt: skip
    layer = rnn.RNN(HIDDEN, prefix="net_", bidirectional=True)
    assert "net_r0_i2h_weight" in layer.collect_params()


def test_a_stack_hands_its_states_to_its_cells() -> None:
    stack = rnn.HybridSequentialRNNCell()
    stack.add(rnn.LSTMCell(HIDDEN))
    stack.add(rnn.DropoutCell(0.5))
    stack.add(rnn.GRUCell(HIDDEN))
    filled(stack)
    assert (len(stack), len(stack.state_info(2))) == (3, 3)
    x = sequence()
    out, states = stack(x[:, 0], stack.begin_state(BATCH))
    assert (out.shape, len(states)) == ((BATCH, HIDDEN), 3)
    outputs, states = stack.unroll(STEPS, x, merge_outputs=True)
    assert (outputs.shape, len(states)) == ((BATCH, STEPS, HIDDEN), 3)


def test_a_residual_cell_adds_its_input() -> None:
    base = rnn.RNNCell(INPUTS, prefix="rnn_")
    cell, x = filled(rnn.ResidualCell(base)), sequence()
    outputs, _ = cell.unroll(STEPS, x, merge_outputs=True)
    base._modified = False
    plain, _ = base.unroll(STEPS, x, merge_outputs=True)
    found = (outputs - plain).asnumpy()
    np.testing.assert_allclose(found, x.asnumpy(), rtol=1e-5, atol=1e-6)


def test_zoneout_keeps_some_of_the_old() -> None:
    mx.random.seed(3)
    cell = filled(rnn.ZoneoutCell(rnn.RNNCell(HIDDEN), 0.5, 0.5))
    x, states = sequence(), [nd.ones((BATCH, HIDDEN)) * 7]
    with autograd.record():
        out, (state,) = cell(x[:, 0], states)
    assert 0 < (state.asnumpy() == 7).mean() < 1
    assert 0 < (out.asnumpy() == 0).mean() < 1


def test_what_cannot_be_is_explained() -> None:
    with pytest.raises(ArgumentError, match="choose 'TNC'"):
        rnn.LSTM(HIDDEN, layout="CTN")
    layer = filled(rnn.GRU(HIDDEN, input_size=INPUTS))
    with pytest.raises(ShapeError, match="ask for"):
        layer(sequence("TNC"), nd.zeros((1, BATCH + 1, HIDDEN)))
    cell = rnn.RNNCell(HIDDEN)
    rnn.ResidualCell(cell)
    with pytest.raises(ArgumentError, match="inside another cell"):
        rnn.ResidualCell(cell)
    with pytest.raises(ArgumentError, match="inside another cell"):
        cell.begin_state(BATCH)
    both = rnn.BidirectionalCell(rnn.RNNCell(HIDDEN), rnn.RNNCell(HIDDEN))
    with pytest.raises(NotImplementedError, match="unroll"):
        both(sequence()[:, 0], [])


def test_a_projecting_cell_is_the_projecting_layer() -> None:
    layer = filled(rnn.LSTM(HIDDEN, projection_size=2, layout="NTC"))
    x = sequence()
    expected = layer(x).asnumpy()
    cell = filled(gluon.contrib.rnn.LSTMPCell(HIDDEN, 2, input_size=INPUTS))
    for name, parameter in cell._reg_params.items():
        parameter.set_data(getattr(layer, f"l0_{name}").data())
    found, states = cell.unroll(STEPS, x, merge_outputs=True)
    np.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-5, atol=1e-6)
    assert [s.shape for s in states] == [(BATCH, 2), (BATCH, HIDDEN)]


def test_variational_dropout_drops_the_same_at_every_step() -> None:
    mx.random.seed(1)
    base = filled(rnn.RNNCell(HIDDEN, activation="sigmoid"))
    cell = gluon.contrib.rnn.VariationalDropoutCell(base, drop_outputs=0.5)
    with autograd.record():
        out, _ = cell.unroll(STEPS, sequence(), merge_outputs=True)
    dropped = out.asnumpy() == 0
    assert 0 < dropped.mean() < 1
    assert (dropped == dropped[:, :1]).all()
