"""CUDA implementations made of others; `composing` says how."""

from __future__ import annotations

from typing import Any

from minimx.core.operators.views import reshaped
from minimx.core.ops.registry import bind, lookup
from minimx.core.ops.stypes import DEFAULT
from minimx.core.shapes import Shape
from minimx.cuda.launches.composing import composed, scaled


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


@composed("Deconvolution")
def spread(op: Any, data: Any, weight: Any, *bias: Any) -> Any:
    """The data gradient of a convolution, and a bias."""
    found = bind(op._spread(data.spec), data, weight)
    if not bias:
        return found
    aligned = (1, op.num_filter, *(1,) * (data.spec.ndim - 2))
    return found + shaped(bias[0], aligned)


@composed("_sg_minimx_conv")
def folded(op: Any, data: Any, weight: Any, *rest: Any) -> Any:
    """The convolution of the smaller of weight and image with the normalization."""
    *bias, gamma, beta, mean, variance = (
        x if x.spec.dtype == data.spec.dtype
        else call("cast", x, dtype=data.spec.dtype.name)
        for x in rest
    )  # fmt: skip
    scale = call("rsqrt", variance + op.eps)
    scale = scale if op.fix_gamma else scale * gamma
    shift = beta - mean * scale
    if bias:
        shift = shift + bias[0] * scale
    axes = (1,) * (data.spec.ndim - 2)
    if weight.spec.size <= op.infer(*[x.spec for x in (data, weight, *rest)]).size:
        whole = weight * shaped(scale, (op.num_filter, 1, *axes))
        found = bind(op.plain, data, whole, shift)
    else:
        settings = {**op.plain.settings, "no_bias": True}
        plain = bind(lookup("Convolution").of(**settings), data, weight)
        scale, shift = (shaped(x, (1, op.num_filter, *axes)) for x in (scale, shift))
        found = plain * scale + shift
    return found if op.act_type is None else call(op.act_type, found)


@composed("_random_pdf_dirichlet")
def dirichlet(op: Any, sample: Any, alpha: Any) -> Any:
    """Logarithms of the gamma function, and sums over the shares."""
    wide = op.wide((sample.spec, alpha.spec))
    out, ones = op.infer(sample.spec, alpha.spec).shape, wide[:-1] or (1,)
    whole = call("gammaln", call("sum", alpha, axis=-1))
    constant = whole - call("sum", call("gammaln", alpha), axis=-1)
    powers = (shaped(alpha, wide) - 1) * call("log", sample)
    found = shaped(call("sum", powers, axis=-1), out) + shaped(constant, ones)
    return found if op.is_log else call("exp", found)


# -- storage types, of dense arrays ----------------------------------------------------


@composed("cast_storage")
def cast(op: Any, data: Any) -> Any:
    """A copy."""
    return data if op.stype == DEFAULT else None


@composed("_square_sum")
def square_sum(op: Any, data: Any) -> Any:
    """Squares, then their sums."""
    return bind(lookup("sum").of(**op.settings), data * data)


@composed("_contrib_getnnz")
def counted(op: Any, data: Any) -> Any:
    """A sum of ones, counted in whole numbers."""
    ones = call("cast", call("_not_equal_scalar", data, scalar=0), dtype="int64")
    total = call("sum", ones) if op.axis is None else call("sum", ones, axis=1)
    return shaped(total, op.infer(data.spec).shape)


@composed("_contrib_SparseEmbedding")
def looked_up(op: Any, data: Any, weight: Any) -> Any:
    """Rows of a table."""
    return bind(op._embedding(), data, weight)
