"""A loss averaged over many elements: what float16 makes of it, scaled and not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import minimx as mx
from minimx.core.record import Record
from minimx_widgets.lab.stories import STORIES
from minimx_widgets.pictures.training_series import BATCH, LOSS, line_of
from minimx_widgets.training.training import Fit, Settings

pytestmark = pytest.mark.usefixtures("knobs_at_rest")

MANY = 32 * 512 * 512


@dataclass(frozen=True)
class Outcome:
    losses: list[float]
    accuracy: float
    zeros: float  # the share of the first layer's gradient


def trained(dtype: str, scaling: str, averaged: int, steps: int = 40) -> Outcome:
    """LeNet after some steps on glyphs."""
    settings = Settings(dtype=dtype, scaling=scaling, averaged=averaged)
    with Record() as record:
        fit = Fit(settings, record)
        program = fit.program()
        while fit.step < steps:
            next(program)
        program.close()
        mx.nd.waitall()
        first = next(iter(fit.net.collect_params().values())).grad().asnumpy()
        right = line_of(record, BATCH).values[-20:]
        return Outcome(
            line_of(record, LOSS).values.tolist(),
            float(np.mean(right)),
            float(np.mean(first == 0)),
        )


def test_in_float32_the_average_changes_no_bit() -> None:
    plain, averaged = (trained("float32", "off", many, 20) for many in (1, MANY))
    assert plain.losses == averaged.losses


def test_in_float16_small_gradients_vanish_without_a_loss_scale() -> None:
    settings = [dict(STORIES[name].settings) for name in STORIES if "half" in name]
    assert [one["scaling"] for one in settings] == ["dynamic", "off"]
    scaled, alone = (
        trained(one["dtype"], one["scaling"], int(one["averaged"])) for one in settings
    )
    assert scaled.accuracy > 0.7 and scaled.zeros < 0.05
    assert alone.accuracy < 0.3 and alone.zeros > 0.9
    assert min(alone.losses) > 2.2  # ln 10 = 2.30 is guessing


def test_in_float16_a_usual_loss_needs_no_scale_in_so_small_a_network() -> None:
    assert trained("float16", "off", 1).accuracy > 0.7
