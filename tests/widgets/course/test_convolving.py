"""The case on convolutions: its predictions, and what its exercises refuse."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from minimx.core.knobs import knobs
from minimx_widgets.course import convolving
from minimx_widgets.course.convolving import (
    LAYER,
    OWN,
    bill,
    check_count,
    check_settings,
    error,
    measured,
    multiplications,
    offered,
    only,
    question,
    usual,
)


@pytest.fixture(autouse=True)
def without_a_library() -> Iterator[None]:
    with knobs(MXNET_ONEDNN_ENABLED=0):
        yield
    convolving.forget()


# -- the predictions -------------------------------------------------------------------


def test_winograd_saves_what_theory_says() -> None:
    plain = multiplications("direct")
    assert plain == 16 * 28 * 28 * 64 * 576
    assert plain / multiplications("winograd2") == 2.25
    assert plain / multiplications("winograd4") == 4
    assert multiplications("im2col") == multiplications("mec") == plain
    assert set(offered(LAYER)) == set(OWN)
    assert set(offered(LAYER, 11)) == set(OWN) - {"winograd2", "winograd4"}


def test_large_tiles_lose_a_digit_and_sums_of_float16_some() -> None:
    errors = {name: error(name) for name in ("mec", "winograd2", "winograd4")}
    assert errors["winograd2"] < 4 * errors["mec"] < errors["winograd4"] < 1e-4
    assert error("sliced", "float16") > 2 * error("mec", "float16")


def test_one_algorithm_alone_leaves_the_knob_as_it_was() -> None:
    with only("fft"):
        assert [c.algorithm.name for c in question("forward")[1] if not c.excluded] == [
            "fft"
        ]
    assert knobs.get("MXNET_CUDNN_DISABLED_CONV_FWD_ENGINES") == ()


def test_what_is_measured_are_times_of_all_that_may_compute() -> None:
    times = {c.algorithm.name: c.measured for c in measured() if not c.excluded}
    assert set(times) == set(OWN)
    assert min(time or 0 for time in times.values()) > 0


# -- the faded exercise ----------------------------------------------------------------


def count(images: int, channels: int, edge: int, m: int) -> int:
    return images * (-(-edge // m) * (m + 2)) ** 2 * channels**2


def test_a_right_count_passes() -> None:
    assert check_count(count).passed


@pytest.mark.parametrize(
    ("wrong", "idea"),
    [
        (lambda n, c, e, m: n * (e // m * (m + 2)) ** 2 * c**2, "the last tile"),
        (lambda n, c, e, m: n * (-(-e // m) * m) ** 2 * c**2, r"\(m \+ 2\) points"),
        (lambda n, c, e, m: n * (-(-e // m) * (m + 2)) ** 2 * c, "channels"),
        (lambda n, c, e, m: (-(-e // m) * (m + 2)) ** 2 * c**2, "the images"),
        (lambda n, c, e, m: n * -(-e // m) * (m + 2) ** 2 * c**2, "all counted"),
        (lambda n, c, e, m: None, "a whole number"),
        (lambda n, c, e, m: n * ..., "the line"),
    ],
)
def test_a_wrong_count_is_told_why(wrong: Any, idea: str) -> None:
    feedback = check_count(wrong)
    assert not feedback.passed
    assert re.search(idea, feedback.idea), feedback


# -- the free exercise -----------------------------------------------------------------

SOLVED = {
    "MXNET_CUDNN_AUTOTUNE_DEFAULT": 2,
    "MXNET_CUDNN_DISABLED_CONV_WGRAD_ENGINES": "1,2,5",
    "MXNET_ENFORCE_DETERMINISM": 1,
}


@pytest.mark.parametrize("threads", [1, 2])
def test_a_solution_passes_with_any_number_of_threads(threads: int) -> None:
    with knobs(OMP_NUM_THREADS=threads):
        feedback = check_settings(SOLVED)
    assert feedback.passed, feedback
    assert sum(item.seconds for item in bill(SOLVED)) < 0.8 * usual()
    assert set(knobs.diff()) == {"MXNET_ONEDNN_ENABLED"}


@pytest.mark.parametrize(
    ("change", "workspace", "idea"),
    [
        ({"MXNET_CUDNN_AUTOTUNE_DEFAULT": 1}, 8, "the fastest"),
        ({"MXNET_CUDNN_AUTOTUNE_DEFAULT": 0}, 4, "the fastest"),
        ({"MXNET_CUDNN_DISABLED_CONV_WGRAD_ENGINES": ""}, 1024, "one direction"),
        ({"MXNET_CUDNN_DISABLED_CONV_WGRAD_ENGINES": "5"}, 8, "which mode keeps to"),
        ({"MXNET_ENFORCE_DETERMINISM": 0}, 1024, "deterministic algorithms only"),
        ({"MXNET_CUDNN_ALLOW_WINOGRAD": 0}, 1024, ""),
        (
            {"MXNET_CUDNN_DISABLED_CONV_WGRAD_ENGINES": "0,1,2,3,4,5,6"},
            1024,
            "what you disabled",
        ),
    ],
)
def test_settings_that_break_a_condition_are_told_which(
    change: dict[str, Any], workspace: int, idea: str
) -> None:
    feedback = check_settings({**SOLVED, **change}, workspace)
    assert not feedback.passed
    assert idea in feedback.idea, feedback


def test_a_knob_that_does_not_exist_is_feedback() -> None:
    feedback = check_settings({"MXNET_CUDNN_ALLOW_WINOGRADE": 0})
    assert not feedback.passed
    assert "MXNET_CUDNN_ALLOW_WINOGRAD" in feedback.seen
