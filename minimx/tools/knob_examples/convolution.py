"""Examples of the convolution tuner: which algorithm is chosen."""

from __future__ import annotations

from functools import partial

from minimx.tools.knob_examples import Example
from minimx.tools.knob_examples.needs import OURS, SIMULATED


def chosen(direction: str = "forward", device: str = "cpu") -> str:
    """Which algorithm a layer of 3 by 3 gets, 128 channels of 14 by 14."""
    return f"""\
from minimx.fast.convolution.choosing import decided
from minimx.core.operators.conv import Convolution
op = Convolution.of(kernel=(3, 3), pad=(1, 1), num_filter=128)
way = op.for_device("{device}").choice("{direction}", mx.nd.ones((4, 128, 14, 14)).spec)
print("{direction}:", decided(way).algorithm.name)"""


def library(name: str) -> str:
    """What is said where a library seems to be old."""
    return f"""\
from unittest.mock import patch
from minimx.cuda import toolkit
with patch.object(toolkit, "{name.lower()}_version", lambda: (7, 5)):
    said = toolkit.check_libraries()
print(sum("the {name} library is 7.5" in text for text in said), "warnings")"""


rules = partial(Example, needs=OURS, acts_in="minimx.fast.convolution.tuner.rules_now")
excluded = partial(
    Example, needs=OURS, acts_in="minimx.fast.convolution.choosing.excluded"
)

