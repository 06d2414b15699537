"""ParameterDict: the parameters of a network by name, in the order of creation.

A block keeps its own parameters in one (`block.params`); `collect_params()` gathers
those of a whole tree of blocks. A dictionary may share the parameters of another one.
"""

from __future__ import annotations

import os
from collections.abc import ItemsView, Iterator, KeysView, ValuesView
from typing import Any

import minimx.nd as nd
from minimx.core import autograd
from minimx.core.arrays.array import NDArray
from minimx.core.device import Context
from minimx.core.dtypes import resolve
from minimx.core.errors import (
    ArgumentError,
    DataError,
    ParameterError,
    ParameterMismatch,
    did_you_mean,
)
from minimx.gluon.parameter.constant import Constant
from minimx.gluon.parameter.deferred import Contexts
from minimx.gluon.parameter.parameter import Parameter

PathLike = str | os.PathLike[str]


class ParameterDict:
    """Parameters by full name.

    prefix: what every name made by `get` begins with.
    shared: a dictionary that `get` looks into before it makes a new parameter.
    """

    def __init__(self, prefix: str = "", shared: ParameterDict | None = None) -> None:
        self._prefix = prefix
        self._shared = shared
        self._params: dict[str, Parameter] = {}
        # `0.weight` for `dense0_weight`: MXNet 2's names, filled by `collect_params`.
        self._structural: dict[str, str] = {}

    def __repr__(self) -> str:
        name = self._prefix + " " if self._prefix else ""
        content = "\n".join(f"  {parameter!r}" for parameter in self.values())
        return f"{name}(\n{content}\n)"

    def __getitem__(self, name: str) -> Parameter:
        found = self._params.get(self._structural.get(name, name))
        if found is None:
            known = [*self._params, *self._structural]
            raise ParameterError(
                f"there is no parameter {name!r} among {brief(self._params)}."
                + did_you_mean(name, known)
            )
        return found

    def __contains__(self, name: object) -> bool:
        return name in self._params or name in self._structural

    def __iter__(self) -> Iterator[str]:
        return iter(self._params)

    def __len__(self) -> int:
        return len(self._params)

    def __bool__(self) -> bool:
        return True  # an empty dictionary is still a dictionary to share

    def items(self) -> ItemsView[str, Parameter]:
        """Names and parameters."""
        return self._params.items()

    def keys(self) -> KeysView[str]:
        """The names."""
        return self._params.keys()

    def values(self) -> ValuesView[Parameter]:
        """The parameters."""
        return self._params.values()

    @property
    def prefix(self) -> str:
        """What the names of its own parameters begin with."""
        return self._prefix

    # -- new parameters ---------------------------------------------------------------

    def get(self, name: str, **kwargs: Any) -> Parameter:
        """The parameter called prefix + name, made if it is not there yet.

        kwargs: arguments of `Parameter`. If it is there, they must agree with it; an
        open shape and unset attributes are completed.
        """
        full = self._prefix + name
        found = self._find(full)
        if found is None:
            found = self._params[full] = Parameter(full, **kwargs)
            return found
        for setting, value in kwargs.items():
            _agree(found, setting, value)
        return found

    def get_constant(self, name: str, value: Any = None) -> Constant:
        """The constant called prefix + name, made from `value` if it is not there."""
        full = self._prefix + name
        found = self._find(full)
        if found is None:
            if value is None:
                raise ParameterError(
                    f"there is no constant {full!r}, and no value to make it from."
                )
            made = self._params[full] = Constant(full, value)
            return made
        if not isinstance(found, Constant):
            raise ParameterMismatch(f"{full} exists already, but is no constant.")
        if value is not None:
            given = value if isinstance(value, NDArray) else nd.array(value)
            stored = found.value
            if given.shape != stored.shape or (
                (given.asnumpy() != stored.asnumpy()).any()
            ):
                raise ParameterMismatch(
                    f"the constant {full} exists already, with another value."
                )
        return found

    def _find(self, full: str) -> Parameter | None:
        if full in self._params:
            return self._params[full]
        if self._shared is not None:
            found = self._shared._find(full)
            if found is not None:
                self._params[full] = found
            return found
        return None

    def update(self, other: ParameterDict) -> None:
        """Take in the parameters of another dictionary."""
        for name, parameter in other.items():
            if self._params.setdefault(name, parameter) is not parameter:
                raise ParameterMismatch(
                    f"two different parameters are called {name!r}. Give one of the "
                    "blocks another prefix."
                )

    # -- all at once ------------------------------------------------------------------

    def initialize(
        self,
        init: Any = None,
        ctx: Contexts = None,
        verbose: bool = False,
        force_reinit: bool = False,
        device: Contexts = None,
    ) -> None:
        """Initialize every parameter; see `Parameter.initialize`.

        init: for parameters without an initializer of their own (Uniform(0.07)).
        """
        for parameter in self.values():
            if verbose:
                print(f"{parameter.name}: {parameter.init or init or 'uniform'}")
            parameter.initialize(None, ctx, init, force_reinit, device)

    def zero_grad(self) -> None:
        """Fill all gradients with 0."""
        for parameter in self.values():
            parameter.zero_grad()

    def list_ctx(self) -> list[Context]:
        """The devices that any of the parameters lives on."""
        found = {ctx: None for p in self.values() for ctx in p.list_ctx()}
        return list(found)

    list_device = list_ctx

    def reset_ctx(self, ctx: Contexts) -> None:
        """Move every parameter to other devices."""
        for parameter in self.values():
            parameter.reset_ctx(ctx)

    reset_device = reset_ctx

    def setattr(self, name: str, value: Any) -> None:
        """Set an attribute, such as `grad_req` or `lr_mult`, of every parameter."""
        for parameter in self.values():
            setattr(parameter, name, value)

    # -- files ------------------------------------------------------------------------

    def save(self, filename: PathLike, strip_prefix: str = "") -> None:
        """Write all values to a file, without `strip_prefix` before their names."""
        stored = {}
        for parameter in self.values():
            if not parameter.name.startswith(strip_prefix):
                raise ArgumentError(
                    f"the prefix {strip_prefix!r} cannot be taken from the name "
                    f"{parameter.name!r}: it does not begin with it."
                )
            stored[parameter.name[len(strip_prefix) :]] = parameter._reduce()
        nd.save(filename, stored)

    def load(
        self,
        filename: PathLike,
        ctx: Contexts = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
        restore_prefix: str = "",
        cast_dtype: bool = False,
        dtype_source: str = "current",
    ) -> None:
        """Read values from a file written by `save`; see `fill_from`."""
        self.load_dict(
            read_named(filename),
            ctx,
            allow_missing,
            ignore_extra,
            restore_prefix,
            str(filename),
            cast_dtype,
            dtype_source,
        )

    def load_dict(
        self,
        param_dict: dict[str, NDArray],
        ctx: Contexts = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
        restore_prefix: str = "",
        filename: str | None = None,
        cast_dtype: bool = False,
        dtype_source: str = "current",
    ) -> None:
        """Take values from a dict; `restore_prefix` goes before its names."""
        stored = {
            restore_prefix + name.removeprefix("arg:").removeprefix("aux:"): value
            for name, value in param_dict.items()
        }
        source = "the dict" if filename is None else repr(filename)
        fill_from(
            self._params,
            stored,
            source,
            ctx,
            allow_missing=allow_missing,
            ignore_extra=ignore_extra,
            cast_dtype=cast_dtype,
            dtype_source=dtype_source,
        )


