"""Knobs of distributed training: who the processes are and how they talk."""

from __future__ import annotations

from functools import partial

from minimx.core.knobs.knob import Knob

GROUP = "distributed training"

declare = partial(Knob, group=GROUP, scope="restart", planned_in="distributed kvstore")
live = partial(Knob, group=GROUP, scope="restart", status="live")

KNOBS = (
    declare(
        name="MXNET_KVSTORE_SLICE_THRESHOLD",
        sources=("env-vars-2.0.md:239",),
        type="int",
        default=40_000,
        low=1,
        unit="elements",
        meaning=(
            "The largest slice in which the dist_p3 store sends a gradient. Slices of "
            "urgent layers overtake, so that the first layer can start while the last "
            "is still on its way."
        ),
        observable="Time until the first layer is ready, against the slice size.",
    ),
    live(
        name="MXNET_KVSTORE_DIST_ROW_SPARSE_VERBOSE",
        scope="live",
        type="bool",
        default=False,
        meaning=(
            "Print which rows of a row_sparse array a rank sends with each push to a "
            "store between processes, and how many bytes they are. No document names "
            "it, but MXNet reads it, when a store is made."
        ),
        observable="Printed lines per push.",
    ),
    live(
        name="DMLC_ROLE",
        type="choice",
        default="",
        choices=("", "worker", "server", "scheduler"),
        meaning=(
            "What this process is in a parameter-server run. MXNet's launcher sets it, "
            "and importing MXNet in a server process never returns. `minimx launch` "
            "sets it to worker, so that scripts can ask for it: synchronous stores "
            "have no servers. With another role no store between processes is made."
        ),
        observable="Whether a store between processes can be made.",
    ),
    declare(
        name="DMLC_PS_ROOT_URI",
        type="str",
        default="",
        meaning=(
            "The host of MXNet's scheduler. With MPI, ranks find each other without "
            "it; it will be accepted and shown."
        ),
        observable="The value in the record of a run.",
    ),
    declare(
        name="DMLC_PS_ROOT_PORT",
        type="int",
        default=0,
        low=0,
        high=65535,
        meaning=(
            "The port of MXNet's scheduler. With MPI, ranks find each other without "
            "it; it will be accepted and shown."
        ),
        observable="The value in the record of a run.",
    ),
    live(
        name="DMLC_NUM_WORKER",
        type="int",
        default=1,
        low=1,
        meaning=(
            "How many worker processes take part in a distributed run. `minimx launch` "
            "sets it; a job of another number of ranks is refused."
        ),
        observable="Whether a job of so many ranks can begin.",
    ),
    declare(
        name="DMLC_NUM_SERVER",
        type="int",
        default=1,
        low=0,
        meaning=(
            "How many server processes hold the parameters of a distributed run. Large "
            "arrays are split over all of them. Synchronous stores have none here: "
            "every worker holds the parameters."
        ),
        observable="Bytes per server.",
    ),
    declare(
        name="DMLC_PS_VAN_TYPE",
        type="choice",
        default="zmq",
        choices=("zmq", "p3", "ibverbs", "ucx"),
        meaning=(
            "The transport of MXNet's parameter server. Here the transport is MPI; "
            "`p3` will choose priority-based propagation in slices."
        ),
        observable="The order in which slices arrive.",
    ),
    declare(
        name="PS_VERBOSE",
        type="int",
        default=0,
        low=0,
        high=2,
        meaning="How much the transport logs: nothing, connections, or every message.",
        observable="Log lines per message.",
    ),
    declare(
        name="PS_RESEND",
        type="bool",
        default=False,
        meaning=(
            "Acknowledge messages and send lost ones again. Needed when "
            "`PS_DROP_MSG` loses some on purpose."
        ),
        observable="The number of messages sent again.",
    ),
    declare(
        name="PS_RESEND_TIMEOUT",
        type="int",
        default=1000,
        low=1,
        unit="milliseconds",
        meaning="How long to wait for an acknowledgement before sending again.",
        observable="Time of a step when messages are lost.",
    ),
    declare(
        name="PS_DROP_MSG",
        type="int",
        default=0,
        low=0,
        high=100,
        unit="percent",
        meaning="The share of messages to lose on purpose, for trying out recovery.",
        observable="The number of messages sent again.",
    ),
    declare(
        name="PS_HEARTBEAT_INTERVAL",
        type="int",
        default=0,
        low=0,
        unit="seconds",
        meaning="How often a process says that it is alive; 0 never.",
        observable="Heartbeats in the record.",
    ),
    declare(
        name="PS_HEARTBEAT_TIMEOUT",
        type="int",
        default=0,
        low=0,
        unit="seconds",
        meaning="After how long without a heartbeat a process counts as dead; 0 never.",
        observable="When the loss of a rank is noticed.",
    ),
)
