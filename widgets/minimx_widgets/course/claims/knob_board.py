"""What the documents say of variables as such (notebook 00)."""

from __future__ import annotations

from collections.abc import Sequence

from minimx.core import engine
from minimx.core.knobs import knobs
from minimx_widgets.course.claims.claim import (
    GUIDE,
    V0,
    V2,
    Decision,
    Numbers,
    claim,
    if_true,
    weighed,
)
from minimx_widgets.course.knob_board import NEVER, PROBES, liveness

DEFAULT_ENGINE = "ThreadedEnginePerDevice"


def turned(name: str) -> Numbers:
    """What the probe of a variable saw, and whether MXNet reads that name."""
    (probe,) = (one for one in PROBES if one.name == name)
    (row,) = liveness([probe]).rows
    return {"before": row.before, "turned": row.turned, "read": probe.read != NEVER}


def workers() -> Numbers:
    """How many operations meet with one worker, and with three."""
    found = turned("MXNET_CPU_WORKER_NTHREADS")
    return {"before": found["before"], "turned": found["turned"]}


@claim(
    "00",
    "“The maximum number of scheduling threads on CPU. It specifies how many operators "
    "can be run in parallel”",
    V2,
    58,
    "measured",
    workers,
    tolerance="none: operations that wait for each other are counted",
)
def scheduling_threads(before: int, turned: int) -> Decision:
    """With three workers three operations should be able to wait for each other."""
    return (
        if_true((before, turned) == (1, 3)),
        f"set to 3: {turned} operations met each other, before it {before}",
    )


def after_empty(value: str = "") -> Numbers:
    """The engine that an empty name gives; MXNet 1.9.1 was run with one, and stops."""
    with knobs(MXNET_ENGINE_TYPE="NaiveEngine"):
        knobs.set(MXNET_ENGINE_TYPE=value)
        return {"here": engine.engine_type(), "in_mxnet": "an error"}


@claim(
    "00",
    "“Remember to set MXNET_ENGINE_TYPE back to empty after debugging”",
    V2,
    152,
    "measured",
    after_empty,
)
def back_to_empty(here: str, in_mxnet: str) -> Decision:
    """An empty name should give the default engine."""
    defaults = [one == DEFAULT_ENGINE for one in (here, in_mxnet)]
    return (
        weighed(defaults, "the framework"),
        f"in minimx empty means {here}. MXNet 1.9.1 gives {in_mxnet}: to it an empty "
        "name is an unknown engine",
    )


def storage_managers() -> Numbers:
    """Where memory comes from with the variable of the document."""
    found = turned("MXNET_USE_NAIVE_STORAGE_MANAGERS")
    return {"here": found["turned"], "read": found["read"]}


@claim(
    "00",
    "MXNET_USE_NAIVE_STORAGE_MANAGERS: “When value is not 0, no memory pools will be "
    "used”",
    V2,
    144,
    "measured",
    storage_managers,
)
def no_pools(here: str, read: bool) -> Decision:
    """Memory should come from the system and not from a pool."""
    spelt = "reads that name" if read else "2.0 reads the name without the final S"
    return (
        weighed([here == "the system", read], "the framework"),
        f"in minimx memory then comes from {here}. MXNet {spelt}, so there the "
        f"documented one does {'the same' if read else 'nothing'}",
    )


def defaults(name: str = "MXNET_GPU_COPY_NTHREADS") -> Numbers:
    """The default of a variable in each document."""
    said = knobs.declared[name].defaults_by_document
    return {"said": [said.get(one, "nothing") for one in ("0.x", "1.x", "2.0")]}


@claim("00", "“MXNET_GPU_COPY_NTHREADS (default=1)”", V0, 10, "planned", defaults)
def one_default(said: Sequence[str]) -> Decision:
    """The documents of all generations should give the same default."""
    alike = len(set(said)) == 1
    return (
        if_true(alike, "holds", "depends on the generation"),
        "0.x says {}, 1.x says {}, 2.0 says {}".format(*said),
    )


def bucket() -> Numbers:
    """Whether the variable of the guide acts, and which versions of MXNet read it."""
    knob = knobs.declared["MXNET_KVSTORE_REDUCE_BUCKET_SIZE"]
    return {"live": knob.live, "readers": 0}


@claim(
    "00",
    "“os.environ['MXNET_KVSTORE_REDUCE_BUCKET_SIZE'] = '2048'”",
    GUIDE,
    69,
    "planned",
    bucket,
)
def guides_bucket(live: bool, readers: int) -> Decision:
    """The variable should do something."""
    return (
        weighed([live, readers > 0], "the framework"),
        f"{readers or 'no'} version of MXNet reads it; in minimx it "
        f"{'acts' if live else 'is planned, and says so'}",
    )
