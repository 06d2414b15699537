"""What a step costs is read off the record, for one device."""

from __future__ import annotations

import gc

import pytest

import minimx as mx
from minimx.core.events import attributed
from minimx.core.knobs import knobs
from minimx.core.record import Record
from minimx_widgets.training.meter import PEAK, Facts, Meter

pytestmark = pytest.mark.usefixtures("knobs_at_rest")


def test_peak_pushes_and_driver_calls_of_one_step() -> None:
    gc.collect()
    with knobs(MXNET_ENGINE_TYPE="NaiveEngine", MXNET_CPU_MEM_POOL_TYPE="Unpooled"):
        keep = mx.nd.ones((1000,))
        with Record() as record:
            meter = Meter(record, "cpu(0)")
            meter.skip()
            meter.end()
            base = mx.storage.stats(mx.cpu()).live_requested
            meter.begin()
            a = keep + 1
            b = a + 1
            del a
            first = meter.end()
            c = b + 1
            second = meter.end()
    assert first.peak == base + 8000
    assert first.pushes == 2
    assert first.driver_calls == 2, "two blocks were taken"
    assert second.peak == base + 8000
    assert second.pushes == 1
    assert second.driver_calls == 2, "one was taken, and that of `a` given back"
    assert first.ms is not None and first.ms > 0
    assert c.shape == (1000,)


def test_what_is_skipped_counts_for_no_step() -> None:
    with knobs(MXNET_ENGINE_TYPE="NaiveEngine"), Record() as record:
        meter = Meter(record, "cpu(0)")
        with attributed(phase="evaluate"):
            x = mx.nd.ones((100_000,))
            del x
        meter.skip()
        meter.begin()
        facts = meter.end()
    assert facts.pushes == 0
    assert facts.peak is not None
    assert facts.peak < 400_000 + mx.storage.stats(mx.cpu()).live_requested


def test_other_devices_are_left_out() -> None:
    with knobs(MXNET_ENGINE_TYPE="NaiveEngine"), Record() as record:
        meter = Meter(record, "gpu(0)")
        meter.skip()
        meter.end()
        mx.nd.ones((100_000,))
        facts = meter.end()
        assert facts.peak == mx.storage.stats(mx.gpu()).live_requested


def test_bulked_operations_are_one_push() -> None:
    with Record() as record:
        meter = Meter(record, "cpu(0)")
        x = mx.nd.ones((10,))
        mx.nd.waitall()
        meter.skip()
        meter.end()
        with mx.engine.bulk(10):
            for _ in range(5):
                x = x * 2
        mx.nd.waitall()
        assert meter.end().pushes == 1


def test_facts_know_their_metrics() -> None:
    facts = Facts(peak=5.0).but(ms=2.0)
    assert facts.metrics() == {PEAK: 5.0, "step ms": 2.0}
