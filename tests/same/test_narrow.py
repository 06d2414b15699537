"""What was recorded of float16 and bfloat16, and that the programs still run."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from minimx import amp
from minimx_widgets.course.same.narrow import KINDS, faint, lenet, recorded_types
from tests.same.narrow import failures


def test_mixed_precision_costs_no_accuracy() -> None:
    found = recorded_types()
    assert failures(found) == []
    assert [len(found.accuracy[kind]) for kind in KINDS] == [3, 3, 3]
    assert {"date", "cpu", "cores"} <= set(found.conditions)
    assert "bfloat16" in repr(found.table())


def test_what_should_not_be_is_noticed() -> None:
    found = recorded_types()
    worse = {kind: [v - 0.01 * (kind == "float16") for v in found.accuracy[kind]]
             for kind in KINDS}  # fmt: skip
    assert len(failures(dataclasses.replace(found, accuracy=worse))) == 1
    same = dict.fromkeys(found.last, found.last["float32"])
    assert failures(dataclasses.replace(found, last=same)) == [
        "float16 learns without scaling"
    ]


@pytest.mark.parametrize("scaled", [False, True])
def test_faint_gradients_vanish_unless_the_loss_is_scaled(scaled: bool) -> None:
    found = faint("float16", scaled, steps=2, batch=100)
    assert (max(found.flushed) > 0.9) is not scaled
    assert np.isfinite(found.losses).all() and not amp.is_active()


@pytest.mark.parametrize("kind", KINDS)
def test_lenet_is_the_same_program_in_every_type(kind: str) -> None:
    assert lenet(kind, 0, rates=()) == pytest.approx(
        lenet("float32", 0, rates=()), abs=0.01
    )
    assert not amp.is_active()
