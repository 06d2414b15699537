"""Layers of networks: convolution, pooling, normalization, softmax."""

from __future__ import annotations

from functools import partial
from math import prod
from typing import Any

import numpy as np

from minimx.core.dtypes import INT64, resolve
from minimx.onnx.writing.values import TRANSLATIONS, Call, Value, translates

# -- windows over images ---------------------------------------------------------------


def _each(given: tuple[int, ...], axes: int, default: int) -> tuple[int, ...]:
    """A number for each image axis; () means the default for all."""
    return given or (default,) * axes


def _channels_second(at: Call) -> None:
    layout = at.op.settings["layout"] or "NC"
    if not layout.startswith("NC"):
        raise at.refused(
            f"has layout={layout!r}, and ONNX has channels second. Transpose"
        )


def _window(settings: Any, axes: int) -> dict[str, Any]:
    """How a window moves over so many axes."""
    return {
        "kernel_shape": settings["kernel"],
        "strides": _each(settings["stride"], axes, 1),
        "dilations": _each(settings["dilate"], axes, 1),
        "pads": _each(settings["pad"], axes, 0) * 2,
    }


@translates("Convolution")
def _convolution(at: Call, x: Value, weight: Value, bias: Value | None = None) -> Any:
    _channels_second(at)
    settings, axes = at.op.settings, at.ndim() - 2
    return at(
        "Conv", x, weight, bias,
        **_window(settings, axes),
        group=settings["num_group"],
    )  # fmt: skip


@translates("Deconvolution")
def _deconvolution(at: Call, x: Value, weight: Value, bias: Value | None = None) -> Any:
    _channels_second(at)
    settings, axes = at.op.settings, at.ndim() - 2
    if any(settings["target_shape"]):
        raise at.refused("has a target_shape. Say pad and adj in its place")
    return at(
        "ConvTranspose", x, weight, bias,
        **_window(settings, axes),
        output_padding=_each(settings["adj"], axes, 0),
        group=settings["num_group"],
    )  # fmt: skip


_GLOBAL = {"max": "GlobalMaxPool", "avg": "GlobalAveragePool", "lp": "GlobalLpPool"}


@translates("Pooling")
def _pooling(at: Call, x: Value) -> Any:
    _channels_second(at)
    settings = at.op.settings
    kind, power = settings["pool_type"], settings["p_value"]
    power = power if kind == "lp" else None
    if settings["global_pool"]:
        if kind == "sum":
            axes = at.whole(*range(2, at.ndim()))
            return at("ReduceSum", x, axes, keepdims=1)
        return at(_GLOBAL[kind], x, p=power)
    if settings["pooling_convention"] == "same":
        raise at.refused("has pooling_convention='same'. Take 'valid' and pad the data")
    sides = at.ndim() - 2
    kernel, pad = settings["kernel"], _each(settings["pad"], sides, 0)
    stride = _each(settings["stride"], sides, 1)
    more = _overhang(at, kernel, stride, pad)
    counted = settings["count_include_pad"] is not False
    window = {"kernel_shape": kernel, "strides": stride}
    ends = tuple(p + m for p, m in zip(pad, more, strict=True))
    if kind == "max":
        return at("MaxPool", x, **window, pads=pad + ends)
    if kind == "lp":
        return at("LpPool", x, **window, pads=pad + ends, p=power)
    if kind == "sum":
        found = at("AveragePool", x, **window, pads=pad + ends, count_include_pad=1)
        return found * prod(kernel)
    if counted and any(pad) and any(more):
        # The frame counts, but not what hangs over it: so the frame is written out.
        x = at("Pad", x, at.whole(0, 0, *pad, 0, 0, *pad), 0)
        pad, ends, counted = (0,) * sides, more, False
    counted = counted and not any(more)
    return at(
        "AveragePool", x, **window, pads=pad + ends, count_include_pad=int(counted)
    )


def _overhang(at: Call, kernel: Any, stride: Any, pad: Any) -> tuple[int, ...]:
    """How far the last windows hang over the end of each axis ('full')."""
    if at.op.settings["pooling_convention"] != "full":
        return (0,) * len(kernel)
    lengths = [at.length(0, axis + 2) for axis in range(len(kernel))]
    rows = [*zip(lengths, kernel, stride, pad, strict=True)]
    more = tuple(-(n + 2 * p - k) % s for n, k, s, p in rows)
    if any(p + m >= k for m, (_, k, _, p) in zip(more, rows, strict=True)):
        raise at.refused(f"has windows of {kernel} that lie beyond the image. Pad it")
    return more


