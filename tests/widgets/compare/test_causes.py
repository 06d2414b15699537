"""What a comparison says of causes: sentences that need no key."""

from __future__ import annotations

from typing import Any

import pytest

from minimx.experiments.why import Cause, Why
from minimx_widgets.compare.causes import said

PAGE, TYPE = "MXNET_CPU_MEM_POOL_PAGE_SIZE", "MXNET_CPU_MEM_POOL_TYPE"
CAUSE = Cause(PAGE, 4096, 16384, 12288.0, "x (4 KiB) is rounded up to 16 KiB")


def found(**other: Any) -> Why:
    values: dict[str, Any] = {
        "figure": "reserved", "before": 4096.0, "after": 16384.0, "explained": 12288.0,
        "causes": (CAUSE,), "candidates": (PAGE,), "unexamined": (), "replays": 2,
    }  # fmt: skip
    return Why(**(values | other))


def test_a_cause_alone_is_one_sentence() -> None:
    assert said([found()]) == (
        "predicted: reserved +12 KiB, because x (4 KiB) is rounded up to 16 KiB."
    )


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        ((TYPE,), f"{TYPE} differs as well, but does not change it."),
        (
            ("program", TYPE),
            f"The program and {TYPE} differ as well, but do not change it.",
        ),
        (
            tuple(f"K{k}" for k in range(9)),
            "K0, K1, K2, K3, K4 and 4 more knobs differ as well, but do not change it.",
        ),
    ],
)
def test_knobs_without_effect_are_named_in_a_sentence(
    names: tuple[str, ...], sentence: str
) -> None:
    assert said([found(candidates=(PAGE, *names))]).splitlines()[1:] == [
        f"  {sentence}"
    ]


def test_of_several_figures_they_are_named_once() -> None:
    both = [found(candidates=(PAGE, TYPE)), found(figure="peak", candidates=(PAGE,))]
    lines = said(both).splitlines()
    assert len(lines) == 3
    assert lines[2] == (
        f"  {TYPE} differs as well, but does not change any of these figures."
    )


def test_what_no_replay_can_turn_is_said_to_be_unknown() -> None:
    one, several = (
        said([found(unexamined=names)]).splitlines()[1]
        for names in (("OMP_NUM_THREADS",), ("OMP_NUM_THREADS", "KMP_AFFINITY"))
    )
    assert one.startswith("  OMP_NUM_THREADS differs too. No replay can turn it, ")
    assert several.startswith("  OMP_NUM_THREADS and KMP_AFFINITY differ too. No ")
    assert "turn them" in several and "run both settings" in several


def test_what_the_causes_leave_open_is_said_with_what_was_measured() -> None:
    text = said([found(after=40960.0)]).splitlines()[1]
    assert "do not explain all of it" in text and "4 KiB to 40 KiB" in text
    assert len(said([found(after=16400.0)]).splitlines()) == 1
