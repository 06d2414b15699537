"""Layers without geometry: containers, Dense, Dropout, Embedding, Flatten, Lambda."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import minimx.nd as nd
from minimx.core.arrays.array import NDArray
from minimx.core.errors import ArgumentError
from minimx.core.ops.registry import bind, lookup
from minimx.gluon.block import Block, HybridBlock
from minimx.gluon.nn.weights import activation_after, weight_and_bias
from minimx.gluon.utils import indent
from minimx.name import Prefix
from minimx.symbol import Symbol
from minimx.symbol.tracing.arrays import Traced

__all__ = [
    "Concatenate", "Dense", "Dropout", "Embedding", "Flatten", "HybridConcatenate",
    "HybridLambda", "HybridSequential", "Identity", "Lambda", "Sequential",
]  # fmt: skip


class _Stack(Block):
    """What Sequential and HybridSequential share: blocks in a row."""

    def add(self, *blocks: Any) -> None:
        """Append blocks."""
        for block in blocks:
            self.register_child(block)

    def forward(self, x: Any, *args: Any) -> Any:
        """Hand x through the blocks, one after the other.

        A block that returns several values hands them all to the next.
        """
        for block in self._children.values():
            x = block(x, *args)
            args = ()
            if isinstance(x, (tuple, list)):
                x, args = x[0], tuple(x[1:])
        return [x, *args] if args else x

    def __repr__(self) -> str:
        parts = "\n".join(
            f"  ({name}): {indent(repr(block))}"
            for name, block in self._children.items()
        )
        return f"{type(self).__name__}(\n{parts}\n)"

    def __getitem__(self, key: int | slice) -> Any:
        """The block at a place, or a stack of those in a slice (sharing parameters)."""
        blocks = list(self._children.values())
        if not isinstance(key, slice):
            return blocks[key]
        part = type(self)(prefix=self._prefix)
        part.add(*blocks[key])
        return part

    def __len__(self) -> int:
        return len(self._children)

    def __iter__(self) -> Iterator[Block]:
        return iter(self._children.values())


class Sequential(_Stack):
    """Blocks in a row: what comes out of one goes into the next."""

    def hybridize(self, active: bool = True, **kwargs: Any) -> None:
        """Hybridize the blocks, one by one; a HybridSequential is one graph."""
        children = self._children.values()
        if children and all(isinstance(one, HybridBlock) for one in children):
            warnings.warn(
                f"all blocks of {self.name} are HybridBlocks; as a HybridSequential "
                "they would become one graph.",
                stacklevel=2,
            )
        super().hybridize(active, **kwargs)


class HybridSequential(_Stack, HybridBlock):
    """Hybrid blocks in a row; can become one graph."""

    def forward(self, x: Any, *args: Any) -> Any:
        """Hand x through the blocks; through their graph if there is one."""
        if self._active and isinstance(x, NDArray) and not isinstance(x, Traced):
            return self._through_graph((x, *args))
        if isinstance(x, Symbol) and not self._empty_prefix:
            with Prefix(self.prefix):
                return super().forward(x, *args)
        return super().forward(x, *args)


class Dense(HybridBlock):
    """out = activation(x · weightᵀ + bias), a fully connected layer.

    units: features that come out. in_units: features that come in, 0 to learn them.
    flatten: x (N, d1, d2, …) counts as (N, d1·d2·…); otherwise only the last axis is
        transformed, and the others stay.
    weight (units, in_units), bias (units,).
    """

    def __init__(
        self,
        units: int,
        activation: str | None = None,
        use_bias: bool = True,
        flatten: bool = True,
        dtype: Any = "float32",
        weight_initializer: Any = None,
        bias_initializer: Any = "zeros",
        in_units: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._units = units
        self._in_units = in_units
        self._flatten = flatten
        with self.name_scope():
            starts = weight_initializer, bias_initializer
            self.weight, self.bias = weight_and_bias(
                self, (units, in_units), units, starts, use_bias, dtype=dtype
            )
            self.act = activation_after(activation)

    def hybrid_forward(self, F: Any, x: Any, weight: Any, bias: Any = None) -> Any:
        """(N, units), or (…, units) without `flatten`."""
        out = F.FullyConnected(
            x,
            weight,
            bias,
            num_hidden=self._units,
            no_bias=bias is None,
            flatten=self._flatten,
            name="fwd",
        )
        return out if self.act is None else self.act(out)

    def __repr__(self) -> str:
        units, features = self.weight.shape
        act = self.act or "linear"
        return f"{type(self).__name__}({features or None} -> {units}, {act})"


class Dropout(HybridBlock):
    """In training mode, set a share `rate` of the elements to 0, and scale up the rest.

    axes: axes along which one decision is shared.
    """

    def __init__(
        self, rate: float, axes: int | tuple[int, ...] = (), **kwargs: Any
    ) -> None:
        if not 0 <= rate <= 1:
            raise ArgumentError(
                f"Dropout: rate={rate} is the share of elements to drop; "
                "give a number from 0 to 1."
            )
        super().__init__(**kwargs)
        self._rate = rate
        self._axes = axes

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """Same shape as x."""
        if self._rate == 0:
            return x
        return F.Dropout(x, p=self._rate, axes=self._axes, name="fwd")

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p = {self._rate}, axes={self._axes})"


class Embedding(HybridBlock):
    """A table of vectors, one for each number from 0 to input_dim - 1.

    x (…) of numbers, out (…, output_dim), weight (input_dim, output_dim). sparse_grad:
    the gradient is row_sparse; it stores the rows that were looked up.
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        dtype: Any = "float32",
        weight_initializer: Any = None,
        sparse_grad: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._sparse_grad = sparse_grad
        self._input_dim = input_dim
        self._output_dim = output_dim
        self._dtype = dtype
        with self.name_scope():
            self.weight = self.params.get(
                "weight",
                shape=(input_dim, output_dim),
                init=weight_initializer,
                dtype=dtype,
                allow_deferred_init=True,
                grad_stype="row_sparse" if sparse_grad else "default",
            )

    def hybrid_forward(self, F: Any, x: Any, weight: Any) -> Any:
        """The vectors of the numbers in x."""
        return F.Embedding(
            x,
            weight,
            input_dim=self._input_dim,
            output_dim=self._output_dim,
            dtype=self._dtype,
            sparse_grad=self._sparse_grad,
            name="fwd",
        )

    def __repr__(self) -> str:
        sizes = f"{self._input_dim} -> {self._output_dim}"
        return f"{type(self).__name__}({sizes}, {self._dtype})"


