"""Every translation: equal numbers here, in ONNX Runtime, and of what is read again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minimx as mx
from tests.onnx_files.running import everywhere

S: Any = mx.sym
x, y, w, b, n = (S.var(name) for name in "xywbn")


def real(*shape: int, low: float = -2, high: float = 2, seed: int = 0) -> Any:
    """Numbers of which no two are alike, between two others."""
    numbers = np.random.default_rng([seed, *shape]).uniform(low, high, shape)
    return numbers.astype(np.float32)


def whole(*shape: int, below: int, seed: int = 0, dtype: Any = np.float32) -> Any:
    return np.random.default_rng([seed, *shape]).integers(0, below, shape).astype(dtype)


A = {"x": real(2, 3, 4)}
PAIR = {"x": real(2, 3, 4), "y": real(3, 1, seed=1)}
IMAGE = {"x": real(2, 4, 7, 6)}
Case = tuple[Any, dict[str, Any], dict[str, Any]]
CASES: dict[str, Case] = {}


def case(name: str, sym: Any, inputs: dict[str, Any], **params: Any) -> None:
    assert name not in CASES
    CASES[name] = sym, inputs, params


# -- one by one ------------------------------------------------------------------------

_EVERYWHERE = """
    negative square exp expm1 sin cos tan arctan sinh cosh tanh arcsinh erf sigmoid relu
    softsign softrelu abs sign rint round floor ceil trunc fix logical_not cbrt degrees
    radians identity stop_gradient make_loss zeros_like ones_like reciprocal isnan isinf
    isfinite
