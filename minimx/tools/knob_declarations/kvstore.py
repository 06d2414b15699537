"""Knobs of the kvstore: how gradients meet, inside one process."""

from __future__ import annotations

from functools import partial

from minimx.core.knobs.knob import Knob

GROUP = "kvstore"

declare = partial(Knob, group=GROUP, scope="restart", planned_in="kvstore")
live = partial(Knob, group=GROUP, scope="live", status="live")

KNOBS = (
    live(
        name="MXNET_KVSTORE_REDUCTION_NTHREADS",
        sources=(
            "env-vars-0.x.md:42",
            "env-vars-1.x.md:106",
            "env-vars-2.0.md:192",
        ),
        type="int",
        default=4,
        low=1,
        high=256,
        meaning=(
            "Threads that add up one large array on the host. Used by stores that "
            "reduce in host memory, such as `local`; sums on GPUs and on servers are "
            "not concerned. Smaller arrays than MXNET_KVSTORE_BIGARRAY_BOUND take one "
            "thread. MXNet reads it when a store is made, minimx at each push."
        ),
        observable="Milliseconds to add eight arrays of 4 million floats for 1, 2, 4.",
    ),
    live(
        name="MXNET_KVSTORE_BIGARRAY_BOUND",
        sources=(
            "env-vars-0.x.md:44",
            "env-vars-1.x.md:113",
            "env-vars-2.0.md:199",
        ),
        type="int",
        default=1_000_000,
        low=1,
        unit="elements",
        defaults_by_document={"0.x": "1e6", "1.x": "1000000", "2.0": "1000000"},
        meaning=(
            "From how many elements on an array counts as large. A large array is "
            "added by several threads, and is split over all servers of a distributed "
            "store; a small one lives on one server, which the documents call random "
            "and MXNet computes from the key. The oldest page writes 1e6, a form that "
            "MXNet refuses."
        ),
        observable="Time of a reduction around the bound; bytes per server.",
    ),
    live(
        name="MXNET_KVSTORE_USETREE",
        sources=(
            "env-vars-1.x.md:119",
            "env-vars-2.0.md:205",
        ),
        type="bool",
        default=False,
        meaning=(
            "Add gradients along trees that follow the links between GPUs. A flat sum "
            "sends everything through one GPU; trees share the load and help most with "
            "small batches. Here it acts in stores of type `device`, at the next "
            "push, where each value is on a GPU of its own; in MXNet when a store is "
            "made."
        ),
        observable="Bytes per link and time of a reduction, flat against tree.",
    ),
    live(
        name="MXNET_KVSTORE_LOGTREE",
        sources=(
            "env-vars-1.x.md:125",
            "env-vars-2.0.md:211",
        ),
        type="bool",
        default=False,
        meaning=(
            "Print the link matrix and the reduction trees that were found. A store "
            "prints at the first push that plans them."
        ),
        observable="Trees in the log.",
    ),
    live(
        name="MXNET_KVSTORE_TREE_ARRAY_BOUND",
        sources=(
            "env-vars-1.x.md:129",
            "env-vars-2.0.md:215",
        ),
        type="int",
        default=10_000_000,
        low=1,
        unit="elements",
        meaning=(
            "From how many elements on one gradient is cut into slices, one per GPU, "
            "each with a tree of its own. That fills more links at the same time. Only "
            "with `MXNET_KVSTORE_USETREE`."
        ),
        observable="The load of the busiest link below and above the bound.",
    ),
    live(
        name="MXNET_KVSTORE_TREE_BACKTRACK",
        sources=(
            "env-vars-1.x.md:135",
            "env-vars-2.0.md:221",
        ),
        type="bool",
        default=False,
        meaning=(
            "Search trees by trying everything instead of by the Kernighan-Lin "
            "heuristic. Exhaustive search finds the heaviest trees and becomes slow "
            "beyond eight devices. Only with `MXNET_KVSTORE_USETREE`."
        ),
        observable="Total link weight of the trees, and the time to find them.",
    ),
    live(
        name="MXNET_KVSTORE_TREE_LINK_USAGE_PENALTY",
        sources=(
            "env-vars-1.x.md:140",
            "env-vars-2.0.md:226",
        ),
        type="float",
        default=0.7,
        low=0.0,
        high=1.0,
        meaning=(
            "By how much a link loses weight each time a tree uses it. With 1 all "
            "trees crowd on the best links; with smaller values later trees take "
            "others."
        ),
        observable="How often each link is used, for 1.0, 0.7 and 0.1.",
    ),
    declare(
        name="MXNET_ENABLE_GPU_P2P",
        sources=(
            "env-vars-0.x.md:47",
            "env-vars-1.x.md:144",
            "env-vars-2.0.md:230",
        ),
        type="bool",
        default=True,
        status="live",
        planned_in="",
        meaning=(
            "Let GPUs copy to each other directly where the machine can. Otherwise "
            "every copy goes through pinned memory of the host: two copies, twice the "
            "bytes. CUDA says which of its devices can; simulated GPUs are joined as "
            "`MINIMX_SIM_LINKS` says. Pairs without a link go through the host in any "
            "case. In MXNet the tree variant does not ask this knob."
        ),
        observable="Operations, bytes and time of a copy between two GPUs.",
    ),
    declare(
        name="MXNET_UPDATE_ON_KVSTORE",
        scope="create",
        made="a Trainer or Module",
        status="live",
        planned_in="",
        sources=(
            "env-vars-1.x.md:148",
            "env-vars-2.0.md:235",
        ),
        type="bool",
        default=True,
        meaning=(
            "Run the optimizer where the gradients meet instead of on every device. "
            "Then weights travel back, not gradients. An explicit argument of Trainer "
            "wins, and mixed precision needs 0, because it must be able to skip a "
            "step. A Trainer looks at its first step, and again when its parameters "
            "move to other devices; a Module in init_optimizer."
        ),
        observable="Updates per step: one per parameter, or one per device as well.",
    ),
    live(
        name="MXNET_KVSTORE_SERIAL_PUSH",
        type="bool",
        default=False,
        meaning=(
            "Add row-sparse gradients on the host in one thread. Otherwise as many as "
            "MXNET_KVSTORE_REDUCTION_NTHREADS share the rows of each of them; sums are "
            "the same to the bit. No document names it, but MXNet reads it, when a "
            "store is made."
        ),
        observable="Threads, and time to add gradients with many rows.",
    ),
    live(
        name="MXNET_UPDATE_AGGREGATION_SIZE",
        type="int",
        default=16,
        low=1,
        unit="keys",
        meaning=(
            "How many keys one call of the store `nccl` carries. Keys of one call are "
            "of one dtype and on the same GPUs; MXNET_KVSTORE_REDUCE_BUCKET_SIZE, "
            "where it is set, decides by bytes instead. No document names it, but "
            "MXNet's Module reads it at each update on that store. Here a "
            "Trainer, and a push of several keys, share calls as well."
        ),
        observable="Communication calls per step.",
    ),
    live(
        name="MXNET_KVSTORE_REDUCE_BUCKET_SIZE",
        sources=("troubleshooting-guide.md:69",),
        type="int",
        default=0,
        low=0,
        unit="KiB",
        meaning=(
            "Collect small gradients into buckets of this size and send a bucket as "
            "one message, unless 0. Gradients of one dtype and the same devices share "
            "a bucket, which is as urgent as its most urgent key; sums stay the same "
            "to the bit, except on the ring of `nccl`. It acts in each step of a "
            "Trainer or Module whose optimizer runs on every device, within one "
            "process and without compression; on `nccl` also where the store updates. "
            "The troubleshooting guide sets it to 2048, but no version of MXNet has "
            "ever had it. It is an extension of minimx, with the meaning that the "
            "guide's text suggests."
        ),
        observable="Copies between devices per training step.",
    ),
)
