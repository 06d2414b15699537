"""What the performance tips say of input and of batches (notebook 12)."""

from __future__ import annotations

from collections.abc import Mapping

from minimx.commands.bench.document import columns
from minimx.commands.bench.run import Plan
from minimx.commands.bench.run import run as measure
from minimx.commands.bench.table import speed_text
from minimx_widgets.course.batching import Fed, Feeding, threads_needed
from minimx_widgets.course.claims.claim import (
    TIPS,
    TIPS_OF_1X,
    Decision,
    Numbers,
    claim,
    if_true,
    weighed,
)

BUSY = 0.99  # a network that works for such a share of the time never waits
GPUS = ("K80", "M60", "V100")
NOISE = 1.05  # two columns within this factor are the same


def _column(model: str, machine: str = "V100") -> Mapping[int, float]:
    speeds = columns("score", model, machine)[0].speeds
    return {batch: speed for batch, speed in speeds.items() if speed}


def records(places: Mapping[str, float] | None = None) -> Numbers:
    """A pipeline that reads records in random order, by the ms that a place takes."""
    asked = places or {"a disk that seeks for 20 ms": 20.0, "memory": 0.1}
    faces = Feeding(batch=64, batch_ms=128.0)
    return {"fed": {name: faces.with_(read_ms=ms).run() for name, ms in asked.items()}}


@claim(
    "12",
    "“If you are using the rec format, then everything should be fine”",
    TIPS,
    276,
    "virtual",
    records,
    tolerance="a network busy for 99 % of the time never waits",
)
def everything_fine(fed: Mapping[str, Fed]) -> Decision:
    """Records should be read quickly enough, wherever they lie."""
    return (
        weighed([one.busy >= BUSY for one in fed.values()], "the order"),
        "records in random order from "
        + "; from ".join(f"{name}: {one}" for name, one in fed.items()),
    )


def four_threads() -> Numbers:
    """How busy three networks are, fed by four threads of 4 ms for an image."""
    speeds = {
        "a K80": _column("resnet50_v2", "K80")[128],
        "a V100": _column("resnet50_v2")[128],
        "a V100 in float16": _column("resnet50_v2", "V100 fp16")[128],
    }
    feeds = {
        name: Feeding(batch=128, batch_ms=128 / speed * 1e3, threads=4)
        for name, speed in speeds.items()
    }
    return {
        "busy": {name: one.run().busy for name, one in feeds.items()},
        "needed": threads_needed(feeds["a V100 in float16"]),
    }


@claim(
    "12",
    "Four threads: “This is often sufficient to decode more than 1K images per second”",
    TIPS,
    278,
    "virtual",
    four_threads,
    tolerance="a network busy for 99 % of the time never waits",
)
def often_sufficient(busy: Mapping[str, float], needed: int) -> Decision:
    """Four threads should keep ResNet-50 busy."""
    return (
        weighed([one >= BUSY for one in busy.values()], "the device"),
        "at 4 ms for an image, ResNet-50 is busy for "
        + ", ".join(f"{one:.0%} of the time on {name}" for name, one in busy.items())
        + f", which wants {needed} threads",
    )


def largest() -> Numbers:
    """In how many columns of the page the largest batch that fits is the quickest."""
    found = [
        {batch: speed for batch, speed in one.speeds.items() if speed}
        for one in columns()
        if one.machine in GPUS
    ]
    return {
        "falling": sum(one[max(one)] < max(one.values()) for one in found),
        "columns": len(found),
        "vgg": {batch: _column("vgg16")[batch] for batch in (64, 256)},
    }


@claim(
    "12",
    "“Use a large batch size. We often choose the largest one that fits into GPU "
    "memory”",
    TIPS_OF_1X,
    282,
    "measured",
    largest,
    tolerance="none: by the document's own tables",
)
def largest_is_quickest(
    falling: int, columns: int, vgg: Mapping[int, float]
) -> Decision:
    """The largest batch that fits should be the quickest."""
    verdict = if_true(falling < columns, "depends on the network", "fails")
    return (
        verdict if falling else "holds",
        f"in {falling} of the {columns} columns of the same page, a smaller batch is "
        "quicker than the largest that fits; VGG-16 does "
        + " and ".join(f"{speed:.0f} images/s at {n}" for n, speed in vgg.items()),
    )


def fits(gibibytes: int = 16) -> Numbers:
    """Whether training steps of ResNet-50 fit into a card, planned and not run."""
    plan = Plan(
        "train",
        ("resnet50_v2",),
        (64, 128, 256),
        ctx="gpu",
        gpu_memory=gibibytes << 30,
        rehearse=True,
    )
    return {
        "gibibytes": gibibytes,
        "cells": {cell.batch: speed_text(cell) for cell in measure(plan)},
    }


@claim(
    "12",
    "“128 | OOM | 253.68 | 363.69”: a V100 can train ResNet-50 on 128 images at once",
    TIPS_OF_1X,
    253,
    "planned",
    fits,
)
def fits_128(gibibytes: int, cells: Mapping[int, str]) -> Decision:
    """A batch of 128 should fit, and one of 256 has no row."""
    return (
        if_true(cells[128] == "fits"),
        f"on a simulated card of {gibibytes} GiB: "
        + ", ".join(f"{batch} {text}" for batch, text in cells.items())
        + ". (The OOM of the row is AlexNet, with 2048 images)",
    )


def gains() -> Numbers:
    """By network, the speed in float16 at 128 images by that in float32."""
    named = {
        "ResNet-50": "resnet50_v2",
        "ResNet-152": "resnet152_v2",
        "Inception-BN": "inceptionbn",
    }
    return {
        "gains": {
            name: _column(model, "V100 fp16")[128] / _column(model)[128]
            for name, model in named.items()
        }
    }


@claim(
    "12",
    "“Below is the performance result on V100 using float 16”",
    TIPS_OF_1X,
    198,
    "measured",
    gains,
    tolerance="a factor of 1.05, by the document's own tables",
)
def quicker_in_float16(gains: Mapping[str, float]) -> Decision:
    """In float16 each network should be quicker."""
    same = [name for name, gain in gains.items() if gain <= NOISE]
    return (
        weighed([gain > NOISE for gain in gains.values()], "the network"),
        "at 128 images "
        + ", ".join(f"{name} gains {gain:.2f} ×" for name, gain in gains.items())
        + (f": both columns of {', '.join(same)} are the same" if same else ""),
    )
