"""How long the plans of large graphs take."""

from __future__ import annotations

from functools import partial

import pytest

from minimx.core.graph.memory.memory import plan_memory
from minimx.core.graph.passes.gradient import differentiate
from minimx.core.graph.running.run import as_run
from minimx.core.graph.running.settings import Settings
from tests import pace
from tests.core.graph import overlay
from tests.core.graph.nets import residual, specs_of


@pytest.mark.alone
def test_a_network_of_152_layers_is_planned_within_a_second() -> None:
    graph = as_run(residual().graph, training=True)
    specs = specs_of(graph, data=(32, 3, 224, 224))
    made = differentiate(graph, graph.arguments, specs)
    assert len(made.graph) > 1900
    times = {}
    for settings in (Settings(), Settings(memory_opt=True, num_temp=4)):
        work = partial(plan_memory, made.graph, made.specs, made.graph.outputs)

        plan = work(settings)
        overlay.check(plan, made.specs)
        times[settings] = pace.typical(partial(work, settings), 3)
    assert max(times.values()) < 1, times