EXAMPLES = {
    "MXNET_CUDNN_AUTOTUNE_DEFAULT": rules(
        code=chosen(device="gpu"),
        expect={
            "1": "forward: winograd2",
            "2": "forward: winograd4",
        },
    ),
    "MINIMX_CPU_AUTOTUNE": rules(
        code="""\
from minimx.fast.convolution.choosing import decided
from minimx.core.operators.conv import Convolution
conv = Convolution.of(kernel=(3, 3), num_filter=8)
found = conv.choice("forward", mx.nd.ones((2, 8, 10, 10)).spec)
print("chosen by the stopwatch:", decided(found).measured is not None)""",
        expect={
            "0": "chosen by the stopwatch: False",
            "1": "chosen by the stopwatch: True",
        },
    ),
    "MINIMX_CUDNN_INVERTED_LIMIT": rules(
        code="""\
from minimx.fast.convolution.choosing import decided
from minimx.core.operators.conv import Convolution
conv = Convolution.of(kernel=(3, 3), num_filter=128, workspace=1)
found = conv.for_device("gpu").choice("forward", mx.nd.ones((4, 128, 14, 14)).spec)
print("forward:", decided(found).algorithm.name)""",
        expect={
            "0": "forward: direct",
            "1": "forward: winograd2",
        },
    ),
    "MXNET_CUDNN_HEUR_MODE": rules(
        code="""\
from minimx.fast.convolution.choosing import decided
from minimx.core.operators.conv import Convolution
conv = Convolution.of(kernel=(3, 3), stride=(2, 2), num_filter=128, num_group=128)
found = conv.choice("forward", mx.nd.ones((1, 128, 14, 14)).spec)
print("forward:", decided(found).algorithm.name)""",
        expect={
            "1": "forward: direct",
            "0": "forward: mec",
        },
    ),
    "MXNET_CUDNN_ALGO_VERBOSE_LEVEL": Example(
        acts_in="minimx.fast.convolution.tuner._announce",
        code="""\
import contextlib, io
x, w = mx.nd.ones((4, 8, 9, 9)), mx.nd.ones((8, 8, 3, 3))
with contextlib.redirect_stdout(io.StringIO()) as said:
    mx.nd.Convolution(x, w, kernel=(3, 3), num_filter=8, no_bias=True).asnumpy()
print(len(said.getvalue().splitlines()), "lines")""",
        expect={
            "0": "0 lines",
            "1": "2 lines",
            "2": "8 lines",
        },
    ),
    "MXNET_CUDA_ALLOW_TENSOR_CORE": Example(
        acts_in="minimx.core.ops.devices.on_tensor_cores",
        reads="KNOBS",
        needs=SIMULATED,
        code="""\
x = mx.nd.ones((512, 512), ctx=mx.gpu(), dtype="float16")
with mx.knobs(MINIMX_CLOCK="virtual"), mx.Record() as seen:
    mx.nd.dot(x, x).wait_to_read()
print(seen.ops()["t_end"] - seen.ops()["t_start"], "ns")""",
        expect={
            "1": "[11711] ns",
            "0": "[58687] ns",
        },
    ),
    "MXNET_CUDA_TENSOR_OP_MATH_ALLOW_CONVERSION": Example(
        acts_in="minimx.core.ops.devices.on_tensor_cores",
        reads="KNOBS",
        needs=SIMULATED,
        code="""\
x = mx.nd.full((8, 8), 0.1, ctx=mx.gpu())
print("8 × 0.1 × 0.1 =", round(float(mx.nd.dot(x, x)[0, 0].asscalar()), 6))""",
        expect={
            "0": "8 × 0.1 × 0.1 = 0.08",
            "1": "8 × 0.1 × 0.1 = 0.079961",
        },
    ),
    "MXNET_CUDNN_ALLOW_REDUCED_PRECISION_REDUCTION": excluded(
        reads="reduced",
        code="""\
from minimx.core.operators.conv import Convolution
conv = Convolution.of(kernel=(3, 3), pad=(1, 1), num_filter=128)
x = mx.nd.ones((4, 128, 14, 14), dtype="float16")
found = {one.algorithm.name: one for one in conv.choice("forward", x.spec)}
print("against `sliced`:", found["sliced"].excluded or "nothing")""",
        expect={
            "1": "against `sliced`: nothing",
            "0": "against `sliced`: MXNET_CUDNN_ALLOW_REDUCED_PRECISION_REDUCTION=0",
        },
    ),
    "MXNET_CUDNN_ALLOW_FFT": excluded(
        reads="fft",
        code="""\
from minimx.core.operators.conv import Convolution
conv = Convolution.of(kernel=(11, 11), pad=(5, 5), num_filter=128).for_device("gpu")
with mx.knobs(MXNET_CUDNN_AUTOTUNE_DEFAULT=2):
    found = conv.choice("forward", mx.nd.ones((4, 128, 14, 14)).spec)
print("forward:", next(x.algorithm.name for x in found if not x.excluded))""",
        expect={
            "1": "forward: fft",
            "0": "forward: im2col",
        },
    ),
    "MXNET_CUDNN_ALLOW_WINOGRAD": excluded(
        reads="winograd",
        code=chosen(),
        expect={
            "1": "forward: winograd2",
            "0": "forward: mec",
        },
    ),
    "MXNET_CUDNN_DISABLED_CONV_FWD_ENGINES": rules(
        reads="DISABLED",
        code=chosen(),
        expect={
            "": "forward: winograd2",
            "4": "forward: mec",
        },
    ),
    "MXNET_CUDNN_DISABLED_CONV_DGRAD_ENGINES": rules(
        reads="DISABLED",
        code=chosen("data"),
        expect={
            "": "data: winograd2",
            "4": "data: mec",
        },
    ),
    "MXNET_CUDNN_DISABLED_CONV_WGRAD_ENGINES": rules(
        reads="DISABLED",
        code=chosen("weight"),
        expect={
            "": "weight: winograd2",
            "4": "weight: mec",
        },
    ),
    "MXNET_CUDA_LIB_CHECKING": Example(
        acts_in="minimx.cuda.toolkit.check_libraries",
        code=library("CUDA"),
        expect={"1": "1 warnings", "0": "0 warnings"},
    ),
    "MXNET_CUDNN_LIB_CHECKING": Example(
        acts_in="minimx.cuda.toolkit.check_libraries",
        code=library("CUDNN"),
        expect={"1": "1 warnings", "0": "0 warnings"},
    ),
}
