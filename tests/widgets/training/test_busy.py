"""Whether other programs use the machine is judged from counted seconds alone."""

from __future__ import annotations

from collections.abc import Iterator

from minimx_widgets.training import busy
from minimx_widgets.training.busy import Busy, Sample


def looks(*windows: tuple[float, float], cores: int = 2) -> Iterator[Sample]:
    """Samples 2 s apart; of each window the core seconds of all programs and ours."""
    wall = total = own = 0.0
    yield Sample(wall, total, own, cores)
    for busy_seconds, own_seconds in windows:
        wall, total, own = wall + 2, total + busy_seconds, own + own_seconds
        yield Sample(wall, total, own, cores)


def cores(*windows: tuple[float, float]) -> list[float]:
    """What each look after the first says."""
    samples = looks(*windows)
    machine = Busy(lambda: next(samples))
    return [machine.look() for _ in windows]


def test_a_full_machine_with_others_on_it_is_busy_from_the_second_window_on() -> None:
    assert cores((4, 2), (4, 1)) == [0, 1.5]
    samples = looks((4, 2), (4, 1))
    machine = Busy(lambda: next(samples))
    assert machine.text == ""
    machine.look()
    machine.look()
    assert machine.text.startswith("Other programs use 1.5 of 2 cores: ")


def test_our_own_work_and_idle_cores_are_not_others() -> None:
    assert cores((4, 4), (4, 3.9)) == [0, 0], "all of it is ours"
    assert cores((2, 0.5), (2, 0.5)) == [0, 0], "half of the machine is idle"


def test_one_window_neither_says_nor_unsays_it() -> None:
    assert cores((4, 2), (2, 2), (4, 2)) == [0, 0, 0]
    busy_twice = ((4, 2), (4, 2))
    assert cores(*busy_twice, (2, 2), (4, 2)) == [0, 1, 1, 1]
    assert cores(*busy_twice, (2, 2), (2, 2)) == [0, 1, 1, 0]


def test_windows_that_are_too_short_are_not_compared() -> None:
    samples = iter([Sample(0, 0, 0, 2), Sample(0.1, 0.2, 0, 2), Sample(2, 4, 2, 2)])
    machine = Busy(lambda: next(samples))
    assert [machine.look(), machine.look()] == [0, 0]


def test_a_system_that_does_not_count_says_nothing() -> None:
    machine = Busy(lambda: None)
    assert (machine.look(), machine.text) == (0, "")


def test_only_cores_that_we_may_use_count() -> None:
    stat = "cpu  9 9 9 9\ncpu0 5 1 2 90 3 0 1 4 7 0\ncpu12 7 0 0 93\nintr 5\n"
    assert busy.busy_ticks(stat, {0}) == 13
    assert busy.busy_ticks(stat, {12}) == 7
    assert busy.busy_ticks(stat, {0, 1, 12}) == 20


def test_this_system_counts_up() -> None:
    first = busy.sample()
    sum(i * i for i in range(400_000))
    second = busy.sample()
    if busy.STAT.exists():
        assert first is not None and second is not None
        assert second.wall > first.wall
        assert second.own > first.own
        assert second.busy >= first.busy
    else:
        assert first is second is None
