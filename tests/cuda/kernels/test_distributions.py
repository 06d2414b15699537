"""Random numbers on CUDA are distributed as those of the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx.core import drivers
from minimx.core.ops.registry import lookup
from minimx.core.ops.spec import Spec

GPU = mx.gpu(0)
MANY = 600
CASES: list[tuple[str, dict[str, Any]]] = [
    ("_random_gamma", {"alpha": 0.5, "beta": 2.0}),
    ("_random_gamma", {"alpha": 3.0, "beta": 2.0}),
    ("_random_exponential", {"lam": 4.0}),
    ("_random_poisson", {"lam": 3.5}),
    ("_random_poisson", {"lam": 40.0}),
    ("_random_negative_binomial", {"k": 3, "p": 0.4}),
    ("_random_generalized_negative_binomial", {"mu": 20.0, "alpha": 0.5}),
    ("_random_generalized_negative_binomial", {"mu": 2.0, "alpha": 0.0}),
    ("_random_randint", {"low": -3, "high": 4}),
    ("_random_bernoulli", {"prob": 0.3}),
    ("_npi_normal", {"loc": 1.0, "scale": 2.0}),
    ("_npi_uniform", {"low": -1.0, "high": 2.0}),
    ("_npi_logistic", {"loc": 1.0, "scale": 2.0}),
    ("_npi_gumbel", {"loc": 1.0, "scale": 2.0}),
    ("_npi_laplace", {"loc": 1.0, "scale": 2.0}),
    ("_npi_exponential", {"scale": 2.0}),
    ("_npi_rayleigh", {"scale": 2.0}),
    ("_npi_weibull", {"a": 1.5}),
    ("_npi_pareto", {"a": 2.5}),
    ("_npi_powerd", {"a": 2.5}),
    ("_npi_beta", {"a": 0.7, "b": 2.0}),
    ("_npi_chisquare", {"df": 3.0}),
    ("_npi_f", {"dfnum": 5.0, "dfden": 7.0}),
    ("_npi_bernoulli", {"logit": -0.5, "is_logit": True}),
    ("_npi_choice", {"a": 6}),
]


def numbers(name: str, settings: dict[str, Any], *inputs: Any) -> tuple[Any, Any]:
    """What the CUDA implementation draws, and many more of the CPU's kernel."""
    size = "size" if name.startswith("_npi_") else "shape"
    found = []
    for count, device in ((MANY, GPU), (20_000, None)):
        op = lookup(name).of(**{size: (count,), **settings})
        plan = op.plan(tuple(Spec.of(x.shape, x.dtype) for x in inputs))
        generator = np.random.default_rng(3)
        (spec,) = plan.outs
        if device is None:
            out: Any = np.empty(spec.shape, spec.dtype)
            plan.kernel(*inputs, out, generator)
            found.append(out)
            continue
        assert plan.on_cuda.native
        given = [mx.nd.array(x, ctx=GPU, dtype=x.dtype) for x in inputs]
        out = mx.nd.empty(spec.shape, ctx=GPU, dtype=spec.dtype)
        mx.nd.waitall()
        with drivers.working(GPU):
            plan.on_cuda.kernel(*(x.view() for x in (*given, out)), generator)
        found.append(out.asnumpy())
    return found[0].astype(np.float64), found[1].astype(np.float64)


def distance(mine: Any, its: Any) -> float:
    """Kolmogorov and Smirnov's: how far apart the shares below any number are."""
    places = np.sort(its)
    here = np.searchsorted(np.sort(mine.ravel()), places, "right") / mine.size
    there = np.searchsorted(places, places, "right") / its.size
    return float(np.abs(here - there).max())


@pytest.mark.parametrize(("name", "settings"), CASES, ids=str)
def test_as_many_are_small_as_on_the_cpu(name: str, settings: dict[str, Any]) -> None:
    mine, its = numbers(name, settings)
    # Of numbers that are distributed alike one in 1,000 tests finds as much; the seed
    # makes it always the same.
    assert distance(mine, its) < 1.95 / MANY**0.5
    assert np.isfinite(mine).all()


def test_every_set_of_parameters_has_numbers_of_its_own() -> None:
    mx.random.seed(5)
    low = mx.nd.array([0.0, 10.0, 20.0], ctx=GPU)
    found = mx.nd.sample_uniform(low, low + 1, shape=(50,)).asnumpy()
    assert (np.floor(found) == [[0], [10], [20]]).all()
    assert np.unique(found).size == found.size
    wrong = mx.nd.sample_gamma(mx.nd.array([-1.0, 2.0], ctx=GPU), low[1:], shape=(3,))
    assert np.isnan(wrong.asnumpy()).all(axis=1).tolist() == [True, False]


def test_a_permutation_has_every_row_once_and_a_choice_prefers_the_likely() -> None:
    mx.random.seed(1)
    x = mx.nd.arange(40, ctx=GPU).reshape((20, 2))
    found = mx.nd.shuffle(x).asnumpy()
    assert sorted(found[:, 0]) == list(range(0, 40, 2))
    assert (found[:, 1] == found[:, 0] + 1).all() and (found != x.asnumpy()).any()
    p = np.array([0.0, 0.1, 0.6, 0.3], np.float32)
    mine, its = numbers("_npi_choice", {"a": 4, "weighted": True}, p)
    assert distance(mine, its) < 1.95 / MANY**0.5
    few = mx.np.random.choice(5, 4, replace=False, ctx=GPU).asnumpy()
    assert len(set(few.tolist())) == 4


def test_half_precision_is_drawn_in_single_and_rounded() -> None:
    mx.random.seed(2)
    half = mx.nd.random.gamma(2, 1, shape=(8,), dtype="float16", ctx=GPU).asnumpy()
    mx.random.seed(2)
    single = mx.nd.random.gamma(2, 1, shape=(8,), ctx=GPU).asnumpy()
    assert half.tolist() == single.astype(np.float16).tolist()
