"""Ways to train one network, run for real and measured side by side.

    for measured in raced(graph, variables, wanted, keeps, settings, device):
        print(measured.peak, measured.time, measured.extra)

A plan predicts. Here each way is prepared, bound to memory and run, by the same
`Program` that trains; the pool says what it holds, the clock what it takes.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from minimx.core import engine, events, rng
from minimx.core.arrays.array import NDArray
from minimx.core.arrays.creation import array, empty
from minimx.core.device import Device
from minimx.core.events import attributed
from minimx.core.graph.passes.mirror_rule import marked
from minimx.core.graph.passes.prepare import Prepared, prepare
from minimx.core.graph.passes.recompute import Keep
from minimx.core.graph.running.program import Program
from minimx.core.graph.running.settings import Settings
from minimx.core.graph.values.ir import Graph, Node
from minimx.core.knobs import knobs
from minimx.core.ops.spec import Spec
from minimx.core.storage import pool_for

#: How often each way is run in turn with the others, after once to compile: at least,
#: at most, and in between as long as so many seconds are not over.
LEAST, MOST, SECONDS = 3, 12, 0.5
#: On whose behalf a way asks the pool for memory.
LAYER = "measured by the mirror explorer"
Numbers = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Measured:
    """What one way to train took.

    peak: the bytes that it held of the pool, without variables, outputs, gradients and
    scratch memory. time: nanoseconds of its quickest step, by `clock`, "wall" or
    "virtual"; extra: how much more than the first way, as a share of that. runs: how
    many operators ran. same: whether all gradients are those of the first way, to the
    bit.
    """

    peak: int
    time: int
    extra: float
    runs: int
    same: bool
    clock: str


def raced(
    graph: Graph,
    variables: Mapping[Node, Spec],
    wanted: Sequence[Node],
    keeps: Sequence[Keep],
    settings: Settings,
    device: Device,
) -> list[Measured]:
    """Measure several ways, in turn: what disturbs one of them disturbs the others.

    graph: as the views plan it, with the settings of its operators decided. Passes that
    join or merge operators are left out, as in the plans that are drawn: two ways
    differ in nothing but what is computed again.
    """
    programs = [
        Program(_prepared(graph, variables, wanted, keep, settings), device)
        for keep in keeps
    ]
    random = np.random.default_rng(0)
    given = {node: _likely(node, spec, random) for node, spec in variables.items()}
    rounds = [[_step(program, given, device) for program in programs]]
    began = time.perf_counter()
    while len(rounds) <= LEAST or (
        len(rounds) <= MOST and time.perf_counter() - began < SECONDS
    ):
        rounds.append([_step(program, given, device) for program in programs])
    later = zip(*rounds[1:], strict=True)
    quickest = [min(step.time for step in steps) for steps in later]
    clock = str(knobs.get("MINIMX_CLOCK"))
    base, first = quickest[0], rounds[0][0].gradients
    return [
        Measured(s.peak, took, took / base - 1, s.runs, s.gradients == first, clock)
        for s, took in zip(rounds[-1], quickest, strict=True)
    ]


def _prepared(
    graph: Graph,
    variables: Mapping[Node, Spec],
    wanted: Sequence[Node],
    keep: Keep,
    settings: Settings,
) -> Prepared:
    plain = replace(
        settings,
        eliminate_common_expr=False,
        node_elimination=False,
        use_fusion=False,
        backward_do_mirror=False,  # each node says itself what is to become of it
        mirror="remap" if keep.remap else "1.x",
    )
    planned = marked(graph, keep)
    return prepare(planned, variables, wanted, training=True, settings=plain)


@dataclass(frozen=True)
class _Step:
    """What one step took, and a fingerprint of every bit of its gradients."""

    peak: int
    time: int
    runs: int
    gradients: str


def _step(program: Program, given: Mapping[Node, Numbers], device: Device) -> _Step:
    """One step, forward and backward, on new memory."""
    prepared = program.prepared
    env = _environment(prepared, given, device)
    # Fresh streams: every way draws the same, and no other draws change.
    streams = [rng.Stream(device, seed) for seed in range(len(program.draws))]
    states = [stream.generator.bit_generator.state for stream in streams]
    engine.wait_all()
    with attributed(layer=LAYER), rng.replaying(device, states):
        arena = program.arena()
        start = events.clock()
        program.forward(arena, env)
        program.backward(arena, env)
        engine.wait_all()
        took = events.clock() - start
    in_use = pool_for(device).in_use()
    peak = sum(block.requested for block in in_use if block.owner is arena.owner)
    segments = (*prepared.forward, *prepared.backward)
    runs = sum(n not in prepared.plan.skips for s in segments for n in s.nodes)
    bits = hashlib.sha256()
    for entry, found in zip(prepared.external, env, strict=True):
        if entry in prepared.gradients and found is not None:
            bits.update(found.asnumpy())
    return _Step(peak, took, runs, bits.hexdigest())


def _environment(
    prepared: Prepared, given: Mapping[Node, Numbers], device: Device
) -> list[NDArray | None]:
    """Arrays for all that lies outside the arena."""
    env: list[NDArray | None] = []
    for entry in prepared.external:
        spec = prepared.specs.get(entry)
        if spec is None:  # the gradient of an output that leads to nothing wanted
            env.append(None)
        elif entry.node in given:
            env.append(array(given[entry.node], device, spec.dtype))
        elif entry.node in prepared.head_grads:
            env.append(array(np.ones(spec.shape), device, spec.dtype))
        else:
            env.append(empty(spec.shape, device, spec.dtype))
    return env


def _likely(node: Node, spec: Spec, random: Any) -> Numbers:
    """Numbers that neither vanish nor explode on their way through many layers."""
    if len(spec.shape) < 2 or spec.dtype.kind != "f":
        return np.ones(spec.shape)
    values: Numbers = random.standard_normal(spec.shape)
    if node.name.endswith("weight"):
        values *= np.sqrt(spec.shape[0] / spec.size)
    return values
