"""Nodes that are one operator of minimx under another name."""

from __future__ import annotations

from typing import Any, NamedTuple

from minimx.onnx.reading.values import READERS, Read

_SAME = {
    "Abs": "abs", "Acos": "arccos", "Acosh": "arccosh", "Asin": "arcsin",
    "Asinh": "arcsinh", "Atan": "arctan", "Atanh": "arctanh", "Ceil": "ceil",
    "Cos": "cos", "Cosh": "cosh", "Dropout": "_copy", "Erf": "erf", "Exp": "exp",
    "Floor": "floor", "Identity": "_copy", "IsNaN": "isnan", "Log": "log",
    "Neg": "negative", "Not": "logical_not", "Reciprocal": "reciprocal",
    "Relu": "relu", "Sigmoid": "sigmoid", "Sign": "sign", "Sin": "sin",
    "Sinh": "sinh", "Size": "size_array", "Softplus": "softrelu",
    "Softsign": "softsign", "Sqrt": "sqrt", "Tan": "tan", "Tanh": "tanh",
}  # fmt: skip


class Row(NamedTuple):
    """An operator; from which attributes its settings are taken, with defaults.

    fixed: further settings. only: attributes of which one value can be read.
    """

    name: str
    settings: dict[str, tuple[str, Any]] = {}
    fixed: dict[str, Any] = {}
    only: dict[str, Any] = {}


_EPS = {"eps": ("epsilon", 1e-5)}
_SLOPE = {"slope": ("alpha", 0.01)}
_BLOCKS: tuple[Any, ...] = ({"block_size": ("blocksize", 1)}, {}, {"mode": "DCR"})
_ROWS = {kind: Row(name) for kind, name in _SAME.items()} | {
    "BatchNormalization": Row(
        "BatchNorm",
        {**_EPS, "momentum": ("momentum", 0.9)},
        {"fix_gamma": False},
        {"training_mode": 0, "spatial": 1},
    ),
    "Concat": Row("Concat", {"dim": ("axis", 1)}),
    "DepthToSpace": Row("depth_to_space", *_BLOCKS),
    "Einsum": Row("_npi_einsum", {"subscripts": ("equation", "")}),
    "Elu": Row("LeakyReLU", {"slope": ("alpha", 1.0)}, {"act_type": "elu"}),
    "Gelu": Row("LeakyReLU", {}, {"act_type": "gelu"}, {"approximate": "none"}),
    "HardSigmoid": Row(
        "hard_sigmoid", {"alpha": ("alpha", 0.2), "beta": ("beta", 0.5)}
    ),
    "InstanceNormalization": Row("InstanceNorm", _EPS),
    "IsInf": Row("isinf", {}, {}, {"detect_negative": 1, "detect_positive": 1}),
    "LRN": Row(
        "LRN",
        {"alpha": ("alpha", 1e-4), "beta": ("beta", 0.75)}
        | {"knorm": ("bias", 1.0), "nsize": ("size", 1)},
    ),
    "LeakyRelu": Row("LeakyReLU", _SLOPE, {"act_type": "leaky"}),
    "Selu": Row("LeakyReLU", {}, {"act_type": "selu"}),
    "SpaceToDepth": Row("space_to_depth", *_BLOCKS),
    "Transpose": Row("transpose", {"axes": ("perm", ())}),
}


def _read(at: Read, *values: Any) -> Any:
    row = _ROWS[at.kind]
    at.only(**row.only)
    found = {word: at.get(name, usual) for word, (name, usual) in row.settings.items()}
    # Dropout has further inputs, which say how it trains.
    inputs = values[:1] if at.kind == "Dropout" else values
    return at.use(row.name, *inputs, **found, **row.fixed)


READERS.update(dict.fromkeys(_ROWS, _read))
