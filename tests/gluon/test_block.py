"""Blocks: parts, hooks, files, and on whose behalf they work."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minimx import gluon, nd
from minimx.core import autograd, events
from minimx.core.device import cpu, gpu
from minimx.core.errors import (
    ArgumentError,
    DataError,
    DeferredInitializationError,
    ParameterError,
    ShapeError,
)
from minimx.gluon import nn


class Net(gluon.Block):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.hidden = nn.Dense(3, activation="relu")
            self.output = nn.Dense(2)

    def forward(self, x: Any) -> Any:
        return self.output(self.hidden(x))


def mlp(**kwargs: Any) -> nn.HybridSequential:
    net = nn.HybridSequential()
    net.add(nn.Dense(4, activation="relu", **kwargs), nn.Dense(2))
    return net


def test_attributes_become_parts() -> None:
    net = Net(prefix="net_")
    net.initialize()
    assert net(nd.ones((5, 7))).shape == (5, 2)
    assert list(net.collect_params().keys()) == [
        "net_dense0_weight",
        "net_dense0_bias",
        "net_dense1_weight",
        "net_dense1_bias",
    ]
    assert repr(net) == (
        "Net(\n"
        "  (hidden): Dense(7 -> 3, Activation(relu))\n"
        "  (output): Dense(3 -> 2, linear)\n"
        ")"
    )


def test_a_part_can_be_replaced_by_its_like_only() -> None:
    net = Net()
    net.output = nn.Dense(9)
    net.initialize()
    assert net(nd.ones((1, 2))).shape == (1, 9)
    with pytest.raises(ArgumentError, match="output of Net is a Dense"):
        net.output = 3  # type: ignore[assignment]


def test_a_parameter_cannot_be_replaced() -> None:
    layer = nn.Dense(2, in_units=1)
    other = nn.Dense(2, in_units=1)
    with pytest.raises(ArgumentError, match="parameter already"):
        layer.weight = other.weight


def test_parts_before_init_are_refused() -> None:
    class Early(gluon.Block):
        def __init__(self) -> None:
            self.layer = nn.Dense(1)

    with pytest.raises(ArgumentError, match=r"super\(\).__init__\(\) first"):
        Early()


def test_blocks_in_a_plain_list_are_pointed_out() -> None:
    net = Net()
    net.more = [nn.Dense(1)]
    with pytest.warns(UserWarning, match=r"Net\.more holds blocks in a plain list"):
        net.collect_params()


def test_a_hybrid_block_has_hybrid_parts() -> None:
    with pytest.raises(ArgumentError, match="must be a HybridBlock"):
        nn.HybridSequential().add(nn.Lambda("tanh"))
    with pytest.raises(ArgumentError, match="must be a Block, not a int"):
        nn.Sequential().add(3)


def test_missing_forward_is_named() -> None:
    for kind in (gluon.Block, gluon.HybridBlock):
        with pytest.raises(NotImplementedError, match="Write one"):
            kind()(nd.ones((1,)))


def test_hooks_run_around_forward_until_detached() -> None:
    net = mlp()
    net.initialize()
    seen: list[str] = []
    before = net.register_forward_pre_hook(lambda block, args: seen.append("before"))
    with net.register_forward_hook(
        lambda block, args, out: seen.append(str(out.shape))
    ):
        net(nd.ones((2, 3)))
    net(nd.ones((2, 3)))
    before.detach()
    before.detach()
    net(nd.ones((2, 3)))
    assert seen == ["before", "(2, 2)", "before"]


def test_hooks_see_the_call_that_completes_shapes() -> None:
    net = gluon.nn.Dense(2)  # it learns the number of its inputs from them
    net.initialize()
    seen: list[Any] = []
    net.register_forward_hook(lambda block, args, out: seen.append(out.shape))
    net(nd.ones((4, 3)))
    net(nd.ones((5, 3)))
    assert seen == [(4, 2), (5, 2)]


def test_apply_visits_parts_before_the_whole() -> None:
    net = mlp()
    seen: list[Any] = []
    assert net.apply(seen.append) is net
    assert seen == [net[0].act, net[0], net[1], net]


def test_use_before_initialize_and_before_data() -> None:
    layer = nn.Dense(3)
    with pytest.raises(ParameterError, match=r"call initialize\(\)"):
        layer(nd.ones((2, 3)))
    layer.initialize()
    with pytest.raises(DeferredInitializationError):
        layer.weight.data()
    layer(nd.ones((2, 5)))
    assert layer.weight.data().shape == (3, 5)
    with pytest.raises(ShapeError):
        layer(nd.ones((2, 6))).wait_to_read()


class Scale(gluon.HybridBlock):
    """A user's layer that learns a shape."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.factor = self.params.get(
            "factor", shape=(0,), init="ones", allow_deferred_init=True
        )

    def hybrid_forward(self, F: Any, x: Any, factor: Any) -> Any:
        return F.broadcast_mul(x, factor)


