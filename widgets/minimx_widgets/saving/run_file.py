"""A run as one file: the record, the circumstances, and the views as they were.

    lab.save("monday.npz")                  # or save_run(record, "monday.npz")
    run = open_run("monday.npz")            # as the last line of a cell: its views
    run.record, run.environment, run.code()

The file is that of `Record.save`, so `Record.load` and `ABCompare` read it as well. It
is safe to open from a stranger: nothing in it is run, no name in it chooses what is
imported, and all of it is checked before it is used.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import ipywidgets

from minimx.commands.bench.machine import describe
from minimx.core import storage
from minimx.core.errors import ArgumentError, DataError, MXNetError
from minimx.core.knobs import knobs
from minimx.core.record import Record
from minimx.core.record.tables import TABLES, Contents
from minimx.tools import record_archive
from minimx_widgets.base import Bundle, View, mimebundle
from minimx_widgets.run import Run
from minimx_widgets.saving import state_text
from minimx_widgets.svg import stacked

#: The views that need nothing but a record, by name: their modules.
VIEWS = {
    "TrainingMonitor": "views.training_monitor",
    "MemoryTimeline": "views.memory_timeline",
    "EngineTimeline": "views.engine_timeline",
    "DeviceView": "views.device_view",
    "PoolMap": "views.pool_map",
    "NumericsMonitor": "views.numerics_monitor",
    "Overview": "views.overview",
}
#: Those that are shown of a file in which none was kept.
USUAL = ("TrainingMonitor:1", "MemoryTimeline:1", "EngineTimeline:1")
MOST_VIEWS = 24
MOST_TEXT = 200
SUFFIX = ".npz"


def save_run(
    run: Run | Record | View,
    path: str | os.PathLike[str],
    *,
    views: Sequence[View] | None = None,
    lab: Mapping[str, Any] | None = None,
    newest: int | None = None,
) -> Path:
    """Write a run to one file, whole or not at all; returns its path.

    run: a record, or a view of one. path: `.npz` is added where it has no ending.
    views: whose state strings are kept; by default all that look at the record. lab:
    the state string and the knobs of a lab. newest: keep at most so many rows of each
    table. Raises `DataError` where the file cannot be written.
    """
    found = run.run if isinstance(run, View) else Run.of(run)
    shown = found.views if views is None else views
    states = [one.state_string for one in shown if type(one).__name__ in VIEWS]
    contents = contents_of(found.record, newest)
    target = Path(path)
    if not target.suffix:
        target = target.with_suffix(SUFFIX)
    more = {
        "environment": {n: str(v)[:MOST_TEXT] for n, v in describe().items()},
        "views": list(dict.fromkeys(states))[:MOST_VIEWS],
        "lab": dict(lab or {}),
    }
    return record_archive.save(
        target,
        contents.tables,
        contents.strings,
        contents.dropped,
        contents.conditions,
        more,
    )


def contents_of(record: Record, newest: int | None = None) -> Contents:
    """What a record holds now, or the newest rows of each table."""
    dropped = record.dropped
    first = dict.fromkeys(TABLES, 0)
    if newest is not None:
        first = {n: dropped[n] + max(record.rows(n) - newest, 0) for n in TABLES}
    batch = record.since((*first.values(), 0))
    lost = {name: max(dropped[name], first[name]) for name in TABLES}
    conditions = dict(vars(record.conditions))
    if record.running:
        sizes = {pool.name: pool.driver.total_bytes for pool in storage.pools()}
        conditions["devices"] = conditions["devices"] | sizes
    return Contents(dict(batch.tables), list(batch.strings), lost, conditions)


def open_run(path: str | os.PathLike[str]) -> SavedRun:
    """Read a run from a file of `save_run`, `lab.save` or `Record.save`.

    Raises `DataError` for anything else: damaged, cut off, hostile, or of a version
    that this minimx does not read.
    """
    contents, more = record_archive.load_with_more(Path(path))
    return SavedRun(Path(path), Record.of(contents), **_checked(Path(path), more))


@dataclass(frozen=True)
class SavedRun:
    """A run that was read from a file.

    environment: versions and machine where it was saved. states: of the views that were
    open. lab: the state string of the lab that trained, and its knobs, as texts.
    """

    path: Path
    record: Record
    environment: dict[str, str] = field(default_factory=dict)
    states: tuple[str, ...] = ()
    lab: dict[str, Any] = field(default_factory=dict)
    _made: list[View] = field(default_factory=list, repr=False, compare=False)

    @property
    def knobs(self) -> dict[str, Any]:
        """The knobs at the end of the record: those at its start, and what was turned.

        Knobs that this minimx does not have are left out.
        """
        found = dict(self.record.conditions.knobs)
        texts = self.record.strings
        for row in self.record.knobs():
            name = texts[row["name"]]
            if name in knobs.declared:
                found[name] = _parsed(name, texts[row["new"]], found.get(name))
        return {name: value for name, value in found.items() if name in knobs.declared}

    def code(self) -> str:
        """A `with mx.knobs(...)` block that puts the knobs of this run in force."""
        from minimx_widgets.views.knob_panel import code

        usual = {name: knobs.declared[name].default for name in self.knobs}
        return code({n: (usual[n], v) for n, v in self.knobs.items() if v != usual[n]})

    def views(self) -> list[View]:
        """The views that were open when it was saved, as they were; made once.

        A view whose state this minimx does not take is shown without it, with a
        warning.
        """
        if not self._made:
            self._made.extend(map(self._view, self.states or USUAL))
        return list(self._made)

    def _view(self, state: str) -> View:
        name = state.partition(":")[0]
        module = import_module(f"minimx_widgets.{VIEWS[name]}")
        made: View = getattr(module, name)(self.record)
        try:
            made.state_string = state
        except ArgumentError as refused:
            warnings.warn(f"{self.path.name}: {refused}", stacklevel=4)
        return made

    def close(self) -> None:
        """Take its views away from all pages."""
        for view in self._made:
            view.close()
        self._made.clear()

    def __repr__(self) -> str:
        names = [state.partition(":")[0] for state in self.states]
        where = self.environment.get("processor", "an unknown machine")
        return (
            f"SavedRun({self.path.name}: {self.record!r}, on {where}, "
            f"views: {', '.join(names) or 'none kept'})"
        )

    def svg(self, *, dark: bool = False, width: int = 900) -> str:
        """Its views one below the other, as one static picture."""
        return stacked([one.svg(dark=dark, width=width) for one in self.views()], width)

    def _repr_mimebundle_(self, **_: Any) -> Bundle:
        box = ipywidgets.VBox(self.views(), layout={"grid_gap": "8px"})
        return mimebundle(box, repr(self), self.svg())


def _parsed(name: str, text: str, otherwise: Any) -> Any:
    """A knob's value from the text of a record; what it was if it cannot be."""
    try:
        return knobs.declared[name].parse(text)
    except MXNetError:  # such as "(path)", which stands for a file of the user's
        return otherwise


