"""Bytes have units in the controls of the pool map, whatever the knob's own type."""

from __future__ import annotations

import pytest

from minimx.core.errors import KnobError
from minimx_widgets.pictures.pool_knobs import control, value_of, value_text

PAGE = "MXNET_GPU_MEM_POOL_PAGE_SIZE"
CUTOFF = "MXNET_GPU_MEM_POOL_ROUND_LINEAR_CUTOFF"


@pytest.mark.parametrize("text", ["8192", "8KiB", " 8 K", "8kb", 8192])
def test_bytes_are_read_with_and_without_a_unit(text: str | int) -> None:
    assert value_of(PAGE, text) == 8192
    assert value_text(PAGE, 8192) == "8KiB"


def test_other_numbers_have_no_units() -> None:
    assert value_text(CUTOFF, 24) == "24"
    with pytest.raises(KnobError, match=CUTOFF):
        value_of(CUTOFF, "24K")


def test_what_the_pool_would_refuse_is_refused() -> None:
    with pytest.raises(KnobError, match=PAGE):
        value_of(PAGE, "many")
    with pytest.raises(KnobError, match=PAGE):
        value_of(PAGE, "0K")


def test_controls_of_bytes_are_sliders_of_sizes() -> None:
    assert control(PAGE)["type"] == "size"
    assert control(CUTOFF)["type"] == "int"