def test_an_open_shape_that_no_operator_completes_is_explained() -> None:
    layer = Scale()
    layer.initialize()
    with pytest.raises(
        DeferredInitializationError, match=r"scale\d+_factor.*Override infer_shape"
    ):
        layer(nd.ones((2, 3)))
    layer.factor.shape = (3,)
    assert layer(nd.ones((2, 3))).shape == (2, 3)


class Twice(gluon.HybridBlock):
    """A user's layer whose operators complete what it does not know."""

    def __init__(self, units: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._units = units
        self.weight = self.params.get(
            "weight", shape=(units, 0), allow_deferred_init=True
        )
        self.bias = self.params.get("bias", shape=(units,), init="ones")

    def hybrid_forward(self, F: Any, x: Any, weight: Any, bias: Any) -> Any:
        out = F.FullyConnected(x, weight=weight, bias=bias, num_hidden=self._units)
        return out + (weight * 0).sum()  # the same array, completed by now


def test_operators_complete_what_a_users_layer_does_not_know() -> None:
    layer = Twice(4)
    layer.initialize(ctx=[cpu(0), gpu(0)])
    with autograd.record():
        out = layer(nd.ones((2, 5), ctx=gpu(0)))
    out.backward()
    assert layer.weight.shape == (4, 5)
    assert layer.weight.grad(gpu(0)).asnumpy().tolist() == [[2.0] * 5] * 4
    again = layer(nd.ones((2, 5), ctx=gpu(0)))
    np.testing.assert_array_equal(again.asnumpy(), out.asnumpy())


def test_data_of_the_wrong_form_leaves_the_shape_open() -> None:
    layer = nn.Conv2D(2, 3)
    layer.initialize()
    with pytest.raises(ShapeError):
        layer(nd.ones((5, 7)))
    assert layer.weight.shape == (2, 0, 3, 3)
    assert layer(nd.ones((1, 4, 5, 5))).shape == (1, 2, 3, 3)


def test_a_users_layer_with_a_rule() -> None:
    class Ruled(Scale):
        def infer_shape(self, *args: Any) -> None:
            self.factor.shape = args[0].shape[-1:]

    layer = Ruled()
    layer.initialize()
    layer.hybridize(static_alloc=True, static_shape=True)
    assert layer(nd.ones((2, 3))).asnumpy().tolist() == [[1.0] * 3] * 2
    assert layer.factor.shape == (3,)


def test_values_survive_a_file(tmp_path: Path) -> None:
    first, second = mlp(), mlp()
    first.initialize()
    x = nd.array(np.random.default_rng(0).normal(size=(3, 5)))
    expected = first(x).asnumpy()
    first.save_parameters(tmp_path / "net.params")
    assert sorted(nd.load(tmp_path / "net.params")) == [
        "0.bias",
        "0.weight",
        "1.bias",
        "1.weight",
    ]
    second.load_parameters(tmp_path / "net.params", ctx=gpu(0))
    assert second.collect_params().list_ctx() == [gpu(0)]
    found = second(x.as_in_context(gpu(0))).asnumpy()
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_a_file_by_full_names(tmp_path: Path) -> None:
    first, second = mlp(in_units=3), mlp(in_units=3)
    first.initialize()
    first(nd.ones((1, 3)))
    params = first.collect_params()
    params.save(tmp_path / "net.params", strip_prefix="")
    renamed = {
        other.name: value
        for value, other in zip(
            [p.data() for p in params.values()],
            second.collect_params().values(),
            strict=True,
        )
    }
    second.load_dict(renamed)
    for one, other in zip(
        params.values(), second.collect_params().values(), strict=True
    ):
        assert (one.data().asnumpy() == other.data().asnumpy()).all()


def test_a_parameter_shared_by_two_layers_is_saved_once(tmp_path: Path) -> None:
    def twins() -> nn.Sequential:
        net = nn.Sequential()
        net.add(nn.Dense(3, in_units=3))
        net.add(nn.Dense(3, in_units=3, params=net[0].params))
        return net

    first, second = twins(), twins()
    first.initialize()
    first.save_parameters(tmp_path / "net.params", deduplicate=True)
    assert sorted(nd.load(tmp_path / "net.params")) == ["0.bias", "0.weight"]
    second.load_parameters(tmp_path / "net.params")
    x = nd.ones((1, 3))
    assert (second(x).asnumpy() == first(x).asnumpy()).all()


@pytest.mark.parametrize(
    ("make", "kwargs", "error", "words"),
    [
        (lambda: nn.Dense(2, in_units=2), {}, ParameterError, "nothing is stored for"),
        (lambda: mlp(in_units=9), {}, ShapeError, r"\(4, 9\)"),
        (lambda: nn.Sequential(), {}, ParameterError, "ignore_extra=True"),
        (lambda: mlp(dtype="float64"), {}, ParameterError, "cast_dtype=True"),
        (mlp, {"dtype_source": "mine"}, ParameterError, "'current'"),
    ],
)
def test_a_file_that_does_not_fit_changes_nothing(
    tmp_path: Path, make: Any, kwargs: Any, error: Any, words: str
) -> None:
    net = mlp(in_units=3)
    net.initialize()
    net(nd.ones((1, 3)))
    net.save_parameters(tmp_path / "net.params")
    other = make()
    with pytest.raises(error, match=words):
        other.load_parameters(tmp_path / "net.params", **kwargs)
    for parameter in other.collect_params().values():
        with pytest.raises(ParameterError, match="has no values"):
            parameter.data()


def test_loading_casts_to_either_side(tmp_path: Path) -> None:
    net = nn.Dense(2, in_units=2)
    net.initialize()
    net.save_parameters(tmp_path / "net.params")
    for source, dtype in (("current", np.float64), ("saved", np.float32)):
        other = nn.Dense(2, in_units=2, dtype="float64")
        other.load_parameters(
            tmp_path / "net.params", cast_dtype=True, dtype_source=source
        )
        assert other.weight.data().dtype is dtype


def test_missing_and_extra_can_be_left_alone(tmp_path: Path) -> None:
    net = nn.Sequential()
    net.add(nn.Dense(2, in_units=2))
    net.initialize()
    net.save_parameters(tmp_path / "net.params")
    longer = nn.Sequential()
    longer.add(nn.Dense(2), nn.Dense(3))
    longer.load_parameters(tmp_path / "net.params", allow_missing=True)
    assert longer[0].weight.shape == (2, 2)
    empty = nn.Sequential()
    empty.load_parameters(tmp_path / "net.params", ignore_extra=True)


def test_a_missing_or_damaged_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nope\.params"):
        mlp().load_parameters(tmp_path / "nope.params")
    (tmp_path / "bad.params").write_bytes(b"hello, this is not a file of arrays")
    with pytest.raises(DataError, match="not a file of arrays"):
        mlp().load_parameters(tmp_path / "bad.params")


def test_cast_and_move_a_network() -> None:
    net = mlp()
    net.initialize(ctx=[cpu(0)])
    net(nd.ones((1, 3)))
    net.cast("float64")
    net.reset_ctx(gpu(0))
    out = net(nd.ones((1, 3), ctx=gpu(0), dtype="float64"))
    assert out.dtype is np.float64
    assert out.context is gpu(0)
    net.setattr("grad_req", "null")
    assert net[0].weight.grad_req == "null"


def test_arrays_made_inside_belong_to_the_device_of_the_input() -> None:
    class AddOnes(gluon.HybridBlock):
        def hybrid_forward(self, F: Any, x: Any) -> Any:
            return x + F.ones((2,))

    assert AddOnes()(nd.ones((2,), ctx=gpu(0))).context is gpu(0)


def test_summary_counts_what_comes_out_and_in(capsys: Any) -> None:
    net = nn.HybridSequential()
    net.add(nn.Conv2D(8, 3), nn.BatchNorm(), nn.Flatten(), nn.Dense(10))
    net.initialize()
    net.summary(nd.zeros((2, 1, 8, 8)))
    table = capsys.readouterr().out
    for words in ("Conv2D-1", "(2, 8, 6, 6)", "2890", "3002", "2986"):
        assert words in table
    assert not net[0]._forward_hooks


# -- attribution ----------------------------------------------------------------------


class Spy(gluon.HybridBlock):
    """Notes on whose behalf it runs."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.seen: list[str] = []

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        self.seen.append(events.attribution.layer)
        return x


def spied() -> tuple[nn.HybridSequential, Spy]:
    net = nn.HybridSequential(prefix="lenet_")
    with net.name_scope():
        inner = nn.HybridSequential(prefix="features_")
        with inner.name_scope():
            spy = Spy()
            inner.add(spy)
        net.add(inner)
    return net, spy


def test_work_inside_is_attributed_to_the_path() -> None:
    net, spy = spied()
    net(nd.ones((1,)))
    net[0](nd.ones((1,)))
    with autograd.record():
        net(nd.ones((1,)))
    path = "lenet/features/spy0"
    assert spy.seen == [path, "lenet_features/spy0", path]
    assert events.attribution.layer == ""


def test_attribution_returns_after_an_error() -> None:
    class Broken(gluon.Block):
        def forward(self, x: Any) -> Any:
            raise KeyError(events.attribution.layer)

    with pytest.raises(KeyError, match="broken"):
        Broken(prefix="broken_")(1)
    assert events.attribution.layer == ""


def test_owners_follow_the_layer() -> None:
    owners: list[events.Owner] = []

    class Asks(gluon.Block):
        def forward(self, x: Any) -> Any:
            owners.append(events.owner("relu"))
            return x

    block = Asks(prefix="asks_")
    with events.attributed(phase="forward", category="activation"):
        block(1)
    block(1)
    assert [(o.layer, o.phase, o.category) for o in owners] == [
        ("asks", "forward", "activation"),
        ("asks", "other", "temporary"),
    ]


def test_threads_do_not_see_each_others_layers() -> None:
    seen: list[str] = []

    class Waits(gluon.Block):
        def forward(self, x: Any) -> Any:
            thread = threading.Thread(
                target=lambda: seen.append(events.attribution.layer)
            )
            thread.start()
            thread.join()
            return x

    Waits()(1)
    assert seen == [""]


def test_parameters_and_gradients_know_their_layer() -> None:
    net = nn.Sequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Dense(2, in_units=1), nn.Dense(2))
    net.initialize()
    net(nd.ones((1, 1)))
    for layer, name in ((net[0], "net/dense0"), (net[1], "net/dense1")):
        data = layer.weight.data().chunk.owner
        gradient = layer.weight.grad().chunk.owner
        assert (data.layer, data.category) == (name, "parameter")
        assert (gradient.layer, gradient.category) == (name, "gradient")


def test_a_part_stays_of_its_kind() -> None:
    block = gluon.Block()
    block.part = gluon.Block()
    with pytest.raises(TypeError, match="cannot become a tuple"):
        block.part = (2,)


def test_blocks_in_nested_containers_are_told_of() -> None:
    block = gluon.Block()
    first, second = nn.Dense(2), nn.Dense(2)
    block.layers = {"a": [first, {"b": second}], "c": 3}
    with pytest.warns(UserWarning, match="layers holds blocks in a plain dict"):
        block.collect_params()
    for layer in (first, second):
        block.register_child(layer)
    assert len(block.collect_params()) == 4


def test_a_sequential_of_hybrid_blocks_could_be_one_graph() -> None:
    net = nn.Sequential()
    net.hybridize()
    net.add(nn.Dense(2))
    with pytest.warns(UserWarning, match="HybridSequential"):
        net.hybridize()
    net.add(gluon.Block())
    net.hybridize()
