"""Every knob in the lab's default run: what it changes there, or why it cannot act.

    python -m tests.widgets.every_knob       # the table, as Markdown

One lab trains LeNet on the CPU as it comes. Each knob that claims to act is turned
between two steps, and what it should move is looked at before, during and after.
"""

from __future__ import annotations

import contextlib
import io
import os
import statistics
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import minimx as mx
from minimx.core import engine, events, storage
from minimx.core.graph.memory.workspaces import workspaces
from minimx.core.kernels import threads
from minimx.core.knobs import knobs
from minimx.fast import pinning, tuning
from minimx.kvstore import sums
from minimx.profiler.session import profiler
from minimx_widgets import Lab
from minimx_widgets.lab.reach import about_graphs, reason
from minimx_widgets.training.meter import DRIVER_CALLS, PUSHES
from tests.widgets.image_data import pictures

Look = Callable[["Bench"], Any]


class Bench:
    """The lab, paused between two steps, and ways to look at it."""

    def __init__(self, **settings: Any) -> None:
        self.lab = Lab("lenet", pictures(512, side=28), batch_size=64, **settings)
        self.printed = ""
        self.steps(4)

    def steps(self, count: int) -> None:
        """Take steps, and wait until the engine is done with them."""
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            for _ in range(count):
                self.lab.step()
                if not self.lab.wait(60):
                    raise TimeoutError("a step did not end")
                mx.nd.waitall()
        self.printed = out.getvalue()

    def metric(self, name: str) -> float:
        """The newest value of a metric."""
        value = self.lab.monitor.last(name)
        return 0.0 if value is None else value

    def note(self) -> str:
        """What the lab says of the last turn."""
        turn = self.lab.turns.last
        return "" if turn is None else turn.note

    @property
    def fit(self) -> Any:
        """The training."""
        assert self.lab.fit is not None
        return self.lab.fit

    def graph(self) -> Any:
        """What the graphs of training became."""
        self.steps(3)
        return self.fit.binding.shape

    def lanes(self) -> Any:
        """The workers that ran operations of two steps."""
        before = self.lab.record.rows("ops")
        self.steps(2)
        ops = self.lab.record.ops()[before:]
        return sorted(set(self.lab.record.texts(ops["worker"])))

    def predicting(self) -> int:
        """How many operations one prediction pushes."""
        images = mx.nd.array(self.fit.data.test_x[:50])
        self.fit.predict(images).wait_to_read()
        before = self.lab.record.rows("ops")
        self.fit.predict(images).wait_to_read()
        mx.nd.waitall()
        return self.lab.record.rows("ops") - before


def sent(bench: Bench) -> Any:
    """Which devices sent which how much in two steps that trained."""
    bench.steps(1)
    before = bench.lab.record.rows("comm")
    bench.steps(2)
    record = bench.lab.record
    rows = record.comm()[before:]
    rows = rows[[phase == "update" for phase in record.texts(rows["phase"])]]
    pairs = zip(record.texts(rows["src"]), record.texts(rows["dst"]), strict=True)
    return sorted(zip(pairs, rows["nbytes"].tolist(), strict=True))


def updates(bench: Bench) -> Any:
    """How many weights two steps update; a turn acts at the first after it."""
    bench.steps(1)
    before = bench.lab.record.rows("ops")
    bench.steps(2)
    names = bench.lab.record.texts(bench.lab.record.ops()["name"][before:])
    return sum("adam" in name for name in names)


def adders(bench: Bench) -> Any:
    """How many threads at most added gradients on the host."""
    seen = []
    original = sums.add

    def add(arrays: Any, out: Any, most: int) -> None:
        seen.append(most)
        original(arrays, out, most)

    sums.add = add
    try:
        bench.steps(1)
    finally:
        sums.add = original
    return max(seen)


def many_urgent(bench: Bench) -> Any:
    """Whether more than one worker did the urgent work of the CPU."""
    bench.steps(1)  # what was pushed before a turn is done
    lanes = [*bench.lanes(), *bench.lanes()]
    return len({lane for lane in lanes if "priority" in lane}) > 1


def pushes(bench: Bench) -> Any:
    """Operations pushed by a step."""
    bench.steps(9)
    return statistics.median(bench.lab.monitor.series(PUSHES)[1][-7:])


