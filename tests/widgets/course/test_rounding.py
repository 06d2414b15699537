"""Notebook 11: predictions, the scaler's exercise and the clip that came too early."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from minimx import amp, gluon
from minimx.amp import loss_scaler
from minimx.amp.loss_scaler import doubling
from minimx_widgets.course import rounding
from minimx_widgets.course.rounding import (
    CAP,
    WINDOW,
    check_clip,
    check_policy,
    one_step,
    replay,
    running_sum,
    skipped,
    step_rows,
)

# -- the predictions -------------------------------------------------------------------


def test_sums_stop() -> None:
    assert running_sum([1] * 4096) == 2048
    assert running_sum([0.1] * 10_000) == 256
    assert running_sum([1] * 4096, "float32") == 4096


def test_a_decision_acts_two_steps_later() -> None:
    at_once = replay(doubling, [3.0] * 10, at_once=True)
    assert (skipped(at_once), at_once[-1].scale) == (2, 16384)
    real = replay(doubling, [3.0] * 10)
    assert (skipped(real), real[-1].scale) == (3, 8192)
    assert step_rows(real)[0] == ("1 to 2", "65,536", "skipped")


# -- the scaler ------------------------------------------------------------------------


def with_a_max(scale: float, good: int, overflow: bool) -> tuple[float, int]:
    if overflow:
        return scale / 2, 0
    good += 1
    return (min(scale * 2, CAP), 0) if good == WINDOW else (scale, good)


def test_right_scalers_pass() -> None:
    found = check_policy(with_a_max)
    assert found.passed, found


def test_the_rule_itself_is_no_solution() -> None:
    asks = (
        lambda s, g, o: doubling(s, g, o),
        lambda s, g, o: loss_scaler.doubling(s, g, o),
        (lambda rule: lambda s, g, o: rule(s, g, o))(doubling),
    )
    for borrowed in (doubling, *asks):
        found = check_policy(borrowed)
        assert not found.passed
        assert "`doubling`, which is the rule itself" in found.seen


def without_a_cap(scale: float, good: int, overflow: bool) -> tuple[float, int]:
    if overflow:
        return scale / 2, 0
    return (scale * 2, 0) if good + 1 == WINDOW else (scale, good + 1)


def not_in_a_row(scale: float, good: int, overflow: bool) -> tuple[float, int]:
    return (scale / 2, good) if overflow else with_a_max(scale, good, overflow)


def one_late(scale: float, good: int, overflow: bool) -> tuple[float, int]:
    if not overflow and good == WINDOW:
        return min(CAP, scale * 2), 0
    return (scale / 2, 0) if overflow else (scale, good + 1)


def counts_on(scale: float, good: int, overflow: bool) -> tuple[float, int]:
    if not overflow and good + 1 == WINDOW:
        return min(CAP, scale * 2), WINDOW
    return (scale / 2, 0) if overflow else (scale, good + 1)


WRONG: list[tuple[Callable[..., Any], str]] = [
    (lambda s, g, o: ..., "is still there"),
    (lambda s, g, o: s / 2 if o else s, "two numbers"),
    (lambda s, g, o: (s, 0) if o else (s, g + 1), "an overflow halves"),
    (not_in_a_row, "count of good steps begins again"),
    (without_a_cap, "2\\*\\*24"),
    (one_late, "2,000th good step"),
    (counts_on, "2,000th good step|in a row"),
    (lambda s, g, o: 1 / 0, "ZeroDivisionError"),
]


@pytest.mark.parametrize("wrong, why", WRONG)
def test_wrong_scalers_are_told_why(wrong: Callable[..., Any], why: str) -> None:
    found = check_policy(wrong)
    assert not found.passed
    assert re.search(why, repr(found)), found


# -- clipping --------------------------------------------------------------------------


def unscaled_first(trainer: Any, gradients: list[Any], limit: float) -> None:
    amp.unscale(trainer)
    gluon.utils.clip_global_norm(gradients, limit)


def scaled_limit(trainer: Any, gradients: list[Any], limit: float) -> None:
    scale = trainer._amp_loss_scaler.loss_scale
    gluon.utils.clip_global_norm(gradients, limit * scale)


@pytest.mark.parametrize("right", [unscaled_first, scaled_limit])
def test_right_clips_pass(right: Callable[..., None]) -> None:
    found = check_clip(right)
    assert found.passed, found


def too_late(trainer: Any, gradients: list[Any], limit: float) -> None:
    gluon.utils.clip_global_norm(gradients, limit)
    amp.unscale(trainer)


def divided_twice(trainer: Any, gradients: list[Any], limit: float) -> None:
    for gradient in gradients:
        gradient[:] = gradient / trainer._amp_loss_scaler.loss_scale


def wasteful(trainer: Any, gradients: list[Any], limit: float) -> None:
    unscaled_first(trainer, gradients, limit)
    for _ in range(3):
        gluon.utils.clip_global_norm(gradients, limit)


@pytest.mark.parametrize(
    "wrong, why",
    [
        (rounding.clip_too_early, "divided by the scale afterwards"),
        (too_late, "divided by the scale afterwards"),
        (lambda *_: None, "nothing was clipped"),
        (divided_twice, "divided by the scale twice"),
        (wasteful, "24 at most"),
    ],
)
def test_wrong_clips_are_told_why(wrong: Callable[..., None], why: str) -> None:
    found = check_clip(wrong)
    assert not found.passed and why in repr(found), found


def test_the_case_of_the_notebook() -> None:
    plain, _ = one_step(rounding.clip_too_early, "float32")
    np.testing.assert_allclose(plain, [1.5, 2.0], rtol=1e-6)
    mixed, _ = one_step(rounding.clip_too_early)
    np.testing.assert_allclose(mixed, np.array([1.5, 2.0]) / 256, rtol=1e-3)
    assert not amp.is_active()
