"""What new parameters are filled with."""

from __future__ import annotations

from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minimx import initializer as init
from minimx import nd, random
from minimx.core.errors import ArgumentError, ShapeError


def filled(made: Any, shape: tuple[int, ...], name: str = "fc_weight") -> Any:
    array = nd.full(shape, -7.0)
    made(init.InitDesc(name), array)
    return array.asnumpy()


def test_endings_of_names_decide() -> None:
    made = init.Constant(5.0)
    for name, value in {
        "fc_weight": 5,
        "fc_bias": 0,
        "bn_gamma": 1,
        "bn_beta": 0,
        "bn_running_mean": 0,
        "bn_running_var": 1,
        "bn_moving_mean": 0,
        "bn_moving_var": 1,
    }.items():
        assert (filled(made, (2,), name) == value).all(), name
    with pytest.raises(ArgumentError, match=r"'fc_foo': the name ends in none of"):
        filled(made, (2,), "fc_foo")


def test_a_parameters_own_initializer_wins() -> None:
    array = nd.zeros((2,))
    init.Zero()(init.InitDesc("fc_bias", {"__init__": init.One()}), array)
    assert array.asnumpy().tolist() == [1.0, 1.0]
    init.Zero()(init.InitDesc("x", {"__init__": init.Constant(3).dumps()}), array)
    assert array.asnumpy().tolist() == [3.0, 3.0]


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (
            init.Xavier(),
            '["xavier", {"rnd_type": "uniform", "factor_type": "avg", "magnitude": 3}]',
        ),
        (init.Normal(0.1), '["normal", {"sigma": 0.1}]'),
        (init.MSRAPrelu(), '["msraprelu", {"factor_type": "avg", "slope": 0.25}]'),
        (init.Orthogonal(), '["orthogonal", {"scale": 1.414, "rand_type": "uniform"}]'),
        (init.Constant(3), '["constant", {"value": 3}]'),
        (init.Zero(), '["zero", {}]'),
        (init.LSTMBias(2.0), '["lstmbias", {"forget_bias": 2.0}]'),
        (init.Constant(nd.array([1, 2])), '["constant", {"value": [1.0, 2.0]}]'),
    ],
)
def test_initializers_are_stored_as_mxnet_does(made: Any, text: str) -> None:
    assert made.dumps() == text
    again = init.create(text)
    assert type(again) is type(made)
    assert again == made
    assert hash(again) == hash(again)
    assert again.dumps() == text


def test_names_and_nicknames() -> None:
    assert isinstance(init.create("zeros"), init.Zero)
    assert isinstance(init.create("ones"), init.One)
    assert isinstance(init.create("gaussian", sigma=2.0), init.Normal)
    with pytest.raises(ArgumentError, match="Did you mean xavier"):
        init.create("xaver")
    assert repr(init.Xavier()).startswith("Xavier(rnd_type='uniform'")
    assert init.Xavier() == init.Xavier() != init.Xavier("gaussian")


def test_uniform_and_normal() -> None:
    random.seed(0)
    uniform = filled(init.Uniform(0.5), (4000,))
    assert 0.49 < abs(uniform).max() <= 0.5
    normal = filled(init.Normal(0.2), (4000,))
    assert normal.std() == pytest.approx(0.2, rel=0.1)
    assert abs(normal.mean()) < 0.02


@pytest.mark.parametrize(
    ("factor", "fan"), [("in", 3 * 25), ("out", 8 * 25), ("avg", 5.5 * 25)]
)
@pytest.mark.parametrize("kind", ["uniform", "gaussian"])
def test_xavier_scales_with_inputs_and_outputs(
    kind: str, factor: str, fan: float
) -> None:
    random.seed(0)
    numbers = filled(init.Xavier(kind, factor, 2.34), (8, 3, 5, 5))
    scale = sqrt(2.34 / fan)
    if kind == "uniform":
        assert abs(numbers).max() <= scale
        scale /= sqrt(3)
    assert numbers.std() == pytest.approx(scale, rel=0.1)


def test_msra_is_a_gaussian_xavier() -> None:
    random.seed(0)
    numbers = filled(init.MSRAPrelu("in", 0.5), (200, 100))
    assert numbers.std() == pytest.approx(sqrt(2 / 1.25 / 100), rel=0.05)


@pytest.mark.parametrize("shape", [(3, 7), (7, 3), (4, 2, 3)])
@pytest.mark.parametrize("kind", ["uniform", "normal"])
def test_orthogonal_rows_or_columns(kind: str, shape: tuple[int, ...]) -> None:
    matrix = filled(init.Orthogonal(2.0, kind), shape).reshape(shape[0], -1)
    if matrix.shape[0] > matrix.shape[1]:
        matrix = matrix.T
    np.testing.assert_allclose(matrix @ matrix.T, 4 * np.eye(len(matrix)), atol=1e-5)


def test_bilinear_and_lstm_are_those_of_mxnet() -> None:
    window = filled(init.Bilinear(), (2, 2, 4, 4))
    row = np.array([0.25, 0.75, 0.75, 0.25])
    np.testing.assert_allclose(window[1, 0], np.outer(row, row))
    assert filled(init.LSTMBias(2.0), (8,)).tolist() == [0, 0, 2, 2, 0, 0, 0, 0]


def test_mixed_takes_the_first_pattern_that_matches() -> None:
    made = init.Mixed([".*bias", ".*"], [init.Zero(), init.Constant(4)])
    assert filled(made, (1,), "fc_bias") == 0
    assert filled(made, (1,), "fc_weight") == 4
    only = init.Mixed(["conv"], ["zeros"])
    with pytest.raises(ArgumentError, match=r"no pattern matches 'fc_weight'"):
        filled(only, (1,))
    with pytest.raises(ArgumentError, match="2 patterns for 1"):
        init.Mixed(["a", "b"], ["zeros"])


def test_stored_values(tmp_path: Path) -> None:
    path = str(tmp_path / "x.params")
    nd.save(path, {"arg:fc_weight": nd.array([1.0, 2.0])})
    made = init.Load(path, default_init="ones")
    assert filled(made, (2,)).tolist() == [1.0, 2.0]
    assert filled(made, (3,), "other_weight").tolist() == [1.0] * 3
    with pytest.raises(ShapeError, match=r"\(3,\).*\(2,\)"):
        filled(made, (3,))
    bare = init.Load({"w": nd.ones((1,))})
    with pytest.raises(ArgumentError, match="give a default_init"):
        filled(bare, (1,))
    nd.save(path, [nd.ones((1,))])
    with pytest.raises(ArgumentError, match="without names"):
        init.Load(path)


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: filled(init.Xavier(), (3,)), ShapeError, "fewer than two axes"),
        (lambda: filled(init.Bilinear(), (3, 3)), ShapeError, "four axes"),
        (lambda: init.Xavier("normal"), ArgumentError, "uniform, gaussian"),
        (lambda: init.Xavier(factor_type="both"), ArgumentError, "avg, in, out"),
        (lambda: init.Orthogonal(rand_type="x"), ArgumentError, "uniform, normal"),
        (lambda: filled(init.Initializer(), (2,)), ArgumentError, "_init_weight"),
    ],
)
def test_wrong_use_is_explained(make: Any, error: Any, words: str) -> None:
    with pytest.raises(error, match=words):
        make()


def test_a_users_initializer() -> None:
    @init.register
    class Counting(init.Initializer):
        def _init_weight(self, name: str, arr: Any) -> None:
            arr[:] = np.arange(arr.size).reshape(arr.shape)

    assert filled(init.create("counting"), (2, 2)).tolist() == [[0, 1], [2, 3]]
