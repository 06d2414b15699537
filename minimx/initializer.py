"""Ways to fill a new parameter, from the plainest to the strangest.

    mx.init.Xavier()                       an initializer
    mx.init.create("xavier")               the same, by name
    initializer(InitDesc("fc1_weight"), x) fills x, by what the name ends in

Called with a name, an initializer fills *weights* in its own way; biases become 0,
gammas 1, running means 0 and running variances 1. `_init_weight(name, array)` is the
one method that a new initializer overrides.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from math import prod, sqrt
from typing import Any

import numpy as np

import minimx.nd as nd
from minimx.core.arrays.array import NDArray
from minimx.core.errors import ArgumentError, ShapeError
from minimx.tools.catalogue import Catalogue


class InitDesc(str):
    """A parameter's name, with what its initializer may want to know about it.

    attrs: attributes; `__init__` is an initializer that beats the general one.
    global_init: the initializer that a parameter without its own falls back on.
    """

    attrs: dict[str, Any]
    global_init: Initializer | None

    def __new__(
        cls,
        name: str,
        attrs: Mapping[str, Any] | None = None,
        global_init: Initializer | None = None,
    ) -> InitDesc:
        """A name with attributes."""
        made = super().__new__(cls, name)
        made.attrs = dict(attrs or {})
        made.global_init = global_init
        return made


# What a parameter is, by the ending of its name; tried in this order.
_ENDINGS = {
    "weight": "_init_weight",
    "bias": "_init_bias",
    "gamma": "_init_gamma",
    "beta": "_init_beta",
    "running_mean": "_init_zero",
    "running_var": "_init_one",
    "moving_mean": "_init_zero",
    "moving_var": "_init_one",
    "moving_inv_var": "_init_zero",
    "moving_avg": "_init_zero",
    "min": "_init_zero",
    "max": "_init_one",
}


class Initializer:
    """The base of every initializer; keeps its settings, so that it can be stored."""

    def __init__(self, **kwargs: Any) -> None:
        self._kwargs = kwargs

    def dumps(self) -> str:
        """The initializer as JSON text, which `create` reads."""
        return json.dumps([type(self).__name__.lower(), self._kwargs])

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(self.dumps())

    def __repr__(self) -> str:
        settings = ", ".join(f"{k}={v!r}" for k, v in self._kwargs.items())
        return f"{type(self).__name__}({settings})"

    def __call__(self, desc: str, arr: NDArray) -> None:
        """Fill `arr`, the array called `desc`."""
        if isinstance(desc, InitDesc):
            own = desc.attrs.get("__init__")
            if own:
                create(own)._init_weight(desc, arr)
                return
        for ending, method in _ENDINGS.items():
            if desc.endswith(ending):
                getattr(self, method)(desc, arr)
                return
        self._init_default(desc, arr)

    def _init_weight(self, name: str, arr: NDArray) -> None:
        raise ArgumentError(
            f"{type(self).__name__} cannot fill {name}: it has no _init_weight(name, "
            "arr). Write one."
        )

    def _init_zero(self, name: str, arr: NDArray) -> None:
        arr[:] = 0.0

    def _init_one(self, name: str, arr: NDArray) -> None:
        arr[:] = 1.0

    # Names of their own, so that a subclass may override one of them, as in MXNet.
    _init_bias = _init_beta = _init_zero
    _init_gamma = _init_one

    def _init_default(self, name: str, arr: NDArray) -> None:
        raise ArgumentError(
            f"{type(self).__name__} cannot tell how to fill {name!r}: the name ends in "
            f"none of {', '.join(_ENDINGS)}. Give the parameter an initializer of its "
            "own, for example init='zeros'."
        )


_catalogue = Catalogue(Initializer, "initializer")
register = _catalogue.register


def create(initializer: Any, *args: Any, **kwargs: Any) -> Initializer:
    """An initializer from a name, from its `dumps()`, or from itself."""
    return _catalogue.create(initializer, *args, **kwargs)


@register("zeros")
class Zero(Initializer):
    """Fill with 0."""

    def __init__(self) -> None:
        super().__init__()

    _init_weight = Initializer._init_zero


@register("ones")
class One(Initializer):
    """Fill with 1."""

    def __init__(self) -> None:
        super().__init__()

    _init_weight = Initializer._init_one


@register
class Constant(Initializer):
    """Fill with one number, or with a given array of the right shape."""

    def __init__(self, value: Any) -> None:
        listed = isinstance(value, (NDArray, np.ndarray, np.generic))
        super().__init__(value=value.tolist() if listed else value)
        self.value = value

    def _init_weight(self, name: str, arr: NDArray) -> None:
        arr[:] = self.value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Constant):
            return False
        mine, theirs = (np.asarray(c.value) for c in (self, other))
        return mine.shape == theirs.shape and bool((mine == theirs).all())

    def __hash__(self) -> int:
        return hash((Constant, np.asarray(self.value).tobytes()))


@register
class Uniform(Initializer):
    """Draw from the interval [-scale, scale), with the generator of the device."""

    def __init__(self, scale: float = 0.07) -> None:
        super().__init__(scale=scale)
        self.scale = scale

    def _init_weight(self, name: str, arr: NDArray) -> None:
        _draw("uniform", self.scale, arr)


@register("gaussian")
class Normal(Initializer):
    """Draw from a normal distribution of mean 0 and standard deviation `sigma`.

    With the generator of the device, which `mx.random.seed` seeds.
    """

    def __init__(self, sigma: float = 0.01) -> None:
        super().__init__(sigma=sigma)
        self.sigma = sigma

    def _init_weight(self, name: str, arr: NDArray) -> None:
        _draw("gaussian", self.sigma, arr)


@register
class Xavier(Initializer):
    """Keep the size of activations and gradients about the same in all layers.

    With scale = sqrt(magnitude / factor), draw from [-scale, scale) (`uniform`) or from
    a normal distribution of deviation scale (`gaussian`). The factor is the number of
    inputs of one output (`in`), of outputs of one input (`out`), or the mean (`avg`);
    a weight is (out, in, *kernel). Raises ShapeError for one with fewer than two axes
    (Glorot and Bengio, 2010).
    """

    def __init__(
        self, rnd_type: str = "uniform", factor_type: str = "avg", magnitude: float = 3
    ) -> None:
        super().__init__(
            rnd_type=rnd_type, factor_type=factor_type, magnitude=magnitude
        )
        _check_choice("Xavier", "rnd_type", rnd_type, ("uniform", "gaussian"))
        _check_choice("Xavier", "factor_type", factor_type, ("avg", "in", "out"))
        self.rnd_type = rnd_type
        self.factor_type = factor_type
        self.magnitude = float(magnitude)

    def _init_weight(self, name: str, arr: NDArray) -> None:
        shape = arr.shape
        if len(shape) < 2:
            raise ShapeError(
                f"Xavier cannot fill {name}: its shape {shape} has fewer than two "
                "axes, so inputs and outputs cannot be counted. Use Uniform or Normal."
            )
        taps = prod(shape[2:])
        fan_in, fan_out = shape[1] * taps, shape[0] * taps
        factor = {"avg": (fan_in + fan_out) / 2, "in": fan_in, "out": fan_out}
        scale = sqrt(self.magnitude / max(factor[self.factor_type], 1e-12))
        _draw(self.rnd_type, scale, arr)


@register
class MSRAPrelu(Xavier):
    """Xavier for layers followed by PReLU of the given slope (He et al., 2015)."""

    def __init__(self, factor_type: str = "avg", slope: float = 0.25) -> None:
        super().__init__("gaussian", factor_type, 2.0 / (1 + slope**2))
        self._kwargs = {"factor_type": factor_type, "slope": slope}


@register
class Orthogonal(Initializer):
    """An orthogonal matrix times `scale`: keeps lengths (Saxe et al., 2013).

    The first axis counts the rows; the others are flattened together.
    """

    def __init__(self, scale: float = 1.414, rand_type: str = "uniform") -> None:
        super().__init__(scale=scale, rand_type=rand_type)
        _check_choice("Orthogonal", "rand_type", rand_type, ("uniform", "normal"))
        self.scale = scale
        self.rand_type = rand_type

    def _init_weight(self, name: str, arr: NDArray) -> None:
        rows, columns = arr.shape[0], prod(arr.shape[1:])
        drawn = nd.empty((rows, columns))
        _draw("uniform" if self.rand_type == "uniform" else "gaussian", 1.0, drawn)
        left, _, right = np.linalg.svd(drawn.asnumpy(), full_matrices=False)
        found = left if left.shape == (rows, columns) else right
        arr[:] = (self.scale * found).reshape(arr.shape).astype(arr.dtype)


@register
class Bilinear(Initializer):
    """Weights that make a transposed convolution enlarge images smoothly.

    For weights of shape (out, in, height, width); ShapeError for others.
    """

    def __init__(self) -> None:
        super().__init__()

    def _init_weight(self, name: str, arr: NDArray) -> None:
        shape = arr.shape
        if len(shape) != 4:
            raise ShapeError(
                f"Bilinear cannot fill {name}: its shape {shape} does not have the "
                "four axes (out, in, height, width)."
            )
        half = np.ceil(shape[3] / 2.0)
        centre = (2 * half - 1 - half % 2) / (2.0 * half)
        across = 1 - abs(np.arange(shape[3]) / half - centre)
        down = 1 - abs(np.arange(shape[2]) / half - centre)
        window = np.multiply.outer(down, across)
        arr[:] = np.broadcast_to(window, shape).astype(arr.dtype)


@register
class LSTMBias(Initializer):
    """Zero, except for the forget gate: an LSTM that starts by remembering.

    For biases (4 * hidden_size,), whose second quarter is set to forget_bias.
    """

    def __init__(self, forget_bias: float = 1.0) -> None:
        super().__init__(forget_bias=forget_bias)
        self.forget_bias = forget_bias

    def _init_weight(self, name: str, arr: NDArray) -> None:
        hidden = (
            arr.shape[0] // 4
        )  # the gates stand in the order: in, forget, cell, out
        values = np.zeros(arr.shape, arr.dtype)
        values[hidden : 2 * hidden] = self.forget_bias
        arr[:] = values


@register
class FusedRNN(Initializer):
    """The parameters of the fused recurrent operator, gate by gate.

    init: the initializer of the weights; without it the general one.
    forget_bias: what the forget gates of an LSTM begin with.
    """

    def __init__(
        self,
        init: Any,
        num_hidden: int,
        num_layers: int,
        mode: str,
        bidirectional: bool = False,
        forget_bias: float = 1.0,
    ) -> None:
        inner = create(init) if isinstance(init, str) else init
        super().__init__(
            init=None if inner is None else inner.dumps(),
            num_hidden=num_hidden,
            num_layers=num_layers,
            mode=mode,
            bidirectional=bidirectional,
            forget_bias=forget_bias,
        )
        self._init = inner

    def _init_weight(self, name: str, arr: NDArray) -> None:
        from minimx.rnn.fused import FusedRNNCell

        given = self._kwargs
        settings = {k: v for k, v in given.items() if k != "init"}
        cell = FusedRNNCell(**settings, prefix="")
        general = getattr(name, "global_init", None)
        inner = self._init or general or Uniform()
        parts = cell.unpack_weights({"parameters": arr})
        for part, value in parts.items():
            if given["mode"] == "lstm" and part.endswith("_i2h_f_bias"):
                value[:] = given["forget_bias"]
            else:
                inner(InitDesc(part, global_init=general), value)
        arr[:] = cell.pack_weights(parts)["parameters"]


@register
class Mixed(Initializer):
    """For each parameter, the first initializer whose pattern matches its name.

    patterns: regular expressions, searched from the start of the name; `.*` as the last
    one catches the rest.
    """

    def __init__(self, patterns: Sequence[str], initializers: Sequence[Any]) -> None:
        if len(patterns) != len(initializers):
            raise ArgumentError(
                f"Mixed: {len(patterns)} patterns for {len(initializers)} "
                "initializers. Give one for each."
            )
        chosen = [create(one) for one in initializers]
        super().__init__(
            patterns=list(patterns), initializers=[one.dumps() for one in chosen]
        )
        self.map = [
            (re.compile(pattern), one)
            for pattern, one in zip(patterns, chosen, strict=True)
        ]

    def __call__(self, desc: str, arr: NDArray) -> None:
        """Hand `arr` to the initializer that is responsible for its name."""
        for pattern, one in self.map:
            if pattern.match(desc):
                one(desc, arr)
                return
        raise ArgumentError(
            f"Mixed: no pattern matches {desc!r}. Add '.*' as the last pattern, with "
            "the initializer for everything else."
        )


@register
class Load(Initializer):
    """Take values from a dict or a file of arrays; `default_init` fills the rest.

    param: arrays by name, or the name of a file; the prefixes `arg:` and `aux:` are
        dropped.
    """

    def __init__(
        self, param: Any, default_init: Any = None, verbose: bool = False
    ) -> None:
        super().__init__()
        stored = nd.load(param) if isinstance(param, str) else param
        if not isinstance(stored, Mapping):
            raise ArgumentError(
                f"Load: {param!r} holds arrays without names, so none can be found."
            )
        self.param = {
            name.removeprefix("arg:").removeprefix("aux:"): value
            for name, value in stored.items()
        }
        self.default_init = None if default_init is None else create(default_init)
        self.verbose = verbose

    def __call__(self, desc: str, arr: NDArray) -> None:
        """Fill `arr` with what is stored under its name."""
        stored = self.param.get(desc)
        if stored is None:
            if self.default_init is None:
                raise ArgumentError(
                    f"Load: nothing is stored for {desc!r}; give a default_init."
                )
            self.default_init(desc, arr)
            return
        if stored.shape != arr.shape:
            raise ShapeError(
                f"Load: {desc} has the shape {arr.shape}, the stored values have "
                f"{stored.shape}."
            )
        arr[:] = stored


def _draw(kind: str, scale: float, arr: NDArray) -> None:
    if kind == "uniform":
        nd.random.uniform(-scale, scale, out=arr)
    else:
        nd.random.normal(0, scale, out=arr)


def _check_choice(
    name: str, setting: str, value: str, choices: tuple[str, ...]
) -> None:
    if value not in choices:
        raise ArgumentError(
            f"{name}: {setting}={value!r}: choose one of {', '.join(choices)}."
        )
