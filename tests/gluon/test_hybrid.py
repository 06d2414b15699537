"""Blocks that are made into graphs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx import gluon, nd
from minimx.core import autograd, events
from minimx.core.errors import ArgumentError, TracingError
from minimx.gluon import nn, rnn
from minimx.tools import graph_text


def lenet() -> Any:
    net = nn.HybridSequential(prefix="lenet_")
    with net.name_scope():
        net.add(nn.Conv2D(4, 3, activation="relu"), nn.MaxPool2D(), nn.BatchNorm())
        net.add(nn.Flatten(), nn.Dense(8, activation="tanh"), nn.Dropout(0.5))
        net.add(nn.Dense(3))
    return net


class Twofold(gluon.HybridBlock):
    """A block in the manner of MXNet 2, with layers in that of MXNet 1."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.dense = nn.Dense(4, activation="relu")
            self.weight = self.params.get(
                "weight", shape=(4, 0), allow_deferred_init=True
            )
        self.table = nd.array([1.0, 2.0, 3.0, 4.0])

    def infer_shape(self, x: Any, *args: Any) -> None:
        self.weight.shape = (4, x.shape[1])

    def forward(self, x: Any, y: Any = None) -> Any:
        hidden = self.dense(x) + nd.dot(x, (self.weight.data() * 2).T) * self.table
        if y is not None:
            hidden = hidden * y
        return hidden, [hidden.sum(axis=0), hidden[1 : len(x)]]


