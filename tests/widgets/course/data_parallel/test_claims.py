"""Each verdict of notebook 13 is computed: another experiment turns it over."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from minimx.kvstore.simulation import Cluster
from minimx_widgets.course.data_parallel import claims
from minimx_widgets.course.data_parallel.turning import Effect
from minimx_widgets.course.data_parallel.workloads import three_layers
from minimx_widgets.course.parts.text import VERDICTS


@pytest.mark.parametrize(
    ("claim", "given", "verdict"),
    [
        (claims.less_than_computing, {}, "depends"),
        (claims.less_than_computing, {"tables": [three_layers(0.1)]}, "holds"),
        (claims.larger_batches, {}, "holds"),
        (claims.larger_batches, {"batches": (64, 32)}, "fails"),
        (claims.device_or_nccl, {}, "depends"),
        (claims.device_or_nccl, {"batches": (8, 16)}, "holds"),
        (claims.device_or_nccl, {"batches": (256,)}, "fails"),
        (claims.trees, {}, "depends"),
        (claims.trees, {"clusters": [Cluster.mesh()]}, "holds"),
        (claims.trees, {"clusters": [Cluster.pcie()]}, "fails"),
        (claims.bigger_than, {}, "fails"),
        (claims.bigger_than, {"elements": 999_999}, "holds"),
        (claims.random_server, {}, "fails"),
        (claims.bucket_size, {}, "depends"),
        (claims.equal_seeds, {}, "depends"),
        (claims.equal_seeds, {"same_data": False}, "holds"),
    ],
)
def test_a_verdict_is_what_the_experiment_says(
    claim: Callable[..., claims.Verdict], given: dict[str, Any], verdict: str
) -> None:
    text, found, evidence = claim(**given)
    assert found.split()[0] == verdict
    assert verdict in VERDICTS
    assert "<i>(" in text
    assert evidence.startswith(("modelled", "planned", "recorded"))


def test_a_random_server_or_an_idle_bucket_would_turn_their_verdicts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from minimx.kvstore.planners.placement import Part

    turn = iter(range(1000))
    monkeypatch.setattr(claims, "place", lambda *_: (Part(next(turn) % 3, 0, 1),))
    assert claims.random_server()[1] == "holds"
    nothing = Effect("MXNET_X", "copies", "recorded", {"0": 36.0, "2048": 36.0})
    monkeypatch.setattr(claims, "buckets", lambda: nothing)
    assert claims.bucket_size()[1] == "fails"