"""
_ABOVE_ONE = "sqrt rsqrt log log1p log2 log10 rcbrt arccosh"
_PAIRS = "add sub mul div maximum minimum hypot equal greater lesser_equal"
_WHOLE = "not_equal greater_equal lesser logical_and logical_or logical_xor mod"
for _word in _EVERYWHERE.split():
    case(_word, getattr(S, _word)(x), A)
for _word in _ABOVE_ONE.split():
    case(_word, getattr(S, _word)(x), {"x": real(2, 3, low=1.1, high=3)})
for _word in ("arcsin", "arccos", "arctanh"):
    case(_word, getattr(S, _word)(x), {"x": real(2, 3, low=-0.9, high=0.9)})
HALVES = np.array([-2.5, -0.5, 0.49999997, 0.5, 1.5], np.float32)
case("halves", S.round(x), {"x": HALVES})
case("isnan-true", S.isnan(x), {"x": np.array([np.nan, 1, np.inf], np.float32)})
for _word in _PAIRS.split():
    case(f"broadcast_{_word}", getattr(S, f"broadcast_{_word}")(x, y), PAIR)
for _word in _WHOLE.split():
    both = {"x": whole(2, 3, 4, below=3), "y": whole(3, 4, below=3, seed=1)}
    case(f"broadcast_{_word}", getattr(S, f"broadcast_{_word}")(x, y), both)
case("broadcast_power", S.broadcast_power(S.abs(x), y), PAIR)
case("mod-negative", S.broadcast_mod(x, y), PAIR)
case(
    "elemwise",
    (x + y) * (x - y) / (y * y + 1),
    {"x": real(3, 4), "y": real(3, 4, seed=2)},
)
case("add_n", S.add_n(x, y, x), {"x": real(3, 4), "y": real(3, 4, seed=2)})
case("scalars", (2 - (x + 1) * 3) / 4 - 1 / (x + 5), A)
case("scalar-power", S.abs(x) ** 1.5 + 2.0**x, A)
case("scalar-compare", (x > 0) + (x <= 1) * 2 + (x != 0) * 4 + (x == x) * 8, A)
case("scalar-mod", x % 3, A)
case("scalar-extremes", S.maximum(S.minimum(x, 1), -0.5), A)
case("smooth_l1", S.smooth_l1(x, scalar=1.5), A)
case("clip", S.clip(x, a_min=-1, a_max=0.5), A)
case("hard_sigmoid", S.hard_sigmoid(x), A)
case(
    "int32",
    (x * y + 7) / 2 - x,
    {
        "x": whole(4, 3, below=9, dtype=np.int32),
        "y": whole(4, 3, below=9, seed=1, dtype=np.int32),
    },
)
case("float64", S.exp(x) * 0.1, {"x": real(3, 4).astype(np.float64)})
case("cast", S.cast(S.cast(x, dtype="int32"), dtype="float32") / 3, A)
case("cast-out", S.cast(x, dtype="int32"), A)
for _kind in ("relu", "sigmoid", "tanh", "softrelu", "softsign"):
    case(f"Activation-{_kind}", S.Activation(x, act_type=_kind), A)
for _kind in ("leaky", "elu", "selu", "gelu", "rrelu"):
    case(f"LeakyReLU-{_kind}", S.LeakyReLU(x, act_type=_kind)[0], A)
case("prelu", S.LeakyReLU(x, w, act_type="prelu"), IMAGE, w=real(4))
case("prelu-one", S.LeakyReLU(x, w, act_type="prelu"), IMAGE, w=real(1))
case("where", S.where(x > 0, x, y), {"x": real(3, 4), "y": real(3, 4, seed=1)})
case(
    "where-rows",
    S.where(n, x, y),
    {"n": whole(3, below=2), "x": real(3, 4), "y": real(3, 4, seed=1)},
)
case("Dropout", S.Dropout(x, p=0.5) * 2, A)
case("passes-through", S.Group([S.identity(x), S.Dropout(x), x + 1]), A)

# -- shapes ----------------------------------------------------------------------------

case("transpose", S.transpose(x), A)
case("transpose-axes", S.transpose(x, axes=(1, 0, 2)), A)
case("swapaxes", S.swapaxes(x, dim1=0, dim2=2), A)
case("reshape", S.reshape(x, shape=(0, -1)), A)
case("reshape-codes", S.reshape(x, shape=(-3, -4, 2, -1)), A)
case("reshape_like", S.reshape_like(x, y), {"x": real(2, 6), "y": real(3, 4)})
case("Flatten", S.Flatten(x), IMAGE)
case("expand_dims", S.expand_dims(S.expand_dims(x, axis=1), axis=-1), A)
case("squeeze", S.squeeze(x), {"x": real(1, 3, 1)})
case("squeeze-axis", S.squeeze(x, axis=-1), {"x": real(1, 3, 1)})
case("slice", S.slice(x, begin=(None, 1), end=(None, -1)), A)
case(
    "slice-steps",
    S.slice(x, begin=(None, 2, None), end=(None, None, 0), step=(-1, 1, -2)),
    A,
)
case("slice_axis", S.slice_axis(x, axis=-1, begin=1, end=None), A)
case(
    "slice_like",
    S.slice_like(x, y, axes=(0, 2)),
    {"x": real(4, 3, 5), "y": real(2, 9, 3)},
)
case("reverse", S.reverse(x, axis=(0, 2)), A)
case("concat", S.concat(x, y, dim=-1), {"x": real(2, 3), "y": real(2, 1)})
case("stack", S.stack(x, x * 2, axis=-1), A)
case("split", S.Group(list(S.split(x, num_outputs=2, axis=2))), A)
case("split-squeezed", S.split(x, num_outputs=4, axis=-1, squeeze_axis=True)[2], A)
case("split_v2", S.Group(list(S.split_v2(x, (1, 3), axis=2))), A)
case(
    "Pad",
    S.Pad(x, mode="constant", pad_width=(0, 0, 0, 0, 1, 2, 3, 0), constant_value=7),
    IMAGE,
)
case("Pad-edge", S.Pad(x, mode="edge", pad_width=(0, 0, 0, 0, 1, 2, 3, 0)), IMAGE)
case("Pad-reflect", S.Pad(x, mode="reflect", pad_width=(0, 0, 0, 0, 1, 2, 3, 0)), IMAGE)
case("broadcast_to", S.broadcast_to(x, shape=(5, 0, 4)), {"x": real(1, 3, 1)})
case(
    "broadcast_axis",
    S.broadcast_axis(x, axis=(0, 2), size=(5, 4)),
    {"x": real(1, 3, 1)},
)
case("broadcast_like", S.broadcast_like(x, y), {"x": real(1, 3, 1), "y": real(5, 3, 4)})
case("tile", S.tile(x, reps=(2, 1, 3)), {"x": real(2, 3)})
case("tile-short", S.tile(x, reps=(2,)), {"x": real(2, 3)})
case("repeat", S.repeat(x, repeats=3, axis=1), A)
case("repeat-flat", S.repeat(x, repeats=2), A)
case("shape_array", S.Group([S.shape_array(x), S.size_array(x)]), A)
case(
    "arange_like",
    S.broadcast_add(x, S.contrib.arange_like(x, axis=-1, start=2, step=3)),
    A,
)
case("depth_to_space", S.depth_to_space(x, block_size=2), {"x": real(2, 8, 2, 3)})
case("space_to_depth", S.space_to_depth(x, block_size=2), {"x": real(2, 2, 4, 6)})
case("take", S.take(w, x, axis=1), {"x": whole(2, 3, below=9) - 2}, w=real(3, 5))
case(
    "take-wrap",
    S.take(w, x, axis=0, mode="wrap"),
    {"x": whole(2, 3, below=9) - 3},
    w=real(3, 5),
)
case(
    "Embedding",
    S.Embedding(x, w, input_dim=7, output_dim=3),
    {"x": whole(2, 5, below=9)},
    w=real(7, 3),
)
case("pick", S.pick(x, y), {"x": real(4, 5), "y": whole(4, below=5)})
case(
    "pick-kept",
    S.pick(x, y, axis=0, keepdims=True),
    {"x": real(4, 5), "y": whole(5, below=6)},
)
case(
    "one_hot",
    S.one_hot(x, depth=4, on_value=2, off_value=-1),
    {"x": whole(2, 3, below=6) - 1},
)
case("gather_nd", S.gather_nd(x, y), {"x": real(3, 4, 5), "y": whole(2, 6, below=3)})
case("constants", x + S.broadcast_mul(S.arange(4), S.ones((2, 3, 1))), A)

# -- products and layers ---------------------------------------------------------------

case(
    "FullyConnected",
    S.FullyConnected(x, w, b, num_hidden=5),
    {"x": real(2, 3, 4)},
    w=real(5, 12),
    b=real(5),
)
case(
    "FullyConnected-last",
    S.FullyConnected(x, w, b, num_hidden=5, flatten=False),
    A,
    w=real(5, 4),
    b=real(5),
)
case(
    "FullyConnected-plain",
    S.FullyConnected(x, w, num_hidden=5, no_bias=True),
    {"x": real(2, 4)},
    w=real(5, 4),
)
case("dot", S.dot(x, y), {"x": real(2, 3, 4), "y": real(4, 5)})
case(
    "dot-turned",
    S.dot(x, y, transpose_a=True, transpose_b=True),
    {"x": real(4, 3), "y": real(5, 4)},
)
case("dot-many", S.dot(x, y), {"x": real(3, 4), "y": real(4, 2, 5)})
case("dot-vectors", S.dot(x, y), {"x": real(4), "y": real(4, seed=1)})
case(
    "batch_dot",
    S.batch_dot(x, y, transpose_b=True),
    {"x": real(2, 3, 4), "y": real(2, 5, 4)},
)
case(
    "gemm2",
    S.linalg.gemm2(x, y, transpose_a=True, alpha=0.5),
    {"x": real(2, 4, 3), "y": real(2, 4, 5)},
)
case(
    "conv",
    S.Convolution(
        x, w, b, kernel=(3, 2), num_filter=6, stride=(2, 1), pad=(1, 0), num_group=2
    ),
    IMAGE,
    w=real(6, 2, 3, 2),
    b=real(6),
)
case(
    "conv-dilated",
    S.Convolution(x, w, kernel=(3, 3), num_filter=2, dilate=(2, 2), no_bias=True),
    IMAGE,
    w=real(2, 4, 3, 3),
)
case(
    "conv-line",
    S.Convolution(x, w, b, kernel=(3,), num_filter=2),
    A,
    w=real(2, 3, 3),
    b=real(2),
)
case(
    "deconv",
    S.Deconvolution(
        x, w, kernel=(3, 3), num_filter=3, stride=(2, 2), pad=(1, 1), adj=(1, 1)
    ),
    IMAGE,
    w=real(4, 3, 3, 3),
)
for _kind in ("max", "avg", "sum"):
    for _how in ("valid", "full"):
        case(
            f"pool-{_kind}-{_how}",
            S.Pooling(
                x,
                kernel=(3, 2),
                stride=(2, 2),
                pad=(1, 1),
                pool_type=_kind,
                pooling_convention=_how,
            ),
            IMAGE,
        )
    case(
        f"pool-{_kind}-global",
        S.Pooling(x, global_pool=True, kernel=(1, 1), pool_type=_kind),
        IMAGE,
    )
case(
    "pool-avg-uncounted",
    S.Pooling(
        x,
        kernel=(3, 3),
        stride=(2, 2),
        pad=(1, 1),
        pool_type="avg",
        count_include_pad=False,
        pooling_convention="full",
    ),
    IMAGE,
)
case("pool-lp", S.Pooling(x, kernel=(2, 2), pool_type="lp", p_value=2), IMAGE)
case("upsampling", S.UpSampling(x, scale=2, sample_type="nearest"), IMAGE)
for _scale, _side in ((2, 4), (3, 5)):
    case(
        f"upsampling-bilinear-{_scale}",
        S.UpSampling(x, w, scale=_scale, sample_type="bilinear", num_filter=4),
        IMAGE,
        w=real(4, 1, _side, _side),
    )
case("adaptive", S.contrib.AdaptiveAvgPooling2D(x, output_size=1), IMAGE)
case("adaptive-pieces", S.contrib.AdaptiveAvgPooling2D(x, output_size=(7, 3)), IMAGE)

STATS = {
    "g": real(4, seed=3),
    "b": real(4),
    "m": real(4, seed=4),
    "v": real(4, low=0.5, high=2),
}
_parts = [S.var(name) for name in "gbmv"]
case("BatchNorm", S.BatchNorm(x, *_parts, fix_gamma=False), IMAGE, **STATS)
case("BatchNorm-fixed", S.BatchNorm(x, *_parts, eps=1e-3), IMAGE, **STATS)
case("BatchNorm-last", S.BatchNorm(x, *_parts, axis=-1, fix_gamma=False), A, **STATS)
case("LayerNorm", S.LayerNorm(x, w, b), A, w=real(4), b=real(4))
case("LayerNorm-axis", S.LayerNorm(x, w, b, axis=1), A, w=real(3), b=real(3))
case("GroupNorm", S.GroupNorm(x, w, b, num_groups=2), IMAGE, w=real(2), b=real(2))
case("InstanceNorm", S.InstanceNorm(x, w, b), IMAGE, w=real(4), b=real(4))
for _kind in ("instance", "channel", "spatial"):
    case(f"L2-{_kind}", S.L2Normalization(x, mode=_kind), IMAGE)
case("LRN", S.LRN(x, nsize=3, alpha=0.1), IMAGE)

case("softmax", S.softmax(x), A)
case("softmax-axis", S.softmax(x, axis=1, temperature=2.0), A)
case(
    "softmax-length",
    S.softmax(x, n, use_length=True),
    {"x": real(2, 4), "n": np.array([2, 4], np.int32)},
)
case("softmin", S.softmin(x), A)
case("log_softmax", S.log_softmax(x, axis=0), A)
case("SoftmaxActivation", S.SoftmaxActivation(x, mode="channel"), IMAGE)
case("SoftmaxOutput", S.SoftmaxOutput(x, name="out"), {"x": real(3, 5)})
case(
    "SoftmaxOutput-multi",
    S.SoftmaxOutput(x, multi_output=True, name="out"),
    {"x": real(2, 3, 4)},
)
case(
    "LogisticRegressionOutput",
    S.LogisticRegressionOutput(x, name="out"),
    {"x": real(3, 5)},
)
case(
    "LinearRegressionOutput",
    S.LinearRegressionOutput(x * 2, name="out"),
    {"x": real(3, 5)},
)

# -- reductions ------------------------------------------------------------------------

for _word in [
    *("sum", "mean", "max", "min", "prod", "norm"),
]:
    _op: Callable[..., Any] = getattr(S, _word)
    case(f"{_word}-all", _op(x), A)
    case(f"{_word}-axis", _op(x, axis=1), A)
    case(f"{_word}-kept", _op(x, axis=(0, 2), keepdims=True), A)
case("sum-exclude", S.sum(x, axis=1, exclude=True), A)
case("norm-1", S.norm(x, ord=1, axis=2), A)
case("argmax", S.argmax(x, axis=1), A)
case("argmin-kept", S.argmin(x, axis=-1, keepdims=True), A)
case("argmax-all", S.argmax(x), A)
case("topk", S.topk(x, k=2), A)
case(
    "topk-both",
    S.Group(list(S.topk(x, k=2, axis=1, ret_typ="both", is_ascend=True))),
    A,
)
case("sort", S.sort(x, axis=1), A)
case("argsort", S.argsort(x, is_ascend=False), A)

# -- sequences and attention -----------------------------------------------------------

LENGTHS = np.array([2, 4], np.float32)
TIME = {"x": real(4, 2, 3), "n": LENGTHS}
case("SequenceMask", S.SequenceMask(x, n, use_sequence_length=True, value=-1), TIME)
case(
    "SequenceMask-batch",
    S.SequenceMask(x, n, use_sequence_length=True, axis=1),
    {"x": real(2, 4, 3), "n": LENGTHS},
)
case("SequenceLast", S.SequenceLast(x, n, use_sequence_length=True), TIME)
case("SequenceLast-all", S.SequenceLast(x), {"x": real(4, 2, 3)})
case("SequenceReverse", S.SequenceReverse(x, n, use_sequence_length=True), TIME)
case("SequenceReverse-all", S.SequenceReverse(x), {"x": real(4, 2, 3)})
case(
    "self-attention",
    S.contrib.interleaved_matmul_selfatt_valatt(
        x, S.softmax(S.contrib.interleaved_matmul_selfatt_qk(x, heads=2)), heads=2
    ),
    {"x": real(5, 3, 24)},
)
case(
    "cross-attention",
    S.contrib.interleaved_matmul_encdec_valatt(
        y, S.softmax(S.contrib.interleaved_matmul_encdec_qk(x, y, heads=2)), heads=2
    ),
    {"x": real(5, 3, 8), "y": real(4, 3, 16)},
)
case("div_sqrt_dim", S.contrib.div_sqrt_dim(x), A)

GATES = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}


def network(mode: str, layers: int, sides: int, size: int, features: int) -> Any:
    """Parameters of a recurrent network."""
    gates, count = GATES[mode] * size, 0
    for layer in range(layers):
        count += sides * gates * ((size * sides if layer else features) + size + 2)
    return real(count, low=-0.5, high=0.5)


STATES = {"h": real(4, 2, 3, seed=5), "c": real(4, 2, 3, seed=6)}
for _mode in GATES:
    _cell = [S.var("c")] if _mode == "lstm" else []
    _first = dict(list(STATES.items())[: 1 + len(_cell)])
    _rnn = S.RNN(
        x,
        w,
        S.var("h"),
        *_cell,
        mode=_mode,
        state_size=3,
        num_layers=2,
        bidirectional=True,
        state_outputs=True,
    )
    case(
        f"RNN-{_mode}",
        S.Group(list(_rnn)),
        {"x": real(5, 2, 4), **_first},
        w=network(_mode, 2, 2, 3, 4),
    )
_lengthy = S.RNN(
    x,
    w,
    S.zeros((1, 2, 3)),
    sequence_length=n,
    use_sequence_length=True,
    mode="gru",
    state_size=3,
    num_layers=1,
)
case(
    "RNN-lengths",
    _lengthy,
    {"x": real(5, 2, 4), "n": np.array([3, 5], np.int32)},
    w=network("gru", 1, 1, 3, 4),
)


#: What adds up, or takes roots, in another order.
LOOSE = dict.fromkeys(["expm1", "cbrt", "rcbrt", "prod-all", "scalar-power"], 1e-4)


@pytest.mark.parametrize("name", CASES)
def test_the_numbers_are_the_same(name: str, tmp_path: Path) -> None:
    sym, inputs, params = CASES[name]
    everywhere(sym, inputs, params, tmp_path / "model.onnx", LOOSE.get(name, 2e-5))
