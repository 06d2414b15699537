from __future__ import annotations

import pytest

from minimx.core import events
from minimx.core.device import cpu, gpu
from minimx.core.errors import ProfilerError
from minimx.core.knobs import knobs
from minimx.core.record import Record
from minimx.profiler import roofs
from minimx.profiler.roofs import Roof


def test_the_least_time_is_the_slower_of_arithmetic_and_memory() -> None:
    roof = Roof(flops=100e9, bandwidth=10e9)
    assert roof.ridge == 10
    assert roof.ns(1000, 1) == pytest.approx(10)
    assert roof.ns(1, 1000) == pytest.approx(100)
    assert roof.at(roof.ridge) == roof.flops
    assert roof.at(1) == 10e9


def test_a_measurement_is_kept_and_disturbs_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(roofs, "_known", {})
    monkeypatch.setattr(roofs, "_bandwidths", {})
    monkeypatch.setattr(roofs, "SIDE", 64)
    monkeypatch.setattr(roofs, "COPIED", 1 << 20)
    assert roofs.known() is None
    with Record(calls=True) as record:
        first = roofs.measured("float32", 1)
        assert events.recorder is record
    assert not len(record.ops()) and not len(record.table("calls"))
    assert first.flops > 1e6 and first.bandwidth > 1e6
    assert roofs.measured("float32", 1) is first is roofs.known("float32", 1)
    double = roofs.measured("float64", 1)
    assert double.bandwidth == first.bandwidth  # memory knows no types
    assert "float64, 1 thread)" in str(double)
    assert roofs.measured("float32", 1, again=True) is not first


def test_a_measurement_can_be_canceled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roofs, "_known", {})
    monkeypatch.setattr(roofs, "_bandwidths", {})
    monkeypatch.setattr(roofs, "COPIED", 1 << 20)
    asked = iter([False, False, True])
    with pytest.raises(ProfilerError, match="canceled"):
        roofs.measured("float32", 1, canceled=lambda: next(asked))
    assert roofs.known("float32", 1) is None


def test_devices_declare_what_the_virtual_clock_goes_by() -> None:
    with knobs(MINIMX_SIM_GPUS=1):
        plain = roofs.declared(gpu(0))
        half = roofs.declared(gpu(0), "float16")
    assert plain.source == "declared" and plain.threads == 0
    assert half.flops > plain.flops and half.bandwidth == plain.bandwidth
    assert roofs.declared(cpu()).flops > 0
