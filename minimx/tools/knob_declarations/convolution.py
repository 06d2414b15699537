"""Knobs of the convolution tuner and of the GPU libraries it stands for."""

from __future__ import annotations

from functools import partial

from minimx.core.knobs.knob import Knob

GROUP = "convolution and GPU libraries"

declare = partial(Knob, group=GROUP, status="live")

KNOBS = (
    declare(
        name="MXNET_CUDNN_AUTOTUNE_DEFAULT",
        sources=(
            "env-vars-0.x.md:60",
            "env-vars-1.x.md:201",
            "env-vars-2.0.md:306",
            "performance-tips.md:144",
        ),
        type="int",
        default=1,
        low=0,
        high=2,
        defaults_by_document={"0.x": "0", "1.x": "1", "2.0": "1"},
        meaning=(
            "How convolution layers choose their algorithm. 0 takes the first that the "
            "heuristic offers, 1 times those that fit into the layer's workspace, 2 "
            "times all of them. A layer's own `cudnn_tune` wins. As in MXNet the knob "
            "is for GPUs. A simulated GPU has no speed of its own: a model of cost, "
            "the same in every run, stands for the stopwatch. With 1 it keeps to "
            "algorithms about as exact as the plain sum, and so to the bits of the "
            "CPU; with 2 it takes the fastest. `MINIMX_CPU_AUTOTUNE` or `cudnn_tune` "
            "make it measure, and the CPU as well, which otherwise goes by the "
            "heuristic; times are kept by shape as long as the process lives. In "
            "MXNet 1.5 to 1.9 the workspace test of Convolution is inverted: see "
            "`MINIMX_CUDNN_INVERTED_LIMIT`."
        ),
        observable="Time of the first call and of later calls; megabytes of workspace.",
    ),
    declare(
        name="MINIMX_CPU_AUTOTUNE",
        type="bool",
        default=False,
        meaning=(
            "Let `MXNET_CUDNN_AUTOTUNE_DEFAULT` really time what this processor "
            "computes: the convolutions of the CPU and of simulated GPUs. On, layers "
            "get the fastest algorithm, and results whose last digits depend on which "
            "one won. Off, the same algorithm is taken in every run: on the CPU what "
            "the heuristic says, on a simulated GPU what the model of cost says."
        ),
        observable="Algorithms timed when a layer is first called.",
    ),
    declare(
        name="MINIMX_CUDNN_INVERTED_LIMIT",
        type="bool",
        default=False,
        meaning=(
            "Test the workspace of a convolution as MXNet 1.5 to 1.9 does. The limit "
            "then counts where nothing is timed and for `fastest`, and is ignored for "
            "`limited_workspace`. Off, the documents are right."
        ),
        observable="The workspace that a tuned convolution takes.",
    ),
    declare(
        name="MXNET_CUDNN_HEUR_MODE",
        sources=("env-vars-2.0.md:314",),
        type="int",
        default=1,
        low=0,
        high=1,
        defaults_by_document={"2.0": "1 from cuDNN 8.1 on, 0 before"},
        meaning=(
            "How candidates are ordered before any is timed. 0 is a fixed decision "
            "rule, 1 a model of cost fitted to measurements, which copes better with "
            "unusual shapes. Both are pure functions of the shapes. Both put "
            "algorithms that round much worse than a plain sum (Winograd's tiles of 4 "
            "by 4, FFT, float16 sums) last: only timing brings those to the front."
        ),
        observable="How often the first candidate is also the fastest.",
    ),
    declare(
        name="MXNET_CUDNN_ALGO_VERBOSE_LEVEL",
        sources=("env-vars-2.0.md:320",),
        type="int",
        default=0,
        low=0,
        high=2,
        meaning=(
            "How much to print about the choice of algorithm. 1 prints the chosen one "
            "with its workspace and its numerical notes, 2 prints all candidates with "
            "their times and a star at the chosen one. Notes: w Winograd, fft, rp sums "
            "of reduced precision, nd not deterministic. Printed once for each shape."
        ),
        observable="Lines per convolution layer.",
    ),
    declare(
        name="MXNET_CUDA_ALLOW_TENSOR_CORE",
        sources=(
            "env-vars-1.x.md:209",
            "env-vars-2.0.md:331",
        ),
        type="bool",
        default=True,
        meaning=(
            "Allow GPUs to multiply matrices of float16 on units of their own, tensor "
            "cores, which are several times as fast. MXNet can change it only once per "
            "process. Simulated GPUs say in their costs what such units do in a "
            "second, and on the virtual clock float16 products take as long."
        ),
        observable="The time of a float16 product on the virtual clock.",
    ),
    declare(
        name="MXNET_CUDA_TENSOR_OP_MATH_ALLOW_CONVERSION",
        sources=(
            "env-vars-1.x.md:215",
            "env-vars-2.0.md:338",
        ),
        type="bool",
        default=False,
        meaning=(
            "Let float32 inputs of convolutions, products and recurrent layers be "
            "rounded to float16 on GPUs, so that tensor cores can take them. Only with "
            "`MXNET_CUDA_ALLOW_TENSOR_CORE`. Sums stay in float32. Here simulated GPUs "
            "round; on a real one it is left to its libraries."
        ),
        observable="The error of a float32 convolution on a GPU.",
    ),
    declare(
        name="MXNET_CUDNN_ALLOW_REDUCED_PRECISION_REDUCTION",
        sources=("env-vars-2.0.md:344",),
        type="bool",
        default=True,
        meaning=(
            "Allow algorithms that add in a narrower type than they multiply. Off, "
            "they are no candidates. Here that is `sliced`, for arrays of float16: it "
            "rounds its sums to float16 up to 8 times. It needs a workspace, which "
            "`direct` does not, and is no candidate where there are groups."
        ),
        observable="The chosen algorithm and its error.",
    ),
    declare(
        name="MXNET_CUDNN_ALLOW_FFT",
        sources=("env-vars-2.0.md:349",),
        type="bool",
        default=True,
        meaning=(
            "Allow convolution by Fourier transform. It pays for large windows, needs "
            "much workspace, and rounds differently. Windows of 11 by 11 over images "
            "of 14 by 14 with 128 channels take it on a simulated GPU that tunes "
            "without a limit; windows that are small hardly ever do."
        ),
        observable="The chosen algorithm for windows of 3 by 3 and 11 by 11.",
    ),
    declare(
        name="MXNET_CUDNN_ALLOW_WINOGRAD",
        sources=("env-vars-2.0.md:354",),
        type="bool",
        default=True,
        meaning=(
            "Allow Winograd's convolution, which trades multiplications for additions. "
            "Fast for windows of 3 by 3, with a slightly larger rounding error."
        ),
        observable="The chosen algorithm and the largest error.",
    ),
    declare(
        name="MXNET_CUDNN_DISABLED_CONV_FWD_ENGINES",
        sources=("env-vars-2.0.md:359",),
        type="intlist",
        default=(),
        low=0,
        meaning=(
            "Numbers of algorithms that the forward convolution must not use. The "
            "verbose level prints the numbers."
        ),
        observable="The chosen algorithm after the winner was disabled.",
    ),
    declare(
        name="MXNET_CUDNN_DISABLED_CONV_DGRAD_ENGINES",
        sources=("env-vars-2.0.md:363",),
        type="intlist",
        default=(),
        low=0,
        meaning="Numbers of algorithms that the data gradient must not use.",
        observable="The chosen algorithm after the winner was disabled.",
    ),
    declare(
        name="MXNET_CUDNN_DISABLED_CONV_WGRAD_ENGINES",
        sources=("env-vars-2.0.md:367",),
        type="intlist",
        default=(),
        low=0,
        meaning="Numbers of algorithms that the weight gradient must not use.",
        observable="The chosen algorithm after the winner was disabled.",
    ),
    declare(
        name="MXNET_CUDA_LIB_CHECKING",
        sources=(
            "env-vars-1.x.md:220",
            "env-vars-2.0.md:371",
        ),
        type="bool",
        default=True,
        meaning=(
            "Warn, when a CUDA device is opened, of a CUDA library that is older than "
            "the one that minimx needs, or newer than the driver knows. MXNet compares "
            "it with the one that it was built against."
        ),
        observable="A warning when an old version is pretended.",
    ),
    declare(
        name="MXNET_CUDNN_LIB_CHECKING",
        sources=(
            "env-vars-1.x.md:225",
            "env-vars-2.0.md:376",
        ),
        type="bool",
        default=True,
        meaning=(
            "Warn, when a CUDA device is opened, of a cuDNN library that is older than "
            "8.0. minimx does not call it: convolutions are its own kernels."
        ),
        observable="A warning when an old version is pretended.",
    ),
)