@translates("UpSampling")
def _upsampling(at: Call, *values: Value) -> Any:
    scale = at.op.settings["scale"]
    if at.op.settings["sample_type"] == "bilinear":
        window = (2 * scale - scale % 2,) * 2
        sides: dict[str, Any] = {"strides": (scale,) * 2, "pads": (scale // 2,) * 4}
        sides["group"] = at.length(1, 0)
        return at("ConvTranspose", *values, kernel_shape=window, **sides)
    if len(values) > 1:
        raise at.refused("has several inputs. Take one UpSampling for each of them")
    scales = at.constant(np.array([1, 1, scale, scale], np.float32))
    how: dict[str, Any] = {"mode": "nearest", "nearest_mode": "floor"}
    how["coordinate_transformation_mode"] = "asymmetric"
    return at("Resize", values[0], None, scales, **how)


@translates("_contrib_AdaptiveAvgPooling2D")
def _adaptive_pooling(at: Call, x: Value) -> Any:
    wanted = (at.out or ())[2:]
    if wanted == (1, 1):
        return at("GlobalAveragePool", x)
    sizes = [at.length(0, 2), at.length(0, 3)]
    if any(n is None or length % n for n, length in zip(wanted, sizes, strict=True)):
        raise at.refused(f"makes {wanted} of {sizes}, which does not divide them")
    kernel = [length // int(n or 1) for n, length in zip(wanted, sizes, strict=True)]
    return at("AveragePool", x, kernel_shape=kernel, strides=kernel)


# -- normalization ---------------------------------------------------------------------


@translates("BatchNorm", "_contrib_SyncBatchNorm", "_contrib_BatchNormWithReLU")
def _batch_norm(at: Call, x: Value, gamma: Value, *rest: Value) -> Any:
    settings = at.op.settings
    if at.node.visible > 1:
        raise at.refused("gives mean and variance (output_mean_var): leave them away")
    if settings["fix_gamma"]:
        channels = at.length(1, 0)
        gamma = at.constant(np.ones(channels, x.dtype))
    order = [0, settings["axis"] % at.ndim()]
    order += [k for k in range(at.ndim()) if k not in order]
    if order[1] == 0:
        raise at.refused("normalizes the first axis. Transpose the data")
    parameters = [at.cast(value, x.dtype) for value in (gamma, *rest)]
    found = at(
        "BatchNormalization", at.transposed(x, order), *parameters,
        epsilon=settings["eps"], momentum=settings["momentum"],
    )  # fmt: skip
    found = at.transposed(found, np.argsort(order).tolist())
    return at("Relu", found) if at.op.name.endswith("ReLU") else found


def _normalized(at: Call, x: Any, axes: list[int]) -> tuple[Any, Any, Any]:
    """With mean 0 and variance 1 over axes; and the mean, and sqrt(variance + eps)."""
    mean = at("ReduceMean", x, axes=axes, keepdims=1)
    rest = x - mean
    variance = at("ReduceMean", rest * rest, axes=axes, keepdims=1)
    deviation = at("Sqrt", variance + at.op.settings["eps"])
    return rest / deviation, mean, deviation


@translates("LayerNorm")
def _layer_norm(at: Call, x: Value, gamma: Any, beta: Any) -> Any:
    axis = at.axis(at.op.settings["axis"])
    found, *moments = _normalized(at, x, [axis])
    after = (1,) * (at.ndim() - axis - 1)
    if after:
        length = at.shape(1)
        gamma, beta = (
            at.reshaped(v, length, (*(length or ()), *after)) for v in (gamma, beta)
        )
    out = found * gamma + beta
    return [out, *moments] if at.node.visible > 1 else out


@translates("GroupNorm")
def _group_norm(at: Call, x: Value, gamma: Any, beta: Any) -> Any:
    if at.node.visible > 1:
        raise at.refused("gives mean and variance (output_mean_var): leave them away")
    groups = at.op.settings["num_groups"]
    found, *_ = _normalized(at, at("Reshape", x, at.whole(0, groups, -1)), [2])
    gamma, beta = (at("Unsqueeze", value, at.whole(1)) for value in (gamma, beta))
    return at("Reshape", found * gamma + beta, at("Shape", x, dtype=INT64))


@translates("InstanceNorm")
def _instance_norm(at: Call, x: Value, gamma: Value, beta: Value) -> Any:
    return at("InstanceNormalization", x, gamma, beta, epsilon=at.op.settings["eps"])


@translates("L2Normalization")
def _l2(at: Call, x: Value) -> Any:
    last = at.ndim()
    axes = {"instance": [*range(1, last)], "channel": [1], "spatial": [*range(2, last)]}
    chosen = axes[at.op.settings["mode"]]
    total = at("ReduceSumSquare", x, axes=chosen, keepdims=1)
    return x / at("Sqrt", total + at.op.settings["eps"])


@translates("LRN")
def _lrn(at: Call, x: Value) -> Any:
    words = {"alpha": "alpha", "beta": "beta", "knorm": "bias", "nsize": "size"}
    return at(
        "LRN", x, **{words[k]: v for k, v in at.op.settings.items() if k in words}
    )


# -- softmax ---------------------------------------------------------------------------


def _softmax(kind: str, at: Call, x: Any, lengths: Value | None = None) -> Any:
    op: Any = at.op
    axis = at.axis(op.axis)
    x = at.cast(x, resolve(op.dtype)) if op.dtype else x
    if op.scale != 1:
        x = x * op.scale
    if lengths is None:
        return at(kind, x, axis=axis)
    if at.ndim() > 1:
        lengths = at("Unsqueeze", lengths, at.whole(axis))
    lowest = float(np.finfo(x.dtype).min)
    found = at(kind, at.hidden(x, lengths, axis, lowest), axis=axis)
    return at.hidden(found, lengths, axis, 0.0)


TRANSLATIONS["softmax"] = TRANSLATIONS["softmin"] = partial(_softmax, "Softmax")
TRANSLATIONS["log_softmax"] = partial(_softmax, "LogSoftmax")


@translates("SoftmaxOutput")
def _softmax_output(at: Call, x: Value, label: Value) -> Any:
    settings = at.op.settings
    if settings["preserve_shape"] or at.ndim() == 2:
        return at("Softmax", x, axis=-1)
    if settings["multi_output"]:
        return at("Softmax", x, axis=1)
    flat = at("Softmax", at("Flatten", x, axis=1), axis=1)
    return at.reshaped(flat, None, at.out)


@translates("SoftmaxActivation")
def _softmax_activation(at: Call, x: Value) -> Any:
    return at("Softmax", x, axis=1 if at.op.settings["mode"] == "channel" else -1)
