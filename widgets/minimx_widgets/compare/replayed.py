"""A replay as a record, so that the views of records can draw it.

Its operations are those that ran, with the times and workers of the replay, from the
first push on. A joined operation is drawn as its parts. Arrows are those between
operations that the original record has.
"""

from __future__ import annotations

import numpy as np

from minimx.core.record import Record
from minimx.core.record.tables import TABLES, Array, Contents, Strings, dtype_of
from minimx.experiments import Rerun


def as_record(found: Rerun) -> Record:
    """The predicted operations of a replay as a record; it holds no memory events."""
    plan, original = found.schedule, found.record
    operations = plan.operations
    ran = np.flatnonzero([bool(worker) for worker in plan.workers])
    rows = operations.rows[ran].copy()
    for name in ("pushed", "ready", "start", "end"):
        column = "t_push" if name == "pushed" else f"t_{name}"
        rows[column] = getattr(plan, name)[ran]
    strings = Strings(original.strings)
    rows["worker"] = strings.numbers([plan.workers[place] for place in ran])
    rows["name"] = strings.numbers([operations.name[place] for place in ran])
    rows["op"] = _ids(np.asarray(operations.op)[ran] if len(ran) else rows["op"])
    rows["inside"] = 0
    tables = {name: np.zeros(0, dtype_of(name)) for name in TABLES}
    tables["ops"] = rows[np.argsort(rows["t_end"], kind="stable")]
    deps = original.table("deps")
    known = np.isin(deps["src"], rows["op"]) & np.isin(deps["dst"], rows["op"])
    tables["deps"] = deps[known]
    conditions = {
        **vars(original.conditions),
        "knobs": {**original.conditions.knobs, **found.knobs},
        "t_start": 0,
        "t_stop": plan.makespan,
    }
    return Record.of(
        Contents(tables, strings.texts, dict.fromkeys(TABLES, 0), conditions)
    )


def _ids(ids: Array) -> Array:
    """The same ids, and new ones for operations that the record does not have (0)."""
    found = np.array(ids)
    new = found == 0
    found[new] = found.max(initial=0) + 1 + np.arange(new.sum())
    return found
