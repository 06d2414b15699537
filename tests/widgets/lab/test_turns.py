"""A turn is measured against the steps round it, whatever else is turned meanwhile."""

from __future__ import annotations

import json
import math
import statistics
import threading
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from minimx_widgets.lab.turns import SETTLED, WINDOW, Turn, Turns, deviation
from minimx_widgets.training.meter import Facts

ENGINE, POOL = "MXNET_ENGINE_TYPE", "MXNET_CPU_MEM_POOL_TYPE"


def run(turns: Turns, peaks: list[float], first: int = 1) -> int:
    """Steps with these peaks; returns the number of the next one."""
    for step, peak in enumerate(peaks, first):
        turns.stepped(step, Facts(peak=peak))
    return first + len(peaks)


def peaks(turn: Turn) -> tuple[float | None, float | None]:
    return (
        turn.before.peak if turn.before else None,
        turn.after.peak if turn.after else None,
    )


def test_before_and_after_are_medians_without_the_step_that_was_under_way() -> None:
    turns = Turns()
    following = run(turns, [9.0, 1.0, 2.0, 3.0, 2.0])
    turn = turns.turned(ENGINE, "ThreadedEnginePerDevice", "NaiveEngine")
    assert turn is not None
    assert (turn.number, turn.step, turn.settled) == (1, 5, False)
    run(turns, [100.0, 5.0, 6.0, 7.0, 8.0], following)
    assert not turns.get(1).settled
    assert turns.get(1).steps == 4
    turns.stepped(11, Facts(peak=60.0))
    assert peaks(turns.get(1)) == (3.0, 7.5)  # of the higher ones of two neighbours
    assert turns.get(1).settled


def test_a_peak_that_falls_into_the_next_step_is_not_lost() -> None:
    turns, late = Turns(), [315.0, 436.0]
    following = run(turns, [395.0] * 8)
    turns.turned("MXNET_EXEC_ENABLE_INPLACE", "on", "off")
    run(turns, [436.0, *late, *late, 315.0], following)
    turn = turns.get(1)
    assert peaks(turn) == (395.0, 436.0)
    # Other figures are those of single steps.
    turns = Turns()
    for step, ms in enumerate([1.0, 1.0, 9.0, 1.0, 9.0, 1.0]):
        turns.stepped(step, Facts(ms=ms))
    turns.turned(ENGINE, "ThreadedEnginePerDevice", "NaiveEngine")
    before = turns.get(1).before
    assert before is not None and before.ms == 1.0


def test_it_is_measured_over_a_window_and_then_left_alone() -> None:
    turns = Turns()
    following = run(turns, [1.0] * 10 + [2.0] * WINDOW)
    turns.turned(POOL, "Naive", "Round")
    following = run(turns, [0.0] + [3.0] * WINDOW, following)
    assert peaks(turns.get(1)) == (2.0, 3.0)
    run(turns, [50.0] * 3 * WINDOW, following)
    assert peaks(turns.get(1)) == (2.0, 3.0)
    assert turns.get(1).steps == WINDOW


def test_changes_without_a_step_between_them_are_measured_together() -> None:
    turns = Turns()
    following = run(turns, [1.0] * 5)
    turns.turned(ENGINE, "ThreadedEngine", "NaiveEngine")
    turns.turned(POOL, "Naive", "Round")
    run(turns, [2.0] * 8, following)
    assert [peaks(turn) for turn in turns.all] == [(1.0, 2.0)] * 2
    assert [turn.step for turn in turns.all] == [5, 5]


def test_a_turn_too_soon_after_another_is_compared_with_what_was_before_both() -> None:
    turns = Turns()
    following = run(turns, [1.0] * 5)
    turns.turned(ENGINE, "ThreadedEngine", "NaiveEngine")
    following = run(turns, [9.0], following)
    turns.turned(POOL, "Naive", "Round")
    run(turns, [9.0] + [4.0] * 5, following)
    assert [peaks(turn) for turn in turns.all] == [(1.0, None), (1.0, 4.0)]


def test_a_change_to_the_same_value_is_none() -> None:
    turns = Turns()
    assert turns.turned(ENGINE, "NaiveEngine", "NaiveEngine") is None
    assert turns.all == []
    assert repr(turns) == "Turns(none yet)"


def test_a_turn_before_a_training_is_compared_with_the_training_before() -> None:
    turns = Turns()
    for step in range(1, 8):
        turns.stepped(step, Facts(peak=10.0, loss=0.1, skipped=3.0))
    turns.turned(POOL, "Naive", "Round")
    turns.begin()
    for step in range(1, 8):
        turns.stepped(step, Facts(peak=20.0, loss=2.3, skipped=0.0))
    turn = turns.get(1)
    assert (turn.before, turn.step) == (Facts(peak=10.0), 0)
    assert turn.after == Facts(peak=20.0, loss=2.3, skipped=0.0)


def test_a_new_training_ends_what_the_old_one_measured() -> None:
    turns = Turns()
    run(turns, [1.0] * 4)
    turns.turned(POOL, "Naive", "Round")
    run(turns, [2.0] * 4, 5)
    turns.begin()
    run(turns, [9.0] * 10)
    assert peaks(turns.get(1)) == (1.0, 2.0)
    turns.turned(ENGINE, "ThreadedEngine", "NaiveEngine")
    assert peaks(turns.get(2)) == (9.0, None)


