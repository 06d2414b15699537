"""What optimizers do to weights. The numbers were measured with MXNet 1.9.1."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from minimx import nd, optimizer
from minimx.core.device import gpu
from minimx.core.errors import ArgumentError, MXNetError
from minimx.core.knobs import knobs
from minimx.core.ops.registry import Plan, forget_plans, lookup
from minimx.gluon.parameter import Parameter
from minimx.lr_scheduler import FactorScheduler

WEIGHT = [1.0, -2.0, 3.0, 0.5]
GRADS = [[0.5, -1.0, 2.0, 0.1], [-0.3, 0.7, 1.5, -0.2], [0.9, 0.1, -2.5, 0.0]]

SGD = {"learning_rate": 0.1}
CASES: list[tuple[str, dict[str, Any], list[float]]] = [
    ("sgd", {**SGD, "wd": 0.01}, [0.887073, -1.974136, 2.891559, 0.508501]),
    (
        "sgd",
        {**SGD, "momentum": 0.9, "wd": 0.01},
        [0.826055, -1.861099, 2.407094, 0.508115],
    ),
    (
        "sgd",
        {**SGD, "momentum": 0.9, "clip_gradient": 0.4, "rescale_grad": 0.5},
        [0.92075, -1.9631, 2.8556, 0.50545],
    ),
    (
        "nag",  # without wd: MXNet's kernel decays with the weight it just overwrote
        {**SGD, "momentum": 0.9, "clip_gradient": 1.2},
        [0.73835, -1.8648, 2.49012, 0.51981],
    ),
    ("nag", SGD, [0.89, -1.98, 2.9, 0.51]),
    (
        "signum",
        {**SGD, "momentum": 0.9, "wd": 0.01, "wd_lh": 0.02},
        [0.694612, -1.688624, 2.682636, 0.597206],
    ),
    (
        "signum",
        {**SGD, "momentum": 0.0, "wd": 0.01},
        [0.897103, -2.094106, 2.891309, 0.498601],
    ),
    (
        "adagrad",
        {**SGD, "wd": 0.01, "clip_gradient": 0.4, "rescale_grad": 0.5},
        [0.867789, -1.969356, 2.878304, 0.488056],
    ),
    (
        "rmsprop",
        {**SGD, "wd": 0.01, "clip_gradient": 0.6},
        [0.61195, -1.945609, 2.646451, 0.459306],
    ),
    (
        "rmsprop",
        {**SGD, "centered": True, "wd": 0.01, "clip_weights": 2.5},
        [0.122722, -1.467661, 1.74727, 0.137252],
    ),
    (
        "signum",
        {**SGD, "momentum": 0.0, "wd": 0.3, "clip_gradient": 0.4},
        [0.815583, -1.928256, 2.646929, 0.459247],
    ),
    (
        "sgd",
        {**SGD, "momentum": 0.9, "wd": 0.3, "clip_gradient": 0.4},
        [0.748217, -1.65291, 2.369303, 0.429427],
    ),
    (
        "rmsprop",
        {**SGD, "centered": True, "wd": 0.3, "clip_gradient": 0.4},
        [0.004414, -1.161574, 1.806252, -0.094004],
    ),
    ("adadelta", {"wd": 0.01, "rho": 0.8}, [0.959185, -1.940877, 2.9064, 0.487258]),
    (
        "ftrl",
        {**SGD, "wd": 0.01, "lamda1": 0.05},
        [0.272, -0.983028, 1.943286, 0.048121],
    ),
    (
        "adam",
        {**SGD, "wd": 0.01, "clip_gradient": 1.2},
        [0.816101, -1.87874, 2.773799, 0.45898],
    ),
    ("adamax", {**SGD, "wd": 0.01}, [0.839606, -1.882967, 2.804714, 0.443666]),
    ("nadam", {**SGD, "wd": 0.01}, [0.844721, -1.953147, 2.898221, 0.484395]),
]


def three_steps(name: str, settings: dict[str, Any]) -> Any:
    updater = optimizer.get_updater(optimizer.create(name, **settings))
    weight = nd.array(WEIGHT)
    for gradient in GRADS:
        updater(0, nd.array(gradient), weight)
    return weight.asnumpy()


@pytest.mark.parametrize(("name", "settings", "after"), CASES)
def test_three_steps_are_those_of_mxnet(
    name: str, settings: dict[str, Any], after: list[float]
) -> None:
    np.testing.assert_allclose(three_steps(name, settings), after, atol=2e-6)


def test_adamw_decays_outside_the_averages() -> None:
    plain = three_steps("adamw", {"learning_rate": 0.1})
    np.testing.assert_allclose(
        plain, three_steps("adam", {"learning_rate": 0.1, "epsilon": 1e-6}), rtol=1e-5
    )
    decayed = three_steps("adamw", {"learning_rate": 0.1, "wd": 0.5})
    assert (abs(decayed) < abs(plain)).all()


def test_sgld_wanders_with_the_square_root_of_the_rate() -> None:
    updater = optimizer.get_updater(optimizer.create("sgld", learning_rate=0.01))
    weight = nd.zeros((10_000,))
    updater(0, nd.zeros((10_000,)), weight)
    assert weight.asnumpy().std() == pytest.approx(0.1, rel=0.05)


@pytest.mark.parametrize("momentum", [0.0, 0.9])
@pytest.mark.parametrize("size", [1, 3, 4, 60])
def test_aggregation_changes_launches_but_not_weights(
    momentum: float, size: int
) -> None:
    numbers = np.random.default_rng(0).normal(size=(7, 5)).astype(np.float32)
    gradients = [nd.array(row * 2) for row in numbers]
    found = []
    for aggregated in (1, size):
        with knobs(MXNET_OPTIMIZER_AGGREGATION_SIZE=aggregated):
            made = optimizer.SGD(learning_rate=0.1, momentum=momentum, wd=0.1)
            updater = optimizer.Updater(made)
            weights = [nd.array(row) for row in numbers]
            for _ in range(2):
                updater(list(range(7)), gradients, weights)
        found.append(np.stack([weight.asnumpy() for weight in weights]))
    np.testing.assert_array_equal(found[0], found[1])


def test_the_number_of_launches_is_the_quotient_rounded_up() -> None:
    calls: list[int] = []

    class Counting(optimizer.SGD):
        takes_lists = True

        def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
            calls.append(len(index) if isinstance(index, list) else 1)
            super().update(index, weight, grad, state)

    updater = optimizer.Updater(Counting(learning_rate=0.1))
    arrays = [nd.ones((2,)) for _ in range(7)]
    for size, groups in ((1, [1] * 7), (4, [4, 3]), (7, [7]), (60, [7])):
        calls.clear()
        with knobs(MXNET_OPTIMIZER_AGGREGATION_SIZE=size):
            updater(list(range(7)), arrays, arrays)
        assert calls == groups


def test_weights_of_two_dtypes_do_not_share_a_launch() -> None:
    updater = optimizer.Updater(optimizer.SGD(learning_rate=1.0))
    weights = [nd.ones((2,), dtype=t) for t in ("float32", "float64", "float32")]
    gradients = [nd.ones((2,), dtype=w.dtype) for w in weights]
    updater([0, 1, 2], gradients, weights)
    for weight in weights:
        assert weight.asnumpy().tolist() == [0.0, 0.0]


def test_a_schedule_sees_the_number_of_updates() -> None:
    schedule = FactorScheduler(1, 0.5)
    made = optimizer.SGD(learning_rate=1.0, lr_scheduler=schedule)
    updater = optimizer.Updater(made)
    weight = nd.zeros((1,))
    seen = []
    for _ in range(3):
        updater(0, nd.ones((1,)), weight)
        seen.append(float(weight.asscalar()))
    assert seen == [-1.0, -1.5, -1.75]
    with pytest.raises(UserWarning, match="FactorScheduler"):
        made.set_learning_rate(0.1)


def test_multipliers_of_a_parameter() -> None:
    parameter = Parameter("w", shape=(1,), lr_mult=0.1, wd_mult=0.0)
    made = optimizer.SGD(learning_rate=1.0, wd=5.0, param_dict={3: parameter})
    assert made._get_lrs([3, 4]) == [0.1, 1.0]
    assert made._get_wds([3, 4]) == [0.0, 5.0]


def test_named_biases_do_not_decay() -> None:
    names = {0: "fc_weight", 1: "fc_bias", 2: "bn_gamma"}
    made = optimizer.SGD(wd=1.0, param_idx2name=names)
    assert made._get_wds([0, 1, 2]) == [1.0, 0.0, 1.0]
    made.set_lr_mult({"fc_bias": 2.0})
    assert made._get_lr(1) == 2 * made._get_lr(0)


def test_a_float16_weight_follows_its_float32_copy() -> None:
    made = optimizer.SGD(learning_rate=1.0, multi_precision=True)
    updater = optimizer.Updater(made)
    weight = nd.ones((1,), dtype="float16")
    small = nd.array([1e-4], dtype="float16")
    for _ in range(20):  # each step alone is too small for float16 near 1
        updater(0, small, weight)
    assert float(weight.asscalar()) == pytest.approx(0.998, abs=5e-4)


def test_float16_without_a_copy_warns() -> None:
    updater = optimizer.Updater(optimizer.SGD(learning_rate=1.0))
    weight = nd.ones((1,), dtype="float16")
    with pytest.warns(UserWarning, match="multi_precision"):
        updater(0, weight, weight)


def test_the_base_asks_for_an_update() -> None:
    with pytest.raises(RuntimeError, match="has no update"):
        optimizer.Updater(optimizer.Optimizer())(0, nd.ones((1,)), nd.ones((1,)))


def test_an_unknown_name_suggests_one() -> None:
    with pytest.raises(ArgumentError, match="adma.*Did you mean adam"):
        optimizer.create("adma")


def test_users_register_their_own() -> None:
    @optimizer.register
    class Backwards(optimizer.Optimizer):
        def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
            weight[:] = weight + grad

    updater = optimizer.get_updater(optimizer.create("backwards"))
    weight = nd.ones((2,))
    updater("w", nd.ones((2,)), weight)
    assert weight.asnumpy().tolist() == [2.0, 2.0]


def test_states_live_beside_their_weight() -> None:
    made = optimizer.SGD(learning_rate=0.1, momentum=0.9)
    updater = optimizer.Updater(made)
    weight = nd.ones((2,), ctx=gpu(0))
    updater(0, nd.ones((2,), ctx=gpu(0)), weight)
    assert updater.states[0].context is gpu(0)


RATES = {"wd": 0.0, "rescale_grad": 0.5, "clip_gradient": -1.0, "lazy_update": True}


def test_an_update_of_another_rate_is_like_one_that_was_checked() -> None:
    sheet: Any = lookup("adam_update")
    first, second = (sheet.of(lr=rate, beta1=0.8, **RATES) for rate in (0.1, 0.2))
    assert second == sheet(**first.settings | {"lr": 0.2})
    assert (first.lr, second.lr, second.beta1, second.beta2) == (0.1, 0.2, 0.8, 0.999)
    assert second is sheet.of(lr=0.2, beta1=0.8, **RATES)
    assert first.plans is not second.plans


def test_what_is_no_float_is_checked_each_time() -> None:
    sheet: Any = lookup("adam_update")
    sheet.of(lr=0.1, **RATES)
    assert sheet.of(lr="0.25", **RATES).lr == 0.25
    assert sheet.of(lr=0.3, **RATES | {"lazy_update": "false"}).lazy_update is False
    assert type(sheet.of(lr=1, **RATES).lr) is float
    for wrong in ({"lr": "fast"}, {"lr": 0.4, "rate": 0.4}, {}):
        with pytest.raises(MXNetError, match="adam_update"):
            sheet.of(**RATES, **wrong)


def test_the_sign_of_zero_reaches_an_update() -> None:
    sheet: Any = lookup("adam_update")
    for decay in (0.0, -0.0, 0.0):
        made = sheet.of(lr=0.1, **RATES | {"wd": decay})
        assert math.copysign(1, made.wd) == math.copysign(1, decay)


def test_updates_of_two_operators_are_not_taken_for_each_other() -> None:
    plain: Any = lookup("sgd_update")
    mixed: Any = lookup("mp_sgd_update")
    for rate in (0.1, 0.2):
        assert type(mixed.of(lr=rate, wd=0.0)) is not type(plain.of(lr=rate, wd=0.0))


def test_a_knob_that_plans_depend_on_reaches_updates_of_new_rates() -> None:
    weight, grad = nd.ones((4,)), nd.ones((4,))
    for rate in (0.1, 0.2):
        nd.sgd_update(weight, grad, lr=rate, out=weight)
    made: Any = lookup("sgd_update").of(lr=0.2)
    assert made.plans
    forget_plans()
    assert not made.plans


def test_another_rate_takes_the_plans_of_the_one_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    weight, grad = nd.ones((3, 7)), nd.ones((3, 7))
    nd.sgd_update(weight, grad, lr=0.125, wd=0.0, out=weight)
    made: list[Any] = []
    monkeypatch.setattr(Plan, "__init__", lambda *plan: made.append(plan))
    for rate in (0.25, 0.5):
        nd.sgd_update(weight, grad, lr=rate, wd=0.0, out=weight)
    assert weight.asnumpy().tolist() == [[0.125] * 7] * 3
    assert made == []
