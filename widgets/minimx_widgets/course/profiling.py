"""Notebook 14: from a symptom to its cause, with the profiler.

`Program` is a training step with three places that cost time; each can be mended alone.
`counts` says what a trace holds, `autostarted` makes one with environment variables
only. The check of the free exercise holds a learner's trace against `check_trace`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import minimx as mx
from minimx import gluon, nd, profiler
from minimx.core import storage
from minimx.core.events import attributed
from minimx.core.knobs import knobs
from minimx.core.record import Record
from minimx.profiler.check import complaints, load_events
from minimx_widgets.course.parts.checks import Feedback, check
from minimx_widgets.course.parts.text import code

MENDS: Final = ("data", "chain", "product")
BATCH, FEATURES, READINGS, HIDDEN = 256, 128, 8, 1024

SENTENCE = (
    "A change saves the share of the step that it touches, times the part of it that "
    "goes away: a large share that is halved may save less than a small one that "
    "vanishes."
)
HINTS = (
    "Arrows are a setting of their own: look at the keywords of "
    "<code>profiler.set_config</code>.",
    "Blocks that live when the profile ends are bytes that the counters still show. "
    "What keeps them alive? When do operations end, and when do arrays go?",
    "A worked solution of a similar problem: a trace of one sum, without arrows. "
    + code(
        """
        def trace_of_a_sum(path):
            mx.profiler.set_config(filename=path, profile_api=False)
            mx.profiler.set_state("run")
            total = mx.nd.ones((4,)).sum()
            total.wait_to_read()    # the work is done
            del total               # and the last array is gone
            mx.nd.waitall()
            mx.profiler.set_state("stop")
            mx.profiler.dump()
        """
    ),
)


class Chain(gluon.HybridBlock):
    """Pointwise operators in a row, as an activation is written by hand."""

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """X times a smooth step."""
        inner = 0.8 * (x + 0.045 * x * x * x)
        return 0.5 * x * (1 + F.tanh(inner))


class Program:
    """A step: readings are standardized, then product, chain, product.

    mended: of `MENDS`, what is done better. data: standardized once, before the loop;
    chain: hybridized, so that it becomes one loop; product: half as many features.
    """

    def __init__(self, *mended: str) -> None:
        self.mended = mended
        mx.random.seed(0)
        self.features = FEATURES // 2 if "product" in mended else FEATURES
        self.first = gluon.nn.Dense(HIDDEN, in_units=self.features, prefix="first_")
        self.chain = Chain(prefix="chain_")
        self.last = gluon.nn.Dense(10, in_units=HIDDEN, prefix="last_")
        for block in (self.first, self.chain, self.last):
            block.initialize()
        if "chain" in mended:
            self.chain.hybridize()
        self.readings = nd.random.uniform(shape=(BATCH, FEATURES, READINGS))
        self.ready = self.standardized() if "data" in mended else None
        nd.waitall()

    def standardized(self) -> Any:
        """Per feature the mean of its readings, with mean 0 and deviation 1."""
        with attributed(layer="standardize", phase="data", category="data"):
            mean = nd.mean(self.readings, axis=0, keepdims=True)
            centred = nd.broadcast_sub(self.readings, mean)
            square = nd.mean(centred * centred, axis=0, keepdims=True)
            even = nd.broadcast_div(centred, nd.sqrt(square + 1e-5))
            return nd.mean(even, axis=2)

    def step(self) -> None:
        """One pass forward, to its end."""
        x = self.standardized() if self.ready is None else self.ready
        if self.features < FEATURES:
            x = nd.slice_axis(x, axis=1, begin=0, end=self.features)
        self.last(self.chain(self.first(x))).wait_to_read()


def recorded(program: Program, warm: int = 1) -> Record:
    """The record of one step on the virtual clock, after steps that do not count."""
    with knobs(MINIMX_CLOCK="virtual"):
        for _ in range(warm):
            program.step()
        with Record() as record:
            program.step()
    return record


def span(record: Record) -> int:
    """Nanoseconds from the first push to the last end."""
    ops = record.ops()
    return int(ops["t_end"].max() - ops["t_push"].min())


def share_of(record: Record, layer: str) -> float:
    """The share of the step in which a layer's operations ran, 0 to 1."""
    ops = record.ops()
    mine = [text == layer for text in record.texts(ops["layer"])]
    took = (ops["t_end"] - ops["t_start"])[mine]
    return float(took.sum()) / span(record)


@contextmanager
def _temporary() -> Any:
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def small_program(calls: int = 5) -> Callable[[], None]:
    """Calls of a small graph, each with two operators called by hand."""
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(4, in_units=3, activation="tanh"))
    net.add(gluon.nn.Dense(2, in_units=4))
    net.initialize()
    net.hybridize()
    x = nd.ones((2, 3))

    def run() -> None:
        for _ in range(calls):
            (net(x) * 2 + 1).wait_to_read()

    run()  # shapes are known, memory was asked for
    return run


def profiled(run: Callable[[], object], mode: int) -> list[Mapping[str, Any]]:
    """The events of a trace of some work, under a mode of the 2.0 document.

    NaiveEngine runs it, so that the same things happen in the same order every time.
    """
    with _temporary() as folder, knobs(MXNET_ENGINE_TYPE="NaiveEngine"):
        run()
        profiler.set_config(
            filename=str(folder / "trace.json"),
            continuous_dump=False,
            profile_symbolic=bool(mode & 1),
            profile_imperative=bool(mode & 2),
            profile_api=bool(mode & 4),
            profile_memory=bool(mode & 8),
        )
        lives = sum(len(pool.in_use()) for pool in storage.pools())
        profiler.set_state("run")
        run()
        nd.waitall()
        if not mode:  # nothing is profiled, and nothing can be stopped
            profiler.session.profiler.state = "stop"
            return []
        profiler.set_state("stop")
        profiler.dump()
        return _without_the_first(load_events(folder / "trace.json"), lives)