def driver_calls(bench: Bench) -> Any:
    """Calls of the driver by most steps; one that overlaps another may need a block."""
    bench.steps(7)
    return statistics.median(bench.lab.monitor.series(DRIVER_CALLS)[1][-5:])


def rounded(bench: Bench) -> Any:
    """Bytes of the blocks for arrays of two sizes, taken under the policy in force."""
    before = storage.stats(mx.cpu()).live_rounded
    arrays = [mx.nd.ones((n,)) for n in (1000, 700_000)]
    mx.nd.waitall()
    assert len(arrays) == 2
    return storage.stats(mx.cpu()).live_rounded - before


def says(bench: Bench) -> Any:
    """Whether the step that binds again, or the next one, prints anything."""
    bench.steps(1)
    found = bool(bench.printed.strip())
    bench.steps(2)
    return found


def places(bench: Bench) -> Any:
    """On which cores the kernel threads of a worker may run."""
    found: list[Any] = []
    done = engine.Var()

    def look() -> None:
        found.append([sorted(one) for one in pinning.team()])

    engine.push(look, mx.cpu(), (), (done,), "look at threads")
    engine.wait_to_read(done)
    return found[0]


def starting(bench: Bench) -> Any:
    """Whether starting threads is reckoned to cost more than 10 ms; it costs 10 µs."""
    bench.steps(2)
    cost = tuning._known.start
    return None if cost is None else cost > 1e7


def waits(bench: Bench) -> Any:
    """Whether steps print anything; in a single one there may be no wait."""
    bench.steps(8)
    return bool(bench.printed.strip())


def profile(bench: Bench) -> Any:
    """Whether a profile is being taken."""
    return profiler.profile is not None


def clock(bench: Bench) -> Any:
    """The clock of the record."""
    bench.steps(1)
    return events.clock.__qualname__


@dataclass(frozen=True)
class Trial:
    """Values for a knob, and what to look at."""

    values: tuple[str, ...]
    look: Look
    what: str


def graph(*values: str) -> Trial:
    """A knob of the graphs of training."""
    return Trial(values, Bench.graph, "graph and plan")


