"""Knobs of bulking: how many operations are handed to the engine as one."""

from __future__ import annotations

from functools import partial

from minimx.core.knobs.knob import Knob

GROUP = "bulking"

declare = partial(Knob, group=GROUP)
graphs = partial(declare, scope="bind", status="live")

PUSHES = (
    "How many operations a backward pass pushes to the engine: "
    "`len(record.pushes())` of a `mx.record.Record`."
)

KNOBS = (
    declare(
        name="MXNET_EXEC_BULK_EXEC_TRAIN",
        sources=(
            "env-vars-1.x.md:91",
            "env-vars-2.0.md:161",
            "performance-tips.md:294",
        ),
        type="bool",
        default=True,
        status="live",
        meaning=(
            "Whether operations are joined while training. Joined operations reach the "
            "engine as one: less bookkeeping for each, but all of them wait for all of "
            "their inputs. It acts on the backward pass of recorded code, where a "
            "record keeps a row for what was joined and one for each part, with the "
            "number of the whole in its column `inside`; and on both passes of graphs, "
            "where a joined piece is one bar. MXNet looks at it once, here every pass "
            "does, and every graph that is bound."
        ),
        observable=PUSHES,
    ),
    declare(
        name="MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN",
        sources=(
            "env-vars-1.x.md:94",
            "env-vars-2.0.md:164",
            "performance-tips.md:294",
        ),
        type="int",
        default=15,
        low=0,
        high=100_000,
        unit="operations",
        status="live",
        meaning=(
            "The most operations that are joined into one while training. It is the "
            "default of the two knobs for the forward and the backward pass. Larger "
            "means less overhead and less overlap, of computing with communication "
            "above all; 0 and 1 join nothing."
        ),
        observable=PUSHES,
    ),
    declare(
        name="MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN_FWD",
        sources=("env-vars-1.x.md:97", "env-vars-2.0.md:167"),
        type="int",
        default=15,
        follows="MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN",
        low=0,
        high=100_000,
        unit="operations",
        status="live",
        meaning=(
            "The most operations that are joined into one in the forward pass while "
            "training. Unless set, it is `MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN`. It "
            "acts on graphs, and is the number that `mx.engine.bulk()` takes when "
            "it is given none; a forward pass outside such a block joins nothing."
        ),
        observable=(
            "How many operations a `mx.engine.bulk()` block pushes: "
            "`len(record.pushes())` of a `mx.record.Record`."
        ),
    ),
    declare(
        name="MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN_BWD",
        sources=("env-vars-1.x.md:100", "env-vars-2.0.md:170"),
        type="int",
        default=15,
        follows="MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN",
        low=0,
        high=100_000,
        unit="operations",
        status="live",
        meaning=(
            "The most operations that are joined into one in the backward pass. Unless "
            "set, it is `MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN`. It is a knob of its own "
            "because joined backward operations release their gradients late, and "
            "with them the communication between devices."
        ),
        observable=PUSHES,
    ),
    declare(
        name="MXNET_EXEC_BULK_EXEC_INFERENCE",
        sources=(
            "env-vars-1.x.md:88",
            "env-vars-2.0.md:158",
            "performance-tips.md:294",
        ),
        type="bool",
        default=True,
        scope="bind",
        status="live",
        meaning=(
            "Whether a graph that only predicts runs as one operation of the engine. "
            "That removes the bookkeeping between its nodes, and with it their bars in "
            "the timeline."
        ),
        observable="The number of operations pushed per prediction.",
    ),
    graphs(
        name="MXNET_ENABLE_CUDA_GRAPHS",
        sources=("env-vars-2.0.md:173",),
        type="bool",
        default=False,
        meaning=(
            "Record the kernels of a static graph once and launch the recording "
            "afterwards. The first call runs normally, the second records, later ones "
            "replay and save most of the launch overhead. Needs a graph hybridized "
            "with static_alloc and static_shape, or a bound symbol. Operators that "
            "draw random numbers, visit the host or touch the data and the outputs of "
            "a call stay outside, as does what CUDA refuses. On a CUDA device these "
            "are CUDA graphs, which keep the scratch memory of their kernels; on a "
            "simulated GPU nothing changes but what launches cost on the virtual "
            "clock: 5 µs for each kernel, 10 µs for a recording."
        ),
        observable="Time of the first, second and third call of a static graph.",
    ),
    graphs(
        name="MXNET_CUDA_GRAPHS_VERBOSE",
        sources=("env-vars-2.0.md:177",),
        type="bool",
        default=False,
        meaning=(
            "Print what is recorded and replayed when CUDA graphs are on: the "
            "operators of each graph, and those that had to stay outside, with the "
            "reason."
        ),
        observable="Log lines per recorded graph.",
    ),
    graphs(
        name="MXNET_CUDA_GRAPHS_MAX_LOG_ENTRIES",
        sources=("env-vars-2.0.md:180",),
        type="int",
        default=0,
        low=0,
        unit="lines",
        meaning=(
            "So many graphs are announced as they are recorded, whether or not "
            "`MXNET_CUDA_GRAPHS_VERBOSE` is on."
        ),
        observable="The number of log lines.",
    ),
    graphs(
        name="MXNET_CUDA_GRAPHS_DBG_FILE",
        sources=("env-vars-2.0.md:183",),
        type="path",
        default="",
        meaning=(
            "Prefix of the dot files in which recorded graphs are written, none if "
            "empty. MXNet's page shows a point before the number of the graph in the "
            "file name, its code writes a hyphen; minimx follows the code."
        ),
        observable="One dot file per recorded graph.",
    ),
    graphs(
        name="MXNET_CUDA_GRAPHS_DBG_FILE_FLAGS",
        sources=("env-vars-2.0.md:186",),
        type="int",
        default=-1,
        default_words="everything",
        low=-1,
        meaning=(
            "Which details the dot files of recorded graphs contain, as a sum of bits. "
            "The bits are those of CUDA's own debug print: 4 is the shapes of what "
            "goes in and out, 1024 where it lies, 1 all; unset means all of them."
        ),
        observable="The size of a dot file.",
    ),
)
