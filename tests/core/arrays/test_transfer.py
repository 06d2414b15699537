"""Copies between devices: staged in pinned memory, recorded, queueing for wires."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import minimx as mx
from minimx.core import autograd, storage
from minimx.core.device import cpu, cpu_pinned, gpu
from minimx.core.errors import DeviceError, MXNetError
from minimx.core.knobs import knobs
from minimx.core.record import Record

LAUNCH = 5_000
MS = 1_000_000  # of 12 MB at 12 GB/s, in nanoseconds


@pytest.fixture(autouse=True)
def four_gpus() -> Iterator[None]:
    with knobs(MINIMX_SIM_GPUS=4, MINIMX_CLOCK="virtual"):
        yield
        mx.nd.waitall()


def large(device: mx.Device) -> mx.nd.NDArray:
    """12 MB."""
    made = mx.nd.arange(3_000_000, ctx=device)
    mx.nd.waitall()
    return made


def sent(record: Record) -> list[tuple[str, str, int, int]]:
    """From where to where, how many bytes, in how many nanoseconds."""
    rows = record.comm()
    ends = zip(record.texts(rows["src"]), record.texts(rows["dst"]), strict=True)
    return [
        (src, dst, int(row["nbytes"]), int(row["t1"] - row["t0"]))
        for (src, dst), row in zip(ends, rows, strict=True)
    ]


def test_a_staged_copy_really_stops_in_pinned_memory() -> None:
    source = large(gpu(0))
    storage.pool_for(cpu_pinned())
    with knobs(MXNET_ENABLE_GPU_P2P=0):
        before = storage.stats(cpu_pinned()).live_requested
        storage.reset_peaks(cpu_pinned())
        with Record() as record:
            there = source.as_in_context(gpu(1))
            mx.nd.waitall()
        found = storage.stats(cpu_pinned())
    assert (there.asnumpy() == np.arange(3e6)).all()
    assert found.peak_requested - before == 12_000_000
    assert found.live_requested == before
    assert sent(record) == [
        ("gpu(0)", "host", 12_000_000, MS + LAUNCH),
        ("host", "gpu(1)", 12_000_000, MS + LAUNCH),
    ]
    lanes = record.texts(record.ops()["worker"])
    assert [lane.split("/")[0] for lane in lanes] == ["gpu(0) copy", "gpu(1) copy"]


def test_a_direct_copy_is_one_row() -> None:
    source = large(gpu(2))
    with Record() as record:
        source.copyto(gpu(3))
        mx.nd.waitall()
    assert sent(record) == [("gpu(2)", "gpu(3)", 12_000_000, MS + LAUNCH)]


def test_a_staged_copy_converts_and_carries_gradients() -> None:
    x = mx.nd.array([1.5, 2.5], ctx=gpu(0))
    x.attach_grad()
    with knobs(MXNET_ENABLE_GPU_P2P=0):
        with autograd.record():
            y = (x.as_in_context(gpu(1)) * 3).sum()
        y.backward()
        whole = mx.nd.zeros((2,), dtype="int32", ctx=gpu(1))
        x.copyto(whole)
    assert x.grad.asnumpy().tolist() == [3, 3]
    assert whole.asnumpy().tolist() == [1, 2]


def spans(record: Record) -> list[tuple[int, int]]:
    rows = record.comm()
    first = int(rows["t0"].min())
    pairs = zip(rows["t0"].tolist(), rows["t1"].tolist(), strict=True)
    return sorted((t0 - first, t1 - first) for t0, t1 in pairs)


def test_a_wire_carries_one_copy_at_a_time() -> None:
    source = large(gpu(0))
    with Record() as record:
        kept = [source.as_in_context(gpu(i)) for i in (1, 2)]
        mx.nd.waitall()
    one = MS + LAUNCH
    assert spans(record) == [(0, one), (one, 2 * one)]
    with knobs(MINIMX_SIM_LINKS="nvswitch"), Record() as record:
        kept = [source.as_in_context(gpu(i)) for i in (1, 2)]
        mx.nd.waitall()
    (_, end), (start, _) = spans(record)
    assert start < end
    assert len(kept) == 2


def test_both_directions_at_once() -> None:
    up, down = large(gpu(0)), large(cpu())
    with Record() as record:
        kept = up.as_in_context(cpu()), down.as_in_context(gpu(0))
        mx.nd.waitall()
    (_, end), (start, _) = spans(record)
    assert start < end
    assert len(kept) == 2


def test_inside_one_gpu_no_wire_is_needed() -> None:
    source = large(gpu(0))
    with Record() as record:
        source.copyto(gpu(0))
        mx.nd.waitall()
    ops = record.ops()
    took = ops["t_end"] - ops["t_start"]
    assert took.tolist() == [LAUNCH + round(2 * 12e6 / 500)]
    assert sent(record) == []


def test_a_device_that_does_not_exist_is_refused_where_it_is_asked_for() -> None:
    x = mx.nd.ones((3,), ctx=gpu(0))
    with pytest.raises(DeviceError, match=r"gpu\(9\) does not exist; there is gpu\(0"):
        x.as_in_context(gpu(9))
    with pytest.raises(DeviceError, match="does not exist"):
        mx.nd.array([1, 2], ctx=gpu(9))
    with pytest.raises(DeviceError, match="does not exist"):
        mx.nd.zeros((1,), ctx=gpu(9))
    assert x.asnumpy().sum() == 3


def test_operands_on_two_devices_are_refused_in_words() -> None:
    with pytest.raises(MXNetError, match=r"gpu\(1\)"):
        mx.nd.ones((3,), ctx=gpu(0)) + mx.nd.ones((3,), ctx=gpu(1))
