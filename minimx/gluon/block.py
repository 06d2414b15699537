"""Block: a piece of a network, made of parameters and smaller blocks.

A block (PyTorch's `nn.Module`) registers what is assigned to its attributes: parameters
in `_reg_params`, blocks in `_children` (`Block.__setattr__`). Calling it runs its hooks
and `forward` (`Block.__call__`). While it runs, whatever happens on this thread is
attributed to its path, such as `lenet0/conv1`: memory, operations, graph nodes.

`HybridBlock`, in `hybrid.py`, is one that can be made into a graph.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any

import minimx.nd as nd
from minimx.aliases import resolve as _resolve
from minimx.core.arrays.array import NDArray
from minimx.core.errors import ArgumentError, DeferredInitializationError
from minimx.core.events import attribute, attribution
from minimx.gluon import saving
from minimx.gluon.naming import BlockScope
from minimx.gluon.parameter.deferred import Contexts
from minimx.gluon.parameter.dictionary import (
    ParameterDict,
    PathLike,
    fill_from,
    read_named,
)
from minimx.gluon.parameter.parameter import Parameter
from minimx.gluon.summary import summarize
from minimx.gluon.utils import HookHandle, indent

__all__ = ["Block", "HybridBlock", "SymbolBlock"]

#: The other kinds of blocks, which MXNet has here as well, and their files.
_OTHER_KINDS = {"HybridBlock": "hybrid", "SymbolBlock": "symbol_block"}

Hook = Callable[..., Any]


class _Edits:
    """How often any block was changed: then hybridized blocks check their parts."""

    count = 0


class _WrongKind(ArgumentError, TypeError):
    """A part of a block would become something else; MXNet raises TypeError."""


def _blocks_in(value: Any) -> Iterator[Block]:
    """The blocks in lists, tuples and dicts, however deep."""
    if isinstance(value, Block):
        yield value
    elif isinstance(value, (list, tuple, dict)):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _blocks_in(one)


class Block:
    """A piece of a network: subclass it, assign layers in __init__, write `forward`.

    prefix: what its parameters' names begin with; counted (`dense0_`) by default.
    params: the `params` of another block, to share its parameters.

        class Net(gluon.Block):
            def __init__(self, **kwargs):
                super().__init__(**kwargs)
                with self.name_scope():
                    self.hidden = nn.Dense(256, activation="relu")
                    self.output = nn.Dense(10)

            def forward(self, x):
                return self.output(self.hidden(x))
    """

    _active = False  # whether calls go to a graph, see HybridBlock

    def __init__(
        self, prefix: str | None = None, params: ParameterDict | None = None
    ) -> None:
        self._empty_prefix = prefix == ""
        self._prefix, self._params = BlockScope.create(prefix, params, self._alias())
        self._name = self._prefix.removesuffix("_")
        self._scope = BlockScope(self)
        self._children: dict[str, Block] = {}
        self._reg_params: dict[str, Parameter] = {}
        self._forward_hooks: dict[int, Hook] = {}
        self._forward_pre_hooks: dict[int, Hook] = {}
        # What attribution becomes inside this block, by what it is outside.
        self._inside: dict[int, tuple[str, Any]] = {}

    def __repr__(self) -> str:
        parts = "\n".join(
            f"  ({name}): {indent(repr(value))}"
            for name, value in vars(self).items()
            if isinstance(value, Block)
        )
        return f"{type(self).__name__}(\n{parts}\n)"

    def __setattr__(self, name: str, value: Any) -> None:
        existing = self.__dict__.get(name)
        if isinstance(existing, (Parameter, Block)) and not isinstance(
            value, type(existing)
        ):
            raise _WrongKind(
                f"{name} of {type(self).__name__} is a {type(existing).__name__}; it "
                f"cannot become a {type(value).__name__}. Use another attribute."
            )
        if isinstance(value, (Parameter, Block)) and "_children" not in self.__dict__:
            raise ArgumentError(
                f"{type(self).__name__} assigns {name} before it is set up. Call "
                "super().__init__() first in __init__."
            )
        if isinstance(value, Block):
            self.register_child(value, name)
        elif isinstance(value, Parameter):
            if existing is not None and existing is not value:
                raise ArgumentError(
                    f"{name} of {type(self).__name__} is a parameter already. To share "
                    "parameters between blocks, give params= when making the block."
                )
            self._reg_params[name] = value
            _Edits.count += 1
        super().__setattr__(name, value)

    def _alias(self) -> str:
        """What the block is called in names."""
        return type(self).__name__.lower()

    # -- names and parts --------------------------------------------------------------

    @property
    def prefix(self) -> str:
        """What the names of its parameters begin with."""
        return self._prefix

    @property
    def name(self) -> str:
        """The prefix without its last underscore."""
        return self._name

    def name_scope(self) -> BlockScope:
        """A `with` scope in which new blocks are named as parts of this one."""
        return self._scope

    @property
    def params(self) -> ParameterDict:
        """Its own parameters, without those of its children; see `collect_params`."""
        return self._params

    def register_child(self, block: Block, name: str | None = None) -> None:
        """Make a block a part of this one, under a name or the next number.

        Its parameters are then among those of this block: `collect_params`,
        `initialize` and the files of `save_parameters` reach them. Raises ArgumentError
        for what is no Block.
        """
        if not isinstance(block, Block):
            raise ArgumentError(
                f"a part of {type(self).__name__} must be a Block, not a "
                f"{type(block).__name__}."
            )
        self._children[str(len(self._children)) if name is None else name] = block
        _Edits.count += 1

    def register_forward_hook(self, hook: Hook) -> HookHandle:
        """Call `hook(block, inputs, output)` after every forward."""
        return HookHandle(self._forward_hooks, hook)

    def register_forward_pre_hook(self, hook: Hook) -> HookHandle:
        """Call `hook(block, inputs)` before every forward."""
        return HookHandle(self._forward_pre_hooks, hook)

    def apply(self, fn: Callable[[Block], Any]) -> Block:
        """Call `fn` on every part, then on the block itself; returns the block."""
        for child in self._children.values():
            child.apply(fn)
        fn(self)
        return self

    # -- parameters -------------------------------------------------------------------

    def collect_params(self, select: str | None = None) -> ParameterDict:
        """The parameters of the whole tree, by full name, such as `dense0_weight`.

        select: a regular expression; keep the names that it matches from their start.
        The result also finds them by path: `net.collect_params()["0.weight"]`.
        """
        found = ParameterDict(self._params.prefix)
        self._gather(found, None if select is None else re.compile(select))
        found._structural = {
            path: parameter.name
            for path, parameter in self._collect_params_with_prefix().items()
            if parameter.name in found
        }
        return found

    def _gather(self, found: ParameterDict, select: re.Pattern[str] | None) -> None:
        self._warn_of_hidden_blocks()
        own = ParameterDict(self._params.prefix)
        own._params = {
            name: parameter
            for name, parameter in self._params.items()
            if select is None or select.match(name)
        }
        found.update(own)
        for child in self._children.values():
            child._gather(found, select)

    def _warn_of_hidden_blocks(self) -> None:
        """Blocks in a plain list are no parts: their parameters would be missed."""
        parts = set(map(id, self._children.values()))
        for name, value in vars(self).items():
            if name.startswith("_") or not isinstance(value, (list, tuple, dict)):
                continue
            if any(id(block) not in parts for block in _blocks_in(value)):
                warnings.warn(
                    f"{type(self).__name__}.{name} holds blocks in a plain "
                    f"{type(value).__name__}, so they are no parts of it. Use "
                    "nn.Sequential, or register_child for each.",
                    stacklevel=4,
                )

    def _collect_params_with_prefix(self, prefix: str = "") -> dict[str, Parameter]:
        """The parameters of the tree by path: `0.weight`."""
        dot = prefix + "." if prefix else ""
        found = {dot + name: value for name, value in self._reg_params.items()}
        for name, child in self._children.items():
            found.update(child._collect_params_with_prefix(dot + name))
        return found

    def initialize(
        self,
        init: Any = None,
        ctx: Contexts = None,
        verbose: bool = False,
        force_reinit: bool = False,
        device: Contexts = None,
    ) -> None:
        """Fill all parameters, or remember to do so once their shapes are known.

        init: for parameters without an initializer of their own (Uniform(0.07)).
        ctx: the device or devices that they are on; by default the current one.
        verbose: print how each is filled. force_reinit: fill those with values anew.
        device: MXNet 2.0's name of ctx.
        """
        self._set_layer_paths("")
        self.collect_params().initialize(init, ctx, verbose, force_reinit, device)

    def _set_layer_paths(self, outer: str) -> None:
        """Note in each parameter the path of its layer, for views of memory."""
        path = self._path_under(outer)
        for parameter in self._reg_params.values():
            parameter.layer = path
        for child in self._children.values():
            child._set_layer_paths(path)

    def save_parameters(self, filename: PathLike, deduplicate: bool = False) -> None:
        """Write all values to a file, by path in the tree, which MXNet reads as well.

        deduplicate: write a parameter that several blocks share only once.
        """
        found = self._collect_params_with_prefix()
        if deduplicate:
            first = {id(value): name for name, value in reversed(found.items())}
            found = {n: v for n, v in found.items() if first[id(v)] == n}
        nd.save(filename, {name: value._reduce() for name, value in found.items()})

    def load_parameters(
        self,
        filename: PathLike,
        ctx: Contexts = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
        cast_dtype: bool = False,
        dtype_source: str = "current",
        device: Contexts = None,
    ) -> None:
        """Read values written by `save_parameters`; either all fit, or none is taken.

        ctx: the devices of parameters without values; `device` is its 2.0 name.
        allow_missing: parameters may have no value in the file. ignore_extra: the file
        may have values for no parameter. cast_dtype: convert values of another type,
        or with `dtype_source="saved"` the parameters. Raises DataError for a file that
        cannot be read, ParameterError or ShapeError for values that do not fit.
        """
        self.load_dict(
            read_named(filename),
            ctx if device is None else device,
            allow_missing,
            ignore_extra,
            cast_dtype,
            dtype_source,
            repr(str(filename)),
        )

    def save_params(self, filename: PathLike) -> None:
        """Write all values by their names, without the block's prefix, as MXNet 1.2."""
        self.collect_params().save(filename, strip_prefix=self.prefix)

    def load_params(
        self,
        filename: PathLike,
        ctx: Contexts = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
    ) -> None:
        """The old name of `load_parameters`, before MXNet 1.3; see there."""
        self.load_parameters(filename, ctx, allow_missing, ignore_extra)

    def save(self, prefix: str) -> None:
        """Write the names of all parts and all values; see `minimx.gluon.saving`."""
        saving.save(self, prefix)

    def load(self, prefix: str) -> None:
        """Read what `save` wrote, into a block that is made in the same way."""
        saving.load(self, prefix)

    def load_dict(
        self,
        param_dict: dict[str, NDArray],
        ctx: Contexts = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
        cast_dtype: bool = False,
        dtype_source: str = "current",
        source: str = "the dict",
    ) -> None:
        """Take values from a dict, by path in the tree or else by full name.

        source: where they come from, for error messages. The others are arguments of
        `load_parameters`; it raises the same errors.
        """
        targets = self._collect_params_with_prefix()
        stored = {
            name.removeprefix("arg:").removeprefix("aux:"): value
            for name, value in param_dict.items()
        }
        if stored and not any(name in targets or "." in name for name in stored):
            by_name = self.collect_params()
            targets = dict(by_name.items())
            if not any(name in targets for name in stored):
                stored = {self.prefix + name: value for name, value in stored.items()}
        elif allow_missing is False:
            stored = _repeat_shared(targets, stored)
        fill_from(
            targets,
            stored,
            source,
            ctx,
            allow_missing=allow_missing,
            ignore_extra=ignore_extra,
            cast_dtype=cast_dtype,
            dtype_source=dtype_source,
        )

    def zero_grad(self) -> None:
        """Fill all gradients with 0."""
        self.collect_params().zero_grad()

    def reset_ctx(self, ctx: Contexts) -> None:
        """Move all parameters to other devices."""
        self.collect_params().reset_ctx(ctx)

    reset_device = reset_ctx

    def setattr(self, name: str, value: Any) -> None:
        """Set an attribute, such as `grad_req`, of all parameters.

        Raises what setting it on a single `Parameter` raises.
        """
        self.collect_params().setattr(name, value)

    def cast(self, dtype: Any) -> None:
        """Convert all parameters to another element type."""
        for child in self._children.values():
            child.cast(dtype)
        _Edits.count += 1
        for parameter in self.params.values():
            parameter.cast(dtype)

    def hybridize(self, active: bool = True, **kwargs: Any) -> None:
        """Hybridize the parts that are `HybridBlock`s; a plain block goes on as it is.

        kwargs: the settings of `HybridBlock.hybridize`, which raises the errors.
        """
        for child in self._children.values():
            child.hybridize(active, **kwargs)

    def summary(self, *inputs: Any) -> None:
        """Print what comes out of every part, and how many parameters it has."""
        print(summarize(self, *inputs))

    # -- running ----------------------------------------------------------------------

    def __call__(self, *args: Any) -> Any:
        """Run the hooks and `forward`, on behalf of this block."""
        at = attribution.__dict__  # this thread's, looked up once: every layer pays
        layer, owners = at["layer"], at["owners"]
        inside = self._inside.get(id(owners)) or self._attribution_inside()
        at["layer"], at["owners"] = inside
        try:
            if self._forward_hooks or self._forward_pre_hooks:
                return self._hooked(args)
            return self._through_graph(args) if self._active else self.forward(*args)
        except DeferredInitializationError:
            if not self._learn_shapes(args):
                raise
            out = self.forward(*args)
            for hook in list(self._forward_hooks.values()):
                hook(self, args, out)
            return out
        finally:
            at["layer"], at["owners"] = layer, owners

    def _learn_shapes(self, args: tuple[Any, ...]) -> bool:
        """Complete open shapes of own parameters, where a subclass can."""
        return False

    def _through_graph(self, args: tuple[Any, ...]) -> Any:
        """Run as a graph; what `HybridBlock` does if it is hybridized."""
        return self.forward(*args)

    def _hooked(self, args: tuple[Any, ...]) -> Any:
        for hook in list(self._forward_pre_hooks.values()):
            hook(self, args)
        out = self._through_graph(args) if self._active else self.forward(*args)
        for hook in list(self._forward_hooks.values()):
            hook(self, args, out)
        return out

    def forward(self, *args: Any) -> Any:
        """Compute the output. Subclasses must write it."""
        raise NotImplementedError(
            f"{type(self).__name__} has no forward(self, x, ...). Write one: it takes "
            "arrays and returns arrays."
        )

    def _attribution_inside(self) -> tuple[str, Any]:
        """Attribution inside this block: its path, and the owners of memory there.

        Kept for the next call from the same place in the network.
        """
        at = attribution
        outside = at.owners
        before = attribute(self._path_under(at.layer), at.phase, at.category)
        inside = self._inside[id(outside)] = at.layer, at.owners
        attribute(*before)
        return inside

    def _path_under(self, outer: str) -> str:
        """The path of this block inside the block with path `outer`."""
        own = self._name.removeprefix(outer.replace("/", "_") + "_")
        return f"{outer}/{own}" if outer and own else outer or own


def _repeat_shared(
    targets: dict[str, Parameter], stored: dict[str, NDArray]
) -> dict[str, NDArray]:
    """Enter a value saved once (`deduplicate`) under every name of its parameter."""
    by_parameter = {id(targets[n]): v for n, v in stored.items() if n in targets}
    repeated = {
        name: by_parameter[id(parameter)]
        for name, parameter in targets.items()
        if id(parameter) in by_parameter
    }
    return {**stored, **repeated}


if TYPE_CHECKING:
    from minimx.gluon.hybrid import HybridBlock
    from minimx.gluon.symbol_block import SymbolBlock
else:

    def __getattr__(name: str) -> object:
        if name in _OTHER_KINDS:  # they import this module
            return getattr(import_module(f"minimx.gluon.{_OTHER_KINDS[name]}"), name)
        return _resolve(__name__, name, __all__)
