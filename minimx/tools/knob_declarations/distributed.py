"""Knobs of distributed training: who the processes are and how they talk."""

from __future__ import annotations

from functools import partial

from minimx.core.knobs.knob import Knob

GROUP = "distributed training"

declare = partial(Knob, group=GROUP, scope="restart", planned_in="distributed kvstore")
live = partial(Knob, group=GROUP, scope="restart", status="live")

KNOBS = (
    live(
        name="MXNET_KVSTORE_SLICE_THRESHOLD",
        scope="create",
        made="a p3 store",
        sources=("env-vars-2.0.md:239",),
        type="int",
        default=40_000,
        low=1,
        unit="elements",
        meaning=(
            "The largest slice in which the stores p3 and dist_p3 send a gradient. "
            "Slices of urgent layers overtake, so that the first layer can start while "
            "the last is still on its way. MXNet has it since 2.0; there, as here, a "
            "store reads it when it is made."
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
            "What this process is in a distributed run. `minimx launch` and MXNet's "
            "launcher set it, and programs may ask for it. In a process that MPI has "
            "started as server or scheduler, `import minimx` serves until all workers "
            "have ended, and then exits; as in MXNet, the program goes no further. A "
            "scheduler has nothing to do here: it waits for the end."
        ),
        observable="Which processes are workers, and which serve.",
    ),
    live(
        name="DMLC_PS_ROOT_URI",
        type="str",
        default="",
        meaning=(
            "The host of MXNet's scheduler. Ranks of MPI find each other without it, "
            "so nothing connects to it; `minimx launch` sets it for programs that ask, "
            "and it is compared between ranks: those with different addresses belong "
            "to different jobs, and are refused."
        ),
        observable="Whether ranks that were given other addresses can train together.",
    ),
    live(
        name="DMLC_PS_ROOT_PORT",
        type="int",
        default=0,
        low=0,
        high=65535,
        meaning=(
            "The port of MXNet's scheduler. It is handled as DMLC_PS_ROOT_URI is: set "
            "by `minimx launch` and compared between ranks; no process connects to it."
        ),
        observable="Whether ranks that were given other ports can train together.",
    ),
    live(
        name="DMLC_NUM_WORKER",
        type="int",
        default=1,
        low=1,
        meaning=(
            "How many worker processes take part in a distributed run. `minimx launch` "
            "sets it; a job of another number of workers is refused."
        ),
        observable="Whether a job of so many ranks can begin.",
    ),
    live(
        name="DMLC_NUM_SERVER",
        type="int",
        default=1,
        low=0,
        meaning=(
            "How many servers hold the parameters of a distributed run. Large arrays "
            "are split over all of them. `minimx launch -s` sets it, and a job with "
            "another number of server processes is refused. Without such processes it "
            "says how many servers the workers run between them; where it is not set, "
            "each runs one. Synchronous stores use servers only where processes serve."
        ),
        observable="Bytes per server.",
    ),
    live(
        name="DMLC_PS_VAN_TYPE",
        scope="create",
        made="a store",
        type="choice",
        default="zmq",
        choices=("zmq", "p3", "ibverbs", "ucx"),
        meaning=(
            "The transport of MXNet's parameter server. Here the transport is MPI, "
            "which chooses among networks itself; `p3` makes synchronous stores send "
            "sums in slices by priority, as the store `p3` does."
        ),
        observable="The messages of a push, and the order in which they go.",
    ),
    live(
        name="PS_VERBOSE",
        scope="live",
        type="int",
        default=0,
        low=0,
        high=2,
        meaning=(
            "How much the messages between workers and servers are logged: not, the "
            "first to each process, or every one. Lines go to stderr."
        ),
        observable="Log lines per message.",
    ),
    live(
        name="PS_RESEND",
        scope="live",
        type="bool",
        default=False,
        meaning=(
            "Acknowledge messages between workers and servers, and send lost ones "
            "again. MPI loses none, so it is needed only when `PS_DROP_MSG` loses some "
            "on purpose."
        ),
        observable="The number of messages sent again.",
    ),
    live(
        name="PS_RESEND_TIMEOUT",
        scope="live",
        type="int",
        default=1000,
        low=1,
        unit="milliseconds",
        meaning="How long to wait for an acknowledgement before sending again.",
        observable="Time of a step when messages are lost.",
    ),
    live(
        name="PS_DROP_MSG",
        scope="live",
        type="int",
        default=0,
        low=0,
        high=100,
        unit="percent",
        meaning=(
            "The share of arriving messages between workers and servers to lose on "
            "purpose, for trying out recovery. Which ones is the same in each run. "
            "Without `PS_RESEND` a lost message stops the training; after ten seconds "
            "a line in the log says for which answer a worker waits."
        ),
        observable="The number of messages sent again.",
    ),
    live(
        name="PS_HEARTBEAT_INTERVAL",
        scope="live",
        type="int",
        default=0,
        low=0,
        unit="seconds",
        meaning=(
            "How often each process says to all others that it is alive; 0 never. The "
            "thread that talks to MPI does it, from the first store on. MXNet does it "
            "only if this is set. Here processes on several machines do it every 5 "
            "seconds unless it is set, because a machine may vanish without a word."
        ),
        observable="How many heartbeats are sent.",
    ),
    live(
        name="PS_HEARTBEAT_TIMEOUT",
        scope="live",
        type="int",
        default=0,
        low=0,
        unit="seconds",
        meaning=(
            "After how long without any sign of life a process counts as dead, on "
            "whatever machine, and the job ends; 0 never. Processes of one machine are "
            "found dead without it, but not those that hang. Choose several times "
            "`PS_HEARTBEAT_INTERVAL`. Between several machines it is 60 seconds unless "
            "it is set; a program that keeps Python's lock for so long needs more."
        ),
        observable="When the loss of a rank is noticed.",
    ),
)
