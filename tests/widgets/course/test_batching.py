"""Notebook 12: pipelines on the virtual clock, and what a right batch size is."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from minimx.commands.bench.document import columns
from minimx.commands.bench.fit import saturation
from minimx.core.device import Device, cpu, gpu
from minimx_widgets.course import batching
from minimx_widgets.course.batching import (
    Feeding,
    check_enough,
    check_speed,
    small,
    threads_needed,
    virtual_speeds,
)

Speeds = dict[int, float]

# ResNet-50 with float16 on the document's V100, at its best batch.
V100 = Feeding(128, 128 / 2355.04 * 1e3)


def speeds_of(model: str, machine: str = "V100") -> Speeds:
    (column,) = columns("score", model, machine)
    return {batch: speed for batch, speed in column.speeds.items() if speed}


# -- the predictions -------------------------------------------------------------------


def test_the_documents_ratios() -> None:
    resnet, vgg = speeds_of("resnet50_v2"), speeds_of("vgg16")
    half = speeds_of("resnet50_v2", "V100 fp16")
    assert resnet[32] / resnet[1] == pytest.approx(6.6, abs=0.05)
    assert resnet[256] / resnet[128] == pytest.approx(0.94, abs=0.005)
    assert vgg[256] / vgg[64] == pytest.approx(0.68, abs=0.01)
    assert half[128] / resnet[128] == pytest.approx(1.9, abs=0.05)


def test_four_threads_give_a_thousand_and_ten_are_needed() -> None:
    assert V100.run().images_per_second == pytest.approx(1000, rel=0.001)
    assert V100.run().busy == pytest.approx(1000 / 2355.04, rel=0.001)
    assert threads_needed(V100) == 10


# -- the pipeline ----------------------------------------------------------------------


def test_the_slowest_stage_decides() -> None:
    disk = Feeding(16, 8.0, threads=8, read_ms=2.0).run()
    assert disk.images_per_second == pytest.approx(500, rel=0.001)
    network = Feeding(16, 20.0, threads=8).run()
    assert network.images_per_second == pytest.approx(800, rel=0.001)
    assert network.busy == pytest.approx(1, abs=0.001)


def test_one_buffer_adds_the_times_up() -> None:
    alone = Feeding(16, 8.0, threads=4, buffers=1).run()
    assert alone.images_per_second == pytest.approx(16 / 0.024, rel=0.001)


def test_uneven_batches_want_more_buffers_and_the_same_mean() -> None:
    uneven = Feeding(16, 20.0, threads=4, uneven=1.0)
    seen = [uneven.with_(buffers=n).run(24).images_per_second for n in (1, 2, 4, 8)]
    assert seen == sorted(seen)
    assert seen[0] < 0.7 * seen[-1] and seen[1] < 0.97 * seen[-1]
    assert np.mean([*uneven._decode_times(24)]) == pytest.approx(uneven.decode_ms)


def test_threads_and_buffers_are_never_more_than_there_are() -> None:
    ops = Feeding(8, 4.0, threads=3, buffers=2, read_ms=0.5).run().record
    rows = ops.ops()
    names = np.array(ops.texts(rows["name"]))
    workers = np.array(ops.texts(rows["worker"]))
    assert len(set(workers[names == batching.DECODE])) == 3
    assert len(set(workers[names == batching.NETWORK])) == 1
    # Batch k + 2 is read into the buffer of batch k, so after the network is done.
    done = rows["t_end"][names == batching.NETWORK]
    read = rows["t_start"][names == batching.READ].reshape(-1, 8)
    assert all(read[k + 2].min() >= done[k] for k in range(len(done) - 2))


# -- networks on the virtual clock -----------------------------------------------------


@pytest.mark.parametrize("device", [cpu(), gpu(0)])
def test_a_virtual_column_is_the_same_again_and_obeys_the_law(device: Device) -> None:
    net = small((8, 8), device)
    seen = virtual_speeds(net, (1, 4, 16), device)
    again = virtual_speeds(net, (16, 1, 4), device)
    assert seen == again
    law = saturation(seen)
    assert law is not None and law.t0 > 0 and law.worst < 0.1


# -- the faded exercise ----------------------------------------------------------------


def right_speed(feeding: Feeding) -> float:
    decode = feeding.batch * feeding.decode_ms / feeding.threads
    network = feeding.batch_ms
    took = decode + network if feeding.buffers == 1 else max(decode, network)
    return feeding.batch / took * 1e3


def right_rates(feeding: Feeding) -> float:
    feed = feeding.threads / feeding.decode_ms
    network = feeding.batch / feeding.batch_ms
    if feeding.buffers > 1:
        return 1000 * min(feed, network)
    return 1000 / (1 / feed + 1 / network)


def always_overlapped(feeding: Feeding) -> float:
    return right_speed(feeding.with_(buffers=2))


def never_overlapped(feeding: Feeding) -> float:
    return right_speed(feeding.with_(buffers=1))


def the_quicker(feeding: Feeding) -> float:
    decode = feeding.batch * feeding.decode_ms / feeding.threads
    return feeding.batch / min(decode, feeding.batch_ms) * 1e3


@pytest.mark.parametrize("attempt", [right_speed, right_rates])
def test_right_speeds_pass(attempt: Callable[[Feeding], float]) -> None:
    assert check_speed(attempt).passed


@pytest.mark.parametrize(
    ("attempt", "idea"),
    [
        (always_overlapped, "one buffer: no thread decodes"),
        (never_overlapped, "two buffers"),
        (the_quicker, "slowest"),
        (lambda f: right_speed(f.with_(threads=1)), "share the images"),
        (lambda f: right_speed(f) / 1e3, "the units"),
        (lambda f: f.batch / ..., ""),
        (lambda f: f.batch / "4", "the line"),
        (lambda f: "fast", ""),
    ],
)
def test_wrong_speeds_are_told_why(
    attempt: Callable[[Feeding], float], idea: str
) -> None:
    said = check_speed(attempt)
    assert not said.passed and idea in said.idea


# -- the free exercise -----------------------------------------------------------------


def by_a_line(speeds: Speeds) -> int:
    batches = np.array(list(speeds))
    seconds = batches / np.array(list(speeds.values()))
    t1, t0 = map(float, np.polyfit(batches, seconds, 1))
    return math.ceil(9 * t0 / t1)


def by_the_bench(speeds: Speeds) -> int:
    law = saturation(speeds)
    assert law is not None
    return law.enough


def by_two_points(speeds: Speeds) -> float:
    first, last = min(speeds), max(speeds)
    t1 = (last / speeds[last] - first / speeds[first]) / (last - first)
    t0 = first / speeds[first] - first * t1
    return 9 * t0 / t1


@pytest.mark.parametrize("attempt", [by_a_line, by_the_bench, by_two_points])
def test_right_batches_pass(attempt: Callable[[Speeds], float]) -> None:
    said = check_enough(attempt)
    assert said.passed and said.seen.count("reaches 90.") >= 1


@pytest.mark.parametrize(
    ("attempt", "idea"),
    [
        (lambda speeds: max(speeds, key=speeds.__getitem__), "the largest that you"),
        (lambda speeds: by_a_line(speeds) / 9, "half of the peak"),
        (lambda speeds: 81 / by_a_line(speeds), "exchanged"),
        (lambda speeds: saturation(speeds).peak, "not images per second"),  # type: ignore[union-attr]
        (lambda speeds: 4096, "a straight line"),
        (lambda speeds: (1.0, 2.0), ""),
    ],
)
def test_wrong_batches_are_told_why(
    attempt: Callable[[Speeds], float], idea: str
) -> None:
    said = check_enough(attempt)
    assert not said.passed and idea in said.idea


def test_nothing_is_checked_before_there_is_something() -> None:
    assert "nothing to check yet" in check_enough(...).seen
    assert "ValueError" in check_enough(lambda speeds: int("many")).seen
