"""A turn is described in words that say no more than was measured."""

from __future__ import annotations

import json
import math

import pytest

from minimx.core.knobs import knobs
from minimx_widgets.lab.turn_text import (
    BETWEEN_DEVICES,
    FIGURES,
    MAIN,
    PLAIN,
    SAME,
    compared,
    main,
    progress,
    rows,
    title,
    value_text,
)
from minimx_widgets.lab.turns import Turn
from minimx_widgets.training.meter import NAMES, Facts

MIB = 2**20


def turn(
    before: Facts | None,
    after: Facts | None,
    spread: Facts | None = None,
    name: str = "MXNET_EXEC_ENABLE_INPLACE",
    steps: int = 5,
) -> Turn:
    settled = steps >= 5
    return Turn(
        1, name, "1", "0", 412, "knob", before, after, spread, "", steps, settled
    )


def test_every_fact_has_a_figure_and_every_name_a_knob_or_setting() -> None:
    from minimx_widgets.training.training import Settings

    figures = [*FIGURES, *BETWEEN_DEVICES]
    assert {figure.name for figure in figures} == set(NAMES)
    assert set(MAIN.values()) <= set(NAMES)
    settings = set(vars(Settings())) | {"graph", "scaling"}
    for name in {*PLAIN, *MAIN}:
        assert name in knobs.declared or name in settings, name


def test_rows_tell_before_after_and_change_with_units() -> None:
    before = Facts(peak=20 * MIB, ms=12.0, accuracy=0.5, planned=4 * MIB)
    after = Facts(peak=15 * MIB, ms=13.8, accuracy=0.62, planned=3 * MIB, skipped=2.0)
    found = {row.name: row for row in rows(turn(before, after))}
    assert list(found) == ["peak", "planned", "ms", "accuracy", "skipped"]
    peak = found["peak"]
    assert (peak.before, peak.after, peak.change) == ("20 MiB", "15 MiB", "▼ 25 %")
    assert (peak.verdict, peak.source, peak.bars) == ("better", "measured", (1.0, 0.75))
    assert found["planned"].source == "planned"
    assert (found["ms"].change, found["ms"].verdict) == ("▲ 15 %", "worse")
    accuracy = found["accuracy"]
    assert (accuracy.change, accuracy.verdict) == ("▲ 12 pp", "better")
    skipped = found["skipped"]
    assert (skipped.before, skipped.after, skipped.change) == ("–", "2", "")
    for row in found.values():
        json.dumps(row.as_message(), allow_nan=False)


def test_within_the_noise_of_single_steps_it_is_the_same() -> None:
    before, spread = Facts(ms=20.0, peak=MIB), Facts(ms=1.5, peak=0.0)
    found = {r.name: r for r in rows(turn(before, Facts(ms=21.4, peak=MIB), spread))}
    assert (found["ms"].change, found["ms"].verdict) == (SAME, "")
    assert found["ms"].noise == "single steps before: ± 1.50 ms"
    assert found["peak"].change == SAME
    assert found["peak"].noise == ""
    beyond = rows(turn(before, Facts(ms=21.6), spread))
    assert next(r for r in beyond if r.name == "ms").change == "▲ 8.0 %"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (1000.0, 1000.1, "▲ < 0.1 %"),
        (1000.0, 950.0, "▼ 5.0 %"),
        (10.0, 250.0, "▲ × 25"),
        (0.0, 96.0, "▲ 96 B"),
        (96.0, 0.0, "▼ 100 %"),
    ],
)
def test_changes_are_told_in_per_cent_where_that_means_something(
    old: float, new: float, words: str
) -> None:
    assert compared("peak", old, new, 0.0)[0] == words


def test_a_loss_that_broke_is_told_as_such() -> None:
    (row,) = rows(turn(Facts(loss=0.3), Facts(loss=math.nan)))
    assert (row.after, row.change, row.verdict) == ("nan", "", "worse")
    assert row.bars == (1.0, 0.0)
    assert compared("loss", math.nan, math.nan, 0.0)[0] == SAME
    json.dumps(row.as_message(), allow_nan=False)


def test_the_main_figure_is_what_the_knob_is_turned_for() -> None:
    before = Facts(peak=10.0, reserved=100.0, ms=5.0, loss=1.0)
    after = Facts(peak=9.0, reserved=20.0, ms=50.0, loss=0.2)
    found = main(turn(before, after))
    assert found is not None
    assert found.name == "peak"
    other = main(turn(before, after, name="MXNET_EXEC_NUM_TEMP"))
    assert other is not None
    assert other.name == "ms", "what changed most"
    assert main(turn(before, None)) is None
    unmoved = main(turn(before, before))
    assert unmoved is not None
    assert unmoved.text == "step peak 10 B, same as before"


def test_a_learning_loss_is_not_taken_for_the_effect_of_a_knob() -> None:
    found = main(
        turn(
            Facts(loss=1.0, pushes=50.0),
            Facts(loss=0.1, pushes=49.0),
            name="MXNET_EXEC_NUM_TEMP",
        )
    )
    assert found is not None
    assert found.name == "pushes"


def test_titles_use_plain_names_and_truth_values() -> None:
    assert title(turn(None, None)) == "In-place on → off"
    other = Turn(1, "MXNET_EXEC_NUM_TEMP", "1", "2", 0)
    assert title(other) == "MXNET_EXEC_NUM_TEMP 1 → 2"
    assert title(Turn(1, "dtype", "float32", "float16", 0)) == (
        "Precision float32 → float16"
    )
    assert value_text("MXNET_HOME", "") == "(empty)"


def test_progress_says_what_is_missing_and_what_came_between() -> None:
    assert progress(turn(None, None, steps=0)) == (
        "measured from the second step after it on"
    )
    three = turn(None, Facts(), steps=3)
    assert progress(three) == "measuring… 3 of 5 steps"
    assert progress(three, newest=False) == "only 3 steps before the next turn"
    assert "too soon" in progress(turn(None, None, steps=0), newest=False)
    assert progress(turn(None, Facts(), steps=7)) == (
        "no step before it to compare with"
    )
    assert progress(turn(Facts(), Facts(), steps=7)) == (
        "measured: median of 7 steps after it"
    )
