"""`why`: which decisions made one run different from another one.

    found = why(before, after)
    print(found)       # peak +4 KiB, because relu0 (4 KiB) could not share block 1, …

Between two runs many knobs may differ, and most of them do not matter. Each is flipped
alone in a replay, and then all of them are taken away again, one by one, as long as the
change stays explained (as in delta debugging, ddmin): what is left is a smallest set,
in the sense that without any of it the change is not explained. The objects of a cause
(`reasons.py`) are read off the two replays with and without it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import log
from typing import Any, Final, NamedTuple

from minimx.core import storage
from minimx.core.errors import ArgumentError, did_you_mean
from minimx.core.record import Record
from minimx.experiments import graphs
from minimx.experiments.align import Alignment, align
from minimx.experiments.groups import BULKS, REPLAYED, value_of
from minimx.experiments.machine import SPEEDS
from minimx.experiments.operations import Operations
from minimx.experiments.reasons import PROGRAM, Flip, reason
from minimx.experiments.rerun import FIGURES, Rerun, measured, rerun

#: A set of causes explains a change if no more than this share of it is missing.
MISSING: Final = 0.05
#: A figure that changed by less did not change.
LEAST: Final = 0.001

Run = Record | Rerun


class Cause(NamedTuple):
    """A decision that makes a difference.

    name: the knob, or "program" where what was run differs. before, after: its values.
    effect: by how much the figure changes with it alone. sentence: what follows from
    it, with the objects.
    """

    name: str
    before: Any
    after: Any
    effect: float
    sentence: str


@dataclass(frozen=True, eq=False, repr=False)
class Why:
    """What changed between two runs, and a smallest set of causes.

    figure: one of `FIGURES`; bytes and calls of all devices together. before, after:
    its values, of records as measured, of replays as predicted. explained: by how much
    the replay changes with all candidates. causes: the strongest first. candidates: the
    knobs that differ and were flipped. unexamined: those that differ and that no replay
    can turn. replays: how many were made.
    """

    figure: str
    before: float
    after: float
    explained: float
    causes: tuple[Cause, ...]
    candidates: tuple[str, ...]
    unexamined: tuple[str, ...]
    replays: int

    @property
    def change(self) -> float:
        """After less before."""
        return self.after - self.before

    @property
    def sentence(self) -> str:
        """The answer in one sentence."""
        name = self.figure.replace("_", " ")
        if not self.causes:
            if abs(self.change) <= LEAST * max(abs(self.before), abs(self.after)):
                return f"{name} did not change: it is {self._shown(self.after)}."
            return (
                f"{name} {self._signed(self.change)}: no decision that can be replayed "
                "explains it; look at how long operations took (`align`)."
            )
        reasons = "; and ".join(cause.sentence for cause in self.causes)
        return f"{name} {self._signed(self.explained)}, because {reasons}."

    def _shown(self, value: float) -> str:
        if self.figure in ("peak", "reserved"):
            return str(storage.human(round(value)))
        if self.figure == "makespan":
            return f"{value * 1e3:.3f} ms"
        return f"{round(value):,}"

    def _signed(self, value: float) -> str:
        return ("−" if value < 0 else "+") + self._shown(abs(value))

    def __repr__(self) -> str:
        lines = [f"predicted: {self.sentence}"]
        rest = self.change - self.explained
        if self.causes and abs(rest) > MISSING * abs(self.change):
            lines.append(
                f"  not explained: {self._signed(rest)}; a replay keeps how long "
                "operations take, and what it calls unknown."
            )
        named = {cause.name for cause in self.causes}
        idle = [name for name in self.candidates if name not in named]
        if idle:
            lines.append(f"  differ as well, without effect on it: {', '.join(idle)}")
        if self.unexamined:
            lines.append(f"  differ, not replayed: {', '.join(self.unexamined)}")
        return "\n".join(lines)


def why(before: Run, after: Run, figure: str | None = None, net: Any = None) -> Why:
    """Which decisions changed a figure from one run to another.

    before, after: records, or replays of them (`rerun`). figure: one of "peak",
    "reserved", "driver_calls", "pushes" and "makespan"; by default the one that changed
    most. net: the hybridized block that was recorded, where knobs of its passes differ.

    Raises `ArgumentError` for runs of different networks, for an unknown figure, and
    for a network that is missing.

    >>> import minimx as mx
    >>> def run(**knobs):
    ...     with mx.knobs(**knobs):
    ...         mx.storage.empty_cache(mx.cpu())
    ...         with mx.Record() as record:
    ...             x = mx.nd.ones((3000,)) + 1
    ...             mx.nd.waitall()
    ...     return record
    >>> found = why(run(), run(MXNET_CPU_MEM_POOL_PAGE_SIZE=16384), "reserved")
    >>> [cause.name for cause in found.causes]
    ['MXNET_CPU_MEM_POOL_PAGE_SIZE']
    """
    if figure is not None and figure not in FIGURES:
        raise ArgumentError(
            f"why: there is no figure {figure!r}, but {', '.join(FIGURES)}."
            + did_you_mean(figure, FIGURES)
        )
    return _Search(before, after, net).answer(figure)


def why_each(before: Run, after: Run, net: Any = None) -> list[Why]:
    """`why` for each figure that decisions changed, in the order of `FIGURES`.

    before, after, net: as for `why`, which also says what is raised. Where no decision
    changed any, the answer for the figure that changed most is the only one.
    """
    search = _Search(before, after, net)
    found = [search.answer(figure) for figure in FIGURES]
    return [one for one in found if one.causes] or [search.answer(None)]


class _Search:
    """The candidates, and the replays made so far."""

    def __init__(self, before: Run, after: Run, net: Any) -> None:
        self._runs = before, after
        self._records = _record_of(before), _record_of(after)
        self._net = net
        self._values = _values_of(before), _values_of(after)
        self._known: dict[frozenset[str], Rerun] = {}
        self.unexamined = _unexamined(*self._records)
        differ = [k for k in REPLAYED if self._values[0][k] != self._values[1][k]]
        self.aligned = align(*self._records)
        self.candidates = [k for k in differ if self._can_act(k)]
        if not self.aligned.related:
            raise ArgumentError(f"why: these are {repr(self.aligned).strip('<>')}.")
        cut = any(k in (*graphs.PLANNING, *BULKS) for k in differ)
        if _programs_differ(self.aligned, cut):
            self.candidates.append(PROGRAM)

    def _can_act(self, knob: str) -> bool:
        """Whether a knob acts on anything that is in the records."""
        record = self._records[0]
        if knob in graphs.PLANNING:
            record.mem()
            return graphs.ARENA in record.strings
        if knob in SPEEDS:
            delay = value_of(record.conditions.knobs, "MINIMX_SIM_DELAY")
            virtual = record.conditions.clock == "virtual"
            devices = Operations.of(record).device
            return (virtual or bool(delay)) and any(
                d.startswith("gpu") for d in devices
            )
        return True

    def answer(self, figure: str | None) -> Why:
        """The causes of a change."""
        every = frozenset(self.candidates)
        real = [_totals(run) for run in self._runs]
        modelled = [_totals(self.replay(which)) for which in (frozenset(), every)]
        if figure is None:
            figure = max(FIGURES, key=lambda name: _ratio(*(m[name] for m in modelled)))
        start, end = (totals[figure] for totals in modelled)
        explained = end - start
        causes: tuple[Cause, ...] = ()
        if _ratio(start, end) > LEAST:
            causes = self._causes(figure, every, start, end)
        values = real[0][figure], real[1][figure], explained
        examined = tuple(self.candidates), self.unexamined, len(self._known)
        return Why(figure, *values, causes, *examined)

    def replay(self, flipped: frozenset[str]) -> Rerun:
        """The first run with some decisions as in the second."""
        found = self._known.get(flipped)
        if found is None:
            record = self._records[PROGRAM in flipped]
            wanted = {
                knob: self._values[knob in flipped][knob]
                for knob in self.candidates
                if knob != PROGRAM
            }
            # What no candidate is stays as in the first run.
            found = rerun(record, net=self._net, **wanted)
            self._known[flipped] = found
        return found

    def _causes(
        self, figure: str, every: frozenset[str], start: float, end: float
    ) -> tuple[Cause, ...]:
        def value(which: Iterable[str]) -> float:
            return float(_totals(self.replay(frozenset(which)))[figure])

        def explains(which: frozenset[str]) -> bool:
            return abs(value(which) - end) <= MISSING * abs(end - start)

        alone = {name: value({name}) - start for name in every}
        lacking = {name: end - value(every - {name}) for name in every}
        strength = {name: max(abs(alone[name]), abs(lacking[name])) for name in every}
        ranked = sorted(self.candidates, key=lambda name: strength[name])
        kept = every
        single = [name for name in reversed(ranked) if explains(frozenset({name}))]
        if single:
            kept = frozenset(single[:1])
        for name in ranked:
            if name in kept and len(kept) > 1 and explains(kept - {name}):
                kept -= {name}
        return tuple(
            self._cause(figure, name, kept, alone[name] or lacking[name])
            for name in reversed(ranked)
            if name in kept
        )

    def _cause(
        self, figure: str, name: str, kept: frozenset[str], effect: float
    ) -> Cause:
        before, after = (values.get(name, "") for values in self._values)
        runs = self.replay(kept - {name}), self.replay(kept)
        flip = Flip(figure, name, before, after, *runs, self.aligned, self._net)
        return Cause(name, before, after, effect, reason(flip))


def _record_of(run: Run) -> Record:
    return run.record if isinstance(run, Rerun) else run


def _values_of(run: Run) -> Mapping[str, Any]:
    """The values of all knobs that can be replayed."""
    if isinstance(run, Rerun):
        return run.knobs
    return {name: value_of(run.conditions.knobs, name) for name in REPLAYED}


def _totals(run: Run) -> dict[str, float]:
    """The figures of a run; those by device added up."""
    figures = run.figures() if isinstance(run, Rerun) else measured(run)
    return {
        name: sum(value.values()) if isinstance(value, dict) else value
        for name, value in figures.items()
    }


def _ratio(before: float, after: float) -> float:
    """By how much one is larger, on a scale on which twice and half are alike."""
    if before <= 0 or after <= 0:
        return 0.0 if before == after else float("inf")
    return abs(log(after / before))


def _unexamined(before: Record, after: Record) -> tuple[str, ...]:
    mine, theirs = before.conditions.knobs, after.conditions.knobs
    return tuple(
        name
        for name in mine
        if name not in REPLAYED and name in theirs and mine[name] != theirs[name]
    )


def _programs_differ(aligned: Alignment, cut: bool) -> bool:
    """Whether both runs computed different things.

    cut: knobs differ that cut graphs into other operations, so that those say nothing.
    """
    tables = aligned.before.ops(), aligned.after.ops()
    lists = (
        tables[0]["graph"][[one.before for one in aligned.changed]],
        tables[0]["graph"][aligned.removed],
        tables[1]["graph"][aligned.inserted],
    )
    return any(len(graph) and not (cut and graph.all()) for graph in lists)
