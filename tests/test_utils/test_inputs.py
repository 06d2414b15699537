"""Random inputs, reference answers, and what surrounds a test."""

from __future__ import annotations

import os
import sys

import numpy as np
import pytest

import minimx as mx
from minimx.core.knobs import knobs
from minimx.test_utils import (
    collapse_sum_like,
    default_context,
    discard_stderr,
    environment,
    gen_buckets_probs_with_ppf,
    mean_check,
    new_matrix_with_real_eigvals_nd,
    new_sym_matrix_with_real_eigvals_nd,
    np_reduce,
    rand_ndarray,
    rand_shape_nd,
    random_sample,
    retry,
    set_default_context,
    var_check,
    verify_generator,
)


def test_random_arrays_and_shapes() -> None:
    shape = rand_shape_nd(4, dim=3)
    assert len(shape) == 4
    assert all(1 <= n <= 3 for n in shape)
    assert rand_ndarray(shape).shape == shape
    assert sorted(random_sample(list(range(5)), 5)) == list(range(5))


def test_reductions_over_several_axes() -> None:
    x = np.random.rand(2, 3, 4)
    kept = np_reduce(x, (0, -1), True, np.sum)
    np.testing.assert_allclose(kept, x.sum((0, 2), keepdims=True))
    summed = collapse_sum_like(np.ones((2, 3, 4)), (3, 1))
    np.testing.assert_array_equal(summed, np.full((3, 1), 8.0))


def test_matrices_have_real_eigenvalues() -> None:
    general = new_matrix_with_real_eigvals_nd((2, 4, 4))
    assert np.abs(np.linalg.eigvals(general).imag).max() < 1e-8
    symmetric = new_sym_matrix_with_real_eigvals_nd((3, 3))
    np.testing.assert_allclose(symmetric, symmetric.T, atol=1e-10)


def test_generators_are_checked() -> None:
    np.random.seed(1)
    buckets, probs = gen_buckets_probs_with_ppf(lambda p: p, 4)
    assert buckets[1] == (0.25, 0.5)
    verify_generator(np.random.rand, buckets, probs, nsamples=10000)
    assert mean_check(np.random.rand, 0.5, np.sqrt(1 / 12), 10000)
    assert var_check(np.random.randn, 1.0, 10000)
    with pytest.raises(AssertionError, match="do not follow"):
        verify_generator(lambda n: np.random.rand(n) ** 2, buckets, probs, 10000)


def test_environment_turns_knobs_and_turns_them_back() -> None:
    before = knobs.get("MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN")
    with environment({"MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN": "3", "SOME_NAME": "x"}):
        assert knobs.get("MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN") == 3
        assert os.environ["SOME_NAME"] == "x"
        with environment("SOME_NAME", None):
            assert "SOME_NAME" not in os.environ
    assert knobs.get("MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN") == before
    assert "SOME_NAME" not in os.environ


def test_default_context_can_be_set() -> None:
    before = default_context()
    try:
        set_default_context(mx.gpu(0))
        assert mx.nd.zeros(2).context is mx.gpu(0)
    finally:
        set_default_context(before)


def test_retry_gives_chances() -> None:
    tries = []

    @retry(3)
    def unlucky() -> None:
        tries.append(1)
        assert len(tries) == 3

    unlucky()
    assert len(tries) == 3


def test_stderr_is_thrown_away(capfd: pytest.CaptureFixture[str]) -> None:
    with discard_stderr():
        os.write(2, b"lost")
    sys.stderr.write("kept")
    assert capfd.readouterr().err == "kept"


def test_features() -> None:
    features = mx.runtime.Features()
    assert features is mx.runtime.Features()
    assert "CUDA" in features
    assert features.is_enabled("lapack")
    with pytest.raises(mx.MXNetError, match="not a feature"):
        features.is_enabled("LAPAK")