ON_OFF = ("0",)
TRIALS: dict[str, Trial] = {
    "MXNET_ENGINE_TYPE": Trial(("NaiveEngine",), Bench.lanes, "lanes"),
    "MXNET_CPU_WORKER_NTHREADS": Trial(("4",), Bench.lanes, "lanes"),
    "OMP_NUM_THREADS": Trial(("1",), lambda _: threads.parts(10**6), "threads"),
    "MXNET_OMP_MAX_THREADS": Trial(("1",), lambda _: threads.parts(10**6), "threads"),
    "MXNET_CPU_PARALLEL_SIZE": Trial(
        ("100000000",), lambda _: threads.parts(10**6), "threads"
    ),
    "MXNET_CPU_NNPACK_NTHREADS": Trial(
        ("1",), lambda _: threads.transforming(), "threads of Winograd and FFT"
    ),
    "KMP_AFFINITY": Trial(("compact",), places, "cores of two threads"),
    "MXNET_ENGINE_INFO": Trial(("1",), waits, "lines printed"),
    "MXNET_CPU_MEM_POOL_TYPE": Trial(("Unpooled",), driver_calls, "driver calls"),
    "MXNET_USE_NAIVE_STORAGE_MANAGERS": Trial(("1",), driver_calls, "driver calls"),
    "MXNET_CPU_MEM_POOL_PAGE_SIZE": Trial(("65536",), rounded, "bytes reserved"),
    "MXNET_CPU_MEM_LARGE_ALLOC_ROUND_SIZE": Trial(("1",), rounded, "bytes reserved"),
    "MXNET_EXEC_BULK_EXEC_TRAIN": Trial(ON_OFF, pushes, "pushes"),
    "MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN": Trial(("2",), pushes, "pushes"),
    "MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN_FWD": Trial(("2",), pushes, "pushes"),
    "MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN_BWD": Trial(("2",), pushes, "pushes"),
    "MXNET_EXEC_BULK_EXEC_INFERENCE": Trial(
        ON_OFF, Bench.predicting, "pushes of a prediction"
    ),
    "MXNET_USE_OPERATOR_TUNING": Trial(
        ON_OFF, lambda _: tuning._asked_for(mx.nd.ones(1).spec.dtype), "tuned"
    ),
    "MXNET_USE_NUM_CORES_OPERATOR_TUNING": Trial(
        ("1",), lambda _: tuning.cores(), "cores reckoned with"
    ),
    "MXNET_TUNING_WEIGHT_SCALE": Trial(("10000",), starting, "threads cost over 10 ms"),
    "MXNET_CPU_TEMP_COPY": Trial(
        ("1",), lambda b: len(workspaces(mx.cpu()).each), "workspaces"
    ),
    "MXNET_MEM_PLAN_VERBOSE_LOGGING": Trial(("1",), says, "lines printed"),
    "MXNET_EXEC_VERBOSE_LOGGING": Trial(("1",), says, "lines printed"),
    "MXNET_CUDNN_ALGO_VERBOSE_LEVEL": Trial(("2",), says, "lines printed"),
    "MXNET_PROFILER_AUTOSTART": Trial(("1",), profile, "profiler"),
    "MINIMX_CLOCK": Trial(("virtual",), clock, "clock"),
    "MXNET_USE_FUSION": graph("0"),
    "MINIMX_FUSION_LEAST": graph("100000000"),
    "MXNET_ELIMINATE_COMMON_EXPR": graph("0"),
    "MXNET_NODE_ELIMINATION": graph("0"),
    "MXNET_SUBGRAPH_BACKEND": graph("MINIMX"),
    "MXNET_EXEC_ENABLE_INPLACE": graph("0"),
    "MINIMX_MEMORY_PLANNER": graph("by_size"),
    "NNVM_EXEC_MATCH_RANGE": graph("0"),
    "NNVM_AUTO_SEARCH_MATCH_RANGE": graph("1"),
    "MXNET_EXEC_NUM_TEMP": graph("4"),
    "NNVM_EXEC_NUM_TEMP": graph("4"),
    "MXNET_EXEC_INPLACE_GRAD_SUM_CAP": graph("2"),
    "MXNET_MEMORY_OPT": graph("1"),
    "MXNET_BACKWARD_DO_MIRROR": graph("1"),
    "MXNET_ENFORCE_DETERMINISM": graph("1"),
    "MINIMX_CPU_AUTOTUNE": graph("1"),
    "MXNET_CUDNN_HEUR_MODE": graph("0"),
    "MXNET_CUDNN_ALLOW_WINOGRAD": graph("0"),
    "MXNET_CUDNN_DISABLED_CONV_FWD_ENGINES": graph("0", "1", "2", "3", "4"),
    "MXNET_CUDNN_DISABLED_CONV_DGRAD_ENGINES": graph("0", "1", "2", "3", "4"),
    "MXNET_CUDNN_DISABLED_CONV_WGRAD_ENGINES": graph("0", "1", "2", "3", "4"),
}


