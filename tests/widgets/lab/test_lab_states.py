"""Each state of a lab says what is the matter, and what may be done next."""

from __future__ import annotations

import pytest

from minimx_widgets.lab.lab_states import Standing
from minimx_widgets.training.session import (
    DONE,
    FAILED,
    PAUSED,
    READY,
    RUNNING,
    STOPPED,
    Progress,
)

AT = Progress(9, 99, "epoch 2 · step 412", 2, 5, 412, pace="90 samples/s · 1 h left")


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (RUNNING, "epoch 2 · step 412 · 90 samples/s · 1 h left"),
        (PAUSED, "Paused · epoch 2 · step 412"),
        (STOPPED, "Stopped · epoch 2 · step 412"),
        (DONE, "Done · 5 epochs"),
        (FAILED, "Failed: see below."),
        (READY, "Ready. Press Train."),
    ],
)
def test_only_what_runs_says_how_long_it_will_take(state: str, words: str) -> None:
    assert Standing(state, AT, result="5 epochs").text == words


def test_before_the_first_step_it_is_preparing() -> None:
    nothing = Progress(0, 0, "")
    assert Standing(RUNNING, nothing).text == "Preparing data and network…"


def test_a_training_that_can_go_on_is_paused_for_the_page() -> None:
    for state in (READY, STOPPED):
        message = Standing(state, AT, goes_on=True).as_message()
        assert message["state"] == "paused"
        assert message["words"] == "Paused · epoch 2 · step 412"
    assert Standing(FAILED, AT, goes_on=True).shown == FAILED


def test_who_took_over_is_named_on_either_side() -> None:
    left = Standing(STOPPED, AT, goes_on=True, taken_by="mlp on digits")
    assert left.text == (
        "Paused, as mlp on digits took over: Go on takes over · epoch 2 · step 412"
    )
    fresh = Standing(READY, Progress(0, 0, ""), other="lenet on glyphs")
    assert "takes over from lenet on glyphs" in fresh.text


def test_what_beginning_afresh_would_lose() -> None:
    assert Standing(RUNNING, AT).loses == "step 412 of epoch 2"
    assert Standing(PAUSED, AT).loses == "step 412 of epoch 2"
    for state in (READY, STOPPED, DONE, FAILED):
        assert Standing(state, AT).loses == ""


def test_an_error_goes_before_a_complaint_about_the_kernel() -> None:
    old = "ipykernel is old"
    failed = Standing(FAILED, AT, ValueError("no"), complaint=old).as_message()
    assert failed["error"] == failed["message"] == "ValueError: no"
    message = Standing(READY, AT, complaint=old).as_message()
    assert (message["error"], message["message"]) == (old, "")


def test_a_busy_machine_matters_while_it_trains() -> None:
    assert Standing(RUNNING, AT, busy="others").as_message()["busy"] == "others"
    assert Standing(PAUSED, AT, busy="others").as_message()["busy"] == ""
