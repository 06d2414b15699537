"""The rounding rules, against MXNet's own numbers and in general."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minimx.core.storage.rounding import exact, to_multiple, to_power2

SLAB = 2 << 20


@pytest.mark.parametrize(
    ("request_", "naive", "power2"),
    [
        (1, 4_096, 4_096),
        (4_097, 8_192, 8_192),
        (10_000, 12_288, 16_384),
        (100_000, 102_400, 131_072),
        (1_048_577, 1_052_672, 2_097_152),
        (3_000_000, 4_194_304, 4_194_304),
        (16_777_216, 16_777_216, 16_777_216),
        (16_777_217, 18_874_368, 33_554_432),
        (33_554_433, 35_651_584, 50_331_648),
        (100_000_000, 100_663_296, 100_663_296),
    ],
)
def test_what_mxnet_gives(request_: int, naive: int, power2: int) -> None:
    assert to_multiple(request_) == naive
    assert to_power2(request_) == power2
    assert exact(request_) == request_


@pytest.mark.parametrize(
    ("request_", "naive", "power2", "cutoff_28"),
    [(3, 4, 4, 4), (17, 18, 32, 32), (33, 34, 48, 64), (100, 100, 112, 128)],
)
def test_what_the_course_asks_to_predict(
    request_: int, naive: int, power2: int, cutoff_28: int
) -> None:
    """In MiB."""
    nbytes = request_ << 20
    assert to_multiple(nbytes) == naive << 20
    assert to_power2(nbytes) == power2 << 20
    assert to_power2(nbytes, cutoff=28) == cutoff_28 << 20


sizes = st.integers(1, 1 << 31)


@given(sizes, st.integers(32, 1 << 16), st.integers(1, 8 << 20))
def test_multiples_are_enough_and_not_too_much(n: int, page: int, large: int) -> None:
    size = to_multiple(n, page, large)
    assert size >= n
    assert size < n + page + large
    assert size % (page if size <= large else large) == 0


@given(sizes)
def test_a_slab_of_one_byte_turns_the_second_rounding_off(n: int) -> None:
    assert to_multiple(n, 4096, 1) == -(-n // 4096) * 4096


@given(sizes, st.integers(5, 16), st.integers(20, 34))
def test_powers_are_enough_and_under_twice(n: int, log_page: int, cutoff: int) -> None:
    page = 1 << log_page
    size = to_power2(n, page, cutoff)
    assert size >= n
    assert to_power2(size, page, cutoff) == size
    if n <= 1 << cutoff:
        assert size & (size - 1) == 0
        assert size < max(2 * n, page + 1)
    else:
        assert size % (1 << cutoff) == 0
        assert size - n < 1 << cutoff
