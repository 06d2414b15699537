"""The guide's data-parallel stories: each is provoked, seen, and fixed by its fix."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from minimx.core.knobs import knobs
from minimx_widgets.course.data_parallel import stories
from minimx_widgets.course.data_parallel.nodes import STEPS, two_nodes
from minimx_widgets.course.data_parallel.stories import (
    BATCHES,
    HIDDEN,
    Story,
    bytes_by_store,
    even_shares,
    idle_shares,
    last_takes_the_rest,
    smallest_hiding_batch,
)

ALL = (
    stories.wrong_store,
    stories.small_batches,
    stories.idle_devices,
    stories.straggler,
    stories.no_sum,
    stories.other_seeds,
    stories.other_settings,
)


@pytest.mark.parametrize("tell", ALL)
def test_the_fix_of_a_story_makes_it_better(tell: Callable[[], Story]) -> None:
    before = dict(knobs.diff())
    found = tell()
    assert found.better
    assert f"{found.before:.3g} before" in repr(found)
    assert found.fix in repr(stories.shown(found))
    assert knobs.diff() == before


def test_a_fix_that_is_none_shows() -> None:
    assert not stories.wrong_store("ring", "ring").better
    assert not stories.straggler(factor=1.0).better
    assert not stories.idle_devices(size=64).better


def test_a_better_store_moves_less_and_the_batch_decides_what_that_is_worth() -> None:
    bytes_ = bytes_by_store(("device", "ring"), gpus=4)
    assert bytes_ == {"device": 3 * 4096, "ring": 6 * 1024}
    small, large = (stories.wrong_store(batch=batch) for batch in (8, 256))
    assert small.before > 3 * small.after
    assert large.before < 1.02 * large.after


def test_compression_makes_a_step_shorter_but_not_as_a_ring_does() -> None:
    plain = stories.eight_gpus("device", 32).step_seconds
    packed = stories.eight_gpus("device", 32, compression="2bit").step_seconds
    ring = stories.eight_gpus("ring", 32).step_seconds
    assert ring < packed < 0.7 * plain


def test_waiting_falls_with_the_batch() -> None:
    shares = stories.small_batches().seen
    assert list(shares) == list(BATCHES)
    assert all(
        a > b for a, b in zip(shares.values(), [*shares.values()][1:], strict=False)
    )
    least = smallest_hiding_batch("ring")
    assert least == 32
    assert shares[least] < HIDDEN < shares[least // 2]
    assert smallest_hiding_batch("ring", most=0.0) is None


def test_all_examples_are_dealt_out() -> None:
    assert even_shares(63, 8) == [8] * 7 + [7]
    assert sum(last_takes_the_rest(63, 8)) == 63


def test_those_who_wait_are_idle() -> None:
    idle, record = idle_shares([1, 3])
    assert idle["gpu(0)"] > 0.6 > 0.05 > idle["gpu(1)"]
    assert stories.mean_idle([2, 2]) < 0.05
    assert {"forward", "backward", "add_n"} <= set(record.texts(record.ops()["name"]))


def test_nodes_stay_equal_only_with_sums_and_equal_beginnings() -> None:
    assert two_nodes().at_end == 0
    assert two_nodes(seeds=(1, 1), broadcast=False).at_end == 0
    forgotten = two_nodes(add=False)
    assert forgotten.at_start == 0 < forgotten.at_end
    apart = two_nodes(seeds=(1, 2), broadcast=False)
    assert apart.at_end == pytest.approx(apart.at_start, abs=1e-5)
    assert apart.at_start > 0.5


def test_the_loss_falls_and_nodes_see_different_data() -> None:
    losses = two_nodes().losses
    assert len(losses) == STEPS
    assert sum(losses[-1]) < 0.8 * sum(losses[0])
    assert all(a != b for a, b in losses)
    assert all(a == b for a, b in two_nodes(same_data=True).losses)


def test_a_report_names_the_rank_and_the_knob() -> None:
    found = stories.other_settings(MXNET_SAFE_ACCUMULATION=1)
    assert len(found.seen) == 1
    assert "MXNET_SAFE_ACCUMULATION is 'default' on rank 0" in found.seen[0]
