"""Notebook 00: which knobs are alive, when MXNet reads them, and who restores them.

A `Probe` knows one variable: what it moves here, measured by moving it, and at which
moment MXNet reads it, as its source says. `liveness()` turns all of them, one after the
other, and back.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from minimx import nd
from minimx.core import engine, events, storage
from minimx.core.device import cpu
from minimx.core.knobs import knobs
from minimx.core.record import Record
from minimx.gluon.data import vision
from minimx_widgets import palette, svg
from minimx_widgets.course.parts.text import Shown
from minimx_widgets.training.meter import Facts
from minimx_widgets.training.training import Data, Fit, Settings, load

# The moments in the life of a program at which MXNet reads a variable, in their order.
MOMENTS = (
    "when it is loaded",
    "when engine or pool start",
    "when the code first runs",
    "at every call",
)
LOAD, START, FIRST_USE, CALL = range(len(MOMENTS))
NEVER = -1  # MXNet reads another spelling

SENTENCE = (
    "MXNet copies a variable into the part that it configures, and that part is built "
    "once; a knob of minimx keeps the one true value and notifies its part of a change."
)


@dataclass(frozen=True)
class Probe:
    """One variable, a value to turn it to, and what to look at.

    `observe` measures; `read` is the moment at which MXNet reads the variable.
    """

    name: str
    value: object
    what: str
    observe: Callable[[], object]
    read: int

    @property
    def late_acts(self) -> bool:
        """Whether MXNet would notice a change made after the first arrays were used."""
        return self.read == CALL


@dataclass(frozen=True)
class Moved:
    """What a probe saw: before, while the knob was turned, and after."""

    probe: Probe
    before: object
    turned: object
    after: object

    @property
    def alive(self) -> bool:
        """Whether the observable moved and came back."""
        return self.before != self.turned and self.before == self.after


class Liveness(Shown):
    """The result of turning several knobs; prints and renders as a table."""

    def __init__(self, rows: Sequence[Moved]) -> None:
        self.rows = tuple(rows)
        cells = [
            (row.probe.name, row.probe.what, row.before, row.turned, row.after)
            for row in self.rows
        ]
        lines = [
            f"{name:<35} {what}: {before} → {turned} → {after}"
            for name, what, before, turned, after in cells
        ]
        ending = f"{self.alive} of {len(self.rows)} moved what they promise, and back."
        super().__init__("\n".join([*lines, ending]), _html(cells, ending))

    @property
    def alive(self) -> int:
        """How many knobs moved their observable and moved it back."""
        return sum(row.alive for row in self.rows)


def _html(cells: Sequence[Sequence[object]], ending: str) -> str:
    heads = ("variable", "what it moves", "before", "turned", "turned back")
    left = "text-align:left"
    head = "".join(f"<th style='{left}'>{word}</th>" for word in heads)
    body = "".join(
        f"<tr><td style='{left}'><code>{name}</code></td><td style='{left}'>{what}</td>"
        + "".join(f"<td style='{left}'>{value}</td>" for value in values)
        + "</tr>"
        for name, what, *values in cells
    )
    return (
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        f"<b>{ending}</b>"
    )


def liveness(probes: Sequence[Probe] | None = None) -> Liveness:
    """Turn each knob and turn it back, and look at its observable three times.

    The probed knobs start at their defaults, whatever they are now, and are put back.
    """
    chosen = PROBES if probes is None else probes
    # Two threads, so that "one thread" is different on any machine.
    start: dict[str, object] = {probe.name: None for probe in chosen}
    start |= {"OMP_NUM_THREADS": 2, "MINIMX_CLOCK": "wall"}
    with knobs(**start):
        return Liveness([_turn(probe) for probe in chosen])


def _turn(probe: Probe) -> Moved:
    before = probe.observe()
    with knobs(**{probe.name: probe.value}):
        turned = probe.observe()
    return Moved(probe, before, turned, probe.observe())


# The picture

ROW, LEFT, WIDE, TOP = 27, 300, 570, 66


def moments(probes: Sequence[Probe] | None = None, *, dark: bool = False) -> Shown:
    """A line for each variable, with a dot at the moment at which MXNet reads it.

    What lies left of the dashed line is over when a notebook's second cell runs.
    """
    chosen = PROBES if probes is None else probes
    ink, late = (palette.surface(name, dark=dark) for name in ("ink", "alert"))
    width, height = LEFT + WIDE + 24, TOP + ROW * len(chosen) + 12
    edge = _x(CALL) - WIDE / len(MOMENTS) / 2
    parts = [svg.text(14, 24, "MXNet reads the variable", ink, size=13, bold=True)]
    parts += [
        svg.text(_x(i), 24, word, ink, anchor="middle")
        for i, word in enumerate(MOMENTS)
    ]
    parts.append(svg.line([(edge, 50), (edge, height - 8)], late, dash="5 4"))
    parts.append(svg.text(edge, 44, "you turn it here", late, anchor="middle"))
    for i, probe in enumerate(chosen):
        parts += _line(probe, TOP + ROW * (i + 0.5), edge, dark=dark)
    text = _text(chosen)
    picture = svg.picture(width, height, parts, title=text, dark=dark)
    return Shown(text, picture, "image/svg+xml")


def _x(moment: int) -> float:
    return LEFT + WIDE * (moment + 0.5) / len(MOMENTS)


def _line(probe: Probe, y: float, edge: float, *, dark: bool) -> list[str]:
    """A variable's name, its line, and where on it MXNet looks."""
    ink, late, rule = (
        palette.surface(name, dark=dark) for name in ("ink", "alert", "line")
    )
    good = palette.category("activation", dark=dark)
    end = LEFT + WIDE
    parts = [
        svg.text(LEFT - 12, y + 4, probe.name, ink, anchor="end"),
        svg.line([(LEFT, y), (end, y)], rule, width=1.5),
    ]
    if probe.read == NEVER:
        text = "never: it reads another spelling"
        return [*parts, svg.text(LEFT + 6, y - 4, text, late)]
    if probe.late_acts:
        parts.append(svg.line([(edge, y), (end, y)], good, width=3))
        places = [edge + (end - edge) * k / 4 for k in (1, 2, 3)]
        return [*parts, *(svg.dot(x, y, good) for x in places)]
    return [*parts, svg.dot(_x(probe.read), y, late, MOMENTS[probe.read])]


