"""Knobs of the oneDNN backend, called MKL-DNN before MXNet 2.0."""

from __future__ import annotations

from functools import partial

from minimx.core.knobs.knob import Knob

GROUP = "oneDNN"

declare = partial(Knob, group=GROUP, planned_in="oneDNN backend")

KNOBS = (
    declare(
        name="MXNET_ONEDNN_ENABLED",
        aliases=("MXNET_MKLDNN_ENABLED",),
        sources=(
            "env-vars-1.x.md:238",
            "env-vars-2.0.md:389",
        ),
        type="bool",
        default=True,
        planned_in="",
        status="live",
        meaning=(
            "Let oneDNN compute convolutions where it is installed (`pip install "
            "'minimx[onednn]'`). Off, the readable kernels do all the work. It is one "
            "of the algorithms that are chosen among. Graphs for prediction on the CPU "
            "give it more: what follows a convolution, dense layers, pooling and joins "
            "between them, so that images stay in its own layouts, as do copies of the "
            "weights, which take their bytes once more; and LSTMs, see "
            "MXNET_USE_ONEDNN_RNN. Where the processor has an instruction for bfloat16 "
            "(AVX512-BF16, AMX; `minimx doctor` tells), convolutions and matrix "
            "products of that type go to it as they "
            "are; elsewhere they are widened to float32. MXNet decides once per "
            "process. Called MXNET_MKLDNN_ENABLED in 1.x."
        ),
        observable="Time of a convolution, and its largest difference.",
    ),
    declare(
        name="MXNET_ONEDNN_CACHE_NUM",
        aliases=("MXNET_MKLDNN_CACHE_NUM",),
        sources=(
            "env-vars-1.x.md:243",
            "env-vars-2.0.md:394",
        ),
        type="int",
        default=-1,
        low=-1,
        unit="primitives",
        planned_in="",
        status="live",
        meaning=(
            "How many prepared oneDNN primitives are kept; -1 keeps all, 0 none. There "
            "is one for each direction of a layer and each input shape; what a graph "
            "for prediction leaves to oneDNN as a whole counts as one. So set it when "
            "shapes keep changing: what is kept takes memory, what is not is prepared "
            "again, which takes about a millisecond. A smaller number drops at once "
            "what is too many, the longest unused first; so with fewer places than a "
            "step has primitives none is ever found again. MXNet drops an arbitrary "
            "one. `mx.runtime.onednn_primitives()` counts. Called "
            "MXNET_MKLDNN_CACHE_NUM in 1.x."
        ),
        observable="Primitives made for five shapes with 2 and with -1.",
    ),
    declare(
        name="MXNET_ONEDNN_FORCE_FC_AB_FORMAT",
        aliases=("MXNET_MKLDNN_FORCE_FC_AB_FORMAT",),
        sources=("env-vars-2.0.md:398",),
        type="bool",
        default=False,
        planned_in="",
        status="live",
        meaning=(
            "Let oneDNN read the weights of fully connected layers in plain row order "
            '("AB"). Off, graphs for prediction keep a second copy of each, packed as '
            "the fastest product of the processor wants it. On, there is no copy, and "
            "most products take longer. It acts where oneDNN is installed, on layers "
            "of 2**18 multiplications and more. In MXNet the packed copy takes the "
            "place of the weights, and only on processors with AVX512-VNNI."
        ),
        observable="Memory of the packed copies, and time of the layer.",
    ),
    declare(
        name="MXNET_USE_ONEDNN_RNN",
        aliases=("MXNET_USE_MKLDNN_RNN",),
        sources=(
            "env-vars-1.x.md:308",
            "env-vars-2.0.md:463",
        ),
        type="bool",
        default=True,
        planned_in="",
        status="live",
        meaning=(
            "Let oneDNN compute LSTM layers as a whole, where it is installed. Off, "
            "they run step by step, by the readable kernels. It acts on predictions in "
            "float32 of 4 samples and more, without projection, bounds of the cell or "
            "lengths of their own; all else, training too, runs step by step anyway. "
            "In MXNet it acts on training and on all kinds of cells as well, and its "
            "page calls the other way more stable in the backward pass. Called "
            "MXNET_USE_MKLDNN_RNN in 1.x."
        ),
        observable="Time per sequence.",
    ),
)
