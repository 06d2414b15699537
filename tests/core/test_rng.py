"""Random numbers: repeatable, independent between devices, safe to make anywhere."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from minimx.core import rng
from minimx.core.device import cpu, gpu
from minimx.core.errors import ArgumentError


@pytest.fixture(autouse=True)
def default_seed() -> Iterator[None]:
    rng.seed(rng.DEFAULT_SEED)
    yield
    rng.seed(rng.DEFAULT_SEED)


def draw(device_id: int = 0) -> list[float]:
    numbers: list[float] = rng.stream(gpu(device_id)).generator.random(4).tolist()
    return numbers


def test_the_same_seed_gives_the_same_numbers() -> None:
    rng.seed(7)
    first = draw()
    assert draw() != first
    rng.seed(7)
    assert draw() == first
    rng.seed(8)
    assert draw() != first


def test_a_negative_seed_is_one_of_32_bits() -> None:
    rng.seed(-5)
    first = draw()
    rng.seed(2**32 - 5)
    assert draw() == first


def test_devices_have_numbers_of_their_own() -> None:
    assert draw(0) != draw(1)
    assert rng.stream(cpu()).generator.random(4).tolist() != draw(0)


def test_one_device_can_be_seeded_alone() -> None:
    rng.seed(1)
    elsewhere = draw(1)
    rng.seed(1)
    rng.seed(99, gpu(0))
    assert draw(1) == elsewhere
    assert (rng.current_seed(gpu(0)), rng.current_seed(), rng.current_seed(gpu(1))) == (
        99,
        1,
        1,
    )


def test_a_stream_made_after_the_seed_obeys_it() -> None:
    rng.seed(5)
    late = rng.stream(gpu(11))
    assert late.seeded_with == 5
    rng.seed(6, gpu(12))
    assert rng.stream(gpu(12)).seeded_with == 6


def test_set_seed_leaves_the_reseeding_to_the_caller() -> None:
    stream = rng.stream(gpu(0))
    assert stream in rng.set_seed(3, gpu(0))  # its copies may be there as well
    assert stream.seeded_with == rng.DEFAULT_SEED
    stream.reseed(3)
    assert repr(stream) == "Stream(gpu(0), seed 3)"


def test_threads_that_come_together_get_one_stream() -> None:
    start = Barrier(8)

    def make(_: int) -> rng.Stream:
        start.wait()
        return rng.stream(gpu(13))

    with ThreadPoolExecutor(8) as threads:
        assert len(set(threads.map(make, range(8)))) == 1


@pytest.mark.parametrize("value", [1.5, "7", None])
def test_a_seed_must_be_a_whole_number(value: object) -> None:
    with pytest.raises(ArgumentError, match="whole number"):
        rng.seed(value)


def test_a_word_for_a_device_must_be_all() -> None:
    with pytest.raises(ArgumentError, match="neither a device nor 'all'"):
        rng.seed(1, "gpu")
