"""Cells are measured in child processes, on the CPU and on small simulated GPUs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from minimx.commands.bench import run as running
from minimx.commands.bench.result import Cell
from minimx.commands.bench.run import Plan, run
from minimx.core.errors import ArgumentError

MIB = 1 << 20
SMALL: dict[str, Any] = {
    "models": ("mobilenet0.25",),
    "image": 32,
    "classes": 10,
    "warm": 1,
    "least": 2,
    "most": 2,
}


def test_speeds_times_and_memory() -> None:
    told: list[Cell] = []
    cells = run(Plan("score", batches=(4, 1), **SMALL), told.append)
    assert cells == told
    assert [(cell.batch, cell.status) for cell in cells] == [(1, "ok"), (4, "ok")]
    for cell in cells:
        assert len(cell.seconds) == 2
        assert cell.images_per_second is not None and cell.peak_bytes is not None
        fastest, slowest = min(cell.seconds), max(cell.seconds)
        assert cell.batch / slowest <= cell.images_per_second * 1.001
        assert cell.images_per_second <= cell.batch / fastest * 1.001
    assert cells[1].peak_bytes > cells[0].peak_bytes > MIB  # type: ignore[operator]


def test_a_rehearsal_takes_the_memory_of_the_real_run() -> None:
    plan = Plan("train", batches=(2, 8), ctx="gpu", gpu_memory=256 * MIB, **SMALL)
    rehearsed, real = (
        list(running._children(plan, "mobilenet0.25", [2, 8], rehearse=rehearse))
        for rehearse in (True, False)
    )
    assert [cell.status for cell in rehearsed] == ["rehearsed"] * 2
    assert [cell.status for cell in real] == ["ok"] * 2
    for before, after in zip(rehearsed, real, strict=True):
        assert before.peak_bytes == after.peak_bytes


def test_what_does_not_fit_a_device_is_oom() -> None:
    plan = Plan("train", batches=(1, 256, 512), ctx="gpu", gpu_memory=32 * MIB, **SMALL)
    cells = run(plan)
    assert [cell.status for cell in cells] == ["ok", "oom", "oom"]
    assert "gpu(0)" in cells[1].note and "32 MiB" in cells[1].note
    assert cells[0].images_per_second


def test_a_large_device_is_rehearsed_without_its_memory() -> None:
    settings = {**SMALL, "models": ("vgg16",), "image": 0}
    plan = Plan(
        "score",
        batches=(1, 128),
        ctx="gpu",
        gpu_memory=4096 * MIB,
        rehearse=True,
        **settings,
    )
    small, large = run(plan)
    assert small.status == "rehearsed" and small.peak_bytes is not None
    assert small.peak_bytes > 500 * MIB
    assert large.status == "oom"


def test_a_card_brings_its_memory() -> None:
    settings = {**SMALL, "models": ("vgg16",), "image": 0, "rehearse": True}
    plans = [
        Plan("score", batches=(300,), ctx="gpu", card=card, **settings)
        for card in ("M60", "V100")
    ]
    assert [run(plan)[0].status for plan in plans] == ["oom", "rehearsed"]


def test_what_fits_the_device_and_not_the_host_is_not_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(running, "_host_memory", lambda: 1024)
    (cell,) = run(Plan("score", batches=(1,), ctx="gpu", **SMALL))
    assert cell.status == "rehearsed" and "1 KiB free" in cell.note
    assert cell.peak_bytes is not None and cell.peak_bytes > 1024


def test_a_cell_that_takes_too_long_is_stopped() -> None:
    cells = run(Plan("score", batches=(1, 2), limit=0.05, **SMALL))
    assert [cell.status for cell in cells] == ["timeout", "left out"]
    assert "0.05 s" in cells[0].note and "batch 1" in cells[1].note


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("import os; os.kill(os.getpid(), 9)", "signal 9"),
        ("raise SystemExit('no such thing')", "no such thing"),
    ],
)
def test_a_process_that_dies(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, program: str, words: str
) -> None:
    fake = tmp_path / "python"
    fake.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{program}"\n')
    fake.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(fake))
    failed, left = run(Plan("score", batches=(1, 2), **SMALL))
    assert failed.status == "failed" and words in failed.note
    assert left.status == "left out"


def test_no_child_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Any] = []
    real = subprocess.Popen

    def popen(*args: Any, **kwargs: Any) -> Any:
        started.append(real(*args, **kwargs))
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", popen)
    cells: Iterator[Cell] = running._child(
        Plan("score", batches=(1, 2), **SMALL), "mobilenet0.25", [1, 2], False
    )
    assert next(cells).batch == 1
    cells.close()  # type: ignore[attr-defined]
    assert started[0].returncode is not None
    with pytest.raises(ProcessLookupError):
        os.kill(started[0].pid, 0)


@pytest.mark.parametrize(
    ("wish", "words"),
    [
        ({"models": ("resnet50",)}, "Did you mean"),
        ({"batches": ()}, "whole numbers"),
        ({"batches": (0, 1)}, "whole numbers"),
        ({"rehearse": True}, "--ctx gpu"),
        ({"gpu_memory": MIB}, "--ctx gpu"),
    ],
)
def test_wishes_that_cannot_be_met(wish: dict[str, Any], words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        Plan("score", **{"batches": (1,), **SMALL, **wish})


def test_a_sixteenth_of_a_card_is_full_where_the_card_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """VGG-16, which MXNet's document could not score on an M60 with large batches."""
    monkeypatch.setenv("MXNET_ONEDNN_ENABLED", "0")  # its graphs need less
    found = []
    for card, image in (("M60", 224), ("M60/16", 56)):
        plan = Plan(
            "score",
            models=("vgg16",),
            batches=(128, 512),
            ctx="gpu",
            card=card,
            image=image,
            rehearse=True,
        )
        found.append([cell.status for cell in run(plan)])
    assert found == [["rehearsed", "oom"]] * 2