class Flatten(HybridBlock):
    """(N, d1, d2, …) becomes (N, d1·d2·…)."""

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """The same numbers as a matrix, one row for each sample."""
        return F.Flatten(x)

    def __repr__(self) -> str:
        return type(self).__name__


class Identity(HybridBlock):
    """Out comes what goes in."""

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """Return x itself."""
        return x


def _function_and_name(block: str, given: Any) -> tuple[Any, str]:
    """A function, in `mx.nd` if it is given by name, and what repr calls it."""
    if isinstance(given, str):
        return getattr(nd, given), given
    if not callable(given):
        raise ArgumentError(
            f"{block} takes a function or the name of one, not {given!r}."
        )
    return given, getattr(given, "__name__", repr(given))


class Lambda(Block):
    """A function as a block.

    function: the name of a function in `mx.nd`, or a callable `(*inputs)`.
    """

    def __init__(self, function: Any, prefix: str | None = None) -> None:
        super().__init__(prefix=prefix)
        self._func_impl, self._func_name = _function_and_name("Lambda", function)

    def forward(self, *args: Any) -> Any:
        """Whatever the function gives."""
        return self._func_impl(*args)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._func_name})"


class HybridLambda(HybridBlock):
    """A function as a hybrid block.

    function: the name of an operator, or a callable `(F, *inputs)`.
    """

    def __init__(self, function: Any, prefix: str | None = None) -> None:
        super().__init__(prefix=prefix)
        self._func, self._func_name = _function_and_name("HybridLambda", function)
        if isinstance(function, str):  # one of `F`, which decides between nd and sym
            self._func = lambda F, *args: getattr(F, function)(*args)

    def hybrid_forward(self, F: Any, x: Any, *args: Any) -> Any:
        """Whatever the function gives."""
        return self._func(F, x, *args)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._func_name})"


class _SideBySide(_Stack):
    """What Concatenate and HybridConcatenate share."""

    def __init__(self, axis: int = -1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axis = axis

    def forward(self, x: Any, *args: Any) -> Any:
        """The outputs of all blocks, side by side."""
        outs = [block(x, *args) for block in self._children.values()]
        return bind(lookup("Concat").of(dim=self.axis), *outs)


class Concatenate(_SideBySide, Sequential):
    """Hand the input to every block, and join what comes out along an axis."""


class HybridConcatenate(_SideBySide, HybridSequential):
    """`Concatenate` of hybrid blocks."""
