"""`SequentialModule`: modules of which each takes what the one before it gives."""

from __future__ import annotations

import copy
from typing import Any, Self

from minimx.core.errors import ArgumentError, ParameterError
from minimx.module.loops import BaseModule
from minimx.module.slices import Described


class SequentialModule(BaseModule):
    """A chain: `SequentialModule().add(first).add(second, take_labels=True)`."""

    #: The settings that `add` takes for a module.
    META_TAKE_LABELS = "take_labels"
    META_AUTO_WIRING = "auto_wiring"

    def __init__(self, logger: Any = None) -> None:
        super().__init__(logger)
        self._modules: list[Any] = []
        self._metas: list[dict[str, Any]] = []
        self._label_shapes: Described = None

    def add(self, module: Any, **kwargs: Any) -> Self:
        """Put a module at the end; returns the chain.

        take_labels: give it the labels of batches. auto_wiring: let its data be what
        comes out before it, in order, whatever the names are.
        """
        known = {self.META_TAKE_LABELS, self.META_AUTO_WIRING}
        if unknown := kwargs.keys() - known:
            raise ArgumentError(
                f"SequentialModule.add: nothing is known of {sorted(unknown)}; there "
                f"are {sorted(known)}."
            )
        self._modules.append(module)
        self._metas.append(kwargs)
        self.binded = self.params_initialized = self.optimizer_initialized = False
        return self

    # -- getting ready ----------------------------------------------------------------

    @property
    def data_names(self) -> list[str]:
        """The data of the first module."""
        return self._modules[0].data_names if self._modules else []

    @property
    def output_names(self) -> list[str]:
        """The outputs of the last module."""
        return self._modules[-1].output_names if self._modules else []

    @property
    def data_shapes(self) -> Any:
        """What batches look like."""
        return self._modules[0].data_shapes

    @property
    def label_shapes(self) -> Described:
        """What their labels look like; None if no module takes them."""
        return self._label_shapes

    @property
    def output_shapes(self) -> Any:
        """(name, shape) of every output."""
        return self._modules[-1].output_shapes

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
        """Bind one module after the other to the shapes of what comes before it."""
        if self.binded and not force_rebind:
            self.logger.warning("Already bound, ignoring bind()")
            return
        if shared_module is not None or not self._modules:
            raise ArgumentError(
                "SequentialModule.bind: add modules first; chains share no parameters."
            )
        shapes: Any = data_shapes
        takers = [meta.get(self.META_TAKE_LABELS) for meta in self._metas]
        for place, (module, meta) in enumerate(
            zip(self._modules, self._metas, strict=True)
        ):
            if meta.get(self.META_AUTO_WIRING):
                names = module.data_names
                given = zip(names, shapes, strict=True)
                shapes = [(name, shape) for name, (_, shape) in given]
            module.bind(
                shapes,
                label_shapes if takers[place] else None,
                for_training,
                inputs_need_grad or (for_training and place > 0),
                force_rebind,
                None,
                grad_req,
            )
            shapes = module.output_shapes
        self._label_shapes = label_shapes if any(takers) else None
        self.binded = True

    def install_monitor(self, mon: Any) -> None:
        """Let a monitor watch all modules."""
        for module in self._modules:
            module.install_monitor(mon)

    # -- parameters -------------------------------------------------------------------

    def get_params(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The parameters and states of all modules, by name."""
        params: dict[str, Any] = {}
        states: dict[str, Any] = {}
        for module in self._modules:
            some, others = module.get_params()
            params.update(some)
            states.update(others)
        return params, states

    def init_params(
        self,
        initializer: Any = None,
        arg_params: Any = None,
        aux_params: Any = None,
        allow_missing: bool = False,
        force_init: bool = False,
        allow_extra: bool = False,
    ) -> None:
        """See `Module.init_params`; the modules' parameters have different names."""
        if self.params_initialized and not force_init:
            return
        for module in self._modules:
            module.init_params(
                initializer, arg_params, aux_params, allow_missing, force_init,
                allow_extra,
            )  # fmt: skip
        known: dict[str, int] = {}
        for place, module in enumerate(self._modules):
            for name in [name for table in module.get_params() for name in table]:
                if known.setdefault(name, place) != place:
                    raise ParameterError(
                        f"modules {known[name]} and {place} of the chain both have a "
                        f"parameter {name}; give their symbols names of their own."
                    )
        self.params_initialized = True

    def init_optimizer(
        self,
        kvstore: Any = "local",
        optimizer: Any = "sgd",
        optimizer_params: Any = (("learning_rate", 0.01),),
        force_init: bool = False,
    ) -> None:
        """Make an optimizer for each module."""
        if self.optimizer_initialized and not force_init:
            self.logger.warning("optimizer already initialized, ignoring...")
            return
        for module in self._modules:
            module.init_optimizer(kvstore, optimizer, optimizer_params, force_init)
        self.optimizer_initialized = True

    # -- steps ------------------------------------------------------------------------

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        """Let a batch run through the chain."""
        batch = copy.copy(data_batch)
        for place, module in enumerate(self._modules):
            if place:
                before = self._modules[place - 1]
                batch.data = before.get_outputs()
                if hasattr(batch, "provide_data"):
                    names = [name for name, _ in before.output_shapes]
                    shapes = [array.shape for array in batch.data]
                    batch.provide_data = list(zip(names, shapes, strict=True))
            module.forward(batch, is_train=is_train)

    def backward(self, out_grads: Any = None) -> None:
        """Let gradients run back through the chain."""
        for place, module in reversed([*enumerate(self._modules)]):
            module.backward(out_grads=out_grads)
            if place:
                out_grads = module.get_input_grads()

    def update(self) -> None:
        """Let all optimizers change their parameters."""
        for module in self._modules:
            module.update()

    def get_outputs(self, merge_multi_context: bool = True) -> Any:
        """What came out at the end."""
        return self._modules[-1].get_outputs(merge_multi_context)

    def get_input_grads(self, merge_multi_context: bool = True) -> Any:
        """The gradients of the data."""
        return self._modules[0].get_input_grads(merge_multi_context)

    def update_metric(
        self, eval_metric: Any, labels: Any, pre_sliced: bool = False
    ) -> None:
        """Tell a metric about the modules that take labels."""
        for module, meta in zip(self._modules, self._metas, strict=True):
            if meta.get(self.META_TAKE_LABELS):
                module.update_metric(eval_metric, labels, pre_sliced)