def _checked(path: Path, more: Mapping[str, Any]) -> dict[str, Any]:
    """What a file says beside its record, if it is what such files say."""

    def demand(fine: object, what: str) -> None:
        if not fine:
            raise DataError(
                f"{path} is not a sound run file: {what}. Take another copy, or save "
                "the run again."
            )

    environment, lab = more.get("environment", {}), more.get("lab", {})
    demand(
        isinstance(environment, dict)
        and len(environment) <= 64
        and all(_is_text(one) for pair in environment.items() for one in pair),
        "the environment holds more than short texts",
    )
    states = more.get("views", [])
    demand(
        isinstance(states, list) and len(states) <= MOST_VIEWS,
        f"its views are no list of at most {MOST_VIEWS}",
    )
    for state in states:
        demand(
            isinstance(state, str) and len(state) <= state_text.MOST,
            "the state of a view is no short text",
        )
        name = state.partition(":")[0]
        demand(name in VIEWS, f"no view {name[:40]!r} can be shown of a file")
    demand(isinstance(lab, dict) and len(lab) <= 8, "the lab is no short object")
    state, turned = lab.get("state", ""), lab.get("knobs", {})
    demand(
        isinstance(state, str)
        and len(state) <= state_text.MOST
        and isinstance(turned, dict)
        and len(turned) <= 400
        and all(_is_text(one) for pair in turned.items() for one in pair),
        "the state of the lab holds more than short texts",
    )
    return {
        "environment": dict(environment),
        "states": tuple(states),
        "lab": {"state": state, "knobs": dict(turned)} if lab else {},
    }


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= MOST_TEXT
