"""Nodes of layers: products, windows over images, normalization, softmax."""

from __future__ import annotations

from typing import Any

import numpy as np

from minimx.core.shapes import is_whole
from minimx.onnx.reading.values import READERS, Known, Read, reads

# -- products --------------------------------------------------------------------------


@reads("Gemm")
def _gemm(at: Read, a: Any, b: Any, c: Any = None) -> Any:
    """A dense layer where it is one, else a product and a sum."""
    alpha, beta = at.get("alpha", 1.0), at.get("beta", 1.0)
    across, down = bool(at.get("transA", 0)), bool(at.get("transB", 0))
    dense = isinstance(b, Known) and alpha == beta == 1 and not across
    bias = at.shape(2) if c is not None else None
    if dense and (c is None or (bias is not None and len(bias) == 1 and bias != (1,))):
        weight = b if down else at.use("transpose", b)
        rest = [] if c is None else [c]
        rows = weight.shape[0]
        return at.use(
            "FullyConnected", a, weight, *rest, num_hidden=rows, no_bias=c is None
        )
    found = at.use("dot", a, b, transpose_a=across, transpose_b=down)
    found = found if alpha == 1 else at.use("_mul_scalar", found, scalar=alpha)
    if c is None:
        return found
    c = c if beta == 1 else at.use("_mul_scalar", c, scalar=beta)
    return at.use("broadcast_add", found, c)


@reads("MatMul")
def _matmul(at: Read, a: Any, b: Any) -> Any:
    one, two = at.shape(0), at.shape(1)
    if two is not None and one is not None and len(two) == 2 <= len(one):
        return at.use("dot", a, b)
    if is_whole(one) and is_whole(two) and one[:-2] == two[:-2] and len(one) > 2:  # type: ignore[index, arg-type]
        return at.use("batch_dot", a, b)
    return at.use("_npi_matmul", a, b)


# -- windows over images ---------------------------------------------------------------


