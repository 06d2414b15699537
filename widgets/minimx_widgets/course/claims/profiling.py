"""What the documents say of the profiler (notebook 14)."""

from __future__ import annotations

import json
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import minimx as mx
from minimx.core import engine
from minimx.core.device import cpu
from minimx.core.errors import MXNetError
from minimx.ops import lookup
from minimx.profiler.settings import of_mode
from minimx_widgets.course.claims.claim import (
    TIPS,
    V1,
    V2,
    Decision,
    Numbers,
    claim,
    if_true,
    weighed,
)
from minimx_widgets.course.profiling import counts, profiled, small_program

CALLS = 5
#: Operators of a call: three of a graph, two called by hand.
IN_THE_GRAPH, BY_HAND = 3, 2
EVERYTHING = CALLS * (IN_THE_GRAPH + BY_HAND)


def _slices(events: Sequence[Mapping[str, Any]]) -> list[str]:
    return [event["name"] for event in events if event["ph"] == "X"]


def hidden() -> Numbers:
    """Slices of the graphs of five calls, by default and with bulk execution off.

    by_hand: operators that are called by hand, by default.
    """
    together = _slices(profiled(small_program(CALLS), 1))
    with mx.knobs(MXNET_EXEC_BULK_EXEC_INFERENCE=False):
        apart = _slices(profiled(small_program(CALLS), 1))
    by_hand = _slices(profiled(small_program(CALLS), 2))
    return {
        "together": len(together),
        "apart": len(apart),
        "by_hand": len(by_hand),
    }


@claim(
    "14",
    "“by default the profiler hides the details of each individual operator, and you "
    "can reveal the details by setting environment variables … to 0”",
    TIPS,
    294,
    "measured",
    hidden,
    tolerance="none: slices are counted",
)
def details_are_hidden(together: int, apart: int, by_hand: int) -> Decision:
    """By default an operator should have no slice of its own, and then one."""
    graph = together < apart == CALLS * IN_THE_GRAPH
    called = by_hand < CALLS * BY_HAND
    return (
        weighed([graph, called], "hybridize"),
        f"pieces of a graph: {together} slices became {apart}. Of {CALLS * BY_HAND} "
        f"operators that are called by hand {by_hand} are shown by default",
    )


def mode_0() -> Numbers:
    """What mode 0 records of pieces of graphs, by the two documents; events in 2.0."""
    meant = {}
    for document in ("1.x", "2.0"):
        with mx.knobs(MINIMX_PROFILER_MODE_OF=document):
            meant[document] = bool(of_mode(0).profile_symbolic)
    events = profiled(small_program(CALLS), 0)
    return {"meant": meant, "events": counts(events)["operators"]}


@claim(
    "14",
    "“If set to '0', profiler records the events of the symbolic operators”",
    V1,
    174,
    "measured",
    mode_0,
)
def mode_0_is_symbolic(meant: Mapping[str, bool], events: int) -> Decision:
    """Mode 0 should record pieces of graphs, whichever document is followed."""
    return (
        weighed(list(meant.values()), "the document"),
        f"in the 2.0 document 0 turns all profiling off; the trace had {events} events",
    )


def mode_13() -> Numbers:
    """The default mode, and how many operators of a trace it shows, and 15 shows."""
    shown = {
        mode: counts(profiled(small_program(CALLS), mode))["operators"]
        for mode in (13, 15)
    }
    default = mx.knobs.declared["MXNET_PROFILER_MODE"].default
    return {"default": int(str(default)), "shown": shown}


@claim(
    "14",
    "“Values: 0(false) to 15(profile everything) (default=13)”",
    V2,
    267,
    "measured",
    mode_13,
    tolerance="none: operators are counted",
)
def default_mode(default: int, shown: Mapping[int, int]) -> Decision:
    """The default should be 13, and 15 should show each operator or piece."""
    return (
        if_true(default == 13 and shown[15] == CALLS * (1 + BY_HAND)),
        f"but 13 is 8 + 4 + 1: of {shown[15]} operators it shows {shown[13]}",
    )


def names() -> Numbers:
    """The names of all slices of a trace, with bulk execution off."""
    with mx.knobs(MXNET_EXEC_BULK_EXEC_INFERENCE=False):
        return {"names": sorted(set(_slices(profiled(small_program(CALLS), 15))))}


def _is_operator(name: str) -> bool:
    try:
        lookup(name)
    except MXNetError:
        return False
    return True


@claim(
    "14",
    "“This feature complements general profiling tools like nvprof and gprof … by "
    "summarizing at the operator level, instead of a function, kernel, or instruction "
    "level”",
    TIPS,
    290,
    "measured",
    names,
    last=291,
)
def operator_level(names: Sequence[str]) -> Decision:
    """Each slice should be named like an operator."""
    return (
        if_true(all(map(_is_operator, names))),
        f"with bulk execution off, slices are called {', '.join(names)}; which layer "
        "one belongs to is in the trace",
    )


def sizes(times: int = 10) -> Numbers:
    """How many times as long traces and tables are of so many times as many calls."""
    found = {}
    for calls in (CALLS, times * CALLS):
        events = profiled(small_program(calls), 15)
        written = sum(len(json.dumps(event)) for event in events)
        found[calls] = (written, len(set(_slices(events))), len(events))
    (few, rows, events_of_few), (many, more_rows, _) = found.values()
    return {
        "times": times,
        "trace": many / few,
        "table": more_rows / rows,
        "each": few / events_of_few,
    }


@claim(
    "14",
    "“the output file can grow extremely large, so this approach is not recommended "
    "for general use”",
    TIPS,
    317,
    "measured",
    sizes,
    tolerance="a fifth",
)
def files_grow(times: int, trace: float, table: float, each: float) -> Decision:
    """What is kept should grow with the number of calls."""
    grows = [one > 0.8 * times for one in (trace, table)]
    usual = "between 80 and 300" if 80 < each < 300 else f"{each:.0f}"
    return (
        weighed(grows, "what is asked"),
        f"{times} times as many calls make a trace {trace:.0f} × as long, and a table "
        f"by operators {table:.0f} ×. An event takes {usual} bytes, so a million are a "
        "file of a hundred megabytes or more",
    )


def _trace(wait: bool) -> int:
    """Operators in a trace of three, which are kept waiting until it is over."""
    gate = threading.Event()
    lock = engine.Var()
    mx.nd.waitall()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        mx.profiler.set_config(profile_all=True, filename=str(path))
        x = mx.nd.ones((2, 3))
        mx.nd.waitall()
        mx.profiler.set_state("run")
        engine.push(gate.wait, cpu(), [], [lock], "earlier")
        for _ in range(3):
            x = x * 2
        if wait:
            gate.set()
            mx.nd.waitall()
        mx.profiler.set_state("stop")
        mx.profiler.dump()
        gate.set()
        mx.nd.waitall()
        events = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
    return sum(name != "earlier" for name in _slices(events))


def waits() -> Numbers:
    """Operators of three in a trace, with a wait before it stops and without."""
    with mx.knobs(MXNET_CPU_WORKER_NTHREADS=1):
        return {"with_it": _trace(wait=True), "without": _trace(wait=False)}


@claim(
    "14",
    "Before the profiler stops, “wait for previous operations to complete”",
    TIPS,
    308,
    "measured",
    waits,
    tolerance="none: the operations are kept waiting until the profiler has stopped",
)
def wait_before_stop(with_it: int, without: int) -> Decision:
    """Without the wait operators should be missing, and with it none."""
    return (
        if_true(without < with_it == 3),
        f"of three operations a trace has {with_it} with the wait, and {without} "
        "without it",
    )
