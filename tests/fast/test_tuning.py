from __future__ import annotations

from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minimx as mx
from minimx.core.knobs import knobs
from minimx.fast import tuning

COSTS = st.floats(1, 1e7)


@given(st.integers(1, 10**8), st.integers(2, 128), COSTS, COSTS)
def test_threads_pay_above_the_crossing_and_nowhere_else(
    size: int, threads: int, work: float, start: float
) -> None:
    crossing = tuning.crossing(threads, work, start)
    if abs(size - crossing) > 1e-6 * crossing:
        assert tuning.pays(size, threads, work, start) == (size > crossing)


@given(st.integers(1, 10**8), COSTS, COSTS)
def test_one_thread_is_never_cut(size: int, work: float, start: float) -> None:
    assert not tuning.pays(size, 1, work, start)
    assert tuning.crossing(1, work, start) == float("inf")


def test_a_costly_loop_gets_threads_before_a_cheap_one() -> None:
    x = mx.nd.ones((tuning.SMALL,))
    with knobs(OMP_NUM_THREADS=2, MXNET_CPU_PARALLEL_SIZE=None):
        tuning.forget()
        mx.nd.arctanh(x * 0.5).wait_to_read()
        found = {row.loop.text: row.crossing for row in mx.runtime.operator_tuning()}
    costly = next(text for text in found if "arctanh" in text or "log" in text)
    cheap = next(text for text in found if "scalar" in text)
    assert 0 < found[costly] < found[cheap] < float("inf")


def test_small_arrays_ask_nobody() -> None:
    tuning.forget()
    with knobs(OMP_NUM_THREADS=2, MXNET_CPU_PARALLEL_SIZE=None):
        mx.nd.exp(mx.nd.ones((tuning.SMALL - 1,))).wait_to_read()
        assert not tuning.report()
        assert "nothing yet" in repr(tuning.report())


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32", "uint8"])
def test_every_type_can_be_measured(dtype: str) -> None:
    types = {"MXNET_USE_OPERATOR_TUNING": "1" if dtype == "uint8" else dtype}
    with knobs(OMP_NUM_THREADS=2, MXNET_CPU_PARALLEL_SIZE=None, **types):
        tuning.forget()
        x = mx.nd.ones((tuning.SMALL,), dtype=dtype)
        (x + x).wait_to_read()
        (row,) = tuning.report()
    assert row.work_ns > 0
    assert "threads pay above" in str(row)
    assert "<table>" in tuning.report()._repr_html_()


def test_a_fused_loop_is_measured_when_it_first_runs() -> None:
    net = mx.gluon.nn.HybridLambda(lambda F, x: F.tanh(F.exp(x) + 1))
    net.hybridize(static_alloc=True)
    x = mx.nd.array(np.linspace(-2, 2, 20_000))
    with knobs(OMP_NUM_THREADS=2, MXNET_CPU_PARALLEL_SIZE=None):
        tuning.forget()
        net(x).wait_to_read()
        texts = [row.loop.text for row in tuning.report()]
    assert any("exp" in text and "tanh" in text for text in texts), texts


def test_a_sum_is_measured_and_cut_only_where_threads_pay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from minimx.core.kernels.cpu import reduce

    cut = Mock(wraps=reduce.stage.beside)
    monkeypatch.setattr(reduce.stage, "beside", cut)
    x = mx.nd.random.uniform(-3, 3, shape=(3, 400_003))
    found = []
    for cores, size in ((0, None), (1, None), (0, 1000)):
        settings = {"MXNET_USE_NUM_CORES_OPERATOR_TUNING": cores}
        with knobs(OMP_NUM_THREADS=2, MXNET_CPU_PARALLEL_SIZE=size, **settings):
            tuning.forget()
            cut.reset_mock()
            sums = x.sum(), x.sum(axis=1), x.max(axis=0)
            found.append(b"".join(one.asnumpy().tobytes() for one in sums))
            crossing = {row.loop.text: row.crossing for row in tuning.report()}
            if size is None:
                pays = [x.size > crossing[text] for text in ("a + x", "maximum(a, x)")]
                assert cut.called is any(pays), crossing
            else:  # set by hand: nothing is measured
                assert cut.called and not crossing
            assert not (cut.called and cores), "one core is never cut"
    assert found[0] == found[1] == found[2]


def test_a_step_of_a_sum_is_timed_on_partial_results_that_stay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from minimx.core.kernels import native

    run = Mock(wraps=native.rows.serial)
    with knobs(OMP_NUM_THREADS=2, MXNET_CPU_PARALLEL_SIZE=None):
        tuning.forget()
        (mx.nd.ones((tuning.SMALL,)) + 1).wait_to_read()  # measures starting threads
        monkeypatch.setattr(native.rows, "serial", run)
        mx.nd.ones((tuning.SMALL,)).sum().wait_to_read()
    measured: dict[int, set[int]] = {}
    for code, args, grid in (call.args for call in run.call_args_list):
        if len(args) == 3 and args[0] == args[-1]:
            lengths, (_, first, _, out) = grid[1:, 0], grid[2]
            assert (first, out) == (0, 0)
            measured.setdefault(int(np.prod(lengths)), set()).add(code)
    assert sorted(measured) == [tuning.UNIT, tuning.LONG]
    assert len(set.union(*measured.values())) == 1


def test_threads_or_none_the_bits_are_the_same() -> None:
    x = mx.nd.random.uniform(-3, 3, shape=(100_003,))
    with knobs(OMP_NUM_THREADS=2, MXNET_CPU_PARALLEL_SIZE=1):
        cut = mx.nd.sigmoid(x).asnumpy()
    with knobs(OMP_NUM_THREADS=1):
        whole = mx.nd.sigmoid(x).asnumpy()
    np.testing.assert_array_equal(cut, whole)