def _frame(at: Read, axes: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The padding before and after each image axis."""
    if at.get("auto_pad", "NOTSET") not in ("NOTSET", "VALID"):
        raise at.refused(
            f"has auto_pad={at.get('auto_pad')!r}, which depends on the size of the "
            "image. Write the padding out as pads"
        )
    pads = at.get("pads") or (0,) * (2 * axes)
    return tuple(pads[:axes]), tuple(pads[axes:])


def _padded(at: Read, x: Any, before: Any, after: Any, value: float) -> Any:
    """The image in a frame that differs at both ends."""
    pairs = [int(n) for pair in zip(before, after, strict=True) for n in pair]
    width = (0, 0, 0, 0, *pairs)
    return at.use("Pad", x, mode="constant", pad_width=width, constant_value=value)


def _windows(at: Read, kernel: Any) -> dict[str, Any]:
    axes = len(kernel)
    return {
        "kernel": tuple(kernel),
        "stride": tuple(at.get("strides", (1,) * axes)),
        "dilate": tuple(at.get("dilations", (1,) * axes)),
    }


def _filters(at: Read, weight: Any) -> tuple[int, ...]:
    shape = at.shape(1)
    if shape is None or None in shape:
        raise at.refused("has a weight whose shape is not known")
    return tuple(n or 0 for n in shape)


@reads("Conv")
def _conv(at: Read, x: Any, weight: Any, bias: Any = None) -> Any:
    filters, _, *kernel = _filters(at, weight)
    before, after = _frame(at, len(kernel))
    if before != after:
        x, before = _padded(at, x, before, after, 0.0), (0,) * len(kernel)
    rest = [] if bias is None else [bias]
    return at.use(
        "Convolution", x, weight, *rest, **_windows(at, kernel), pad=before,
        num_filter=filters, num_group=at.get("group", 1), no_bias=bias is None,
    )  # fmt: skip


@reads("ConvTranspose")
def _conv_transpose(at: Read, x: Any, weight: Any, bias: Any = None) -> Any:
    _, each, *kernel = _filters(at, weight)
    before, after = _frame(at, len(kernel))
    if before != after or at.get("output_shape") is not None:
        raise at.refused("has another padding at each end, or an output_shape")
    groups = at.get("group", 1)
    rest = [] if bias is None else [bias]
    return at.use(
        "Deconvolution", x, weight, *rest, **_windows(at, kernel), pad=before,
        adj=tuple(at.get("output_padding", ())), num_filter=each * groups,
        num_group=groups, no_bias=bias is None,
    )  # fmt: skip


_POOLS = {"MaxPool": "max", "AveragePool": "avg", "LpPool": "lp"}


@reads(*_POOLS)
def _pool(at: Read, x: Any) -> Any:
    kernel = tuple(at.get("kernel_shape"))
    axes, kind = len(kernel), _POOLS[at.kind]
    if set(at.get("dilations", (1,))) != {1} or at.get("storage_order", 0):
        raise at.refused("has dilated windows, which Pooling does not have")
    settings: dict[str, Any] = {"kernel": kernel, "pool_type": kind}
    settings["stride"] = stride = tuple(at.get("strides", (1,) * axes))
    before, after = _frame(at, axes)
    counted = bool(at.get("count_include_pad", 0))
    full = at.get("ceil_mode", 0) or _hangs_over(at, kernel, stride, before, after)
    if before != after and not full:
        if kind == "avg" and not counted:
            raise at.refused("is a mean in a frame that differs at both ends")
        lowest = float(np.finfo(np.float32).min) if kind == "max" else 0.0
        x, before = _padded(at, x, before, after, lowest), (0,) * axes
    if kind == "avg":
        settings["count_include_pad"] = counted
    if kind == "lp":
        settings["p_value"] = at.get("p", 2)
    convention = "full" if full else "valid"
    return at.use("Pooling", x, pad=before, pooling_convention=convention, **settings)


def _hangs_over(at: Read, kernel: Any, stride: Any, before: Any, after: Any) -> bool:
    """Whether the frame is wider at the end, just so far that the last window fits.

    It then is what MXNet calls the convention 'full'; not where padding counts.
    """
    shape = (at.shape() or ())[2:]
    if before == after or at.get("count_include_pad", 0) or not shape or None in shape:
        return False
    rows = zip(shape, kernel, stride, before, after, strict=True)
    return all(q - p == -((n or 0) + 2 * p - k) % s for n, k, s, p, q in rows)


_GLOBAL = {"GlobalMaxPool": "max", "GlobalAveragePool": "avg", "GlobalLpPool": "lp"}


@reads(*_GLOBAL)
def _global_pool(at: Read, x: Any) -> Any:
    kind = _GLOBAL[at.kind]
    power: dict[str, Any] = {"p_value": at.get("p", 2)} if kind == "lp" else {}
    power["kernel"] = (1,) * (at.ndim() - 2)
    return at.use("Pooling", x, global_pool=True, pool_type=kind, **power)


# -- normalization ---------------------------------------------------------------------


@reads("LayerNormalization")
def _layer_norm(at: Read, x: Any, gamma: Any, beta: Any = None) -> Any:
    axis = at.get("axis", -1)
    if axis not in (-1, (at.ndim() if at.shape() is not None else 0) - 1):
        raise at.refused(
            f"normalizes all axes from {axis} on; only the last can be read"
        )
    if beta is None:
        beta = at.use("zeros_like", gamma)
    return at.use("LayerNorm", x, gamma, beta, eps=at.get("epsilon", 1e-5))


# -- softmax ---------------------------------------------------------------------------


def _softmax(at: Read, x: Any) -> Any:
    """Before opset 13 all axes from `axis` on were one; that is the last axis here."""
    axis = at.get("axis", -1 if at.reader.opset >= 13 else 1)
    if at.reader.opset < 13 and axis not in (-1, at.ndim() - 1):
        raise at.refused(
            f"is of opset {at.reader.opset} and joins the axes from {axis} on. Convert "
            "the file to opset 13: onnx.version_converter"
        )
    name = "softmax" if at.kind == "Softmax" else "log_softmax"
    return at.use(name, x, axis=axis)


READERS["Softmax"] = READERS["LogSoftmax"] = _softmax
