"""Parameter: an array that a network learns, on one device or copied to several.

    weight = gluon.Parameter("weight", shape=(10, 0))   # 0: not known yet
    weight.initialize(ctx=[mx.gpu(0), mx.gpu(1)])       # deferred: no values
    weight.shape = (10, 784)                            # a layer does it, see below
    weight.data(mx.gpu(0)), weight.grad(mx.gpu(0))      # a copy of each on each device

A parameter may exist before its shape is known: `Dense(10)` learns how many features
come in when the first batch passes (PyTorch's `LazyLinear`). Until then initialization
is *deferred*: `_deferred_init` keeps what to fill it with and where to put it. A layer
sets `shape` and calls `_finish_deferred`, which makes the arrays.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from threading import get_ident
from typing import Any

import numpy as np

import minimx.nd as nd
from minimx import initializer, symbol
from minimx.core import autograd, events
from minimx.core.arrays.array import NDArray
from minimx.core.arrays.launch import tracers
from minimx.core.device import Context, cpu, current_context
from minimx.core.dtypes import resolve
from minimx.core.errors import (
    DeferredInitializationError,
    MisshapenValues,
    ParameterError,
    ParameterMismatch,
    did_you_mean,
)
from minimx.core.np_semantics import is_np_array, is_np_shape
from minimx.core.ops.stypes import STYPES
from minimx.core.shapes import Shape
from minimx.gluon.np_arrays import as_np_if_set
from minimx.gluon.parameter import rows
from minimx.gluon.parameter.deferred import (
    Contexts,
    Deferred,
    ForLibraries,
    as_contexts,
    copied,
    fits,
    never_given,
    shape_is_known,
)

GRAD_REQS = ("write", "add", "null")


class Parameter(ForLibraries):
    """An array that a network learns.

    name: its full name, such as `dense0_weight`.
    grad_req: what backward does to the gradient: `write`, `add`, or `null` (none kept).
    shape: 0 where a length is to be learnt from the data.
    lr_mult, wd_mult: factors on the optimizer's learning rate and weight decay.
    init: an initializer (or its name) that beats the one given to `initialize`.
    stype, grad_stype: how values and gradient are stored, see `mx.nd.sparse`.
    """

    def __init__(
        self,
        name: str,
        grad_req: str = "write",
        shape: int | Sequence[int] | None = None,
        dtype: Any = np.float32,
        lr_mult: float = 1.0,
        wd_mult: float = 1.0,
        init: Any = None,
        allow_deferred_init: bool = False,
        differentiable: bool = True,
        stype: str = "default",
        grad_stype: str = "default",
    ) -> None:
        for given in (stype, grad_stype):
            if given not in STYPES:
                raise rows.UnknownStorage(
                    f"Parameter {name!r}: storage type {given!r}: choose one of "
                    f"{', '.join(STYPES)}."
                )
        self._stype = stype
        self._grad_stype = grad_stype
        self._trainer: Any = None  # has the rows of a row_sparse parameter
        self.name = name
        self.layer = ""  # the path of the layer it belongs to, for memory views
        self._data: dict[Context, NDArray] | None = None
        self._grad: dict[Context, NDArray] | None = None
        self._deferred_init: Deferred | None = None
        self._var: Any = None
        self._differentiable = differentiable
        self._allow_deferred_init = allow_deferred_init
        self._grad_req = "null"
        if isinstance(shape, int):
            shape = (shape,)
        self._shape: Shape | None = None if shape is None else tuple(shape)
        resolve(dtype)  # refuse what is no dtype now; keep the spelling, as MXNet does
        self._dtype = dtype
        self.lr_mult = lr_mult
        self.wd_mult = wd_mult
        self.init = init
        self.grad_req = grad_req

    def __repr__(self) -> str:
        kind = type(self).__name__
        return f"{kind} {self.name} (shape={self.shape}, dtype={self.dtype})"

    # -- what it is -------------------------------------------------------------------

    @property
    def grad_req(self) -> str:
        """What backward does to the gradient: `write`, `add` or `null`."""
        return self._grad_req

    @grad_req.setter
    def grad_req(self, req: str) -> None:
        if req not in GRAD_REQS:
            raise ParameterMismatch(
                f"{self.name}: grad_req={req!r}: choose one of {', '.join(GRAD_REQS)}."
                + did_you_mean(str(req), GRAD_REQS)
            )
        if not self._differentiable:
            req = "null"
        if req == self._grad_req:
            return
        self._grad_req = req
        if self._data is not None:
            self._data = {ctx: data.detach() for ctx, data in self._data.items()}
            self._init_grad()

    @property
    def dtype(self) -> Any:
        """The element type, spelt as it was given."""
        return self._dtype

    @dtype.setter
    def dtype(self, dtype: Any) -> None:
        self.cast(dtype)

    @property
    def shape(self) -> Any:
        """The length of each axis; 0 where it is not known yet. None: nothing known.

        Where arrays without elements exist, after `set_np`, -1 says "not known".
        """
        if self._shape is None or not is_np_shape():
            return self._shape
        return tuple(length or -1 for length in self._shape)

    @shape.setter
    def shape(self, shape: Sequence[int]) -> None:
        new = tuple(shape)
        if not fits(self._shape, new):
            raise MisshapenValues(
                f"{self.name} has the shape {self._shape}, where 0 and -1 are still "
                f"open; {new} does not fit that. Give data of the right shape, or "
                "rebuild the layer."
            )
        self._shape = new

    # -- values and gradients, when they are made -------------------------------------

    def initialize(
        self,
        init: Any = None,
        ctx: Contexts = None,
        default_init: Any = None,
        force_reinit: bool = False,
        device: Contexts = None,
    ) -> None:
        """Fill the parameter, or remember to do so once its shape is known.

        init: beats `self.init`, which beats `default_init` (Uniform(0.07)).
        ctx: a device or several; the current one by default. `device` is its 2.0 name.
        force_reinit: throw away values that are there already.
        """
        if self._data is not None and not force_reinit:
            warnings.warn(
                f"{self.name} has values already and keeps them; "
                "give force_reinit=True to draw new ones.",
                stacklevel=2,
            )
            return
        if self._data is not None:
            self._notify_trainer()
        self._data = self._grad = None
        default = initializer.Uniform() if default_init is None else default_init
        if init is None:
            init = default if self.init is None else self.init
        contexts = as_contexts(ctx if device is None else device)
        if not shape_is_known(self._shape) and not self._allow_deferred_init:
            raise MisshapenValues(
                f"{self.name} cannot be filled: its shape {self.shape} is incomplete. "
                "Give the missing lengths (in_units, in_channels, …), or make it "
                "with allow_deferred_init=True."
            )
        self._deferred_init = Deferred(init, contexts, default)
        if shape_is_known(self._shape):
            self._finish_deferred()

    def _finish_deferred(self) -> None:
        """Make the arrays that `initialize` was to make; the shape is known now.

        Raises DeferredInitializationError if the layer has not completed it.
        """
        deferred = self._deferred_init
        if deferred is None:
            return
        if not shape_is_known(self._shape):
            raise DeferredInitializationError(
                f"{self.name} still has the incomplete shape {self.shape} after its "
                "layer has seen data. Set every length in the layer's infer_shape()."
            )
        with autograd.pause(), self._attributed_to("parameter"):
            data = self._empty(cpu(), self._stype)
            fill = initializer.create(deferred.default_init)
            own = initializer.create(deferred.init)
            fill(initializer.InitDesc(self.name, {"__init__": own}), data)
        self._place(data, deferred.contexts, copy=False)
        self._deferred_init = None

    def _empty(self, ctx: Context, stype: str) -> NDArray:
        """Zeros on a device, as values or gradient are to be stored."""
        made = nd.zeros(self.shape, ctx=ctx, dtype=self.dtype, stype=stype)
        return as_np_if_set(made) if stype == "default" else made

    def _attributed_to(self, category: str) -> Any:
        """New arrays belong to this parameter's layer, as parameter or gradient."""
        layer = self.layer or events.attribution.layer or self.name
        return events.attributed(layer=layer, category=category)

    def _place(self, data: NDArray, contexts: list[Context], copy: bool = True) -> None:
        """Put a copy of `data` on each device (`data` itself, where it may be).

        A device without room for it raises `OutOfMemory` and leaves all as it was.
        """
        data = as_np_if_set(data)
        with autograd.pause(), self._attributed_to("parameter"):
            placed = {
                ctx: data if not copy and ctx is data.context else copied(data, ctx)
                for ctx in contexts
            }
        before, self._data = self._data, placed
        try:
            self._init_grad()
        except BaseException:
            self._data = before
            raise

    def _init_grad(self) -> None:
        """Give every copy a gradient of zeros, or none if `grad_req` is null."""
        assert self._data is not None
        if self._grad_req == "null":
            self._grad = None
            return
        with autograd.pause(), self._attributed_to("gradient"):
            self._grad = {ctx: self._empty(ctx, self._grad_stype) for ctx in self._data}
        self._mark()

    def _mark(self) -> None:
        assert self._data is not None
        assert self._grad is not None
        autograd.mark_variables(
            list(self._data.values()), list(self._grad.values()), self._grad_req
        )

    def _check_load(self, data: NDArray, ctx: Contexts, cast_dtype: bool) -> None:
        """Refuse values from a file that do not fit."""
        if not fits(self._shape, data.shape):
            raise MisshapenValues(
                f"{self.name} has the shape {self.shape}, the stored values have "
                f"{data.shape}. Was the file saved from another network?"
            )
        if not cast_dtype and resolve(self.dtype) != resolve(data.dtype):
            raise ParameterMismatch(
                f"{self.name} is {resolve(self.dtype)}, the stored values are "
                f"{resolve(data.dtype)}. Give cast_dtype=True to convert them."
            )
        have = self._contexts()
        if ctx is not None and have and set(as_contexts(ctx)) != set(have):
            raise ParameterMismatch(
                f"{self.name} lives on {have}, so values cannot be loaded to "
                f"{as_contexts(ctx)}. Call reset_ctx first, or leave ctx away."
            )

    def _load(
        self, data: NDArray, ctx: Contexts, cast_dtype: bool, dtype_source: str
    ) -> None:
        """Take values that `_check_load` let pass."""
        self._shape = data.shape
        if cast_dtype and dtype_source == "saved":
            self.cast(data.dtype)
        elif cast_dtype:
            data = data.astype(self.dtype, copy=False)
        if data.stype != self._stype:
            data = data.tostype(self._stype)
        if self._data is None:
            wanted = [cpu()] if ctx is None else as_contexts(ctx)
            self._place(data, self._contexts() or wanted)
            self._deferred_init = None
        else:
            self.set_data(data)

    # -- using it ---------------------------------------------------------------------

    def var(self) -> Any:
        """The parameter as a variable of a graph, always the same `Symbol`."""
        if self._var is None:
            known = {"shape": self.shape} if self.shape is not None else {}
            self._var = symbol.var(
                self.name,
                dtype=self.dtype,
                lr_mult=self.lr_mult,
                wd_mult=self.wd_mult,
                init=self.init,
                stype=self._stype,
                **known,
            )
        return self._var

    def data(self, ctx: Context | None = None) -> NDArray:
        """The array on a device; by default the only one, or the current device's.

        Raises ParameterError if it has no values there, or none yet.
        """
        data = self._data
        if tracers and (tracer := tracers.get(get_ident())) is not None:
            # A block is made into a graph: there the parameter is a variable.
            variable: NDArray | None = tracer.parameter(self, is_np_array())
            if variable is not None:
                return variable
        elif data is not None and self._stype == "default":
            if ctx is None and len(data) == 1:
                return next(iter(data.values()))
            where = current_context() if ctx is None else ctx
            found = data.get(where)
            if found is None:  # the CPU reads any memory of the host
                found = data.get(where.home)
            if found is not None:
                return found
        raise self._missing(ctx)

    def list_data(self) -> list[NDArray]:
        """The arrays on all devices, in the order given to `initialize`."""
        if self._stype != "default":
            raise self._missing(None)
        return self._arrays()

    def _arrays(self) -> list[NDArray]:
        """The arrays on all devices, however they are stored."""
        if self._data is None:
            raise self._missing(None)
        return list(self._data.values())

    def row_sparse_data(self, row_id: NDArray) -> NDArray:
        """Rows of a row_sparse parameter, on the device of their numbers.

        The parameter must belong to a Trainer. Gradients reach it through the rows.
        """
        return rows.of_one(self, row_id)

    def list_row_sparse_data(self, row_id: NDArray) -> list[NDArray]:
        """Rows of a row_sparse parameter, on all its devices."""
        return rows.of_all(self, row_id)

    def grad(self, ctx: Context | None = None) -> NDArray:
        """The latest gradient on a device; ParameterError if `grad_req` is null."""
        if self._stype == "default":
            self.data(ctx)
        if self._grad is None:
            raise self._no_gradient()
        if ctx is None and len(self._grad) == 1:
            return next(iter(self._grad.values()))
        return self._grad[current_context() if ctx is None else ctx]

    def list_grad(self) -> list[NDArray]:
        """The gradients on all devices, in the order of `list_data`."""
        self._arrays()
        if self._grad is None:
            raise self._no_gradient()
        return list(self._grad.values())

    def _contexts(self) -> list[Context]:
        if self._data is not None:
            return list(self._data)
        return self._deferred_init.contexts if self._deferred_init is not None else []

    def list_ctx(self) -> list[Context]:
        """The devices that it lives on, or will live on once its shape is known."""
        found = self._contexts()
        if not found:
            raise self._missing(None)
        return found

    list_device = list_ctx

    def set_data(self, data: NDArray) -> None:
        """Overwrite the values on all devices; their shape completes an open one."""
        if not isinstance(data, NDArray):
            data = nd.array(data, dtype=self.dtype)
        self.shape = data.shape
        if self._data is None:
            if self._deferred_init is None:
                raise self._missing(None)
            self._place(
                data.astype(self.dtype, copy=False), self._deferred_init.contexts
            )
            self._deferred_init = None
            return
        self._notify_trainer()
        with autograd.pause():
            for array in self._data.values():
                array[:] = data.as_in_context(array.context)

    def zero_grad(self) -> None:
        """Fill the gradients on all devices with 0; nothing to do if there are none."""
        for gradient in (self._grad or {}).values():
            gradient[:] = 0

    def cast(self, dtype: Any) -> None:
        """Convert values and gradients to another element type."""
        resolve(dtype)
        data, grad = self._data, self._grad
        if data is not None:
            self._notify_trainer()
            with autograd.pause(), self._attributed_to("parameter"):
                data = {c: x.astype(dtype) for c, x in data.items()}
        if grad is not None:
            with autograd.pause(), self._attributed_to("gradient"):
                grad = {c: x.astype(dtype) for c, x in grad.items()}
        self._dtype, self._data, self._grad = dtype, data, grad
        self._var = None  # it has the old type
        if grad is not None:
            self._mark()

    def reset_ctx(self, ctx: Contexts) -> None:
        """Move to other devices; values on several are averaged first."""
        contexts = as_contexts(ctx)
        if self._data is not None:
            self._place(self._reduce(), contexts)
        elif self._deferred_init is not None:
            self._deferred_init.contexts = contexts
        else:
            raise self._missing(None)

    reset_device = reset_ctx

    def _reduce(self) -> NDArray:
        """The values on the CPU, averaged over devices."""
        if self._stype != "default" and self._trainer is not None:
            self._trainer._fetch(self)
        copies = [array.as_in_context(cpu()) for array in self._arrays()]
        with autograd.pause():
            if len(copies) == 1:
                return copies[0]
            return nd.add_n(*copies) / len(copies)  # type: ignore[no-any-return]

    def _set_trainer(self, trainer: Any) -> None:
        """Note the Trainer that updates it; rows come from one Trainer only."""
        rows.check_trainer(self, trainer)
        self._trainer = trainer

    def _notify_trainer(self) -> None:
        """Values are changed by other means than an update."""
        if self._trainer is not None:
            self._trainer._value_changed(self)

    # -- what can go wrong ------------------------------------------------------------

    def _missing(self, ctx: Context | None) -> ParameterError:
        """The error for a parameter that has no values (there)."""
        if self._data is not None and self._stype != "default":
            return ParameterError(
                f"{self.name} is stored as {self._stype}; ask for the rows you need "
                "with row_sparse_data(row_id)."
            )
        if self._data is not None:
            return ParameterError(
                f"{self.name} has no values on {ctx or current_context()}, only on "
                f"{list(self._data)}. Move your data there, or call reset_ctx."
            )
        if self._deferred_init is not None:
            return DeferredInitializationError(
                f"{self.name} has no values yet: its shape {self.shape} becomes known "
                "when the first batch passes the network. Pass one, or give in_units, "
                "in_channels, … to the layer."
            )
        return never_given(self.name)

    def _no_gradient(self) -> ParameterError:
        return ParameterError(
            f"{self.name} keeps no gradient, because its grad_req is 'null'. "
            "Set grad_req to 'write' or 'add' first."
        )
