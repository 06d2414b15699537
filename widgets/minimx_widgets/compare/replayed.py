"""A replay as a record, so that the views of records can draw it.

Its operations are those that ran, with the times and workers of the replay, from the
first push on. A joined operation is drawn as its parts. Arrows are those between
operations that the original record has.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from minimx.core.record import Record
from minimx.core.record.tables import TABLES, Array, Contents, Strings, dtype_of
from minimx.experiments import Rerun
from minimx.experiments.operations import Operations, kept_with


def as_record(found: Rerun) -> Record:
    """The predicted operations of a replay as a record; it holds no memory events."""
    plan, original = found.schedule, found.record
    operations = plan.operations
    ran = np.flatnonzero(plan.worker >= 0)
    places = ran[np.argsort(plan.end[ran], kind="stable")]
    rows = operations.rows[places]
    for name in ("pushed", "ready", "start", "end"):
        column = "t_push" if name == "pushed" else f"t_{name}"
        rows[column] = getattr(plan, name)[places]
    strings = Strings(original.strings)
    workers = np.asarray(strings.numbers(plan.names), rows["worker"].dtype)
    rows["worker"] = workers[plan.worker[places]] if len(workers) else 0
    rows["inside"] = 0
    if operations is not Operations.of(original):  # its graphs were cut otherwise
        rows["name"] = strings.numbers([operations.name[place] for place in places])
        rows["op"] = _ids(operations.op)[places]
    tables = {name: np.zeros(0, dtype_of(name)) for name in TABLES}
    tables["ops"] = rows
    kept = kept_with(operations)
    if "arrows" not in kept:
        deps = original.table("deps")
        known = np.isin(deps["src"], rows["op"]) & np.isin(deps["dst"], rows["op"])
        kept["arrows"] = deps[known]
    tables["deps"] = kept["arrows"]
    conditions = {
        **vars(original.conditions),
        "knobs": {**original.conditions.knobs, **found.knobs},
        "t_start": 0,
        "t_stop": plan.makespan,
    }
    return Record.of(
        Contents(tables, strings.texts, dict.fromkeys(TABLES, 0), conditions)
    )


def _ids(ids: Sequence[int]) -> Array:
    """The same ids, and new ones for operations that the record does not have (0)."""
    found = np.array(ids, np.int64)
    new = found == 0
    found[new] = found.max(initial=0) + 1 + np.arange(new.sum())
    return found
