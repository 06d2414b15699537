"""`Module`: a symbol bound to shapes on one device, its parameters, an optimizer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from minimx import model, nd
from minimx import optimizer as opt
from minimx.device import Device, as_device, cpu
from minimx.errors import ArgumentError, ParameterError, Unavailable, did_you_mean
from minimx.events import attributed
from minimx.executor import Executor
from minimx.initializer import InitDesc, Uniform
from minimx.io import DataDesc
from minimx.module.loops import BaseModule
from minimx.nd.array import NDArray
from minimx.symbol import Symbol

Arrays = dict[str, NDArray]
Described = Sequence[Any] | None


class Module(BaseModule):
    """Trains a symbol: `fit`, or bind, init_params, init_optimizer and step by step.

    data_names, label_names: the arguments that batches bring; the others are
    parameters. fixed_param_names: parameters that are not trained. context: a device;
    group2ctxs: those of parts of the symbol, see `Symbol.bind`.
    """

    def __init__(
        self,
        symbol: Symbol,
        data_names: Sequence[str] | None = ("data",),
        label_names: Sequence[str] | None = ("softmax_label",),
        logger: Any = None,
        context: Any = None,
        fixed_param_names: Sequence[str] | None = None,
        group2ctxs: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(logger)
        self.symbol = symbol
        self.data_names = list(data_names or ())
        self.label_names = list(label_names or ())
        self._fixed = list(fixed_param_names or ())
        self._device = _one_device(context)
        self._groups = group2ctxs
        arguments = symbol.list_arguments()
        for name in (*self.data_names, *self._fixed):
            if name not in arguments:
                raise ArgumentError(
                    f"Module: the symbol has no argument {name!r}; it has "
                    f"{', '.join(arguments)}.{did_you_mean(name, arguments)}"
                )
        inputs = {*self.data_names, *self.label_names}
        self._param_names = [name for name in arguments if name not in inputs]
        self._executor: Executor | None = None
        self._loaded: tuple[Arrays, Arrays] | None = None
        self._stored_states: str | None = None
        self.data_shapes: list[DataDesc] = []
        self.label_shapes: list[DataDesc] | None = None

    # -- getting ready ----------------------------------------------------------------

    @property
    def output_names(self) -> list[str]:
        """The names of the outputs."""
        return self.symbol.list_outputs()  # type: ignore[no-any-return]

    @property
    def output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        """(name, shape) of every output."""
        shapes = {desc.name: desc.shape for desc in self._inputs()}
        _, outs, _ = self.symbol.infer_shape(**shapes)
        return list(zip(self.output_names, outs, strict=True))

    def bind(
        self,
        data_shapes: Described,
        label_shapes: Described = None,
        for_training: bool = True,
        inputs_need_grad: bool = False,
        force_rebind: bool = False,
        shared_module: None = None,
        grad_req: Any = "write",
    ) -> None:
        """Make room for batches of these shapes; parameters that are there stay.

        data_shapes, label_shapes: DataDesc, or (name, shape), for each. grad_req: for
        all that are trained, or by name, or in a list for each argument.
        """
        if shared_module is not None:
            raise Unavailable("Module.bind: modules do not share memory; bind alone.")
        if self.binded and not force_rebind:
            self.logger.warning("Already bound, ignoring bind()")
            return
        kept = self.get_params() if self.params_initialized else None
        self._describe(data_shapes, label_shapes)
        trained = {*self._param_names} - {*self._fixed} if for_training else set()
        trained |= {*self.data_names} if inputs_need_grad else set()
        names = self.symbol.list_arguments()
        whole = grad_req if isinstance(grad_req, str) else "write"
        reqs = {name: whole if name in trained else "null" for name in names}
        if not isinstance(grad_req, str) and for_training:
            each = not isinstance(grad_req, dict)
            reqs |= dict(zip(names, grad_req, strict=True)) if each else grad_req
        inputs = self._inputs()
        self._executor = self.symbol.simple_bind(
            self._device,
            grad_req=reqs,
            type_dict={desc.name: desc.dtype for desc in inputs},
            group2ctx=self._groups,
            **{desc.name: desc.shape for desc in inputs},
        )
        self.for_training, self.inputs_need_grad = for_training, inputs_need_grad
        self.binded = True
        if kept is not None:
            self._executor.copy_params_from(*kept)
            self._loaded = None

    def _describe(self, data: Described, label: Described) -> None:
        """Take down the shapes of data and labels."""
        self.data_shapes = [_described(entry) for entry in data or ()]
        found = [desc.name for desc in self.data_shapes]
        if sorted(found) != sorted(self.data_names):
            raise ArgumentError(
                f"Module.bind: data_shapes describe {found}, but data_names are "
                f"{self.data_names}."
            )
        self.label_shapes = [_described(entry) for entry in label or ()] or None

    def _inputs(self) -> list[DataDesc]:
        """The data and labels that the symbol has arguments for."""
        arguments = {*self.symbol.list_arguments()}
        both = [*self.data_shapes, *(self.label_shapes or ())]
        return [desc for desc in both if desc.name in arguments]

    @property
    def _bound(self) -> Executor:
        if self._executor is None:
            raise ParameterError("this module is not bound yet: call bind first.")
        return self._executor

    @property
    def _ready(self) -> Executor:
        if not self.params_initialized:
            raise ParameterError(
                "the parameters of this module have no values yet: call init_params "
                "or set_params first."
            )
        return self._bound

    # -- parameters -------------------------------------------------------------------

    def get_params(self) -> tuple[Arrays, Arrays]:
        """Copies of the parameters, and of the auxiliary states, by name."""
        if self._loaded is not None:
            return self._loaded
        executor = self._ready
        arguments = executor.arg_dict
        params = {name: arguments[name].copy() for name in self._param_names}
        return params, {name: x.copy() for name, x in executor.aux_dict.items()}

    def init_params(
        self,
        initializer: Any = None,
        arg_params: Mapping[str, NDArray] | None = None,
        aux_params: Mapping[str, NDArray] | None = None,
        allow_missing: bool = False,
        force_init: bool = False,
        allow_extra: bool = False,
    ) -> None:
        """Give every parameter and state a value: one that is given, or an initial one.

        initializer: Uniform(0.01) by default. allow_missing: those that are not among
        the given ones are initialized. allow_extra: given ones may have no place here.
        """
        if self.params_initialized and not force_init:
            self.logger.warning("Parameters are there; force_init=False keeps them.")
            return
        fill = initializer or Uniform(0.01)
        self._set(arg_params, aux_params, fill, allow_missing, allow_extra)

    def set_params(
        self,
        arg_params: Mapping[str, NDArray],
        aux_params: Mapping[str, NDArray] | None,
        allow_missing: bool = False,
        force_init: bool = True,
        allow_extra: bool = False,
    ) -> None:
        """Take over values; with allow_missing the others stay as they are."""
        if self.params_initialized and not force_init:
            self.logger.warning("Parameters are there; force_init=False keeps them.")
            return
        self._set(arg_params, aux_params or {}, None, allow_missing, allow_extra)

    def _set(
        self,
        arg_params: Mapping[str, NDArray] | None,
        aux_params: Mapping[str, NDArray] | None,
        initializer: Callable[..., None] | None,
        allow_missing: bool,
        allow_extra: bool,
    ) -> None:
        executor, attrs = self._bound, self.symbol.attr_dict()
        arguments = executor.arg_dict
        params = {name: arguments[name] for name in self._param_names}
        for places, given in ((params, arg_params), (executor.aux_dict, aux_params)):
            extra = given.keys() - places.keys() if given else set()
            if extra and not allow_extra:
                raise ArgumentError(
                    f"this module has no parameters {', '.join(sorted(extra))}; "
                    "allow_extra=True passes over them."
                )
            for name, array in sorted(places.items()):
                if given is not None and name in given:
                    array[:] = given[name].astype(array.dtype)
                elif given is not None and not allow_missing:
                    raise ParameterError(
                        f"there is no value for {name}. allow_missing=True lets it be "
                        "initialized, or stay."
                    )
                elif initializer is not None:
                    initializer(InitDesc(name, attrs.get(name)), array)
        self.params_initialized, self._loaded = True, None

    def save_params(self, fname: str) -> None:
        """Write the parameters and states to a file."""
        arguments, states = self.get_params()
        stored = {f"arg:{name}": value for name, value in arguments.items()}
        nd.save(fname, stored | {f"aux:{name}": x for name, x in states.items()})

    def load_params(self, fname: str) -> None:
        """Read what `save_params` wrote."""
        self.set_params(*model._split(nd.load(fname)))

    # -- steps ------------------------------------------------------------------------

    def init_optimizer(
        self,
        kvstore: Any = "local",
        optimizer: Any = "sgd",
        optimizer_params: Any = (("learning_rate", 0.01),),
        force_init: bool = False,
    ) -> None:
        """Make the optimizer; it divides gradients by the size of a batch.

        kvstore: with one device nothing is shared, so 'local', 'device' and None agree.
        """
        if kvstore not in (None, "local", "device"):
            raise Unavailable(
                f"init_optimizer: kvstore={kvstore!r}: a module trains on one device, "
                "by itself; leave kvstore away."
            )
        if self.optimizer_initialized and not force_init:
            self.logger.warning("optimizer already initialized, ignoring...")
            return
        assert self._ready
        names = dict(enumerate(self._param_names))
        if not isinstance(optimizer, opt.Optimizer):
            first = self.data_shapes[0]
            batch = first.shape[DataDesc.get_batch_axis(first.layout)]
            settings = {"rescale_grad": 1.0 / batch, **dict(optimizer_params)}
            optimizer = opt.create(optimizer, param_idx2name=names, **settings)
            optimizer.set_lr_mult(self._multipliers("__lr_mult__"))
            optimizer.set_wd_mult(self._multipliers("__wd_mult__"))
        elif not optimizer.idx2name:
            optimizer.idx2name = names
        self._optimizer = optimizer
        self._updater = opt.get_updater(optimizer)
        self.optimizer_initialized = True
        if self._stored_states is not None:
            self.load_optimizer_states(self._stored_states)
            self._stored_states = None

    def _multipliers(self, word: str) -> dict[str, float]:
        """What the symbol says of its variables: Variable("w", lr_mult=0.1)."""
        said = self.symbol.attr_dict()
        return {
            name: float(said[name][word])
            for name in self.symbol.list_arguments()
            if word in said.get(name, {})
        }

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        """Compute the outputs of a batch, of other shapes if need be.

        is_train: by default as the module was bound.
        """
        executor = self._ready
        values = _by_name(self.data_shapes, data_batch.data)
        values |= _by_name(self.label_shapes, getattr(data_batch, "label", None))
        bound = executor.arg_dict
        values = {name: value for name, value in values.items() if name in bound}
        if any(bound[name].shape != value.shape for name, value in values.items()):
            self._reshape({name: value.shape for name, value in values.items()})
        training = self.for_training if is_train is None else is_train
        self._bound.forward(is_train=training, **values)

    def reshape(self, data_shapes: Described, label_shapes: Described = None) -> None:
        """Bind the same parameters to other shapes of batches."""
        self._describe(data_shapes, label_shapes)
        self._reshape({desc.name: desc.shape for desc in self._inputs()})

    def _reshape(self, shapes: Mapping[str, tuple[int, ...]]) -> None:
        self._executor = self._bound.reshape(
            partial_shaping=True, allow_up_sizing=True, **shapes
        )

        def fitted(old: list[DataDesc]) -> list[DataDesc]:
            return [
                DataDesc(d.name, shapes.get(d.name, d.shape), d.dtype, d.layout)
                for d in old
            ]

        self.data_shapes = fitted(self.data_shapes)
        self.label_shapes = self.label_shapes and fitted(self.label_shapes)

    def backward(self, out_grads: Any = None) -> None:
        """Compute the gradients, from those of the outputs if they are no losses."""
        self._ready.backward(out_grads)

    def update(self) -> None:
        """Let the optimizer change every parameter that has a gradient."""
        if not self.optimizer_initialized:
            raise ParameterError("this module has no optimizer: call init_optimizer.")
        executor = self._ready
        weights, grads = executor.arg_dict, executor.grad_dict
        with attributed(phase="update"):
            for index, name in enumerate(self._param_names):
                if grads[name] is not None:
                    self._updater(index, grads[name], weights[name])

    def get_outputs(self) -> list[NDArray]:
        """What forward computed."""
        return self._ready.outputs

    def get_input_grads(self) -> list[NDArray | None]:
        """The gradients of the data, if it was bound with inputs_need_grad=True."""
        grads = self._ready.grad_dict
        return [grads[desc.name] for desc in self.data_shapes]

    def update_metric(self, eval_metric: Any, labels: Sequence[NDArray] | None) -> None:
        """Tell a metric what came out and what was right."""
        outputs = dict(zip(self.output_names, self.get_outputs(), strict=True))
        eval_metric.update_dict(_by_name(self.label_shapes, labels), outputs)

    # -- checkpoints ------------------------------------------------------------------

    def save_checkpoint(
        self, prefix: str, epoch: int, save_optimizer_states: bool = False
    ) -> None:
        """Write the graph, the parameters and, if told so, where the optimizer is."""
        model.save_checkpoint(prefix, epoch, self.symbol, *self.get_params())
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
        Path(fname).write_bytes(self._updater.get_states())

    def load_optimizer_states(self, fname: str) -> None:
        """Read what `save_optimizer_states` wrote."""
        self._updater.set_states(Path(fname).read_bytes())


def _one_device(context: Any) -> Device:
    if isinstance(context, (list, tuple)):
        if len(context) != 1:
            raise Unavailable(
                f"Module: a module runs on one device, not on {len(context)}. Gluon "
                "trains on several: split_and_load, and a Trainer."
            )
        (context,) = context
    return cpu() if context is None else as_device(context)


def _described(entry: Any) -> DataDesc:
    if isinstance(entry, DataDesc):
        return entry
    name, shape, *more = entry
    return DataDesc(name, (shape,) if isinstance(shape, int) else tuple(shape), *more)


def _by_name(shapes: list[DataDesc] | None, arrays: Any) -> Arrays:
    """The arrays of a batch by the names they were described with."""
    if not shapes or not arrays:
        return {}
    return dict(zip([desc.name for desc in shapes], arrays, strict=True))
