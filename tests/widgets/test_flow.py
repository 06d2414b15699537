"""A view is never flooded and never forgotten."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from minimx_widgets.flow import Flow

gaps = st.lists(st.floats(0.001, 0.5), min_size=1, max_size=200)


@given(gaps, st.booleans())
def test_frames_keep_their_distance(steps: list[float], acknowledges: bool) -> None:
    flow, now, sent = Flow(rate=15, window=2, patience=1), 0.0, []
    for step in steps:
        now += step
        if flow.ready(now):
            sent.append(now)
            number = flow.send(now)
            if acknowledges:
                flow.acknowledge(number)
    assert all(b - a >= 1 / 15 - 1e-9 for a, b in zip(sent, sent[1:], strict=False))


@given(gaps)
def test_a_silent_browser_gets_two_frames_and_then_one_a_second(
    steps: list[float],
) -> None:
    flow, now, sent = Flow(rate=15, window=2, patience=1), 0.0, []
    for step in steps:
        now += step
        if flow.ready(now):
            sent.append(now)
            flow.send(now)
    later = sent[2:]
    before = sent[1:]
    assert all(b - a >= 1 for a, b in zip(before, later, strict=False))


def test_a_browser_that_never_answers_still_gets_the_newest() -> None:
    flow = Flow(rate=15, window=2, patience=1)
    for _ in range(5):
        flow.send(0.0)
    assert not flow.ready(0.5)
    assert flow.ready(1.0)


def test_an_acknowledgement_of_what_was_never_sent_is_harmless() -> None:
    flow = Flow()
    flow.acknowledge(99)
    assert flow.painted == 0
