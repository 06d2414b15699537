"""Knobs of memory planning: what shares a buffer, and what is computed again."""

from __future__ import annotations

from functools import partial

from minimx.core.knobs.knob import Knob

GROUP = "memory planning"

declare = partial(Knob, group=GROUP)
planner = partial(declare, scope="bind")
mirror = partial(declare, scope="bind", status="live")
workspaces = partial(declare, scope="restart", status="live", low=1)

KNOBS = (
    planner(
        name="MXNET_EXEC_ENABLE_INPLACE",
        sources=("env-vars-0.x.md:19", "env-vars-1.x.md:39", "env-vars-2.0.md:71"),
        type="bool",
        default=True,
        status="live",
        meaning=(
            "Let an operator write its result over an input that no other one needs. "
            "All three generations of the page list it, but MXNet has not read it "
            "since 0.9: in-place sharing is always on there. minimx does what the page "
            "says."
        ),
        observable="Planned megabytes of a graph with and without it.",
    ),
    planner(
        name="NNVM_EXEC_MATCH_RANGE",
        aliases=("MXNET_EXEC_MATCH_RANGE",),
        sources=("env-vars-0.x.md:21", "env-vars-1.x.md:42", "env-vars-2.0.md:74"),
        type="int",
        default=16,
        low=0,
        defaults_by_document={"0.x": "10", "1.x": "16", "2.0": "16"},
        status="live",
        meaning=(
            "How different in size a free buffer may be from the result it is offered "
            "to, as a factor up or down; 0 shares no buffers at all. Larger is not "
            "always better: a branching graph that needs 108 MB at 16 needs 62 MB at "
            "2. The documents say that all values up to this one are tried; MXNet "
            "tries only powers of two, and only when asked by "
            "`NNVM_AUTO_SEARCH_MATCH_RANGE` or `MXNET_MEMORY_OPT`. Until 0.8 it was "
            "called MXNET_EXEC_MATCH_RANGE."
        ),
        observable="Planned megabytes of a branching graph for 0, 1, 2, 4 and 16.",
    ),
    planner(
        name="NNVM_AUTO_SEARCH_MATCH_RANGE",
        type="bool",
        default=False,
        status="live",
        meaning=(
            "Plan with 1, 2, 4 and so on up to the match range and keep the smallest "
            "plan. No document names it, but MXNet reads it."
        ),
        observable="The chosen range and the planned megabytes of every candidate.",
    ),
    planner(
        name="MXNET_EXEC_NUM_TEMP",
        sources=("env-vars-0.x.md:24", "env-vars-1.x.md:47", "env-vars-2.0.md:79"),
        type="int",
        default=1,
        low=1,
        status="live",
        meaning=(
            "The most workspaces per device, and with them how many branches of a "
            "graph are kept apart so that they can run at the same time. Fewer save "
            "memory and cost parallelism. Alive in MXNet only until 0.8, where the "
            "smaller of this and `MXNET_GPU_WORKER_NTHREADS` counted; later pages list "
            "it, but nothing reads it. minimx does what 0.8 did."
        ),
        observable="Number of workspaces, planned megabytes, and overlap of branches.",
    ),
    planner(
        name="NNVM_EXEC_NUM_TEMP",
        type="int",
        default=1,
        low=1,
        status="live",
        meaning=(
            "Into how many colours the graph is divided; results of different colours "
            "never share a buffer. More colours cost memory (108, 128, 156 and 168 MB "
            "for 1, 2, 4 and 8 on a branching graph) and allow more to run at once. "
            "No document names it, but MXNet reads it."
        ),
        observable="Planned megabytes of a branching graph for 1, 2, 4 and 8.",
    ),
    planner(
        name="MXNET_EXEC_INPLACE_GRAD_SUM_CAP",
        type="int",
        default=8,
        low=1,
        status="live",
        meaning=(
            "From how many gradients on they are added one after the other into one "
            "buffer. Fewer are added by one operator that needs all of them alive. No "
            "document names it, but MXNet reads it. float16 is always added at once, "
            "in single precision, so that the knob changes no bit."
        ),
        observable="Live buffers for a result that is used 4, 8 and 16 times.",
    ),
    planner(
        name="MXNET_MEMORY_OPT",
        sources=("env-vars-2.0.md:254",),
        type="int",
        default=0,
        low=0,
        high=1,
        status="live",
        meaning=(
            "Spend planning time on memory. At 1 the planner tries several match "
            "ranges, as with `NNVM_AUTO_SEARCH_MATCH_RANGE`. In MXNet activations then "
            "also keep one tensor for their backward pass instead of two; here they "
            "never keep more than one. MXNet 2.0 only."
        ),
        observable="The chosen range and the planned megabytes of every candidate.",
    ),
    planner(
        name="MXNET_MEM_PLAN_VERBOSE_LOGGING",
        type="bool",
        default=False,
        status="live",
        meaning=(
            "Print the memory plan of every graph: for each node the buffer, its size, "
            "and whether it was taken over in place. No document names it, but MXNet "
            "reads it."
        ),
        observable="A table from node to buffer.",
    ),
    mirror(
        name="MXNET_BACKWARD_DO_MIRROR",
        sources=("env-vars-0.x.md:53", "env-vars-1.x.md:155", "env-vars-2.0.md:246"),
        type="bool",
        default=False,
        meaning=(
            "Throw cheap results of the forward pass away and compute them again in "
            "the backward pass. The documents promise 30 to 50 percent less memory at "
            "95 percent of the speed. In MXNet 1.9.1 it saves nothing on ordinary "
            "networks, because convolutions still read the original inputs, and Gluon "
            "never looks at it. minimx hands the recomputed values on, in Gluon as in "
            "Symbol, so that it saves what it promises; `MINIMX_MIRROR` chooses the "
            "policy, MXNet's variant among them."
        ),
        observable="Peak megabytes and time of a training step.",
    ),
    mirror(
        name="MXNET_BACKWARD_MIRROR_STEP",
        type="int",
        default=100,
        low=1,
        meaning=(
            "Keep every n-th result that mirroring would throw away. The kept ones are "
            "checkpoints from which the others are computed. Memory over n is a curve "
            "with its lowest point near the square root of the depth. MXNet read it "
            "until 0.8; no document names it."
        ),
        observable="Peak megabytes against the step.",
    ),
    mirror(
        name="MINIMX_MIRROR",
        type="choice",
        default="remap",
        choices=("remap", "1.x", "echo", "auto", "segments", "sqrt", "best"),
        meaning=(
            "Which policy MXNET_BACKWARD_DO_MIRROR switches on. `remap` is MXNet's "
            "rule: all but convolutions, FullyConnected, Concat and SoftmaxOutput is "
            "computed again, and all gradients read that. `1.x` is the rule as it was "
            "up to 1.9, where the expensive operators kept their inputs anyway. "
            "`echo` computes only what takes more than what it is computed from. "
            "`segments` keeps checkpoints between cheap operators, placed for the "
            "lowest peak; `best` does so between all operators, for less memory and "
            "a second forward pass, and moves them for as long as the planner needs "
            "less; `sqrt` is memonger's search for such a plan. "
            "`auto` compares all these and takes the least memory for 15 percent more "
            "work, which takes seconds for a large network."
        ),
        observable="Peak megabytes and time of a training step.",
    ),
    workspaces(
        name="MXNET_CPU_TEMP_COPY",
        sources=("env-vars-1.x.md:262", "env-vars-2.0.md:420"),
        type="int",
        default=4,
        meaning=(
            "How many scratch buffers the graphs on the CPU share. Each graph takes "
            "the next one; operators that have the same buffer run one after the "
            "other. More buffers allow more overlap and hold more memory; they grow "
            "and never shrink. Operators called by hand ask the pool for scratch "
            "memory instead."
        ),
        observable="Two convolutions at once: total time and megabytes for 1, 2 and 4.",
    ),
    workspaces(
        name="MXNET_GPU_TEMP_COPY",
        sources=("env-vars-1.x.md:266", "env-vars-2.0.md:424"),
        type="int",
        default=1,
        meaning=(
            "How many scratch buffers the graphs on each GPU share. Operators that "
            "have the same buffer run one after the other."
        ),
        observable="Two convolutions at once: total time and megabytes for 1, 2 and 4.",
    ),
    workspaces(
        name="MXNET_CPU_PARALLEL_RAND_COPY",
        sources=("env-vars-1.x.md:270", "env-vars-2.0.md:428"),
        type="int",
        default=1,
        meaning=(
            "How many parallel random generators the CPU has. Samplers take them in "
            "turn, so another number gives other random values for the same seed. "
            "Operators that have different ones may run at the same time."
        ),
        observable="The numbers drawn after one seed, for 1 and 2.",
    ),
    workspaces(
        name="MXNET_GPU_PARALLEL_RAND_COPY",
        sources=("env-vars-1.x.md:274", "env-vars-2.0.md:432"),
        type="int",
        default=4,
        defaults_by_document={"1.x": "4", "2.0": "4", "2.0 code": "1"},
        meaning=(
            "How many parallel random generators each GPU has. Samplers take them in "
            "turn, so another number gives other random values for the same seed. The "
            "documents say 4; the code of 2.0 says 1."
        ),
        observable="The numbers drawn after one seed, for 1 and 4.",
    ),
    workspaces(
        name="MXNET_GPU_CUDNN_DROPOUT_STATE_COPY",
        sources=("env-vars-1.x.md:278", "env-vars-2.0.md:436"),
        type="int",
        default=4,
        defaults_by_document={"1.x": "4", "2.0": "4", "2.0 code": "1"},
        meaning=(
            "How many random states the dropout layers of a GPU share. Layers that got "
            "the same state run one after the other."
        ),
        observable="Overlap of two dropout layers in parallel branches.",
    ),
)
