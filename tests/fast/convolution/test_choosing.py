"""The choice of a convolution's algorithm: a pure policy, and who measures for it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minimx.core.errors import OperatorError
from minimx.core.kernels.convolution import DATA, FORWARD, MODES, WEIGHT, Geometry
from minimx.core.knobs import knobs
from minimx.fast.convolution import tuner
from minimx.fast.convolution.algorithms import NAMES
from minimx.fast.convolution.choosing import (
    DISABLED,
    EXACT,
    FASTEST,
    LIMITED,
    OFF,
    Candidate,
    Rules,
    candidates,
    decided,
    table,
    timed,
)

LENET = Geometry(24, 4, 12, 12, 6, 5, 5, 1, 1, 1, 1, 0, 0, 1, 8, 8)
DEEP = Geometry(4, 64, 28, 28, 64, 3, 3, 1, 1, 1, 1, 1, 1, 1, 28, 28)
DIRECTIONS = (FORWARD, DATA, WEIGHT)

every_rules = st.builds(
    Rules,
    tune=st.sampled_from(MODES),
    limit=st.integers(0, 1 << 24),
    inverted=st.booleans(),
    stopwatch=st.booleans(),
    model=st.booleans(),
    fft=st.booleans(),
    winograd=st.booleans(),
    reduced=st.booleans(),
    deterministic=st.booleans(),
    disabled=st.sets(st.integers(0, 9), max_size=3).map(lambda s: tuple(sorted(s))),
    plain=st.booleans(),
    threads=st.integers(1, 4),
    narrow=st.sampled_from(("", "float16", "bfloat16")),
)


def names(found: tuple[Candidate, ...]) -> list[str]:
    """Those that may be chosen."""
    return [one.algorithm.name for one in found if not one.excluded]


@given(st.sampled_from(DIRECTIONS), st.sampled_from((LENET, DEEP)), every_rules)
def test_the_choice_keeps_the_rules(direction: str, at: Geometry, rules: Rules) -> None:
    found = candidates(direction, at, 4, rules)
    if not names(found):
        return
    one = decided(found).algorithm
    assert one.workspace <= rules.limit or not rules.bounded
    assert one.deterministic or not rules.deterministic
    assert not one.unfit
    if rules.plain:
        assert one.name in ("direct", "im2col", "mec", "lean")
    else:
        assert one.number not in rules.disabled
        assert rules.fft or "fft" not in one.notes
        assert rules.winograd or "w" not in one.notes
        assert rules.reduced or not one.reduced_precision


@given(st.sampled_from(DIRECTIONS), st.sampled_from((LENET, DEEP)), every_rules)
def test_every_algorithm_is_there_once_and_those_left_come_first(
    direction: str, at: Geometry, rules: Rules
) -> None:
    found = candidates(direction, at, 4, rules)
    numbers = [one.algorithm.number for one in found]
    assert len(set(numbers)) == len(numbers)
    assert [bool(one.excluded) for one in found] == sorted(
        bool(one.excluded) for one in found
    )


@given(st.sampled_from(DIRECTIONS), st.integers(1, 4), st.booleans())
def test_the_guess_rounds_well_and_does_not_count_threads(
    direction: str, threads: int, model: bool
) -> None:
    one = decided(candidates(direction, DEEP, 4, Rules(threads=threads, model=model)))
    assert one.algorithm.error <= EXACT
    alone = decided(candidates(direction, DEEP, 4, Rules(threads=1, model=model)))
    assert one.algorithm.name == alone.algorithm.name


@pytest.mark.parametrize("model", (False, True))
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_few_stops_with_a_large_weight_are_for_im2col(
    direction: str, model: bool
) -> None:
    """Of 512 channels, on images of 7×7: one of them, and a batch."""
    last = Geometry(1, 512, 7, 7, 512, 3, 3, 1, 1, 1, 1, 1, 1, 1, 7, 7)
    rules = Rules(model=model, onednn=False)
    for images, name in ((1, "im2col"), (16, "winograd2")):
        at = last._replace(images=images)
        guess = decided(candidates(direction, at, 4, rules)).algorithm.name
        assert guess == name


def test_who_measured_takes_the_fastest_that_is_left() -> None:
    rules = Rules(disabled=(5,))
    found = timed(candidates(FORWARD, DEEP, 4, rules), {0: 3.0, 5: 0.1, 6: 0.5, 1: 1.0})
    assert decided(found).algorithm.name == "fft"


def test_lean_is_guessed_only_where_mec_does_not_fit() -> None:
    space = {
        one.algorithm.name: one.algorithm.workspace
        for one in candidates(WEIGHT, LENET, 4, Rules(threads=2))
    }

    def guess(limit: int, **rules: Any) -> str:
        said = Rules(limit=limit, threads=2, plain=True, **rules)
        return decided(candidates(WEIGHT, LENET, 4, said)).algorithm.name

    assert guess(1 << 30) in ("mec", "im2col")
    assert guess(space["lean"]) == "lean"
    assert guess(space["lean"], deterministic=True) == "direct"
    assert guess(space["lean"] - 1) == "direct"


def test_the_limit_counts_as_documented_or_as_it_was() -> None:
    for mode, documented in ((OFF, True), (LIMITED, True), (FASTEST, False)):
        assert Rules(tune=mode).bounded is documented
    # MXNet 1.5 to 1.9
    for mode, historical in ((OFF, True), (LIMITED, False), (FASTEST, True)):
        assert Rules(tune=mode, inverted=True).bounded is historical


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_nothing_left_names_what_excluded_each(direction: str) -> None:
    rules = Rules(
        disabled=(0, 1, 2, 7, 8), winograd=False, fft=False, deterministic=True
    )
    found = candidates(direction, LENET, 4, rules)
    with pytest.raises(OperatorError, match="no algorithm is left") as error:
        decided(found)
    said = str(error.value)
    assert f"mec (2): {DISABLED[direction]}=0,1,2,7,8" in said
    assert "fft (6): MXNET_CUDNN_ALLOW_FFT=0" in said
    assert "winograd2 (4): only for windows of 3×3" in said
    assert ("lean (3): MXNET_ENFORCE_DETERMINISM=1" in said) == (direction == WEIGHT)


def test_the_table_has_a_star_at_the_chosen_one() -> None:
    found = timed(candidates(FORWARD, DEEP, 4, Rules(fft=False)), {2: 1e-3, 0: 5e-3})
    lines = table(found).splitlines()
    assert len(lines) == len(found)
    (starred,) = [line for line in lines if line.startswith("*")]
    assert "mec" in starred
    assert "algo 2" in starred
    assert "1.000 ms" in starred
    assert any("excluded: MXNET_CUDNN_ALLOW_FFT=0" in line for line in lines)
    assert table(found, every=False) == starred


# -- the mechanism ---------------------------------------------------------------------


@pytest.fixture
def fresh() -> Any:
    """No times from before, none for later."""
    tuner.forget()
    yield
    tuner.forget()


def test_what_was_measured_is_not_measured_again(
    fresh: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def measure(algorithm: Any, *rest: Any) -> float:
        asked.append(algorithm.name)
        return 0.1 if algorithm.name == "im2col" else 0.5

    monkeypatch.setattr(tuner, "measure", measure)
    rules = Rules(tune=FASTEST, threads=2)
    first = tuner.choose(FORWARD, DEEP, "float32", rules)
    assert decided(first).algorithm.name == "im2col"
    assert set(asked) == set(names(first))
    asked.clear()
    assert tuner.choose(FORWARD, DEEP, "float32", rules) == first
    assert asked == []
    tuner.choose(FORWARD, DEEP._replace(images=5), "float32", rules)
    assert set(asked) == set(names(first))
    asked.clear()
    with knobs(MXNET_CPU_NNPACK_NTHREADS=1):
        tuner.choose(FORWARD, DEEP, "float32", rules)
    assert set(asked) == set(names(first))


def test_measured_times_are_of_this_machine_and_a_model_has_none(
    fresh: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = Rules(tune=LIMITED, threads=2)
    found = tuner.choose(FORWARD, LENET, "float32", rules)
    for one in found:
        assert (one.measured is None) == bool(one.excluded)
        assert one.excluded or 0 < (one.measured or 0) < 10
    tuner.forget()
    monkeypatch.setattr(tuner, "measure", None)
    found = tuner.choose(FORWARD, LENET, "float32", replace(rules, stopwatch=False))
    assert all(one.measured is None for one in found)


@pytest.mark.parametrize("gpu", [False, True])
@pytest.mark.parametrize("asked", [{}, {"tune": FASTEST}])
def test_the_stopwatch_is_for_those_who_asked(gpu: bool, asked: dict[str, str]) -> None:
    settings: Any = {"limit": 1, "off": False, "narrow": "", "tune": None, **asked}
    rules = tuner.rules_now(FORWARD, gpu=gpu, **settings)
    assert rules.measures == bool(asked)
    assert rules.tune == asked.get("tune", LIMITED if gpu else OFF)
    with knobs(MINIMX_CPU_AUTOTUNE=1):
        assert tuner.rules_now(FORWARD, gpu=gpu, **settings).measures
        with knobs(MINIMX_CLOCK="virtual"):
            assert not tuner.rules_now(FORWARD, gpu=gpu, **settings).measures


@given(st.sampled_from(DIRECTIONS), st.sampled_from((LENET, DEEP)), every_rules)
def test_a_tuner_without_stopwatch_keeps_its_digits_unless_asked_for_the_fastest(
    direction: str, at: Geometry, rules: Rules
) -> None:
    limited = replace(rules, tune=LIMITED, stopwatch=False)
    guessing = replace(limited, tune=OFF, inverted=False, model=True)
    if not rules.inverted and names(candidates(direction, at, 4, guessing)):
        one, other = (
            decided(candidates(direction, at, 4, r)) for r in (limited, guessing)
        )
        assert one.algorithm == other.algorithm
    fastest = candidates(direction, at, 4, replace(limited, tune=FASTEST))
    left = [one for one in fastest if not one.excluded]
    if left:
        assert decided(fastest).guess == min(one.guess for one in left)


def test_names_are_by_number() -> None:
    for direction in DIRECTIONS:
        for one in candidates(direction, DEEP, 4, Rules(threads=2, narrow="float16")):
            assert NAMES[one.algorithm.number] == one.algorithm.name
