"""Knobs of graph passes, kernels and number formats."""

from __future__ import annotations

from functools import partial

from minimx.core.knobs.knob import Knob

GROUP = "graph passes and kernels"

declare = partial(Knob, group=GROUP)
fusion = partial(declare, scope="bind")
passes = partial(declare, scope="bind")
tuning = partial(declare, scope="restart", status="live")

DTYPES = ("float16", "float32", "float64", "int8", "uint8", "int32", "int64")

KNOBS = (
    declare(
        name="MXNET_CPU_PARALLEL_SIZE",
        sources=("env-vars-1.x.md:251", "env-vars-2.0.md:409"),
        type="int",
        default=200_000,
        low=0,
        unit="elements",
        status="live",
        meaning=(
            "From how many elements on a kernel uses several threads. Below, starting "
            "the threads costs more than they save. Of a matrix product, 16 "
            "multiplications count as an element, and so does what it reads and "
            "writes. MXNet promises this for every "
            "operator, but reads it only for copies and for one addition; here every "
            "kernel reads it, pointwise ones and reductions only where operator tuning "
            "is off or this size is set."
        ),
        observable="Whether a kernel of a given size ran serial or parallel.",
    ),
    declare(
        name="MXNET_OPTIMIZER_AGGREGATION_SIZE",
        sources=("env-vars-1.x.md:257", "env-vars-2.0.md:415"),
        type="int",
        default=4,
        low=1,
        high=60,
        unit="weights",
        status="live",
        defaults_by_document={"1.x": "4", "2.0": "4", "1.9.1 LAMB": "45"},
        meaning=(
            "How many weights one call of an update operator changes. A model has many "
            "small weights, and each call has a cost of its own. It acts on optimizers "
            "that can update several weights at once, SGD first of all, and is asked "
            "at every step. MXNet asks when the optimizer is made."
        ),
        observable="Update operations per training step.",
    ),
    declare(
        name="MXNET_ENFORCE_DETERMINISM",
        sources=("env-vars-1.x.md:247", "env-vars-2.0.md:402"),
        type="bool",
        default=False,
        status="live",
        meaning=(
            "Use only algorithms that give the same bits every time. MXNet asks it for "
            "cuDNN convolutions and for max pooling; random seeds are not its "
            "business. Nearly every kernel of minimx cuts its work by shape and adds "
            "in a fixed order, whatever the number of threads. The exception is the "
            "weight gradient of a convolution that is given little workspace: it then "
            "keeps one running sum per thread, unless this knob forbids it; the slower "
            "direct algorithm takes its place."
        ),
        observable="Which algorithm computes a convolution's weight gradient.",
    ),
    fusion(
        name="MXNET_USE_FUSION",
        sources=("env-vars-1.x.md:293", "env-vars-2.0.md:448"),
        type="bool",
        default=True,
        status="live",
        meaning=(
            "Join neighbouring pointwise operators of a graph into one kernel. Each "
            "input is then read once and each output written once, instead of once per "
            "operator. MXNet fuses on GPUs only; minimx generates kernels for every "
            "device. Results are equal to the bit."
        ),
        observable="Kernel launches and bytes moved per call.",
    ),
    fusion(
        name="MINIMX_FUSION_LEAST",
        type="int",
        default=8192,
        low=0,
        unit="elements",
        status="live",
        meaning=(
            "From how many elements on neighbouring pointwise operators are joined. A "
            "loop that no program on this machine has run before is compiled first, "
            "which takes half a second to two; on small arrays the microseconds that "
            "each call saves never pay for that. Results do not depend on it."
        ),
        observable="Nodes of a graph on small arrays.",
    ),
    fusion(
        name="MXNET_FUSION_VERBOSE",
        sources=("env-vars-1.x.md:299",),
        type="bool",
        default=False,
        status="live",
        meaning="Print the source of fused kernels. MXNet 1.6 to 1.9 only.",
        observable="The printed source.",
    ),
    fusion(
        name="MXNET_RTC_VERBOSE",
        sources=("env-vars-2.0.md:454",),
        type="bool",
        default=False,
        status="live",
        meaning=(
            "Print the source of every kernel that is generated while the program "
            "runs, and how long that took. In 2.0 it replaces `MXNET_FUSION_VERBOSE`; "
            "1.9 prints only the time."
        ),
        observable="The printed source.",
    ),
    fusion(
        name="MXNET_RTC_SIZE_WARNING",
        aliases=("MXNET_FUSION_SIZE_WARNING",),
        type="bool",
        default=True,
        status="live",
        meaning=(
            "Warn when 10,000 kernels have been generated, which happens when "
            "shapes keep changing. No document names it, but MXNet reads it, earlier "
            "as MXNET_FUSION_SIZE_WARNING."
        ),
        observable="The warning.",
    ),
    passes(
        name="MXNET_ELIMINATE_COMMON_EXPR",
        sources=("env-vars-1.x.md:304", "env-vars-2.0.md:459"),
        type="bool",
        default=True,
        status="live",
        meaning=(
            "Compute equal parts of a graph once. Two nodes are equal when operator, "
            "settings and inputs are; random operators never are."
        ),
        observable="Nodes of a graph before and after.",
    ),
    passes(
        name="MXNET_NODE_ELIMINATION",
        type="bool",
        default=True,
        status="live",
        meaning=(
            "Remove nodes that change nothing: identities, conversions to what an "
            "array is already, dropout in prediction. What depends on no input is "
            "computed once. No document names it; MXNet 2.0 reads it for a second "
            "search for common expressions after oneDNN's."
        ),
        observable="Nodes of a graph before and after.",
    ),
    passes(
        name="MXNET_SUBGRAPH_BACKEND",
        sources=("env-vars-1.x.md:282",),
        type="str",
        default="NONE",
        defaults_by_document={"1.x": "MKLDNN if built with it, else empty"},
        status="live",
        meaning=(
            "Which backend may replace patterns of a graph by its own operators. NONE "
            "replaces nothing; MINIMX folds batch normalizations, and the activations "
            "that follow, into convolutions; this is for prediction, and rounds "
            "otherwise. ONEDNN, in MXNet 1 MKLDNN, makes a convolution with its "
            "normalization, relu and sum one operator, which needs oneDNN; as regions "
            "it computes them together in any case. ONEDNN_QUANTIZE prepares a graph "
            "for integers of eight bits. MXNet 1.3 to 1.9; in 2.0 `optimize_for` took "
            "its place."
        ),
        observable="Nodes of a graph and time of a prediction.",
    ),
    passes(
        name="MXNET_SUBGRAPH_VERBOSE",
        type="bool",
        default=True,
        status="live",
        meaning=(
            "Print when a subgraph backend is used. No document names it, but MXNet "
            "reads it."
        ),
        observable="A printed line.",
    ),
    tuning(
        name="MXNET_USE_OPERATOR_TUNING",
        aliases=("MXNET_ENABLE_OPERATOR_TUNING",),
        sources=("env-vars-1.x.md:326", "env-vars-2.0.md:488", "env-vars-2.0.md:489"),
        type="words",
        default=("1",),
        choices=("0", "1", *DTYPES),
        meaning=(
            "Whether pointwise operators and reductions measure from which size on "
            "threads pay. 1 does so for all element types, a list such as "
            "float32,float16 for those, 0 for none. A loop is measured when it first "
            "meets a large array; `mx.runtime.operator_tuning()` shows the costs and "
            "the crossing. What is not tuned keeps to `MXNET_CPU_PARALLEL_SIZE`, and "
            "setting that by hand goes before tuning. MXNet measures when it is loaded"
            ", and 0 means all threads always there. One document also calls it "
            "MXNET_ENABLE_OPERATOR_TUNING, which MXNet does not read."
        ),
        observable="How many threads a cheap and a costly loop of one size take.",
    ),
    tuning(
        name="MXNET_USE_NUM_CORES_OPERATOR_TUNING",
        sources=("env-vars-1.x.md:328", "env-vars-2.0.md:495"),
        type="int",
        default=0,
        low=0,
        high=1024,
        default_words="as many as OMP_NUM_THREADS",
        meaning=(
            "How many cores operator tuning reckons with. Give each program its share "
            "when several run on one machine, and tuning takes less time as well; with "
            "1 nothing is cut. MXNet takes half the logical cores by default, so "
            "on two of them it never uses threads."
        ),
        observable="The size from which on threads are used.",
    ),
    tuning(
        name="MXNET_VERBOSE_TUNING_INFO",
        scope="live",
        type="bool",
        default=False,
        meaning=(
            "Print what operator tuning measures: what it has measured already as soon "
            "as this is turned on, the rest as it comes. No document names it, but "
            "MXNet reads it."
        ),
        observable="Nanoseconds per operator, printed.",
    ),
    tuning(
        name="MXNET_OUTPUT_TUNING_DATA",
        scope="live",
        type="bool",
        default=False,
        meaning=(
            "Print the measurements of operator tuning as a table that a program can "
            "read, those that there are already as soon as this is turned on. No "
            "document names it, but MXNet reads it."
        ),
        observable="The printed table.",
    ),
    tuning(
        name="MXNET_TUNING_WEIGHT_SCALE",
        type="float",
        default=0.0,
        low=0.0,
        meaning=(
            "A factor on the measured cost of starting threads, none up to 0.01. MXNet "
            "makes the loop by which it measures that cost so much longer. No document "
            "names it, but MXNet reads it."
        ),
        observable="The size from which on threads are used.",
    ),
    declare(
        name="MXNET_SAFE_ACCUMULATION",
        sources=("env-vars-1.x.md:288", "env-vars-2.0.md:440"),
        type="bool",
        default=False,
        status="live",
        defaults_by_document={"1.x": "0", "2.0": "1"},
        meaning=(
            "Add in a wider type than the inputs have. Without it a float16 softmax "
            "over 70,000 equal values sums to 34 instead of 1. It concerns softmax, "
            "norms and layer normalization; a narrower sum is faster on some devices. "
            "On a CPU the sums of float32 in softmax and layer normalization are in "
            "float64 either way, those of norms if it is on. "
            "1.9.1 has it off, 2.0 on."
        ),
        observable="The sum of a float16 softmax over 70,000 values.",
    ),
    declare(
        name="MXNET_FC_TRUE_FP16",
        sources=("env-vars-2.0.md:467",),
        type="bool",
        default=False,
        status="live",
        meaning=(
            "Add in float16 as well when float16 matrices are multiplied. Faster on "
            "some GPUs, and less exact the longer the rows are: a sum of ones stops at "
            "2048. Meant for prediction. MXNet asks it on GPUs, minimx on every device "
            "and at every product of FullyConnected, dot, batch_dot and matmul."
        ),
        observable="The error of a float16 product against its length.",
    ),
    declare(
        name="MXNET_RNN_USE_WEIGHT_CACHE",
        sources=("env-vars-2.0.md:471",),
        type="bool",
        default=False,
        status="live",
        meaning=(
            "Keep the packed weights of a recurrent layer between predictions without "
            "looking whether they changed. Saves the packing; a weight that is edited "
            "by hand goes unnoticed. It acts on LSTMs that oneDNN computes "
            "(MXNET_USE_ONEDNN_RNN) in hybridized blocks and executors, for as long as "
            "their graph lives; turning it drops the copies. A gluon layer joins its "
            "parameters again for each call, so versions tell nothing: without the "
            "knob the weights are packed each time. An operator called alone keeps "
            "nothing."
        ),
        observable="Time per prediction, and a stale result after an edit.",
    ),
)