def test_a_running_total_is_its_last_value_and_a_broken_loss_is_told() -> None:
    turns = Turns()
    for step in range(1, 6):
        turns.stepped(step, Facts(loss=0.5, skipped=float(step)))
    turns.turned("dtype", "float32", "float16", "setting")
    for step in range(6, 13):
        turns.stepped(step, Facts(loss=math.nan, skipped=float(step)))
    turn = turns.get(1)
    assert turn.before is not None
    assert turn.after is not None
    assert (turn.before.skipped, turn.after.skipped) == (5.0, 12.0)
    message = json.loads(json.dumps(turn.as_message(), allow_nan=False))
    assert message["after"]["loss"] == "nan"
    assert message["kind"] == "setting"
    assert message["after"]["peak"] is None


def test_notes_belong_to_the_last_turn_of_their_name() -> None:
    turns = Turns()
    turns.note(POOL, "it was not turned")
    turns.turned(POOL, "Naive", "Round")
    turns.turned(POOL, "Round", "Naive")
    turns.note(POOL, "emptied")
    assert [turn.note for turn in turns.all] == ["", "emptied"]


def test_watchers_are_told_of_turns_notes_and_measurements_until_they_leave() -> None:
    turns, told = Turns(), []
    leave = turns.watch(lambda: told.append(len(turns)))
    run(turns, [1.0] * 3)
    assert told == [], "nothing was turned"
    turns.turned(POOL, "Naive", "Round")
    turns.note(POOL, "emptied")
    turns.note(POOL, "emptied")
    assert told == [1, 1]
    run(turns, [1.0] * (2 * WINDOW), 4)
    assert len(told) == 2 + WINDOW
    leave()
    turns.turned(POOL, "Round", "Naive")
    assert len(told) == 2 + WINDOW


def test_what_is_handed_out_does_not_change_any_more() -> None:
    turns = Turns()
    turns.turned(POOL, "Naive", "Round")
    early = turns.all
    run(turns, [1.0] * 10)
    assert early[0].after is None


def test_threads_may_turn_while_another_steps() -> None:
    turns, many = Turns(), 200

    def turn(name: str) -> None:
        for i in range(many):
            turns.turned(name, str(i), str(i + 1))

    threads = [threading.Thread(target=turn, args=(name,)) for name in ("a", "b")]
    for thread in threads:
        thread.start()
    run(turns, [1.0] * 500)
    for thread in threads:
        thread.join()
    assert [t.number for t in turns.all] == list(range(1, 2 * many + 1))
    assert all(t.after is None or t.after.peak == 1.0 for t in turns.all)


def test_outliers_do_not_widen_the_spread() -> None:
    steps = [10.0, 11.0, 9.0, 10.0, 500.0]
    assert deviation(steps) < 2
    assert deviation([5.0] * 8) == 0.0
    assert deviation([math.nan, math.inf]) == 0.0


@dataclass
class Told:
    """One turn by the definition: the steps on both sides of it, in lists."""

    before: list[float]
    after: list[float] = field(default_factory=list)


def defined(events: list[float | None]) -> list[Told]:
    """What each turn (None among the events) is measured by, straight from the text."""
    told: list[Told] = []
    for place, event in enumerate(events):
        if event is not None:
            continue
        if place and events[place - 1] is None:
            told.append(Told(told[-1].before))
            continue
        since = place
        while since and events[since - 1] is not None:
            since -= 1
        clean = [e for e in events[since:place] if e is not None]
        clean = clean[1:] if told else clean
        told.append(Told(clean[-WINDOW:] or (told[-1].before if told else [])))
    numbers = [i for i, event in enumerate(events) if event is None]
    for number, place in enumerate(numbers):
        end = place + 1
        while end < len(events) and events[end] is None:
            end += 1
        following: list[float] = []
        while end < len(events) and (event := events[end]) is not None:
            following.append(event)
            end += 1
        told[number].after = following[1 : 1 + WINDOW]
    return told


def middle(peaks: list[float]) -> float | None:
    """The median of the higher ones of two neighbours; None of no peaks."""
    if len(peaks) < 2:
        return peaks[0] if peaks else None
    return statistics.median(map(max, peaks[1:], peaks[:-1]))


steps = st.lists(
    st.one_of(st.none(), *[st.integers(0, 50).map(float)] * 4), max_size=120
)


@given(steps)
def test_any_order_of_turns_and_steps_gives_what_the_definition_says(
    events: list[float | None],
) -> None:
    turns, step = Turns(), 0
    for i, event in enumerate(events):
        if event is None:
            turns.turned(POOL, str(i), str(i + 1))
        else:
            step += 1
            turns.stepped(step, Facts(peak=event))
    expected = defined(events)
    assert len(turns) == len(expected)
    for turn, told in zip(turns.all, expected, strict=True):
        assert peaks(turn) == (middle(told.before), middle(told.after))
        assert turn.settled == (len(told.after) >= SETTLED)
        assert turn.steps == len(told.after)
