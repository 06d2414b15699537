"""The law behind a column of speeds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minimx.commands.bench.document import columns
from minimx.commands.bench.fit import Saturation, saturation
from minimx.core.errors import ArgumentError

SECONDS = st.floats(1e-5, 10)


@given(t0=SECONDS, t1=SECONDS, batches=st.sets(st.integers(1, 512), min_size=2))
def test_exact_speeds_give_their_law_back(
    t0: float, t1: float, batches: set[int]
) -> None:
    truth = Saturation(t0, t1, 0.0)
    found = saturation({batch: truth.speed(batch) for batch in batches})
    assert found is not None
    assert found.worst < 1e-6
    for batch in batches:
        assert found.speed(batch) == pytest.approx(truth.speed(batch), rel=1e-6)


@given(t0=SECONDS, t1=SECONDS)
def test_where_nine_tenths_of_the_peak_are_reached(t0: float, t1: float) -> None:
    law = Saturation(t0, t1, 0.0)
    assert law.speed(law.enough) >= 0.9 * law.peak * (1 - 1e-6)
    assert law.enough == 1 or law.speed(law.enough - 1) < 0.9 * law.peak


@given(
    st.dictionaries(st.integers(1, 256), st.floats(0.01, 1e5), min_size=2, max_size=9)
)
def test_any_speeds_give_times_that_are_none_below_zero(
    speeds: dict[int, float],
) -> None:
    law = saturation(speeds)
    assert law is None or (law.t0 >= 0 and law.t1 > 0 and law.enough >= 1)


def test_a_law_says_where_it_only_promises() -> None:
    slow = saturation({1: 10.0, 2: 18.0})
    quick = saturation({1: 10.0, 64: 10.5})
    assert "extrapolation: the largest measured is 2" in str(slow)
    assert "extrapolation" not in str(quick)


def test_no_law_for_too_little() -> None:
    assert saturation({}) is None
    assert saturation({4: 100.0}) is None
    with pytest.raises(ArgumentError, match="above 0"):
        saturation({1: 0.0, 2: 1.0})


def test_the_law_of_a_document_s_column() -> None:
    (column,) = columns("score", "resnet50_v2", "V100")
    law = saturation({b: s for b, s in column.speeds.items() if s})
    assert law is not None
    assert 1150 < law.peak < 1400
    assert 16 <= law.enough <= 64
    assert "90 % of it from batch" in str(law)
