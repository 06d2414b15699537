"""What the table of samples cannot ask: states, chance, second gradients, lessons."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minimx.core.operators.conv import Convolution
from minimx.core.operators.matmul import FullyConnected
from minimx.core.operators.norm import BatchNorm
from minimx.core.operators.pointwise import Backward
from minimx.core.ops.registry import Op, lookup
from minimx.core.ops.spec import Spec
from minimx.operators.layers.norm import LayerNorm
from tests.core.ops.interpreter import Value, gradients, run, specs_of
from tests.core.ops.oracles import softmax
from tests.core.ops.sample import Sample, numbers
from tests.core.ops.samples import nn, norm, norm_groups, optim

F32 = np.dtype("float32")


def spec(*shape: int, dtype: Any = F32) -> Spec:
    return Spec.of(shape, np.dtype(dtype))


def of(name: str, **settings: Any) -> Op:
    return lookup(name).of(**settings)


# -- gradients of gradients ------------------------------------------------------------


def composable() -> list[Sample]:
    found = []
    for row in [*nn.ROWS, *norm.ROWS, *norm_groups.ROWS]:
        sheet = lookup(row.op)
        fused = row.op.startswith("_backward_") and sheet.composed is not None
        if fused and not issubclass(sheet, Backward):
            found.append(row)
    return found


class TestComposed:
    """The fused kernel of a gradient, and the same made of operators."""

    @pytest.mark.parametrize("sample", composable(), ids=str)
    def test_agrees_with_the_kernel(self, sample: Sample) -> None:
        op = of(sample.op, **sample.settings)
        inputs = sample.cast("float64")
        outs = run(op, *inputs)
        composed = op.composed(*(Value(a) for a in inputs))
        composed = composed if isinstance(composed, tuple) else (composed,)
        for fused, value in zip(outs, composed, strict=True):
            # eps and the statistics were rounded differently when the row was written
            np.testing.assert_allclose(value.array, fused, rtol=1e-6, atol=1e-6)


# -- states ----------------------------------------------------------------------------


class TestStates:
    """What operators change besides their outputs."""

    def test_batch_norm_moves_its_statistics_in_training_only(self) -> None:
        x = numbers(6, 2, 5)
        gamma, beta = np.ones(2), np.zeros(2)
        for training in (True, False):
            mean, var = np.full(2, 0.5), np.full(2, 2.0)
            op = of("BatchNorm", momentum=0.8, training=training)
            run(op, x, gamma, beta, mean, var)
            moved = 0.8 * 0.5 + 0.2 * x.mean((0, 2)), 0.8 * 2.0 + 0.2 * x.var((0, 2))
            expected = moved if training else (np.full(2, 0.5), np.full(2, 2.0))
            np.testing.assert_allclose(mean, expected[0])
            np.testing.assert_allclose(var, expected[1])
            moves = ("moving_mean", "moving_var") if training else ()
            assert op.mutates == ("gamma", *moves)

    def test_batch_norm_writes_a_fixed_gamma(self) -> None:
        x, zero, one = numbers(6, 2, 5), np.zeros(2), np.ones(2)
        for fixed, kept in ((True, 1.0), (False, 0.5)):
            gamma = np.full(2, 0.5)
            run(of("BatchNorm", fix_gamma=fixed), x, gamma, zero, zero, one)
            np.testing.assert_array_equal(gamma, [kept, kept])

    def test_a_large_mean_does_not_swallow_the_variance(self) -> None:
        x = (1e4 + numbers(64, 1, 16)).astype("float32")
        one, zero = np.ones(1, "float32"), np.zeros(1, "float32")
        out, _, invstd = run(of("BatchNorm", training=True), x, one, zero, zero, one)
        exact = x.astype("float64").var()
        np.testing.assert_allclose(1 / invstd**2 - 1e-3, exact, rtol=1e-4)
        assert abs(out.std() - 1) < 1e-2

    def test_momentum_is_kept(self) -> None:
        w, g, m = (a.copy() for a in (optim.W, optim.G, optim.S))
        step = -0.1 * (g + 0.5 * w)
        (out,) = run(of("sgd_mom_update", lr=0.1, momentum=0.9, wd=0.5), w, g, m)
        np.testing.assert_allclose(m, 0.9 * optim.S + step)
        np.testing.assert_allclose(out, optim.W + m)
        np.testing.assert_array_equal(w, optim.W)  # only out= may change the weight

    def test_adam_keeps_mean_and_square(self) -> None:
        w, g, m, v = (a.copy() for a in (optim.W, optim.G, optim.S, optim.T))
        run(of("adam_update", lr=0.1), w, g, m, v)
        np.testing.assert_allclose(m, 0.9 * optim.S + 0.1 * g)
        np.testing.assert_allclose(v, 0.999 * optim.T + 0.001 * g * g)

    def test_the_weight_may_be_written_where_it_stands(self) -> None:
        for row in optim.ROWS:
            if row.op.startswith(("mp_", "multi_")):
                continue
            op = of(row.op, **row.settings)
            first, second = (list(row.cast("float32")) for _ in range(2))
            expected = run(op, *first)[0]
            op.plan(specs_of(second)).kernel(*second, second[0])
            np.testing.assert_array_equal(second[0], expected)
            for a, b in zip(first[2:], second[2:], strict=True):
                np.testing.assert_array_equal(a, b)

    def test_a_mixed_update_keeps_what_half_precision_would_lose(self) -> None:
        weight, grad = np.ones(3, "float16"), np.full(3, 1e-4, "float16")
        master = np.ones(3, "float32")
        for _ in range(10):
            (weight,) = run(of("mp_sgd_update", lr=0.1), weight, grad, master)
        np.testing.assert_allclose(master, 1 - 1e-4, rtol=1e-6)
        assert (weight == np.float16(1 - 1e-4)).all()

    def test_a_new_learning_rate_compiles_nothing(self) -> None:
        from minimx.core.kernels import find

        w, g = optim.W.astype("float32"), optim.G.astype("float32")
        run(of("sgd_update", lr=0.1), w, g)
        compiled = find("updates.sgd").run.signatures
        for k in range(20):
            run(of("sgd_update", lr=0.1 / (k + 2)), w, g)
        assert find("updates.sgd").run.signatures == compiled


# -- randomness ------------------------------------------------------------------------


class TestDropout:
    """Which elements fall is decided by the generator alone."""

    X = np.ones((100, 100))

    def test_drops_as_many_as_asked_and_keeps_the_mean(self) -> None:
        out, _ = run(of("Dropout", p=0.3, training=True), self.X)
        assert set(np.unique(out)) == {0.0, 1 / 0.7}
        assert abs((out == 0).mean() - 0.3) < 0.02

    def test_the_same_state_of_the_generator_gives_the_same_mask(self) -> None:
        op = of("Dropout", training=True)
        first, again = run(op, self.X, seed=1)[0], run(op, self.X, seed=1)[0]
        other = run(op, self.X, seed=2)[0]
        np.testing.assert_array_equal(first, again)
        assert (first != other).any()

    def test_the_mask_takes_a_bit_for_each_element(self) -> None:
        _, bits = run(of("Dropout", training=True), self.X)
        assert bits.nbytes == self.X.size // 8

    def test_axes_share_their_fate(self) -> None:
        out, _ = run(of("Dropout", training=True, axes=(1,)), self.X)
        assert ((out == out[:, :1]).all(1)).all()
        assert 0 < (out[:, 0] == 0).sum() < 100

    def test_the_gradient_passes_where_the_data_did(self) -> None:
        op = of("Dropout", training=True)
        out, bits = run(op, self.X)
        (found,) = gradients(op, [self.X], [self.X], [True], [bits])
        np.testing.assert_array_equal(found, out)

    def test_where_nothing_is_kept_there_are_no_numbers(self) -> None:
        op = of("Dropout", p=1, training=True)
        out, bits = run(op, self.X)
        assert np.isnan(out).all()
        (found,) = gradients(op, [self.X], [self.X], [True], [bits])
        assert np.isnan(found).all()

    def test_prediction_changes_nothing_and_asks_for_no_numbers(self) -> None:
        op = of("Dropout", p=0.9)
        assert not op.needs_rng
        np.testing.assert_array_equal(run(op, self.X)[0], self.X)


class TestSlopesByChance:
    """A leaky relu whose slopes are drawn in training."""

    X = np.linspace(-1, 1, 1000)

    def test_each_negative_element_has_a_slope_between_the_bounds(self) -> None:
        op = of("LeakyReLU", act_type="rrelu", lower_bound=0.2, upper_bound=0.4,
                training=True)  # fmt: skip
        out, slopes = run(op, self.X)
        np.testing.assert_array_equal(out[500:], self.X[500:])
        np.testing.assert_allclose(out[:500], (self.X * slopes)[:500])
        assert 0.2 <= slopes[:500].min() < 0.22
        assert 0.38 < slopes[:500].max() <= 0.4
        heads = [self.X, np.zeros(1000)]
        (found,) = gradients(op, [self.X], heads, [True], [out, slopes])
        np.testing.assert_array_equal(found, np.where(self.X > 0, self.X, out))


# -- outputs that know their loss ------------------------------------------------------


class TestOutputs:
    """Their gradient is that of a loss, whatever gradient arrives."""

    X, LABEL = numbers(3, 4), np.array([1, 0, 3], np.int32)

    def gradient(self, name: str, label: Any, dout: Any, **settings: Any) -> Any:
        inputs = [self.X, label]
        return gradients(of(name, **settings), inputs, [dout], [True, False])[0]

    def test_softmax_output_ignores_what_arrives(self) -> None:
        expected = softmax(self.X) - np.eye(4)[self.LABEL]
        for dout in (np.ones((3, 4)), np.zeros((3, 4))):
            found = self.gradient("SoftmaxOutput", self.LABEL, dout)
            np.testing.assert_allclose(found, expected)

    def test_unless_it_is_told_to_listen(self) -> None:
        expected = (softmax(self.X) - np.eye(4)[self.LABEL]) * 3
        dout = np.full((3, 4), 3.0)
        found = self.gradient("SoftmaxOutput", self.LABEL, dout, out_grad=True)
        np.testing.assert_allclose(found, expected)

    @pytest.mark.parametrize(
        ("name", "expected"),
        [
            ("LinearRegressionOutput", lambda d: d),
            ("MAERegressionOutput", np.sign),
        ],
    )
    def test_regression_outputs(self, name: str, expected: Any) -> None:
        label = numbers(3, 4, seed=5)
        found = self.gradient(name, label, np.zeros((3, 4)), grad_scale=2.0)
        np.testing.assert_allclose(found, expected(self.X - label) * 2 / 4)

    def test_logistic_output(self) -> None:
        label = np.eye(3, 4)
        found = self.gradient("LogisticRegressionOutput", label, np.zeros((3, 4)))
        np.testing.assert_allclose(found, (1 / (1 + np.exp(-self.X)) - label) / 4)

    def test_a_label_that_is_no_class_gives_nan_and_not_a_crash(self) -> None:
        label = np.array([1, 7, -2], np.int32)
        (loss,) = run(of("softmax_cross_entropy"), self.X, label)
        assert np.isnan(loss[0])


# -- what the sheets know before an array exists ---------------------------------------


class TestSheets:
    """Parameter shapes, and gradients nobody asked for."""

    def test_complete_says_what_parameters_a_layer_needs(self) -> None:
        data = spec(8, 6, 9, 9)
        conv = Convolution.of(kernel=(3, 2), num_filter=4, num_group=2)
        assert conv.complete(data) == {"weight": (4, 3, 3, 2), "bias": (4,)}
        dense = FullyConnected.of(num_hidden=5)
        assert dense.complete(data) == {"weight": (5, 486), "bias": (5,)}
        flat = FullyConnected.of(num_hidden=5, flatten=False, no_bias=True)
        assert flat.complete(data) == {"weight": (5, 9)}
        assert BatchNorm.of().complete(data)["moving_var"] == (6,)
        assert LayerNorm.of().complete(data) == {"gamma": (9,), "beta": (9,)}

    def test_the_first_layer_spends_nothing_on_its_data(self) -> None:
        conv = of("Convolution", kernel=(3, 3), num_filter=2)
        inputs = [numbers(1, 1, 5, 5), numbers(2, 1, 3, 3), numbers(2)]
        found = gradients(conv, inputs, [numbers(1, 2, 3, 3)], [False, True, True])
        assert found[0] is None
        assert found[1].shape == (2, 1, 3, 3)

    def test_a_convolution_costs_two_operations_for_every_tap(self) -> None:
        conv = of("Convolution", kernel=(5, 5), num_filter=50)
        cost = conv.cost(spec(128, 20, 12, 12), spec(50, 20, 5, 5), spec(50))
        assert cost.flops == 2 * 128 * 50 * 8 * 8 * 20 * 5 * 5