#: What knobs of stores move between several devices, by the settings of the lab.
ON_THE_HOST = {"device": "cpu(0)", "devices": 2, "store": "local"}
ON_GPUS = {"device": "gpu(0)", "devices": 4, "store": "device"}
TREES = {"MXNET_KVSTORE_USETREE": "1", "MINIMX_SIM_LINKS": "mesh"}
CUT = {**TREES, "MXNET_KVSTORE_TREE_ARRAY_BOUND": "1000"}
BETWEEN_DEVICES: list[tuple[dict[str, Any], dict[str, str], str, Trial]] = [
    (ON_GPUS, {}, "MXNET_KVSTORE_USETREE", Trial(("1",), sent, "copies")),
    (ON_GPUS, {}, "MXNET_ENABLE_GPU_P2P", Trial(("0",), sent, "copies")),
    (ON_GPUS, {}, "MXNET_UPDATE_ON_KVSTORE", Trial(("0",), updates, "updates")),
    (
        ON_GPUS, {"MXNET_UPDATE_ON_KVSTORE": "0"}, "MXNET_KVSTORE_REDUCE_BUCKET_SIZE",
        Trial(("2048",), sent, "copies"),
    ),
    (ON_GPUS, TREES, "MINIMX_SIM_LINKS", Trial(("pcie",), sent, "copies")),
    (
        ON_GPUS, CUT, "MXNET_KVSTORE_TREE_ARRAY_BOUND",
        Trial(("100000000",), sent, "copies"),
    ),
    (
        ON_GPUS, CUT, "MXNET_KVSTORE_TREE_LINK_USAGE_PENALTY",
        Trial(("0.1", "1.0", "0.0"), sent, "copies"),
    ),
    (ON_GPUS, CUT, "MXNET_KVSTORE_TREE_BACKTRACK", Trial(("1",), sent, "copies")),
    (ON_GPUS, CUT, "MINIMX_KVSTORE_TREE", Trial(("direct",), sent, "copies")),
    (ON_GPUS, CUT, "MXNET_KVSTORE_LOGTREE", Trial(("1",), says, "lines printed")),
    (
        {**ON_GPUS, "store": "nccl"}, {}, "MXNET_UPDATE_AGGREGATION_SIZE",
        Trial(("1",), sent, "copies"),
    ),
    (
        ON_THE_HOST, {"MXNET_KVSTORE_BIGARRAY_BOUND": "1000"},
        "MXNET_KVSTORE_REDUCTION_NTHREADS", Trial(("2",), adders, "threads"),
    ),
    (
        ON_THE_HOST, {"MXNET_KVSTORE_BIGARRAY_BOUND": "1000"},
        "MXNET_KVSTORE_BIGARRAY_BOUND", Trial(("100000",), adders, "threads"),
    ),
    (
        ON_THE_HOST, {}, "MXNET_CPU_PRIORITY_NTHREADS",
        Trial(("1",), many_urgent, "several workers for urgent work"),
    ),
]  # fmt: skip


@dataclass(frozen=True)
class Finding:
    """What became of a knob: what moved from where to where and back, or why not."""

    name: str
    why_not: str = ""
    what: str = ""
    before: Any = None
    during: Any = None
    after: Any = None

    @property
    def moved(self) -> bool:
        """Whether what it should move did, and came back."""
        return bool(self.during != self.before and self.after == self.before)

    def row(self) -> str:
        """A line of the table."""
        knob = knobs.declared[self.name]
        scope = knob.scope if knob.live else "–"
        said = self.why_not
        if not said:
            said = f"acts: {self.what}"
            if not isinstance(self.before, tuple):
                said += f" {self.before} → {self.during} → {self.after}"
        return f"| `{self.name}` | {scope} | {said} |"


def tried(bench: Bench, name: str, trial: Trial | None = None) -> Finding:
    """Turn one knob and back. What cannot act is turned as well if that is harmless."""
    why_not = reason(name, bench.lab.situation)
    if why_not:
        return Finding(name, why_not)
    trial = trial or TRIALS[name]
    before = trial.look(bench)
    found = Finding(name, "", trial.what)
    for value in trial.values:
        with knobs(**{name: value}):
            during = trial.look(bench)
            note = bench.note()
        after = trial.look(bench)
        found = Finding(name, "", trial.what, before, during, after)
        if found.moved:
            return found
    if about_graphs(name) and "left the graph" in note:
        return Finding(name, note)
    return found


def every() -> list[Finding]:
    """All knobs, in the order in which they are declared."""
    folder = os.getcwd()
    with tempfile.TemporaryDirectory() as here:
        os.chdir(here)  # a profile is written where the program runs
        try:
            bench = Bench()
            found = [tried(bench, name) for name in knobs.declared]
            bench.lab.close()
        finally:
            os.chdir(folder)
    return found


def every_between_devices() -> list[Finding]:
    """All knobs of stores, each in a lab of several devices in which it can act."""
    found: list[Finding] = []
    benches: dict[str, Bench] = {}
    for settings, others, name, trial in BETWEEN_DEVICES:
        key = str(settings)
        if key not in benches:
            for bench in benches.values():
                bench.lab.pause()
            benches[key] = Bench(**settings)
        with knobs(**others):
            found.append(tried(benches[key], name, trial))
    for bench in benches.values():
        bench.lab.close()
    return found


if __name__ == "__main__":
    print("| knob | scope | in the lab's default run |\n|---|---|---|")
    for each in every():
        print(each.row())