def _text(probes: Sequence[Probe]) -> str:
    late = sum(probe.late_acts for probe in probes)
    never = sum(probe.read == NEVER for probe in probes)
    return (
        f"{len(probes)} variables: MXNet reads {len(probes) - late - never} before the "
        f"second cell, {never} never, {late} at every call"
    )


# What the probes look at


def lane() -> str:
    """The worker that runs an operation on the CPU; "python" is the caller itself."""
    seen: list[str] = []
    me = threading.current_thread().name

    def note() -> None:
        name = threading.current_thread().name
        seen.append("python" if name == me else name)

    engine.push(note, cpu(), (), (), "probe")
    engine.wait_all()
    return seen[0]


def workers() -> int:
    """How many operations run on the CPU at the same time: they wait for each other."""
    wanted = int(knobs.get("MXNET_CPU_WORKER_NTHREADS"))
    meeting = threading.Barrier(wanted)
    seen: set[int] = set()

    def meet() -> None:
        seen.add(threading.get_ident())
        meeting.wait(timeout=20)

    for _ in range(wanted):
        engine.push(meet, cpu(), (), (), "probe")
    engine.wait_all()
    return len(seen)


def kernel_threads(size: int) -> int:
    """On how many threads a kernel over `size` elements works."""
    from minimx.core.kernels import threads

    return threads.parts(size)


def block_size(nbytes: int) -> int:
    """How many bytes the pool sets aside for a request."""
    block = storage.pool_for(cpu()).alloc(nbytes, events.owner("probe"))
    size = int(block.size)
    block.free()
    return size


