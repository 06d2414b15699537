"""Where the first number that is none came from: a watch on what every call computes.

    with mx.monitor.FiniteWatch() as watch:
        ...                                   # train
    print(watch.first)

While it watches, every operation looks at its own results as soon as it has them, on
the worker that ran it. Graphs run operator by operator, so that none hides in a piece.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from types import TracebackType
from typing import Any, Final

import numpy as np

from minimx.core import engine
from minimx.core.arrays import launch
from minimx.core.arrays.array import NDArray
from minimx.core.dtypes import is_float
from minimx.core.engine.origin import capture, where
from minimx.core.errors import MXNetError
from minimx.core.events import attribution
from minimx.core.ops.registry import Op

#: So many findings are kept; all are counted.
KEPT: Final = 1000

Arrays = Sequence[NDArray]


@dataclass(frozen=True)
class Nonfinite:
    """An operation with NaN or infinity among its results.

    number: its place among all calls. step: updates that were done before. op: its id
    in a record that runs at the same time, else 0. line: of the program; for the
    backward half that of `backward()`. forward: in the backward half, operator and line
    of the call whose gradient it belongs to, known if a record runs. born: every input
    was finite. largest: the largest finite magnitude among inputs and results. device:
    where it ran.
    """

    number: int
    step: int
    op: int
    operator: str
    layer: str
    phase: str
    line: str
    shape: tuple[int, ...]
    dtype: str
    nans: int
    infinities: int
    born: bool
    largest: float
    forward: str = ""
    device: str = ""

    def __repr__(self) -> str:
        what = [
            f"{n} {word}"
            for n, word in ((self.nans, "NaN"), (self.infinities, "infinite"))
            if n
        ]
        parts = [f"step {self.step}", self.phase, self.layer, self.line]
        if not self.device.startswith("cpu"):
            parts.insert(1, self.device)
        size = math.prod(self.shape)
        how = "from finite inputs" if self.born else "it was among the inputs"
        of = f", of {self.forward}" if self.forward else ""
        return (
            f"{self.operator} ({', '.join(part for part in parts if part)}): "
            f"{' and '.join(what)} of {size} {self.dtype}, {how}{of}"
        )


@dataclass
class Cell:
    """All calls of one layer in one phase of one step, on one device or on all.

    calls, bad: how many, and how many with results that are not finite. largest: the
    largest finite magnitude among the results.
    """

    calls: int = 0
    bad: int = 0
    largest: float = 0.0

    def add(self, other: Cell) -> None:
        """Take another cell's calls in."""
        self.calls += other.calls
        self.bad += other.bad
        self.largest = max(self.largest, other.largest)


#: Step, phase and layer.
Key = tuple[int, str, str]


@dataclass(frozen=True)
class _Call:
    """What is known when a call is pushed."""

    number: int
    step: int
    operator: str
    layer: str
    phase: str
    forward_op: int
    origin: Any
    device: str


