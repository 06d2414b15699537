"""Optimizers for layers and large batches. The numbers are those of MXNet 1.9.1."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx import nd, optimizer
from minimx.core.knobs import knobs

WEIGHT = [1.0, -2.0, 3.0, 0.5]
GRADS = [[0.5, -1.0, 2.0, 0.1], [-0.3, 0.7, 1.5, -0.2], [0.9, 0.1, -2.5, 0.0]]

CASES: list[tuple[str, dict[str, Any], list[float]]] = [
    (
        "ftml",
        {"learning_rate": 0.1, "wd": 0.01},
        [0.869587, -1.954874, 2.908424, 0.476002],
    ),
    (
        "ftml",
        {"learning_rate": 0.1, "clip_gradient": 0.4, "rescale_grad": 0.5},
        [0.874081, -1.966485, 2.888521, 0.479045],
    ),
    (
        "ftrl",
        {"learning_rate": 0.1, "wd": 0.01, "lamda1": 0.3, "clip_gradient": 0.8},
        [0.25857, -0.866067, 1.267519, 0.025414],
    ),
    (
        "lamb",
        {"learning_rate": 0.1, "wd": 0.01},
        [0.464719, -1.739497, 2.441588, 0.554484],
    ),
    (
        "lamb",
        {
            "learning_rate": 0.1,
            "lower_bound": 1.0,
            "upper_bound": 2.0,
            "bias_correction": False,
            "clip_gradient": 0.6,
        },
        [0.702092, -1.943071, 2.639511, 0.549532],
    ),
    (
        "lars",
        {"learning_rate": 0.1, "wd": 0.01, "momentum": 0.9, "eta": 0.1},
        [0.977069, -1.984233, 2.881984, 0.503322],
    ),
    (
        "lars",
        {
            "learning_rate": 0.1,
            "eta": 0.5,
            "eps": 0.1,
            "clip_gradient": 0.7,
            "rescale_grad": 0.5,
        },
        [0.934606, -1.99782, 2.847203, 0.511646],
    ),
    (
        "lbsgd",
        {"learning_rate": 0.1, "momentum": 0.9, "wd": 0.01, "warmup_strategy": "lars"},
        [0.784239, -1.815028, 1.808465, 0.526227],
    ),
    (
        "lbsgd",
        {
            "learning_rate": 0.1,
            "batch_scale": 3,
            "updates_per_epoch": 2,
            "warmup_strategy": "power2",
        },
        [0.956733, -1.992133, 2.960667, 0.503933],
    ),
    (
        "dcasgd",
        {"learning_rate": 0.1, "lamda": 0.5, "clip_gradient": 0.8},
        [0.899258, -2.001924, 2.925038, 0.51002],
    ),
    (
        "groupadagrad",
        {"learning_rate": 0.1, "clip_gradient": 0.8},
        [0.882338, -1.971438, 2.842178, 0.506984],
    ),
    ("ccsgd", {"learning_rate": 0.1}, [0.89, -1.98, 2.9, 0.51]),
]


def three_steps(name: str, settings: dict[str, Any], dtype: str = "float32") -> Any:
    updater = optimizer.get_updater(optimizer.create(name, **settings))
    shape = (2, 2) if name == "groupadagrad" else (4,)
    weight = nd.array(WEIGHT, dtype=dtype).reshape(shape)
    for gradient in GRADS:
        updater(0, nd.array(gradient, dtype=dtype).reshape(shape), weight)
    return weight.asnumpy().reshape(4)


@pytest.mark.parametrize(("name", "settings", "after"), CASES)
def test_three_steps_are_those_of_mxnet(
    name: str, settings: dict[str, Any], after: list[float]
) -> None:
    np.testing.assert_allclose(three_steps(name, settings), after, atol=2e-6)


def test_dcasgd_with_momentum_and_no_delay_is_sgd() -> None:
    settings = {"learning_rate": 0.1, "momentum": 0.9}
    plain = three_steps("dcasgd", {**settings, "lamda": 0.0})
    np.testing.assert_allclose(plain, three_steps("sgd", settings), rtol=1e-6)


@pytest.mark.parametrize("name", ["lars", "lamb"])
@pytest.mark.parametrize("size", [1, 3])
def test_aggregation_changes_launches_but_not_weights(name: str, size: int) -> None:
    names = dict(enumerate(["a_weight", "a_bias", "b_weight", "b_gamma"]))

    def weights(many: int) -> list[Any]:
        with knobs(MXNET_OPTIMIZER_AGGREGATION_SIZE=many):
            momentum = {"momentum": 0.9} if name == "lars" else {}
            made = optimizer.create(name, wd=0.1, param_idx2name=names, **momentum)
            updater = optimizer.get_updater(made)
            arrays = [nd.array(WEIGHT) * (k + 1) for k in range(4)]
            for gradient in GRADS:
                grads = [nd.array(gradient) for _ in arrays]
                updater(list(range(4)), grads, arrays)
        return [array.asnumpy() for array in arrays]

    for one, other in zip(weights(size), weights(60), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


@pytest.mark.parametrize("name", ["lamb", "lars", "ftml", "lbsgd"])
def test_a_float16_weight_follows_its_float32_copy(name: str) -> None:
    settings = {"learning_rate": 0.1, "multi_precision": True}
    half = three_steps(name, settings, "float16")
    single = three_steps(name, {"learning_rate": 0.1})
    np.testing.assert_allclose(half, single, rtol=2e-3, atol=2e-3)


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="linear, power2, sqrt, lars"):
        optimizer.create("lbsgd", warmup_strategy="cubic")
    with pytest.raises(ValueError, match="no weight decay"):
        three_steps("groupadagrad", {"wd": 0.1})
    updater = optimizer.get_updater(mx.optimizer.contrib.GroupAdaGrad())
    with pytest.raises(ValueError, match="matrix"):
        updater(0, nd.ones((2,)), nd.ones((2,)))