def reuse() -> str:
    """Where the second of two equal requests finds its memory."""
    block_size(50_000)
    hits = storage.stats(cpu()).n_hit
    block_size(50_000)
    return "the pool" if storage.stats(cpu()).n_hit > hits else "the system"


def joined() -> int:
    """Into how many pieces of work the engine joins twelve small operations."""
    x = nd.ones((4,))
    engine.wait_all()
    with Record() as record:
        with engine.bulk():
            for _ in range(12):
                nd.sin(x)
        engine.wait_all()
    return record.texts(record.ops()["name"]).count("ImperativeBulk")


def callers() -> int:
    """How many callers an error names beside the line that asked for the operation."""

    def fail() -> None:
        raise ValueError("on purpose")

    def ask() -> None:
        engine.push(fail, cpu(), (), (engine.Var(),), "probe")

    ask()
    try:
        engine.wait_all()
    except ValueError as error:
        return "\n".join(error.__notes__).count("called at")
    raise AssertionError("the operation did not fail")


class _Nowhere(vision.MNIST):
    """A data set that notes where it looks for its files, and reads none."""

    def _read(self) -> tuple[Any, Any]:
        self.folder = self._root
        return np.zeros((0, 28, 28, 1), np.uint8), np.zeros(0)


def data_folder() -> str:
    """Where a data set looks for its files; the user's home folder is `~`."""
    folder = _Nowhere().folder
    home = Path.home()
    return folder.as_posix().replace(home.as_posix(), "~", 1)


def steps_turned(batch: int, at: int, images: int = 1000) -> int:
    """How many steps of a training run under an engine that is chosen meanwhile.

    Two epochs of that many glyphs. After step `at` the engine becomes NaiveEngine;
    `lane` says after each step whether the caller runs an operation.
    """
    glyphs = load("glyphs")
    data = Data(*(array[:images] for array in vars(glyphs).values()))
    seen: list[str] = []

    def stepped(step: int, _: Facts) -> None:
        seen.append(lane())
        if step == at:
            knobs.set(MXNET_ENGINE_TYPE="NaiveEngine")

    how = Settings(network="mlp", batch_size=int(batch), epochs=2)
    with knobs(MXNET_ENGINE_TYPE=None), Record() as record:
        for _ in Fit(how, record, data=data, stepped=stepped).program():
            pass
    return seen.count("python")


PROBES = (
    Probe("MXNET_ENGINE_TYPE", "NaiveEngine", "who runs an operation", lane, START),
    Probe("MXNET_CPU_WORKER_NTHREADS", 3, "operations at the same time", workers, LOAD),
    Probe(
        "OMP_NUM_THREADS",
        1,
        "threads of a large kernel",
        partial(kernel_threads, 10**7),
        LOAD,
    ),
    Probe(
        "MXNET_CPU_PARALLEL_SIZE",
        1000,
        "threads of a small kernel",
        partial(kernel_threads, 2000),
        FIRST_USE,
    ),
    Probe(
        "MXNET_CPU_MEM_POOL_TYPE",
        "Round",
        "bytes for a request of 10 000",
        partial(block_size, 10_000),
        START,
    ),
    Probe(
        "MXNET_CPU_MEM_POOL_PAGE_SIZE",
        16_384,
        "bytes for a request of 1",
        partial(block_size, 1),
        NEVER,
    ),
    Probe(
        "MXNET_USE_NAIVE_STORAGE_MANAGERS",
        1,
        "where memory is found again",
        reuse,
        NEVER,
    ),
    Probe(
        "MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN",
        3,
        "pieces that 12 operations make",
        joined,
        LOAD,
    ),
    Probe(
        "DMLC_LOG_STACK_TRACE_DEPTH", 3, "callers that an error names", callers, CALL
    ),
    Probe("MXNET_HOME", "elsewhere", "where data is looked for", data_folder, LOAD),
)
