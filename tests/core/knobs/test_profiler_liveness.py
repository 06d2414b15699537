"""The knobs of the profiler: a program is profiled without a change to it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from minimx import nd
from minimx.core.knobs import knobs
from minimx.gluon import nn
from minimx.profiler.check import load_events
from tests.core.knobs.proofs import proves, turned

GRAPH, OPERATOR, CALLS, MEMORY = "graph", "operator", "MXNET_C_API", "Device Storage"


@pytest.fixture
def categories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """What a stretch of work leaves in profile.json, by category."""
    monkeypatch.chdir(tmp_path)
    net = nn.Dense(3, in_units=4)
    net.initialize()
    net.hybridize(static_alloc=True, static_shape=True)
    x = nd.ones((2, 4))
    net(x).wait_to_read()

    def observe(profiled: bool = True) -> set[str]:
        with knobs(MXNET_PROFILER_AUTOSTART=1) if profiled else knobs():
            (net(x) + 1).asnumpy()
        path = tmp_path / "profile.json"
        if not path.exists():
            return set()
        found = load_events(path)
        path.unlink()
        names = {e["name"] for e in found if e.get("cat") == "operator"}
        heard = {e["cat"] for e in found if e.get("cat") in (CALLS, MEMORY)}
        if "_plus_scalar" in names:
            heard.add(OPERATOR)
        if names - {"_plus_scalar"}:
            heard.add(GRAPH)
        return heard

    return observe


@proves("MXNET_PROFILER_AUTOSTART")
def test_the_profiler_starts_by_itself(categories: Any) -> None:
    assert categories(False) == set()
    assert categories(True) == {GRAPH, CALLS, MEMORY}
    assert categories(False) == set()


@proves("MXNET_PROFILER_MODE")
@pytest.mark.parametrize(
    ("mode", "heard"),
    [
        (1, {GRAPH}),
        (2, {OPERATOR}),
        (4, {CALLS}),
        (8, {MEMORY}),
        (0, set()),
        (15, {GRAPH, OPERATOR, CALLS, MEMORY}),
    ],
)
def test_the_mode_is_a_sum_of_categories(
    categories: Any, mode: int, heard: set[str]
) -> None:
    usual = {GRAPH, CALLS, MEMORY}
    assert turned(categories, MXNET_PROFILER_MODE=mode) == (usual, heard)


@proves("MINIMX_PROFILER_MODE_OF")
def test_in_the_older_document_mode_1_is_everything_that_runs(categories: Any) -> None:
    with knobs(MXNET_PROFILER_MODE=1):
        seen = turned(categories, MINIMX_PROFILER_MODE_OF="1.x")
    assert seen == ({GRAPH}, {GRAPH, OPERATOR})