def arrays_in(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return [array for item in value for array in arrays_in(item)]
    return [value]


def step(net: Any, *inputs: Any) -> list[Any]:
    """Outputs and gradients of one step in training."""
    mx.random.seed(3)
    for x in inputs:
        x.attach_grad()
    with autograd.record():
        outs = arrays_in(net(*inputs))
    autograd.backward(outs)
    found = [*outs, *[x.grad for x in inputs]]
    found += [p.grad() for p in net.collect_params().values() if p.grad_req != "null"]
    return [array.asnumpy() for array in found]


SHAPES: dict[str, tuple[Any, list[tuple[int, ...]]]] = {
    "lenet": (lenet, [(2, 1, 10, 10)]),
    "twofold": (Twofold, [(3, 5)]),
    "twofold, two inputs": (Twofold, [(3, 5), (3, 4)]),
    "dense": (lambda: nn.Dense(3), [(2, 4)]),
    "gru": (lambda: rnn.GRU(3, num_layers=2, bidirectional=True), [(4, 2, 3)]),
    "lstm cell": (lambda: Cell(), [(2, 3), (2, 4), (2, 4)]),
}


class Cell(gluon.HybridBlock):
    def __init__(self) -> None:
        super().__init__()
        with self.name_scope():
            self.cell = rnn.LSTMCell(4)

    def hybrid_forward(self, F: Any, x: Any, h: Any, c: Any) -> Any:
        return self.cell(x, [h, c])


@pytest.mark.parametrize("case", SHAPES)
@pytest.mark.parametrize("flags", [{}, {"static_alloc": True, "static_shape": True}])
def test_a_graph_computes_what_the_code_does(case: str, flags: dict[str, Any]) -> None:
    make, shapes = SHAPES[case]
    net = make()
    net.initialize(mx.init.Xavier())
    inputs = [nd.random.normal(shape=shape) for shape in shapes]
    net(*inputs)  # shapes are known, values drawn
    by_hand = step(net, *inputs)
    net.hybridize(**flags)
    for _ in range(3):
        through_graph = step(net, *inputs)
        for ours, theirs in zip(through_graph, by_hand, strict=True):
            np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("case", SHAPES)
def test_the_first_call_may_be_through_the_graph(case: str) -> None:
    make, shapes = SHAPES[case]
    inputs = [nd.random.normal(shape=shape) for shape in shapes]
    net = make()
    net.initialize(mx.init.One())
    net.hybridize()
    first = arrays_in(net(*inputs))
    net.hybridize(False)
    for ours, theirs in zip(first, arrays_in(net(*inputs)), strict=True):
        np.testing.assert_array_equal(ours.asnumpy(), theirs.asnumpy())


def test_states_change_in_the_graph_as_by_hand() -> None:
    x = nd.random.normal(shape=(8, 3))
    means = []
    for hybrid in (False, True):
        net = nn.BatchNorm()
        net.initialize()
        if hybrid:
            net.hybridize()
        for _ in range(2):
            with autograd.record():
                net(x)
        net(x)
        means.append(net.running_mean.data().asnumpy())
    np.testing.assert_array_equal(*means)
    assert np.abs(means[0]).max() > 0


def test_nested_outputs_are_lists() -> None:
    net = Twofold()
    net.initialize()
    assert isinstance(net(nd.ones((2, 5))), tuple)
    net.hybridize()
    out = net(nd.ones((2, 5)))
    assert isinstance(out, list)
    assert [x.shape for x in out[1]] == [(4,), (1, 4)]


def test_code_runs_once_for_symbols_and_once_a_shape_for_arrays() -> None:
    calls = []

    class One(gluon.HybridBlock):
        def hybrid_forward(self, F: Any, x: Any) -> Any:
            calls.append("symbol")
            return F.relu(x)

    class Two(gluon.HybridBlock):
        def forward(self, x: Any) -> Any:
            calls.append(x.shape)
            return x.reshape((x.shape[0], -1))

    for net in (One(), Two()):
        net.hybridize()
        for length in (2, 3, 2, 3):
            assert net(nd.ones((length, 2, 2))).shape[0] == length
    assert calls == ["symbol", (2, 2, 2), (3, 2, 2)]


def test_attribution_is_that_of_the_layers() -> None:
    net = lenet()
    net.initialize()
    x = nd.ones((2, 1, 10, 10))
    net(x)
    seen = []
    for hybrid in (False, True):
        net.hybridize(hybrid, forward_bulk_size=1)  # one operator, one layer
        net(x)
        with mx.Record() as record:
            net(x).wait_to_read()
        seen.append(set(record.texts(record.ops()["layer"])))
    assert seen[1] <= seen[0]
    assert seen[1] >= {"lenet/conv0", "lenet/dense0", "lenet/dense1"}
    assert events.attribution.layer == ""


# -- when graphs are made anew ---------------------------------------------------------


def test_new_parts_are_seen() -> None:
    net = nn.HybridSequential()
    net.add(nn.Dense(4, flatten=False))
    net.initialize()
    net.hybridize()
    assert net(nd.ones((2, 3, 5))).shape == (2, 3, 4)
    net.add(nn.Flatten())
    assert net(nd.ones((2, 3, 5))).shape == (2, 12)
    outer = nn.HybridSequential()
    outer.add(net)
    outer.hybridize()
    assert outer(nd.ones((2, 3, 5))).shape == (2, 12)
    net.add(nn.Dense(7))
    net[2].initialize()
    assert outer(nd.ones((2, 3, 5))).shape == (2, 7)


def test_cast_values_and_moves_are_seen() -> None:
    net = nn.Dense(2, in_units=3)
    net.initialize(mx.init.One())
    net.hybridize()
    assert net(nd.ones((1, 3))).asnumpy().tolist() == [[3, 3]]
    net.weight.set_data(nd.ones((2, 3)) * 2)
    assert net(nd.ones((1, 3))).asnumpy().tolist() == [[6, 6]]
    net.initialize(mx.init.One(), force_reinit=True)
    assert net(nd.ones((1, 3))).asnumpy().tolist() == [[3, 3]]
    net.cast("float64")
    assert net(nd.ones((1, 3), dtype="float64")).dtype == np.float64
    net.reset_ctx([mx.cpu(0), mx.cpu(1)])
    for device in (mx.cpu(1), mx.cpu(0)):
        out = net(nd.ones((1, 3), ctx=device, dtype="float64"))
        assert out.context is device


def test_flavours_have_graphs_of_their_own() -> None:
    net = nn.Dense(2, in_units=3)
    net.initialize()
    net.hybridize()
    assert type(net(nd.ones((1, 3)))) is nd.NDArray
    with mx.util.np_array(True), mx.util.np_shape(True):
        assert type(net(mx.np.ones((1, 3)))) is mx.np.ndarray


def test_a_shared_parameter_is_one_variable() -> None:
    class Twice(gluon.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            with self.name_scope():
                self.a = nn.Dense(3, in_units=3, use_bias=False)
                self.b = nn.Dense(3, in_units=3, use_bias=False, params=self.a.params)

        def hybrid_forward(self, F: Any, x: Any) -> Any:
            return self.b(self.a(x))

    net = Twice()
    net.initialize(mx.init.One())
    by_hand = step(net, nd.ones((1, 3)))
    net.hybridize()
    for ours, theirs in zip(step(net, nd.ones((1, 3))), by_hand, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert net._latest is not None
    assert len(net._latest.graph.variables) == 2


def test_training_may_be_asked_in_arrays_code() -> None:
    class Shy(gluon.HybridBlock):
        def forward(self, x: Any) -> Any:
            return x * 2 if autograd.is_training() else x

    net = Shy()
    net.hybridize()
    x = nd.ones((2,))
    assert net(x).sum().asscalar() == 2
    with autograd.record():
        assert net(x).sum().asscalar() == 4
    assert net(x).sum().asscalar() == 2


def test_numbers_are_drawn_at_every_call() -> None:
    class Noise(gluon.HybridBlock):
        def forward(self, x: Any) -> Any:
            return x + nd.random.normal(shape=x.shape)

    net = Noise()
    net.hybridize()
    x = nd.zeros((4,))
    assert net(x).asnumpy().tolist() != net(x).asnumpy().tolist()


def test_arrays_that_are_no_parameters_get_gradients_too() -> None:
    table = nd.array([1.0, 2.0])
    table.attach_grad()

    class Scaled(gluon.HybridBlock):
        def forward(self, x: Any) -> Any:
            return x * table

    net = Scaled()
    net.hybridize()
    with autograd.record():
        net(nd.ones((2,)) * 3).backward()
    assert table.grad.asnumpy().tolist() == [3, 3]


# -- what is refused -------------------------------------------------------------------


class IfPositive(gluon.HybridBlock):
    def forward(self, x: Any) -> Any:
        if x.sum() > 0:
            return x
        return -x


class AsNumber(gluon.HybridBlock):
    def hybrid_forward(self, F: Any, x: Any) -> Any:
        scale = float(F.sum(x))
        return x * scale


class AsksShape(gluon.HybridBlock):
    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.reshape(x, (x.shape[0], -1))


class AsNumpy(gluon.HybridBlock):
    def forward(self, x: Any) -> Any:
        return x * x.asnumpy().max()


class InPlace(gluon.HybridBlock):
    def forward(self, x: Any) -> Any:
        y = x * 2
        y += 1
        return y


CONTROL = [
    (IfPositive, "if x.sum() > 0:"),
    (AsNumber, "scale = float(F.sum(x))"),
    (AsksShape, "return F.reshape(x, (x.shape[0], -1))"),
    (AsNumpy, "return x * x.asnumpy().max()"),
    (InPlace, "y += 1"),
]


@pytest.mark.parametrize(("block", "code"), CONTROL)
def test_code_that_depends_on_numbers_is_shown(block: Any, code: str) -> None:
    net = nn.HybridSequential()
    net.add(nn.Dense(2, in_units=2), block())
    net.initialize()
    net.hybridize()
    with pytest.raises(TracingError) as caught:
        net(nd.ones((2, 2)))
    error = caught.value
    assert error.filename == __file__
    assert error.lineno is not None
    line = Path(__file__).read_text().splitlines()[error.lineno - 1]
    assert line.strip() == code
    assert code in str(error)
    assert "hybridize(False)" in str(error)
    assert str(error).startswith(f"{Path(__file__).name}, line {error.lineno}: Hybrid")
    assert f"but this in {block.__name__} depends on them" in str(error)
    net.hybridize(False)
    assert net(nd.ones((2, 2))).shape == (2, 2)


def test_an_array_must_not_outlive_its_graph() -> None:
    class Keeps(gluon.HybridBlock):
        def forward(self, x: Any) -> Any:
            self.last = x * 2
            return self.last

    net = Keeps()
    net.hybridize()
    net(nd.ones((2,)))
    with pytest.raises(TypeError, match="made into a graph earlier"):
        net.last + 1
    with pytest.raises(TypeError, match="no numbers"):
        net.last.asnumpy()


def test_flags_are_checked() -> None:
    net = lenet()
    with pytest.raises(ArgumentError, match="Did you mean static_alloc"):
        net.hybridize(static_aloc=True)
    with pytest.raises(ArgumentError, match="needs static_alloc"):
        net.hybridize(static_shape=True)
    net.hybridize(static_alloc=True, inline_limit=0, forward_bulk_size=4)
    assert net[0]._flags.forward_bulk_size == 4


def test_arguments_are_checked() -> None:
    net = Cell()
    net.initialize()
    net.hybridize()
    ones = nd.ones((2, 4))
    with pytest.raises(ArgumentError, match="without any array"):
        net(None)
    with pytest.raises(ArgumentError, match="arrays and symbols"):
        net(nd.ones((2, 3)), ones, mx.sym.var("c"))
    with pytest.raises(ArgumentError, match="must be arrays, None"):
        net(nd.ones((2, 3)), ones, 1)
    with pytest.raises(ArgumentError, match="several devices"):
        net(nd.ones((2, 3)), ones, nd.ones((2, 4), ctx=mx.cpu(1)))
    net(nd.ones((2, 3)), ones, ones)
    with pytest.raises(ArgumentError, match="of another form"):
        net(nd.ones((2, 3)), [ones, ones])


def test_hooks_of_the_block_run_around_the_graph() -> None:
    net = nn.Dense(2, in_units=2)
    net.initialize()
    seen: list[Any] = []
    net.register_forward_hook(lambda block, args, out: seen.append(type(out)))
    net.hybridize()
    net(nd.ones((1, 2)))
    net(nd.ones((1, 2)))
    assert seen == [nd.NDArray, nd.NDArray]


def test_operators_can_be_watched() -> None:
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Dense(2, in_units=2), nn.Activation("relu"))
    net.initialize()
    net.hybridize()
    seen: list[str] = []
    net.register_op_hook(lambda name, operator, array: seen.append(name))
    net(nd.ones((1, 2)))
    assert seen == ["net_dense0_fwd_output", "net_relu0_fwd_output"]
    seen.clear()
    net.register_op_hook(lambda name, operator, array: seen.append(name), True)
    net(nd.ones((1, 2)))
    assert seen[:3] == [f"net_dense0_fwd_{w}" for w in ("data", "weight", "bias")]


def test_summary_wants_layers_that_run_by_themselves() -> None:
    net = lenet()
    net.initialize()
    net.hybridize()
    with pytest.raises(AssertionError, match="hybridize\\(False\\)"):
        net.summary(nd.ones((1, 1, 10, 10)))


def test_children_of_a_plain_block_become_graphs() -> None:
    class Plain(gluon.Block):
        def __init__(self) -> None:
            super().__init__()
            with self.name_scope():
                self.inner = nn.Dense(2, in_units=2)

        def forward(self, x: Any) -> Any:
            return self.inner(x) if x.sum() > 0 else x

    net = Plain()
    net.initialize()
    net.hybridize()
    net(nd.ones((1, 2)))
    written = net.inner._latest
    assert written is not None
    assert "FullyConnected" in graph_text.program(written.graph)


def test_a_backend_replaces_parts_of_the_graph(tmp_path: Path) -> None:
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Conv2D(4, 3, in_channels=2), nn.BatchNorm(), nn.Activation("relu"))
    net.initialize()
    x = nd.random.normal(shape=(1, 2, 5, 5))
    for _ in range(3):
        with autograd.record():
            net(x)
    trained = step(net, x)
    by_hand = net(x).asnumpy()
    net.optimize_for(x, backend="MINIMX", static_alloc=True)
    assert net._latest is not None
    assert sum(node.op is not None for node in net._latest.graph) == 1
    np.testing.assert_allclose(net(x).asnumpy(), by_hand, rtol=1e-4, atol=1e-5)
    for ours, theirs in zip(step(net, x), trained, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    graph, values = net.export(str(tmp_path / "net"))
    again = gluon.SymbolBlock.imports(graph, "data", values)
    np.testing.assert_array_equal(again(x).asnumpy(), net(x).asnumpy())
    with pytest.raises(ArgumentError, match="which backend"):
        net.optimize_for(x)
    with pytest.raises(ArgumentError, match="MINIMX"):
        net.optimize_for(x, backend="MINIM")
    with pytest.raises(ArgumentError, match="no setting 'level'"):
        net.optimize_for(x, backend="MINIMX", level=3)


class Doubles(nn.HybridBlock):
    """In the manner of MXNet 2."""

    def forward(self, x: Any) -> Any:
        return x * 2 if x.shape[0] == 2 else x


def test_a_part_that_is_not_hybridized_belongs_to_the_graph() -> None:
    net = nn.HybridSequential()
    net.add(nn.Dense(3, in_units=4), Doubles())
    net.initialize()
    x = nd.ones((2, 4))
    wanted = net(x).asnumpy()
    net.hybridize()
    net[1].hybridize(False)
    np.testing.assert_array_equal(net(x).asnumpy(), wanted)
    assert not net[1]._active
