"""`Module`: a symbol bound to shapes on some devices, its parameters, an optimizer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from minimx import model, nd
from minimx import optimizer as opt
from minimx.core import errors
from minimx.core.arrays.array import NDArray
from minimx.core.device import as_device, cpu
from minimx.core.errors import ArgumentError, MissingArgument, ParameterError
from minimx.core.events import attributed
from minimx.initializer import InitDesc, Uniform
from minimx.io import DataDesc
from minimx.module import slices
from minimx.module.executor_group import DataParallelExecutorGroup
from minimx.module.loops import BaseModule
from minimx.module.slices import Described
from minimx.module.training import Training
from minimx.symbol import Symbol

Arrays = dict[str, NDArray]
Given = Mapping[str, NDArray] | None


class Module(BaseModule):
    """Trains a symbol: `fit`, or bind, init_params, init_optimizer and step by step.

    data_names, label_names: the arguments that batches bring. state_names: those that
    `set_states` sets. The others are parameters; fixed_param_names: those that are not
    trained. context: a device, or several, each of which gets its part of every batch,
    in proportion to work_load_list. group2ctxs: devices of parts of the symbol (see
    `Symbol.bind`), for each device. compression_params: for the store of gradients.
    """

    def __init__(
        self,
        symbol: Symbol,
        data_names: Sequence[str] | None = ("data",),
        label_names: Sequence[str] | None = ("softmax_label",),
        logger: Any = None,
        context: Any = None,
        work_load_list: Sequence[float] | None = None,
        fixed_param_names: Sequence[str] | None = None,
        state_names: Sequence[str] | None = None,
        group2ctxs: Any = None,
        compression_params: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(logger)
        self._symbol: Symbol = symbol
        self._data_names = list(data_names or ())
        self._label_names = list(label_names or ())
        self._state_names = list(state_names or ())
        self._fixed = list(fixed_param_names or ())
        several = context if isinstance(context, (list, tuple)) else [context]
        self._devices = [cpu() if one is None else as_device(one) for one in several]
        self._workload = _workload(work_load_list, len(self._devices))
        self._groups, self._compression = group2ctxs, compression_params
        arguments = symbol.list_arguments()
        for name in (*self._data_names, *self._state_names, *self._fixed):
            if name not in arguments:
                raise ArgumentError(
                    f"Module: the symbol has no argument {name!r}; it has "
                    f"{', '.join(arguments)}.{errors.did_you_mean(name, arguments)}"
                )
        inputs = {*self._data_names, *self._label_names, *self._state_names}
        self._param_names = [name for name in arguments if name not in inputs]
        self._exec_group: DataParallelExecutorGroup | None = None
        self._training: Training | None = None
        self._loaded: tuple[Arrays, Arrays] | None = None
        self._stored_states: str | None = None
        self._grad_req: Any = None
        self.for_training = self.inputs_need_grad = False

    # -- getting ready ----------------------------------------------------------------

    @property
    def symbol(self) -> Symbol:
        """What is trained."""
        return self._symbol

    @property
    def data_names(self) -> list[str]:
        """The arguments that batches bring."""
        return self._data_names

    @property
    def label_names(self) -> list[str]:
        """The labels that batches bring."""
        return self._label_names

    @property
    def output_names(self) -> list[str]:
        """The names of the outputs."""
        return self._symbol.list_outputs()

    @property
    def data_shapes(self) -> list[DataDesc]:
        """What batches look like now."""
        return self._group.data_shapes

    @property
    def label_shapes(self) -> list[DataDesc] | None:
        """What their labels look like; None if there are none."""
        return self._group.label_shapes or None

    @property
    def output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        """(name, shape) of every output."""
        return self._group.get_output_shapes()

    def bind(
        self,
        data_shapes: Described,
        label_shapes: Described = None,
        for_training: bool = True,
        inputs_need_grad: bool = False,
        force_rebind: bool = False,
        shared_module: Module | None = None,
        grad_req: Any = "write",
    ) -> None:
        """Allocate what batches of these shapes need; parameters that are there stay.

        data_shapes, label_shapes: DataDesc, or (name, shape), for each. shared_module:
        one that has all the parameters, which both use from now on, and whose memory
        they use in turns. grad_req: for all that are trained, or by name, or in a list
        for each argument.
        """
        if self.binded and not force_rebind:
            self.logger.warning("Already bound, ignoring bind()")
            return
        if shared_module is None and self.params_initialized:
            self._loaded = self.get_params()
        shared_group = None if shared_module is None else shared_module._ready
        group = DataParallelExecutorGroup(
            self._symbol,
            self._devices,
            self._workload,
            self._checked(data_shapes),
            label_shapes,
            self._param_names,
            for_training,
            inputs_need_grad,
            shared_group,
            fixed_param_names=self._fixed,
            grad_req=grad_req,
            state_names=self._state_names,
            group2ctxs=self._groups,
        )
        if shared_group is not None:
            _require_shared(group, shared_group)
        self._exec_group, self._grad_req = group, grad_req
        self.for_training, self.inputs_need_grad = for_training, inputs_need_grad
        self.binded = True
        if self._loaded is not None:
            group.set_params(*self._loaded)
            self._loaded = None
        if shared_module is not None:
            self.params_initialized = True
            self.borrow_optimizer(shared_module)

    def _checked(self, data_shapes: Described) -> list[DataDesc]:
        """The shapes of data, of which there is one for each name."""
        entries = [slices.described(entry) for entry in data_shapes or ()]
        found = [entry.name for entry in entries]
        if sorted(found) != sorted(self._data_names):
            raise ArgumentError(
                f"Module.bind: data_shapes describe {found}, but data_names are "
                f"{self._data_names}."
            )
        return entries

    def reshape(self, data_shapes: Described, label_shapes: Described = None) -> None:
        """Go on with batches of other shapes and the same parameters."""
        self._group.reshape(self._checked(data_shapes), label_shapes)

    def install_monitor(self, mon: Any) -> None:
        """Let a monitor watch what is computed."""
        self._group.install_monitor(mon)

    @property
    def _group(self) -> DataParallelExecutorGroup:
        if self._exec_group is None:
            raise ParameterError("this module is not bound yet: call bind first.")
        return self._exec_group

    @property
    def _ready(self) -> DataParallelExecutorGroup:
        if not self.params_initialized:
            raise ParameterError(
                "the parameters have no values yet: call init_params or set_params."
            )
        return self._group

    @property
    def _total_exec_bytes(self) -> int:
        """How much memory is planned for what lies between arguments and outputs."""
        return sum(executor._memory().total for executor in self._group.execs)

    # -- parameters -------------------------------------------------------------------

    def get_params(self) -> tuple[Arrays, Arrays]:
        """Copies of the parameters, and of the auxiliary states, by name, on the host.

        Of several devices, their mean.
        """
        if self._loaded is not None:
            return self._loaded
        params, states = self._ready.get_params()
        if self._training is not None:
            self._training.fetch_whole(params)
        return params, states

    @property
    def _arg_params(self) -> Arrays:
        return self.get_params()[0]

    @property
    def _aux_params(self) -> Arrays:
        return self.get_params()[1]

    def init_params(
        self,
        initializer: Any = None,
        arg_params: Given = None,
        aux_params: Given = None,
        allow_missing: bool = False,
        force_init: bool = False,
        allow_extra: bool = False,
    ) -> None:
        """Give every parameter and state a value: one that is given, or an initial one.

        initializer: Uniform(0.01) by default. allow_missing: those that are not among
        the given ones are initialized. Given ones that have no place here are passed
        over, with or without allow_extra.
        """
        if self.params_initialized and not force_init:
            self.logger.warning("Parameters are there; force_init=False keeps them.")
            return
        group, attrs = self._group, self._symbol.attr_dict()
        fill = initializer or Uniform(0.01)
        made: list[Arrays] = []
        first = group.execs[0]
        params = {name: first.arg_dict[name] for name in self._param_names}
        for arrays, given in ((params, arg_params), (first.aux_dict, aux_params)):
            values: Arrays = {}
            made.append(values)
            for name, place in sorted(arrays.items()):
                if given is not None and name in given:
                    values[name] = given[name]
                elif given is None or allow_missing:
                    values[name] = nd.zeros(
                        place.shape, cpu(), place.dtype, stype=place.stype
                    )
                    fill(InitDesc(name, attrs.get(name)), values[name])
                else:
                    raise ParameterError(
                        f"there is no value for {name}. allow_missing=True lets it be "
                        "initialized."
                    )
        group.set_params(made[0], made[1])
        self.params_initialized, self._loaded = True, None

    def set_params(
        self,
        arg_params: Given,
        aux_params: Given,
        allow_missing: bool = False,
        force_init: bool = True,
        allow_extra: bool = False,
    ) -> None:
        """Take over values; with allow_missing the others stay as they are.

        allow_extra: passes over given ones that have no place here; without
        allow_missing that is done anyway.
        """
        if not allow_missing:
            super().set_params(arg_params, aux_params, False, force_init, allow_extra)
        elif self.params_initialized and not force_init:
            self.logger.warning("Parameters are there; force_init=False keeps them.")
        else:
            self._group.set_params(arg_params or {}, aux_params or {}, allow_extra)
            self.params_initialized, self._loaded = True, None

    def get_states(self, merge_multi_context: bool = True) -> Any:
        """The arguments called state_names; without merge, their parts by device."""
        return self._ready.get_states(merge_multi_context)

    def set_states(self, states: Any = None, value: float | None = None) -> None:
        """Set them: from arrays, or from their parts by device, or all to a number."""
        self._ready.set_states(states, value)

    # -- the optimizer ----------------------------------------------------------------

    def init_optimizer(
        self,
        kvstore: Any = "local",
        optimizer: Any = "sgd",
        optimizer_params: Any = (("learning_rate", 0.01),),
        force_init: bool = False,
    ) -> None:
        """Make the optimizer; it divides gradients by the size of a batch.

        kvstore: where the gradients of several devices meet: a store, the name of one,
        or None.
        """
        if self.optimizer_initialized and not force_init:
            self.logger.warning("optimizer already initialized, ignoring...")
            return
        group = self._ready
        values, _ = self.get_params()
        scale = 1.0 / group.batch_size

        def make(names: dict[int, str]) -> opt.Optimizer:
            return self._optimizer_for(optimizer, optimizer_params, names, scale)

        training = Training(
            kvstore, len(self._devices), self._param_names, values, make,
            self._compression,
        )  # fmt: skip
        training.begin(group.param_arrays, values)
        self._training, self.optimizer_initialized = training, True
        if self._stored_states is not None:
            training.load_states(self._stored_states)
            self._stored_states = None

    def _optimizer_for(
        self, given: Any, settings: Any, names: dict[int, str], scale: float
    ) -> opt.Optimizer:
        if isinstance(given, opt.Optimizer):
            if given.rescale_grad != scale:
                self.logger.warning(
                    "The optimizer multiplies gradients by %s, not by 1 / (size of a "
                    "batch) = %s. Is that what you want?", given.rescale_grad, scale,
                )  # fmt: skip
            given.idx2name = given.idx2name or names
            return given
        made = opt.create(
            given, param_idx2name=names, **{"rescale_grad": scale, **dict(settings)}
        )
        made.set_lr_mult(self._multipliers("__lr_mult__"))
        made.set_wd_mult(self._multipliers("__wd_mult__"))
        return made

    def _multipliers(self, word: str) -> dict[str, float]:
        """What the symbol says of its variables: Variable("w", lr_mult=0.1)."""
        attributes = self._symbol.attr_dict()
        return {
            name: float(attributes[name][word])
            for name in self._symbol.list_arguments()
            if word in attributes.get(name, {})
        }

    def borrow_optimizer(self, shared_module: Module) -> None:
        """Go on with the optimizer of a module that has the same parameters."""
        if shared_module.optimizer_initialized:
            self._training = shared_module._training
            self.optimizer_initialized = True

    @property
    def _trained(self) -> Training:
        if self._training is None:
            raise ParameterError("this module has no optimizer: call init_optimizer.")
        return self._training

    @property
    def _optimizer(self) -> opt.Optimizer:
        return self._trained.optimizer

    @property
    def _updater(self) -> Any:
        return self._trained.updater

    @property
    def _kvstore(self) -> Any:
        return self._trained.store

    @property
    def _update_on_kvstore(self) -> bool:
        return self._trained.on_store

    # -- steps ------------------------------------------------------------------------

    def prepare(self, data_batch: Any, sparse_row_id_fn: Any = None) -> None:
        """Fetch the rows of parameters that a batch needs, if they are in a store.

        sparse_row_id_fn: from a batch to a dict of row numbers by parameter.
        """
        if sparse_row_id_fn is not None:
            rows = sparse_row_id_fn(data_batch)
            self._trained.fetch_rows(self._ready.param_arrays, rows)

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        """Compute the outputs of a batch, of other shapes if need be.

        data_batch: or a list of batches, one for each device. is_train: by default as
        the module was bound.
        """
        group = self._ready
        data = slices.brought(group.data_shapes, data_batch, "data")
        if [one.shape for one in data] != [one.shape for one in group.data_shapes]:
            size = slices.batch_size(data)
            labels = slices.brought(group.label_shapes, data_batch, "label")
            self.reshape(
                getattr(data_batch, "provide_data", None) or data,
                getattr(data_batch, "provide_label", None)
                or [slices.part_of(one, slice(0, size)) for one in labels],
            )
        self._group.forward(data_batch, is_train)

    def backward(self, out_grads: Any = None) -> None:
        """Compute the gradients, from those of the outputs if they are no losses."""
        if self._training is not None and self._training.scaler is not None:
            self._training.scaler.begin()
        self._ready.backward(out_grads)

    def update(self) -> None:
        """Let the optimizer change every parameter that has a gradient."""
        training, group = self._trained, self._ready
        with attributed(phase="update"):
            training.update(group.param_arrays, group.grad_arrays)

    def get_outputs(self, merge_multi_context: bool = True) -> Any:
        """What forward computed; without merge, the parts of each output by device."""
        return self._ready.get_outputs(merge_multi_context)

    def get_input_grads(self, merge_multi_context: bool = True) -> Any:
        """The gradients of the data, if it was bound with inputs_need_grad=True."""
        return self._ready.get_input_grads(merge_multi_context)

    def update_metric(
        self, eval_metric: Any, labels: Any, pre_sliced: bool = False
    ) -> None:
        """Tell a metric what came out and what was right, device by device.

        pre_sliced: labels is a list of labels for each device.
        """
        self._ready.update_metric(eval_metric, labels, pre_sliced)

    # -- checkpoints ------------------------------------------------------------------

    def save_checkpoint(
        self,
        prefix: str,
        epoch: int,
        save_optimizer_states: bool = False,
        remove_amp_cast: bool = True,
    ) -> None:
        """Write the graph, the parameters and, if asked to, where the optimizer is."""
        model.save_checkpoint(prefix, epoch, self._symbol, *self.get_params())
        if save_optimizer_states:
            self.save_optimizer_states(f"{prefix}-{epoch:04d}.states")

    @classmethod
    def load(
        cls, prefix: str, epoch: int, load_optimizer_states: bool = False, **kwargs: Any
    ) -> Module:
        """A module from a checkpoint; kwargs: as for `Module`."""
        symbol, *params = model.load_checkpoint(prefix, epoch)
        made = cls(symbol, **kwargs)
        made._loaded = (params[0], params[1])
        made.params_initialized = True
        if load_optimizer_states:
            made._stored_states = f"{prefix}-{epoch:04d}.states"
        return made

    def save_optimizer_states(self, fname: str) -> None:
        """Write where the optimizer is."""
        self._trained.save_states(fname)

    def load_optimizer_states(self, fname: str) -> None:
        """Read what `save_optimizer_states` wrote."""
        self._trained.load_states(fname)


def _workload(given: Sequence[float] | None, devices: int) -> list[float]:
    found = list(given or [1] * devices)
    if len(found) != devices:
        raise MissingArgument(
            f"Module: work_load_list has {len(found)} numbers for {devices} devices."
        )
    return found


def _require_shared(
    group: DataParallelExecutorGroup, shared_group: DataParallelExecutorGroup
) -> None:
    """See that both have the same parameters."""
    shared = dict(zip(shared_group.param_names, shared_group.param_arrays, strict=True))
    for name, (first, *_) in zip(group.param_names, group.param_arrays, strict=True):
        if name not in shared or shared[name][0].chunk is not first.chunk:
            has = f"has it as {shared[name][0].shape}" if name in shared else "has none"
            raise ParameterError(
                f"this module needs a parameter {name} of shape {first.shape}; the one "
                f"that it shares parameters with {has}. Make the parameters of all "
                "buckets the same; the default bucket must have all of them."
            )
