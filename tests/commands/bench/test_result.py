"""Results are kept, read, merged and compared; machines are never mixed silently."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from minimx.commands.bench import table
from minimx.commands.bench.machine import describe, differences
from minimx.commands.bench.result import Cell, Result, load, merged, save
from minimx.commands.bench.run import Plan
from minimx.core.errors import DataError

PLAN = Plan("score", ("vgg16",), (1, 2, 4), ctx="gpu", card="K80", gpu_memory=12 << 30)
CELLS = [
    Cell("vgg16", 1, "ok", 10.0, (0.1, 0.1), 600 << 20),
    Cell("vgg16", 2, "ok", 16.0, (0.125,), 700 << 20),
    Cell("vgg16", 4, "oom", note="gpu(0): 7 GiB was asked for"),
    Cell("alexnet", 1, "timeout", note="it took longer than 2 s"),
]


def result(**machine: Any) -> Result:
    return Result({**describe(), "load": 0.5, **machine}, PLAN.settings, list(CELLS))


def test_there_and_back(tmp_path: Path) -> None:
    save(tmp_path / "a.json", result())
    again = load(tmp_path / "a.json")
    assert again.machine == result().machine and again.settings == PLAN.settings
    assert [(c.model, c.status, tuple(c.seconds)) for c in again.cells] == [
        (c.model, c.status, tuple(c.seconds)) for c in CELLS
    ]
    assert [file.name for file in tmp_path.iterdir()] == ["a.json"]


def test_this_machine_is_described() -> None:
    here = describe()
    assert here["processor"] and here["cores"] >= 1 and here["memory_gib"] >= 1
    json.dumps(here)
    assert differences(here, {**here, "load": 99.0}) == []


def test_cells_of_two_machines_do_not_come_together() -> None:
    newer = Result(
        result().machine, PLAN.settings, [Cell("vgg16", 2, "ok", 17.0, (0.118,))]
    )
    both = merged(result(), newer)
    assert both.speeds("vgg16") == {1: 10.0, 2: 17.0}
    with pytest.raises(DataError, match="cores: 96 and"):
        merged(result(cores=96), newer)
    other = Result(result().machine, {**PLAN.settings, "dtype": "float16"}, [])
    with pytest.raises(DataError, match="dtype: float32 and float16"):
        merged(result(), other)


def test_a_report_says_everything() -> None:
    text = table.report(result(), ["K80"])
    assert "score on gpu, a simulated K80 of 12 GiB, float32" in text
    assert describe()["processor"] in text
    rows = [line.split() for line in text.splitlines()]
    assert "OOM" in text and "slow" in text and "700 MiB" in text
    assert "t(b) = 75 ms + b · 25 ms, peak 40 images/s, 90 % of it from batch 27" in (
        text
    )
    assert "VGG-16 beside performance-tips.md (K80 line 157)" in text
    assert ["128", "OOM"] in rows and ["4", "OOM", "53.4"] in rows
    assert "gpu(0): 7 GiB was asked for" in text


def test_comparing_names_what_is_different() -> None:
    same = table.comparison(result(), result())
    assert "one machine, measured in one way" in same
    assert same.splitlines()[-1].split()[-1] != "1.00"  # that cell has no speed
    assert "1.00" in same
    other = table.comparison(result(), result(processor="another"))
    assert "TWO MACHINES" in other and "and another" in other
    nothing = Result(result().machine, {**PLAN.settings, "task": "train"}, [])
    assert "MEASURED IN TWO WAYS" in table.comparison(result(), nothing)
    assert "no cell in common" in table.comparison(result(), nothing)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda c: c.pop("format"), "is no result"),
        (lambda c: c.pop("machine"), "damaged"),
        (lambda c: c["cells"][0].pop("batch"), "damaged"),
        (lambda c: c["cells"][0].update(batch=-1), "numbers of vgg16"),
        (lambda c: c["cells"][0].update(batch=1.5), "status"),
        (lambda c: c["cells"][0].update(images_per_second=float("nan")), "numbers"),
        (lambda c: c["cells"][0].update(status="good"), "status 'good'"),
        (lambda c: c["cells"][0].update(more=1), "damaged"),
        (lambda c: c.update(cells=[3]), "damaged"),
    ],
)
def test_files_that_are_no_results(tmp_path: Path, change: Any, words: str) -> None:
    place = tmp_path / "a.json"
    save(place, result())
    content = json.loads(place.read_text())
    change(content)
    place.write_text(json.dumps(content))
    with pytest.raises(DataError, match=words):
        load(place)


def test_files_that_cannot_be_read_or_written(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot read"):
        load(tmp_path / "nothing.json")
    (tmp_path / "text").write_text("[" * 100_000)
    with pytest.raises(DataError, match="damaged"):
        load(tmp_path / "text")
    with pytest.raises(DataError, match="cannot write"):
        save(tmp_path / "no" / "folder.json", result())
