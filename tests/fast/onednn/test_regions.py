"""Regions of graphs for prediction by oneDNN, against the operators alone."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minimx as mx
from minimx import autograd, gluon, nd
from minimx.core import cached_op
from minimx.core.errors import MXNetError
from minimx.core.graph.passes.prepare import Prepared
from minimx.core.graph.running.program import Program
from minimx.core.knobs import knobs
from minimx.fast.onednn import library as dnnl
from minimx.fast.onednn import network, regions
from minimx.fast.onednn.packed import packed
from minimx.gluon import nn
from tests.core.knobs.proofs import defaults

__all__ = ["defaults"]

pytestmark = pytest.mark.skipif(not dnnl.library(), reason="oneDNN is not installed")


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """Convolutions go to oneDNN, and no copy is kept."""
    packed.forget()
    with knobs(MXNET_CUDNN_HEUR_MODE=0):
        yield
    packed.forget()


class Unit(gluon.HybridBlock):
    """Convolution, and what may follow it; a shortcut around all if `adds`."""

    def __init__(
        self, before: int, after: int, kernel: int, stride: int, groups: int,
        bias: bool, norm: bool, adds: str, bends: str,
    ) -> None:  # fmt: skip
        super().__init__()
        pad = kernel // 2
        self.conv = nn.Conv2D(
            after, kernel, stride, pad, groups=groups, use_bias=bias,
            in_channels=before,
        )  # fmt: skip
        self.norm = nn.BatchNorm(in_channels=after) if norm else None
        self.adds, self.bends = adds, bends
        self.short = None
        if adds == "convolved":
            self.short = nn.Conv2D(after, 1, stride, 0, in_channels=before)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        y = self.conv(x)
        if self.norm is not None:
            y = self.norm(y)
        if self.short is not None:
            y = self.short(x) + y
        elif self.adds == "itself":
            y = F.elemwise_add(y, y)
        if self.bends:
            y = F.relu(y) if self.bends == "relu" else F.Activation(y, act_type="relu")
        return y


class Joined(gluon.HybridBlock):
    """A convolution beside averages of the image, joined along the channels."""

    def __init__(self, channels: int, counts: bool, filters: int) -> None:
        super().__init__()
        self.conv = nn.Conv2D(filters, 1, in_channels=channels, activation="relu")
        self.first = nn.Conv2D(channels, 1, in_channels=channels)
        self.pool = nn.AvgPool2D(3, 1, 1, count_include_pad=counts)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        y = self.first(x)
        return F.concat(self.conv(y), self.pool(y), y, dim=1)


class Normed(gluon.HybridBlock):
    """A sum that is used twice, normalized before the next convolution."""

    def __init__(self, channels: int, bends: bool) -> None:
        super().__init__()
        self.first = nn.Conv2D(channels, 1, in_channels=channels)
        self.norm = nn.BatchNorm(in_channels=channels)
        self.conv = nn.Conv2D(channels, 3, 1, 1, in_channels=channels)
        self.last = nn.BatchNorm(in_channels=channels)
        self.bends = bends

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        total = F.elemwise_add(self.first(x), x)
        y = self.norm(total)
        y = self.conv(F.relu(y) if self.bends else y)
        return F.relu(self.last(F.elemwise_add(y, total)))


@st.composite
def networks(draw: Any) -> tuple[Callable[[], Any], tuple[int, ...]]:
    """A maker of a network, and the shape of its data."""
    channels = draw(st.sampled_from([3, 16, 20, 32]))
    edge = draw(st.integers(5, 9))
    shape = draw(st.integers(1, 3)), channels, edge, edge
    made: list[tuple[Any, ...]] = []
    for _ in range(draw(st.integers(1, 3))):
        after = draw(st.sampled_from([8, 16, 24, 32]))
        groups = draw(st.sampled_from([1, 1, 4]))
        groups = groups if channels % groups == 0 else 1
        made.append(
            (
                channels, after, draw(st.sampled_from([1, 3])),
                draw(st.sampled_from([1, 1, 2])), groups, draw(st.booleans()),
                draw(st.booleans()), draw(st.sampled_from(["", "convolved", "itself"])),
                draw(st.sampled_from(["", "relu", "Activation"])),
            )
        )  # fmt: skip
        channels = after
    normed = draw(st.sampled_from(["", "bent", "straight"]))
    joins = draw(st.sampled_from([0, 7, 16]))
    counts = draw(st.booleans())
    pooled, hidden = draw(st.booleans()), draw(st.sampled_from([0, 10, 300]))

    def make() -> Any:
        net = nn.HybridSequential()
        for arguments in made:
            net.add(Unit(*arguments))
        if normed:
            net.add(Normed(channels, normed == "bent"))
        if joins:
            net.add(Joined(channels, counts, joins))
        if pooled:
            net.add(nn.MaxPool2D(3, 2, 1, ceil_mode=hidden == 10))
        if hidden:
            net.add(nn.Dense(hidden, activation="relu"))
        return net

    return make, shape


def graphs_of(call: Callable[[], Any]) -> list[list[str]]:
    """The operators of each graph that a call prepares."""
    found: list[list[str]] = []

    class Noting(Program):
        def __init__(self, prepared: Prepared, *args: Any) -> None:
            nodes = prepared.graph.nodes
            found.append([node.op.name for node in nodes if node.op is not None])
            super().__init__(prepared, *args)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cached_op, "Program", Noting)
        call()
    return found


@given(networks(), st.booleans())
@settings(max_examples=40, deadline=None)
def test_it_agrees_with_the_operators_alone(
    case: tuple[Callable[[], Any], tuple[int, ...]], static: bool
) -> None:
    make, shape = case
    net = make()
    x = nd.array(np.random.default_rng(5).normal(size=shape).astype("float32"))
    net.initialize()
    net(x)
    scatter(net)
    with knobs(MXNET_ONEDNN_ENABLED=0):
        wanted = net(x).asnumpy()
    net.hybridize(static_alloc=static, static_shape=static)
    (names,) = graphs_of(lambda: net(x).wait_to_read())
    assert "_onednn_region" in names
    assert "Convolution" not in names
    scale = max(1.0, float(np.abs(wanted).max()))
    for _ in range(3):  # weights are copied, copied and kept, found
        np.testing.assert_allclose(net(x).asnumpy(), wanted, 0, 2e-5 * scale)


def scatter(net: Any) -> None:
    """New numbers for all parameters, none of them a special one."""
    chance = np.random.default_rng(3)
    for name, parameter in net.collect_params().items():
        shape = parameter.shape
        if "weight" in name:
            values = chance.normal(size=shape) / np.sqrt(np.prod(shape[1:]))
        else:
            values = chance.uniform(0.5, 1.5, shape)
        parameter.set_data(nd.array(values.astype("float32")))


def small() -> tuple[Any, Any]:
    """A hybridized network of a convolution and a dense layer, and its data."""
    net = nn.HybridSequential()
    net.add(nn.Conv2D(32, 3, in_channels=16, activation="relu"))
    net.add(nn.Dense(256, in_units=32 * 36))
    net.initialize(mx.init.Xavier())
    net.hybridize(static_alloc=True, static_shape=True)
    return net, nd.random.normal(shape=(8, 16, 8, 8))


def alone(net: Any, x: Any) -> Any:
    """What the readable kernels make of it."""
    with knobs(MXNET_ONEDNN_ENABLED=0):
        return net(x).asnumpy()


def test_a_weight_that_is_written_counts_at_once() -> None:
    net, x = small()
    for _ in range(3):
        net(x).wait_to_read()
    assert packed.nbytes() > 0
    for parameter in net.collect_params().values():
        parameter.set_data(parameter.data() * 2 + 0.5)
        np.testing.assert_allclose(net(x).asnumpy(), alone(net, x), 1e-4, 1e-3)


def test_copies_go_with_their_weights() -> None:
    net, x = small()
    net(x).wait_to_read()
    assert packed.nbytes() == 0  # met for the first time
    net(x).wait_to_read()
    weights = sum(p.data().size * 4 for p in net.collect_params().values())
    assert 0 < packed.nbytes() <= 1.5 * weights
    kept = packed.nbytes()
    net(x).wait_to_read()
    assert packed.nbytes() == kept
    del net
    nd.waitall()
    gc.collect()
    assert packed.nbytes() == 0


def test_in_training_nothing_is_kept_and_no_region_made() -> None:
    net, x = small()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1e-3})

    def step() -> None:
        with autograd.record():
            loss = net(x).sum()
        loss.backward()
        trainer.step(8)
        nd.waitall()

    assert all("_onednn_region" not in names for names in graphs_of(step))
    step()
    net(x).wait_to_read()
    step()
    net(x).wait_to_read()
    assert packed.nbytes() == 0  # each version was used once for a prediction


def test_memory_that_is_shared_is_not_kept() -> None:
    net, x = small()
    weight = net[0].weight.data()
    view = np.from_dlpack(weight)
    for _ in range(3):
        net(x).wait_to_read()
    before = net(x).asnumpy()
    writable = np.lib.stride_tricks.as_strided(view, writeable=True)
    writable[...] = 0
    after = net(x).asnumpy()
    assert np.abs(after - before).max() > 0
    np.testing.assert_allclose(after, alone(net, x), 1e-4, 1e-4)


def test_a_nan_stays_one() -> None:
    net, x = small()
    x[1, 2, 3, 4] = np.nan
    first = nn.HybridSequential()
    first.add(net[0])
    first.hybridize()
    assert "_onednn_region" in graphs_of(lambda: first(x).wait_to_read())[0]
    got, wanted = first(x).asnumpy(), alone(first, x)
    assert np.isnan(wanted).sum() == 32 * 9
    np.testing.assert_array_equal(np.isnan(got), np.isnan(wanted))


@pytest.mark.parametrize("activation", ["relu", None])
def test_a_first_layer_of_wide_kernels_is_the_same_and_a_nan_stays_one(
    activation: str | None,
) -> None:
    """On some processors it is a product of matrices, with a relu of our own."""
    net = nn.HybridSequential()
    net.add(nn.Conv2D(16, 11, 4, 2, in_channels=3, activation=activation))
    net.add(nn.Conv2D(8, 3, in_channels=16, activation="relu"))
    net.initialize(mx.init.Normal(0.1))
    x = nd.random.normal(shape=(2, 3, 67, 67))
    x[1, 2, 3, 4] = np.nan
    wanted = alone(net, x)
    net.hybridize()
    assert graphs_of(lambda: net(x).wait_to_read()) == [["_onednn_region"]]
    for _ in range(3):  # weights are packed, then kept
        np.testing.assert_allclose(net(x).asnumpy(), wanted, 0, 1e-4)
    assert 0 < np.isnan(wanted).sum() < wanted.size / 2


def test_what_lies_inside_and_is_needed_outside_comes_out() -> None:
    x = mx.sym.var("x")
    conv = mx.sym.Convolution(x, kernel=(3, 3), num_filter=16, name="c")
    bent = mx.sym.relu(conv)
    last = mx.sym.Convolution(bent, kernel=(1, 1), num_filter=8, name="d")
    both = mx.sym.Group([conv, last, mx.sym.sigmoid(bent)])
    data = nd.random.normal(shape=(2, 16, 9, 9))
    bound = both.simple_bind(mx.cpu(), x=data.shape, grad_req="null")
    for name, array in bound.arg_dict.items():
        array[:] = data if name == "x" else nd.random.normal(shape=array.shape)
    got = [out.asnumpy() for out in bound.forward()]
    with knobs(MXNET_ONEDNN_ENABLED=0):
        other = both.bind(mx.cpu(), bound.arg_dict)
        wanted = [out.asnumpy() for out in other.forward()]
    for one, two in zip(got, wanted, strict=True):
        np.testing.assert_allclose(one, two, 1e-3, 1e-3)


@pytest.mark.parametrize("counts", [False, True])
def test_averages_and_joins_of_images_are_inside(counts: bool) -> None:
    net = nn.HybridSequential()
    net.add(Joined(16, counts, 7), nn.Conv2D(8, 3, in_channels=39))
    net.initialize()
    x = nd.random.normal(shape=(2, 16, 9, 9))
    wanted = alone(net, x)
    net.hybridize()
    assert graphs_of(lambda: net(x).wait_to_read()) == [["_onednn_region"]]
    np.testing.assert_allclose(net(x).asnumpy(), wanted, 0, 1e-5)


def test_a_normalization_of_a_sum_is_inside_and_keeps_a_nan() -> None:
    net = Normed(16, bends=True)
    net.initialize()
    scatter(net)
    x = nd.random.normal(shape=(2, 16, 9, 9))
    x[0, 3, 4, 4] = np.nan
    wanted = alone(net, x)
    net.hybridize()
    assert graphs_of(lambda: net(x).wait_to_read()) == [["_onednn_region"]]
    np.testing.assert_allclose(net(x).asnumpy(), wanted, 0, 1e-4)


def test_a_simulated_gpu_has_none() -> None:
    net, x = small()
    net.collect_params().reset_ctx(mx.gpu())
    names = graphs_of(lambda: net(x.as_in_context(mx.gpu())).wait_to_read())
    assert "_onednn_region" not in names[0]


def test_shapes_that_onednn_does_not_know_are_left_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Refusing(network.Network):
        def _product(self, *args: Any) -> Any:
            raise MXNetError("not known")

    monkeypatch.setattr(regions, "Network", Refusing)
    dnnl.primitives.forget()
    net, x = small()
    first, second = nn.HybridSequential(), nn.HybridSequential()
    first.add(net[0])
    second.add(net[1])
    for one in (first, second):
        one.hybridize()
    assert "_onednn_region" in graphs_of(lambda: first(x).wait_to_read())[0]
    (names,) = graphs_of(lambda: second(first(x)).wait_to_read())
    assert names == ["FullyConnected"]
    dnnl.primitives.forget()


def test_bits_do_not_depend_on_the_number_of_threads_where_that_is_enforced() -> None:
    net, x = small()
    net.add(nn.Dense(64, in_units=256))
    net[2].initialize(mx.init.Xavier())
    found = []
    for threads in (1, 2, 1):
        with knobs(MXNET_ENFORCE_DETERMINISM=1, OMP_NUM_THREADS=threads):
            names = graphs_of(lambda: found.append(net(x).asnumpy()))
            assert "FullyConnected" in names[0]
            assert "_onednn_region" in names[0]
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_without_the_library_there_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regions, "loaded", lambda: None)
    net, x = small()
    assert "_onednn_region" not in graphs_of(lambda: net(x).wait_to_read())[0]


def test_primitives_that_are_not_kept_are_made_again() -> None:
    net, x = small()
    wanted = net(x).asnumpy()
    before = mx.runtime.onednn_primitives().misses
    with knobs(MXNET_ONEDNN_CACHE_NUM=0):
        np.testing.assert_array_equal(net(x).asnumpy(), wanted)
        assert mx.runtime.onednn_primitives().misses > before
        assert mx.runtime.onednn_primitives().kept == 0
