"""Twins made of other twins; `composing` says how."""

from __future__ import annotations

from typing import Any

from minimx.ops.registry import bind, lookup
from minimx.ops.twins.composing import composed, scaled
from minimx.ops.views import reshaped
from minimx.shapes import Shape


def call(name: str, *values: Any, **settings: Any) -> Any:
    """An operator by name."""
    return bind(lookup(name).of(**settings), *values)


def shaped(value: Any, shape: Shape) -> Any:
    """The same elements in another shape."""
    return reshaped(value, value.spec.shape, shape)


# -- the ends of networks --------------------------------------------------------------


@composed(
    "make_loss", "MakeLoss", "SVMOutput", "LinearRegressionOutput",
    "MAERegressionOutput",
)  # fmt: skip
def through(op: Any, data: Any, *rest: Any) -> Any:
    """The data as they are."""
    return data


@composed("LogisticRegressionOutput")
def logistic(op: Any, data: Any, *rest: Any) -> Any:
    """The sigmoid."""
    return call("sigmoid", data)


@composed("SoftmaxActivation")
def activation(op: Any, data: Any) -> Any:
    """Softmax."""
    return bind(op._softmax(), data)


# -- statistics ------------------------------------------------------------------------


@composed("moments")
def moments(op: Any, data: Any) -> Any:
    """A mean, then that of the squared distances."""
    axes = op.over(data.spec)
    mean = call("mean", data, axis=axes, keepdims=True)
    off = data - mean
    variance = call("mean", off * off, axis=axes, keepdims=True)
    shape = op.infer(data.spec)[0].shape
    return shaped(mean, shape), shaped(variance, shape)


@composed("multi_sum_sq")
def squares(op: Any, *data: Any) -> Any:
    """A sum for each array, side by side."""
    sums = []
    for x in data:
        wide = x if x.spec.dtype.name == "float64" else call("cast", x, dtype="float32")
        total = shaped(call("sum", wide * wide), (1,))
        sums.append(call("cast", total, dtype="float32"))
    return sums[0] if len(sums) == 1 else call("Concat", *sums, dim=0)


@composed("amp_multicast")
def multicast(op: Any, *data: Any) -> Any:
    """One conversion after the other."""
    outs = op.infer(*[x.spec for x in data])
    return tuple(
        call("cast", x, dtype=out.dtype.name) for x, out in zip(data, outs, strict=True)
    )


# -- joining and products --------------------------------------------------------------


@composed(
    "_npi_concatenate", "_npi_vstack", "_npi_hstack", "_npi_dstack", "_npi_column_stack"
)
def joined(op: Any, *data: Any) -> Any:
    """Side by side, in the shapes in which they are joined."""
    seen = [op.seen(x.spec.shape) for x in data]
    parts = [shaped(x, shape) for x, shape in zip(data, seen, strict=True)]
    return call("Concat", *parts, dim=op.along(len(seen[0])))


@composed(
    "_contrib_interleaved_matmul_selfatt_qk", "_contrib_interleaved_matmul_encdec_qk"
)
def scores(op: Any, *data: Any) -> Any:
    """A product for every head, of queries and keys."""
    specs = [x.spec for x in data]
    queries, keys = (op.take(data[w[0]], specs[w[0]], w) for w in op.factors)
    found = call("batch_dot", queries, keys, transpose_b=True)
    return shaped(scaled(found, op.scale(specs)), op.infer(*specs).shape)


@composed(
    "_contrib_interleaved_matmul_selfatt_valatt",
    "_contrib_interleaved_matmul_encdec_valatt",
)
def weighted(op: Any, *data: Any) -> Any:
    """A product for every head, of scores and values; then side by side again."""
    specs = [x.spec for x in data]
    left, right = (op.take(data[w[0]], specs[w[0]], w) for w in op.factors)
    found = call("batch_dot", left, right)
    length, batch, features = op.infer(*specs).shape
    split = shaped(found, (batch, op.heads, length, features // op.heads))
    return shaped(
        call("transpose", split, axes=(2, 0, 1, 3)), (length, batch, features)
    )


@composed("_contrib_div_sqrt_dim")
def divided(op: Any, data: Any) -> Any:
    """A product with one number."""
    return data * op.factor(data.spec)


@composed("_linalg_gemm2")
def gemm2(op: Any, a: Any, b: Any) -> Any:
    """A product of matrices or of stacks of them, times a number."""
    if op.rows(a.spec) != a.spec.ndim - 2:
        return None
    return scaled(_product(op, a, b), op.alpha)


@composed("_linalg_gemm")
def gemm(op: Any, a: Any, b: Any, c: Any) -> Any:
    """The same, and a third matrix on top."""
    if op.axis % a.spec.ndim != a.spec.ndim - 2:
        return None
    return scaled(_product(op, a, b), op.alpha) + scaled(c, op.beta)


@composed("_linalg_syrk")
def syrk(op: Any, a: Any) -> Any:
    """A product of matrices with their own transposes."""
    stack = shaped(a, (_count(a), *a.spec.shape[-2:]))
    ways = {"transpose_a": op.transpose, "transpose_b": not op.transpose}
    found = call("batch_dot", stack, stack, **ways)
    return scaled(shaped(found, op.infer(a.spec).shape), op.alpha)


def _count(a: Any) -> int:
    rows, columns = a.spec.shape[-2:]
    return int(a.spec.size // (rows * columns))


def _product(op: Any, a: Any, b: Any) -> Any:
    """A · B for two stacks of matrices."""
    one, two = (shaped(x, (_count(x), *x.spec.shape[-2:])) for x in (a, b))
    ta, tb = op.transpose_a, op.transpose_b
    found = call("batch_dot", one, two, transpose_a=ta, transpose_b=tb)
    rows, columns = found.spec.shape[-2:]
    return shaped(found, (*a.spec.shape[:-2], rows, columns))


@composed("_np_dot", "_npi_tensordot", "_npi_tensordot_int_axes")
def tensordot(op: Any, a: Any, b: Any) -> Any:
    """The axes that are summed over go last in a, first in b; then a product."""
    ones, others = op.pairs(a.spec, b.spec)
    left = [k for k in range(a.spec.ndim) if k not in ones]
    right = [k for k in range(b.spec.ndim) if k not in others]
    inner = 1
    for k in ones:
        inner *= a.spec.shape[k]
    x = call("transpose", a, axes=(*left, *ones)) if a.spec.ndim > 1 else a
    y = call("transpose", b, axes=(*others, *right)) if b.spec.ndim > 1 else b
    rows, columns = a.spec.size // inner, b.spec.size // inner
    found = call("dot", shaped(x, (rows, inner)), shaped(y, (inner, columns)))
    return shaped(found, op.infer(a.spec, b.spec).shape)


@composed("_npi_matmul")
def matmul(op: Any, a: Any, b: Any) -> Any:
    """Matrices or stacks of them, with as many axes each, and no stretching."""
    if a.spec.ndim < 2 or a.spec.shape[:-2] != b.spec.shape[:-2]:
        return None
    one, two = (shaped(x, (_count(x), *x.spec.shape[-2:])) for x in (a, b))
    return shaped(call("batch_dot", one, two), op.infer(a.spec, b.spec).shape)


@composed("Deconvolution")
def spread(op: Any, data: Any, weight: Any, *bias: Any) -> Any:
    """The data gradient of a convolution, and a bias."""
    found = bind(op._spread(data.spec), data, weight)
    if not bias:
        return found
    aligned = (1, op.num_filter, *(1,) * (data.spec.ndim - 2))
    return found + shaped(bias[0], aligned)