def brief(names: Any, limit: int = 7) -> str:
    """The first few names, quoted, for an error message.

    >>> brief(["a", "b"]), brief([])
    ("'a', 'b'", 'none')
    """
    listed = [repr(name) for name in names]
    if len(listed) > limit:
        half = limit // 2
        listed = [*listed[:half], "…", *listed[-half:]]
    return ", ".join(listed) or "none"


def read_named(filename: PathLike) -> dict[str, NDArray]:
    """The arrays of a file, by name."""
    stored = nd.load(filename)
    if isinstance(stored, list):
        if stored:
            raise DataError(
                f"{str(filename)!r} stores arrays without names, so no parameter can "
                "find its own. Use nd.load to read them."
            )
        return {}
    return stored


def fill_from(
    parameters: dict[str, Parameter],
    stored: dict[str, NDArray],
    source: str,
    ctx: Contexts = None,
    *,
    allow_missing: bool = False,
    ignore_extra: bool = False,
    cast_dtype: bool = False,
    dtype_source: str = "current",
) -> None:
    """Give parameters the values stored under their names; all or none.

    allow_missing: leave parameters alone for which nothing is stored.
    ignore_extra: leave stored arrays alone that no parameter is called after.
    cast_dtype: where dtypes differ, convert to that of the parameter
        (dtype_source='current') or make the parameter that of the file ('saved').
    """
    if dtype_source not in ("current", "saved"):
        raise ParameterError(
            f"dtype_source={dtype_source!r}: choose 'current' (the parameter's dtype) "
            "or 'saved' (the file's)."
        )
    missing = [name for name in parameters if name not in stored]
    if missing and not allow_missing:
        raise ParameterMismatch(
            f"nothing is stored for {brief(missing)} in {source}, which holds "
            f"{brief(stored)}. Give allow_missing=True to leave them as they are."
        )
    extra = [name for name in stored if name not in parameters]
    if extra and not ignore_extra:
        raise ParameterMismatch(
            f"{source} stores {brief(extra)}, but the parameters are "
            f"{brief(parameters)}. Give ignore_extra=True to leave them out."
        )
    chosen = {name: stored[name] for name in parameters if name in stored}
    for name, value in chosen.items():
        parameters[name]._check_load(value, ctx, cast_dtype)
    with autograd.pause():
        for name, value in chosen.items():
            parameters[name]._load(value, ctx, cast_dtype, dtype_source)


def _agree(found: Parameter, setting: str, value: Any) -> None:
    """Check that a parameter has a setting, or complete it."""
    if value is None or not hasattr(found, setting):
        return
    existing = getattr(found, setting)
    if existing is None:
        setattr(found, setting, value)
        return
    if setting == "shape":
        found.shape = _merged(found.name, existing, value)
        return
    same = (
        resolve(existing) == resolve(value) if setting == "dtype" else existing == value
    )
    if not same:
        raise ParameterMismatch(
            f"{found.name} is shared, but its {setting} is {existing!r} and not "
            f"{value!r} as asked for. Make both the same, or do not share it."
        )


def _merged(name: str, existing: Any, asked: Any) -> tuple[int, ...]:
    """Two shapes in one: a length known in either is known."""
    asked = (asked,) if isinstance(asked, int) else tuple(asked)
    if len(asked) != len(existing) or any(
        a > 0 and b > 0 and a != b for a, b in zip(existing, asked, strict=True)
    ):
        raise ParameterMismatch(
            f"{name} is shared, but its shape is {existing} and not {asked} as asked "
            "for. Make both the same, or do not share it."
        )
    return tuple(a if a > 0 else b for a, b in zip(existing, asked, strict=True))
