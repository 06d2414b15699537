"""The record of both libraries is read, judged by the spread of seeds, and drawn."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from xml.etree import ElementTree

import pytest

from minimx_widgets.course.same import SIZES, Comparison, recorded
from minimx_widgets.course.same.curves import beginning, curves
from minimx_widgets.course.same.record import LIBRARIES, RESULTS

KEPT = sorted(path for name in SIZES for path in RESULTS.glob(f"*-{name}.json"))


def comparison(*scores: tuple[float, float]) -> Comparison:
    def learnt(score: float) -> dict[str, object]:
        return {"losses": [2.0, 1.0], "scores": [0.0, score], "version": "1"}

    runs = [
        {"seed": seed, "minimx": learnt(ours), "torch": learnt(theirs)}
        for seed, (ours, theirs) in enumerate(scores)
    ]
    conditions = {"date": "2026-01-02", "cores": 2, "cpu": "a", "python": "3"}
    return Comparison("resnet", conditions, {}, runs)


def test_a_difference_is_judged_by_the_spread_of_the_seeds() -> None:
    wide = comparison((0.95, 0.97), (0.97, 0.95), (0.96, 0.97))
    assert wide.agrees and abs(wide.difference) < wide.noise
    apart = comparison((0.90, 0.97), (0.91, 0.96), (0.90, 0.97))
    assert not apart.agrees
    assert "accuracy of minimx -0.0633" in repr(apart.table())


def test_one_seed_has_the_least_noise() -> None:
    assert comparison((0.95, 0.95)).noise == 1e-3


def test_what_is_saved_is_read(tmp_path: Path) -> None:
    first = comparison((0.95, 0.97))
    path = first.save(tmp_path / "new")
    assert path.name == "2026-01-02-resnet.json"
    assert Comparison.read(path) == first


@pytest.mark.parametrize("path", KEPT, ids=lambda path: str(path.stem))
def test_what_is_kept_was_within_noise(path: Path) -> None:
    kept = Comparison.read(path)
    assert kept.conditions["cores"] >= 1
    assert [run["seed"] for run in kept.runs] == [0, 1, 2]
    assert kept.agrees


@pytest.mark.parametrize("name", SIZES)
def test_what_the_course_shows_is_of_the_task_as_it_is_now(name: str) -> None:
    kept = recorded(name)
    size = asdict(SIZES[name])
    assert kept.size == size | {"rates": list(size["rates"])}
    told = repr(kept.table()).splitlines()
    assert len(told) == 2 + 3 + 1
    assert told[-1].startswith("mean")
    assert "PyTorch 2." in kept.where()
    assert len(kept.losses("torch", 1)) == len(kept.losses("minimx", 1))


@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize("dark", [True, False])
def test_the_picture_has_a_line_for_each_seed(name: str, dark: bool) -> None:
    kept = recorded(name)
    plain, live = (curves(kept, losses, dark=dark) for losses in ([], [2.0, 1.5, 1.0]))
    assert repr(plain) == kept.verdict()
    counts = []
    for shown in (plain, live):
        root = ElementTree.fromstring(shown.rich)
        lines = [part for part in root.iter() if part.tag.endswith("polyline")]
        marks = [line.get("stroke-opacity") for line in lines]
        counts.append(len(lines))
        # losses and scores, of three seeds and both
        assert marks.count("0.8") == 2 * 3 * len(LIBRARIES)
    assert counts[1] == counts[0] + 1
    assert "yours, just now" in live.rich and "yours" not in plain.rich


@pytest.mark.parametrize("dark", [False, True])
def test_the_beginning_has_a_line_for_each_run_and_ends_where_it_is_told(
    dark: bool,
) -> None:
    kept = recorded("resnet")
    for steps in (8, 20):
        shown = beginning(kept, steps, dark=dark)
        root = ElementTree.fromstring(shown.rich)
        drawn = [part for part in root.iter() if part.tag.endswith("polyline")]
        points = [len(line.get("points", "").split()) for line in drawn]
        assert points.count(steps) == 3 * len(LIBRARIES)
        assert f"the first {steps} losses of 6 runs" in repr(shown)
