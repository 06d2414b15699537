"""The roofline's arithmetic, its file and its picture; operators on small arrays."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.benchmarks.reporting import page
from tests.benchmarks.roofline import measuring, picture
from tests.benchmarks.roofline.measuring import Peak, Point, Roofline
from tests.benchmarks.roofline.operators import OPERATORS, cost

PEAK = Peak(flops=100e9, bandwidth=20e9)
CONDITIONS = {"date": "2026-01-02", "cores": 2, "cpu": "C", "rounds": 1}
CONDITIONS |= {"others": 0.25, "onednn": False}
FOUND = Roofline(
    CONDITIONS,
    {1: Peak(60e9, 12e9), 2: PEAK},
    [
        Point("adds", 10**9, 12 * 10**9, [0.9, 1.2, 1.3]),
        Point("multiplies", 10**12, 10**9, [20.0]),
        Point("moves", 0, 10**9, [0.05]),
    ],
)


def test_the_roof_is_memory_or_compute() -> None:
    adds, multiplies, moves = FOUND.points
    assert [p.bound(PEAK) for p in FOUND.points] == ["memory", "compute", "memory"]
    assert adds.share(PEAK) == pytest.approx(
        0.5
    )  # 0.6 s at least, and 1.2 in the median
    assert multiplies.share(PEAK) == pytest.approx(0.5)
    assert moves.share(PEAK) == pytest.approx(1.0)


def test_a_measurement_is_kept_whole(tmp_path: Path) -> None:
    path = measuring.save(FOUND, tmp_path)
    assert path.name == "roofline-2026-01-02-c-2.json"
    assert measuring.load(path) == FOUND
    assert measuring.newest(tmp_path) == path
    assert measuring.newest(tmp_path / "none") is None


def test_the_picture_names_operators_roofs_and_shares() -> None:
    svg = picture.draw(FOUND, "from here").decode()
    for text in ("adds 50%", "multiplies 50%", "2 cores: 100 GFLOP/s, 20 GB/s"):
        assert f">{text}</text>" in svg, text
    assert "moves" not in svg  # it computes nothing
    assert "from here" in svg
    assert picture.draw(FOUND, "from here").decode() == svg


def test_the_table_says_what_bounds_each_and_what_busy_others_were(
    tmp_path: Path,
) -> None:
    text = "\n".join(page.roofline(measuring.save(FOUND, tmp_path)))
    assert "| adds | 0.0833 | 1200 ms | 0.83 | 10.0 | memory | 50% |" in text
    assert "Others used 25% of them." in text
    assert text.index("| moves |") < text.index("| adds |")  # the nearest first
    assert "compute nothing: moves." in text


def test_the_picture_of_the_book_is_that_of_the_newest_measurement() -> None:
    data = measuring.newest()
    assert data is not None
    assert picture.digest(data) in page.PICTURE.read_text("utf-8"), "run `make pages`"


#: Those that share kernels with many tests, so that nothing is compiled for this one.
FEW = ["relu", "add", "sum of all", "transpose", "dense, batch 1", "embedding"]


def test_operators_are_measured_against_what_they_cost() -> None:
    said: list[str] = []
    found = measuring.run(FEW, 1, 0.01, size=0.005, say=said.append)
    assert [point.name for point in found.points] == FEW
    assert len(said) == len(FEW)
    by_name = {point.name: point for point in found.points}
    assert by_name["add"].nbytes == 12 * by_name["add"].flops
    assert by_name["transpose"].flops == 0
    assert all(point.nbytes > 0 < point.took for point in found.points)
    assert all(peak.flops > 0 < peak.bandwidth for peak in found.peaks.values())


def test_there_are_operators_of_every_kind() -> None:
    assert len(OPERATORS) >= 18
    wide = cost(OPERATORS["dense, batch 1"](0.01))
    assert (
        0.4 < wide.flops / wide.bytes_moved < 0.6
    )  # reads each weight for one product