@dataclass
class _Seen:
    """What the workers write, under one lock."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    findings: list[tuple[Nonfinite, int]] = field(default_factory=list)
    total: int = 0
    cells: dict[tuple[str, Key], Cell] = field(default_factory=dict)
    calls: dict[int, _Call] = field(default_factory=dict)


class FiniteWatch:
    """Watches for NaN and infinity between `start` and `stop`, or in a `with` block.

    nan_only: infinity is no finding, for programs that mask with it.

    One watch at a time; `start` raises MXNetError while another one watches. What is
    computed is the same bits as without it. Sparse operators are seen by what they
    compute with dense arrays.
    """

    def __init__(self, nan_only: bool = False) -> None:
        self.nan_only = nan_only
        self._seen = _Seen()
        self._numbers = count(1)
        self._step = 0
        self._updating = False

    def start(self) -> FiniteWatch:
        """Watch from now on."""
        if launch.watching is not None:
            raise MXNetError(
                "FiniteWatch.start: a watch is on already. Stop it first; one sees "
                "everything."
            )
        launch.watching = self._called
        return self

    def stop(self) -> FiniteWatch:
        """Watch no more. Stopping twice does no harm."""
        if launch.watching == self._called:
            launch.watching = None
        return self

    def __enter__(self) -> FiniteWatch:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    @property
    def first(self) -> Nonfinite | None:
        """The first operation, in the order of calls, whose result was not finite.

        If it was not `born` there, it came in with data or weights.
        """
        found = self.findings
        return found[0] if found else None

    @property
    def findings(self) -> list[Nonfinite]:
        """The operations whose results were not finite, in the order of calls."""
        self._settle()
        with self._seen.lock:
            found = sorted(self._seen.findings, key=lambda each: each[0].number)
            calls = self._seen.calls
            return [_with_forward(one, calls.get(op)) for one, op in found]

    @property
    def total(self) -> int:
        """How many operations had results that were not finite, kept or not."""
        self._settle()
        return self._seen.total

    @property
    def cells(self) -> dict[Key, Cell]:
        """What was seen by (step, phase, layer), in the order of calls.

        Of several devices, all together; `cells_of` tells them apart.
        """
        found: dict[Key, Cell] = {}
        self._settle()
        with self._seen.lock:
            for (_, key), cell in self._seen.cells.items():
                found.setdefault(key, Cell()).add(cell)
        return found

    @property
    def devices(self) -> list[str]:
        """The devices that calls ran on, in the order of their first ones."""
        with self._seen.lock:
            return list(dict.fromkeys(device for device, _ in self._seen.cells))

    def cells_of(self, device: Any) -> dict[Key, Cell]:
        """What one device, or its name, did; none for one that did nothing."""
        self._settle()
        with self._seen.lock:
            cells = self._seen.cells.items()
            return {key: cell for (where, key), cell in cells if where == str(device)}

    def __repr__(self) -> str:
        return f"FiniteWatch({self.total} not finite, first: {self.first})"

    # Listening; on the thread that calls

    def _called(
        self, op: Op, inputs: Arrays, outs: Arrays, run: Callable[[], None]
    ) -> Callable[[], None]:
        """The work of a call, with a look at its results."""
        phase, layer = attribution.phase, attribution.layer
        if self._updating and phase != "update":
            self._step += 1
        self._updating = phase == "update"
        call = _Call(
            next(self._numbers),
            self._step,
            op.name,
            layer,
            phase,
            attribution.forward_op,
            attribution.origin or capture(),
            str((outs or inputs)[0].context),
        )
        with self._seen.lock:
            key = (call.step, phase, layer)
            cell = self._seen.cells.setdefault((call.device, key), Cell())
            cell.calls += 1
        written = {id(out.chunk) for out in outs}
        written |= {id(inputs[op.inputs.index(name)].chunk) for name in op.mutates}
        before = [x for x in inputs if id(x.chunk) in written]
        after = [x for x in inputs if id(x.chunk) not in written]

        def work() -> None:
            came = any(not _finite(x, self.nan_only) for x in before)
            run()
            self._look(call, cell, outs, before, after, came)

        return work

    # Looking; on the worker that ran the call

    def _look(
        self,
        call: _Call,
        cell: Cell,
        outs: Arrays,
        before: Arrays,
        after: Arrays,
        came: bool,
    ) -> None:
        largest, bad = 0.0, None
        for out in [*outs, *before]:
            most = _largest(out)
            if not math.isfinite(most):
                if bad is None and not (self.nan_only and math.isinf(most)):
                    bad = out
                most = _largest(out, finite=True)
            largest = max(largest, most)
        running = attribution.running
        with self._seen.lock:
            cell.largest = max(cell.largest, largest)
            if running and call.phase != "backward":
                self._seen.calls[running] = call
            if bad is None:
                return
            cell.bad += 1
            self._seen.total += 1
            if len(self._seen.findings) >= KEPT:
                return
        found = self._finding(call, running, bad, after, came, largest)
        with self._seen.lock:
            self._seen.findings.append((found, call.forward_op))

    def _finding(
        self,
        call: _Call,
        running: int,
        bad: NDArray,
        after: Arrays,
        came: bool,
        largest: float,
    ) -> Nonfinite:
        values = bad._host_view()
        came = came or any(not _finite(x, self.nan_only) for x in after)
        return Nonfinite(
            call.number,
            call.step,
            running,
            call.operator,
            call.layer,
            call.phase,
            where(call.origin),
            bad.shape,
            bad.spec.dtype.name,
            int(np.isnan(values).sum()),
            int(np.isinf(values).sum()),
            not came,
            max([largest, *[_largest(x, finite=True) for x in after]]),
            device=call.device,
        )

    def _settle(self) -> None:
        """Wait for what was called; raises what went wrong there."""
        engine.wait_all()


def _largest(array: NDArray, finite: bool = False) -> float:
    """The largest magnitude, NaN if there is one; finite: among the finite ones."""
    if not array.size or not is_float(array.spec.dtype):
        return 0.0
    values = array._host_view()
    if finite:
        values = values[np.isfinite(values)]
        if not values.size:
            return 0.0
    return float(max(values.max(), -values.min(), key=_nan_first))


def _nan_first(value: Any) -> tuple[bool, Any]:
    return bool(value != value), value


def _finite(array: NDArray, nan_only: bool) -> bool:
    most = _largest(array)
    return not math.isnan(most) and (nan_only or not math.isinf(most))


def _with_forward(found: Nonfinite, call: _Call | None) -> Nonfinite:
    if found.phase != "backward" or call is None:
        return found
    line = where(call.origin)
    title = f"the gradient of {call.operator}" + (f", {line}" if line else "")
    return replace(found, forward=title)