def _without_the_first(
    events: list[Mapping[str, Any]], levels: int
) -> list[Mapping[str, Any]]:
    """Events without the levels that tell what lived when the profile began."""
    first = [k for k, event in enumerate(events) if event["ph"] == "C"][:levels]
    return [event for k, event in enumerate(events) if k not in set(first)]


def counts(events: Sequence[Mapping[str, Any]]) -> Counter[str]:
    """What a trace holds: operators, calls of the interface, memory levels, arrows."""
    kinds = {"X": "operators", "b": "calls", "C": "memory levels", "s": "arrows"}
    return Counter(kinds[e["ph"]] for e in events if e["ph"] in kinds)


def autostarted(program: str, **environ: str) -> Counter[str]:
    """Run a program of its own, profiled by environment variables; count its trace."""
    with _temporary() as folder:
        subprocess.run(
            [sys.executable, "-c", program],
            cwd=folder,
            env={**os.environ, "MXNET_PROFILER_AUTOSTART": "1", **environ},
            check=True,
        )
        trace = folder / "profile.json"
        return counts(load_events(trace)) if trace.exists() else Counter()


@check
def check_amdahl(attempt: Callable[[float, float], float]) -> Feedback:
    """The faded exercise: the part of the time that is left after a change.

    attempt(share, factor): `share` of the step becomes `factor` times quicker.
    """
    for share, factor in ((0.5, 4.0), (0.25, 1e9), (0.9, 10.0), (1.0, 4.0), (0.0, 3.0)):
        seen = attempt(share, factor)
        if not isinstance(seen, int | float):
            return Feedback(False, f"it returned {seen!r}", "a number from 0 to 1")
        right = 1 - share + share / factor
        if abs(seen - right) > 1e-9:
            idea = "what is not touched stays, and what is touched is divided"
            if abs(seen * right - 1) < 1e-9:
                idea = "that is the speed-up; asked for is the time that is left"
            elif abs(seen - share / factor) < 1e-9:
                idea = "the rest of the step, 1 - share, which is still there"
            return Feedback(
                False,
                f"{seen:.4g} for a share of {share:g} that is {factor:g} times quicker",
                f"{right:.4g} of the step are left",
                idea,
            )
    return Feedback(True, "five shares and factors, all right")


def work() -> Any:
    """What the free exercise profiles: a few products, under way when it returns."""
    x = nd.ones((64, 64))
    left, right = nd.dot(x, x), nd.dot(x, x + 1)
    return nd.relu(left - right).sum()


@check
def check_export(attempt: Callable[[Callable[[], Any], str], object]) -> Feedback:
    """The free exercise: attempt(work, path) writes a trace of `work` to `path`.

    It must keep the rules of a Chrome trace, hold all operators, an arrow for every
    dependency, and memory levels that come back to where they were.
    """
    with Record() as record:
        work().wait_to_read()
    wanted = len(record.ops())
    with _temporary() as folder:
        path = folder / "trace.json"
        try:
            attempt(work, str(path))
        finally:
            _quiet()
        if not path.exists():
            return Feedback(
                False, "no file", "a trace at the given path", "set_state('stop'), dump"
            )
        events = load_events(path)
    return _judged(events, wanted)


def _quiet() -> None:
    """Whatever the attempt left running comes to its end."""
    one = profiler.session.profiler
    if one.state == "run":
        one.set_state("stop")
    one.profile = None


def _judged(events: Sequence[Mapping[str, Any]], wanted: int) -> Feedback:
    wrong = next(iter(complaints(events)), "")
    if wrong:
        return Feedback(False, wrong, "a trace that keeps every rule", "check_trace")
    found = counts(events)
    if found["operators"] < wanted:
        return Feedback(
            False,
            f"{found['operators']} operators",
            f"all {wanted} that the work pushes",
            "what is under way when work() returns, and who waits for it",
        )
    if not found["arrows"]:
        return Feedback(
            False,
            "no arrow",
            "an arrow from each operation to those that waited for it",
            "the settings of profiler.set_config; one of them is minimx's own",
        )
    if not found["memory levels"]:
        return Feedback(
            False,
            "no memory level",
            "how many bytes are allocated, over time",
            "mode 8",
        )
    leaked = leaks(events)
    if leaked:
        text = ", ".join(f"{name}: {n:,.0f} B" for name, n in leaked.items())
        return Feedback(
            False,
            f"at the end more is allocated than at the start ({text})",
            "counters that end where they began",
            "what keeps the result of work() alive, and until when",
        )
    return Feedback(
        True,
        f"{found['operators']} operators, {found['arrows']} arrows, every rule kept, "
        "and nothing leaks",
    )


def leaks(events: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """By how much each memory counter ends above where it stood before the work."""
    starts = [event["ts"] for event in events if event["ph"] == "X"]
    begun = min(starts, default=0.0)
    before: dict[str, float] = {}
    last: dict[str, float] = {}
    for event in sorted((e for e in events if e["ph"] == "C"), key=_time):
        name, value = event["name"], sum(event["args"].values())
        if event["ts"] < begun:
            before[name] = value
        last[name] = value
    return {
        name: value - before.get(name, 0)
        for name, value in last.items()
        if value > before.get(name, 0)
    }


def _time(event: Mapping[str, Any]) -> float:
    return float(event["ts"])
