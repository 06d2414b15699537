"""The knobs of operator tuning move the size from which on loops get threads."""

from __future__ import annotations

from typing import Any

import pytest

from minimx import nd
from minimx.core.kernels import threads
from minimx.core.knobs import knobs
from minimx.fast import tuning
from tests.core.knobs.proofs import proves, turned


@proves("MXNET_OMP_MAX_THREADS")
def test_the_limit_on_threads_that_nobody_set() -> None:
    with knobs(OMP_NUM_THREADS=None):
        cores = threads.count()
        seen = turned(lambda: threads.parts(10**7), MXNET_OMP_MAX_THREADS=1)
        assert seen == (cores, 1)
    with knobs(OMP_NUM_THREADS=3, MXNET_OMP_MAX_THREADS=1):
        assert threads.parts(10**7) == 3


def crossing_of(op: Any, dtype: str = "float32") -> float:
    """The size from which on operator tuning gives a loop threads."""
    op(nd.ones((tuning.SMALL,), dtype=dtype)).wait_to_read()
    return min((row.crossing for row in tuning.report()), default=0)


@proves("MXNET_USE_OPERATOR_TUNING")
def test_which_loops_are_measured() -> None:
    with knobs(OMP_NUM_THREADS=2, MXNET_CPU_PARALLEL_SIZE=None):
        assert turned(lambda: crossing_of(nd.exp) > 0, MXNET_USE_OPERATOR_TUNING=0) == (
            True,
            False,
        )
        with knobs(MXNET_USE_OPERATOR_TUNING="float64"):
            assert crossing_of(nd.exp) == 0
            assert crossing_of(nd.exp, "float64") > 0
        with knobs(MXNET_CPU_PARALLEL_SIZE=1000):
            assert crossing_of(nd.sinh) == 0


@proves("MXNET_USE_NUM_CORES_OPERATOR_TUNING")
def test_one_core_is_never_cut() -> None:
    with knobs(OMP_NUM_THREADS=2, MXNET_CPU_PARALLEL_SIZE=None):
        never = float("inf")
        assert turned(
            lambda: crossing_of(nd.exp) == never, MXNET_USE_NUM_CORES_OPERATOR_TUNING=1
        ) == (False, True)


@proves("MXNET_TUNING_WEIGHT_SCALE")
def test_dearer_threads_are_used_later() -> None:
    with knobs(OMP_NUM_THREADS=2, MXNET_CPU_PARALLEL_SIZE=None):
        assert turned(
            lambda: crossing_of(nd.exp) > 1e7, MXNET_TUNING_WEIGHT_SCALE=1e5
        ) == (False, True)


@proves("MXNET_VERBOSE_TUNING_INFO", "MXNET_OUTPUT_TUNING_DATA")
def test_tuning_says_what_it_measures(capsys: pytest.CaptureFixture[str]) -> None:
    def first_words() -> list[str]:
        with knobs(OMP_NUM_THREADS=2):  # which forgets plans and measurements
            crossing_of(nd.exp)
        return [line[:31] for line in capsys.readouterr().out.splitlines()]

    knobs.set(OMP_NUM_THREADS=1)
    silent, told = turned(first_words, MXNET_VERBOSE_TUNING_INFO=1)
    assert silent == []
    assert told == [
        "operator tuning: starting 2 thr",
        "operator tuning: exp(x) (float3",
    ]
    silent, told = turned(first_words, MXNET_OUTPUT_TUNING_DATA=1)
    assert silent == []
    assert told == ['TUNING "exp(x)",float32,float32']


def test_what_was_measured_before_is_told_when_telling_is_turned_on(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with knobs(OMP_NUM_THREADS=2, MXNET_CPU_PARALLEL_SIZE=None):
        crossing_of(nd.exp)
        assert not capsys.readouterr().out
        with knobs(MXNET_VERBOSE_TUNING_INFO=1):
            head, row = capsys.readouterr().out.splitlines()
            assert head.startswith("operator tuning: starting 2 threads takes")
            assert row == f"operator tuning: {tuning.report()[0]}"
        with knobs(MXNET_OUTPUT_TUNING_DATA=1):
            (row,) = capsys.readouterr().out.splitlines()
            assert row == tuning.report()[0].data()
        assert not capsys.readouterr().out
