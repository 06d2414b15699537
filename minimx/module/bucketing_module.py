"""`BucketingModule`: a symbol for each length of sentences, the same parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from minimx import model, nd, symbol
from minimx.core.errors import ArgumentError, MissingArgument, ParameterError
from minimx.module.loops import BaseModule
from minimx.module.module import Module
from minimx.module.slices import Described
from minimx.name import NameManager
from minimx.symbol import Symbol

#: From the key of a bucket to a symbol, names of data and names of labels.
SymGen = Callable[[Any], tuple[Symbol, Sequence[str] | None, Sequence[str] | None]]


class BucketingModule(BaseModule):
    """A module for each bucket, made when the first batch for it comes.

    sym_gen(key): the symbol of a bucket, its data_names and its label_names.
    default_bucket_key: of the bucket that has all the parameters and the largest
    arrays, which the others use in turns with it. kwargs: as for `Module`.
    """

    def __init__(
        self,
        sym_gen: SymGen,
        default_bucket_key: Any = None,
        logger: Any = None,
        context: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(logger)
        if default_bucket_key is None:
            raise MissingArgument(
                "BucketingModule: default_bucket_key says which bucket is the largest; "
                "iterators have one."
            )
        self._sym_gen = sym_gen
        self._default_bucket_key = default_bucket_key
        self._settings = {"context": context, "logger": logger, **kwargs}
        self._buckets: dict[Any, Module] = {}
        self._curr_module = self._made(default_bucket_key)
        self._monitor: Any = None

    def _made(self, key: Any, graph: Symbol | None = None) -> Module:
        with NameManager():  # the same names in every bucket
            made, data_names, label_names = self._sym_gen(key)
        chosen = made if graph is None else graph
        return Module(chosen, data_names, label_names, **self._settings)

    # -- getting ready ----------------------------------------------------------------

    @property
    def symbol(self) -> Symbol:
        """That of the bucket in use; so are the other properties."""
        return self._curr_module.symbol

    @property
    def data_names(self) -> list[str]:
        """The arguments that batches bring."""
        return self._curr_module.data_names

    @property
    def output_names(self) -> list[str]:
        """The names of the outputs."""
        return self._curr_module.output_names

    @property
    def data_shapes(self) -> Any:
        """What batches look like."""
        return self._curr_module.data_shapes

    @property
    def label_shapes(self) -> Any:
        """What their labels look like."""
        return self._curr_module.label_shapes

    @property
    def output_shapes(self) -> Any:
        """(name, shape) of every output."""
        return self._curr_module.output_shapes

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
        """Bind the default bucket; the others follow when batches for them come.

        See `Module.bind`. Parameters that are there stay.
        """
        if self.binded and not force_rebind:
            self.logger.warning("Already bound, ignoring bind()")
            return
        if shared_module is not None:
            raise ArgumentError("BucketingModule.bind: buckets share among themselves.")
        key = self._default_bucket_key
        first = self._buckets.get(key, self._curr_module)
        first.bind(
            data_shapes, label_shapes, for_training, inputs_need_grad, force_rebind,
            grad_req=grad_req,
        )  # fmt: skip
        self._buckets = {k: m for k, m in self._buckets.items() if not m.binded}
        self._curr_module = self._buckets[key] = first
        self.binded = True

    def switch_bucket(
        self, bucket_key: Any, data_shapes: Described, label_shapes: Described = None
    ) -> None:
        """Use another bucket; it is bound to these shapes if it is new."""
        if not self.binded:
            raise ParameterError("this module is not bound yet: call bind first.")
        if bucket_key not in self._buckets:
            self._buckets[bucket_key] = self._made(bucket_key)
        found = self._buckets[bucket_key]
        if not found.binded:
            first = self._buckets[self._default_bucket_key]
            found.bind(
                data_shapes, label_shapes, first.for_training, first.inputs_need_grad,
                shared_module=first, grad_req=first._grad_req,
            )  # fmt: skip
            if self._monitor is not None:
                found.install_monitor(self._monitor)
        self._curr_module = found

    def install_monitor(self, mon: Any) -> None:
        """Let a monitor watch all buckets, and those that come."""
        self._monitor = mon
        for module in self._buckets.values():
            if module.binded:
                module.install_monitor(mon)

    # -- parameters -------------------------------------------------------------------

    def get_params(self) -> Any:
        """Copies of the parameters, and of the auxiliary states, by name."""
        return self._curr_module.get_params()

    def init_params(self, *args: Any, **kwargs: Any) -> None:
        """See `Module.init_params`."""
        self._curr_module.init_params(*args, **kwargs)
        self.params_initialized = True

    def set_params(self, *args: Any, **kwargs: Any) -> None:
        """See `Module.set_params`."""
        self._curr_module.set_params(*args, **kwargs)
        self.params_initialized = True

    def get_states(self, merge_multi_context: bool = True) -> Any:
        """See `Module.get_states`."""
        return self._curr_module.get_states(merge_multi_context)

    def set_states(self, states: Any = None, value: float | None = None) -> None:
        """See `Module.set_states`."""
        self._curr_module.set_states(states, value)

    def init_optimizer(self, *args: Any, **kwargs: Any) -> None:
        """Make the optimizer of all buckets; see `Module.init_optimizer`."""
        self._curr_module.init_optimizer(*args, **kwargs)
        for module in self._buckets.values():
            module.borrow_optimizer(self._curr_module)
        self.optimizer_initialized = True

    # -- steps ------------------------------------------------------------------------

    def prepare(self, data_batch: Any, sparse_row_id_fn: Any = None) -> None:
        """Bind the bucket of a batch, and fetch the rows of parameters it needs."""
        now = self._curr_module
        self._switch(data_batch)
        self._curr_module.prepare(data_batch, sparse_row_id_fn)
        self._curr_module = now

    def _switch(self, batch: Any) -> None:
        self.switch_bucket(batch.bucket_key, batch.provide_data, batch.provide_label)

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        """Compute the outputs of a batch, in its bucket."""
        self._switch(data_batch)
        self._curr_module.forward(data_batch, is_train)

    def backward(self, out_grads: Any = None) -> None:
        """See `Module.backward`."""
        self._curr_module.backward(out_grads)

    def update(self) -> None:
        """See `Module.update`."""
        self._curr_module.update()

    def get_outputs(self, merge_multi_context: bool = True) -> Any:
        """See `Module.get_outputs`."""
        return self._curr_module.get_outputs(merge_multi_context)

    def get_input_grads(self, merge_multi_context: bool = True) -> Any:
        """See `Module.get_input_grads`."""
        return self._curr_module.get_input_grads(merge_multi_context)

    def update_metric(
        self, eval_metric: Any, labels: Any, pre_sliced: bool = False
    ) -> None:
        """See `Module.update_metric`."""
        self._curr_module.update_metric(eval_metric, labels, pre_sliced)

    # -- checkpoints ------------------------------------------------------------------

    def save_checkpoint(
        self, prefix: str, epoch: int, remove_amp_cast: bool = False
    ) -> None:
        """Write the graph of every bucket that was used, their keys, the parameters.

        The keys must be whole numbers.
        """
        self.save_params(f"{prefix}-{epoch:04d}.params")
        for key, module in self._buckets.items():
            module.symbol.save(f"{prefix}-{key}-symbol.json")
        nd.save(f"{prefix}.buckets", nd.array([*self._buckets], dtype=np.int32))

    @classmethod
    def load(
        cls,
        prefix: str,
        epoch: int,
        sym_gen: SymGen | None = None,
        default_bucket_key: Any = None,
        **kwargs: Any,
    ) -> BucketingModule:
        """A module from a checkpoint; kwargs: as for `Module`."""
        keys: Any
        (keys,) = nd.load(f"{prefix}.buckets")
        symbols = {
            int(key): symbol.load(f"{prefix}-{int(key)}-symbol.json")
            for key in keys.asnumpy()
        }
        params = model.load_params(prefix, epoch)
        return cls.load_dict(symbols, sym_gen, default_bucket_key, *params, **kwargs)

    @classmethod
    def load_dict(
        cls,
        sym_dict: Mapping[Any, Symbol],
        sym_gen: SymGen | None = None,
        default_bucket_key: Any = None,
        arg_params: Any = None,
        aux_params: Any = None,
        **kwargs: Any,
    ) -> BucketingModule:
        """A module from the symbols of its buckets, and values of its parameters."""
        if sym_gen is None or arg_params is None or aux_params is None:
            raise MissingArgument(
                "BucketingModule.load: give sym_gen and default_bucket_key as when it "
                "was made; load_dict wants arg_params and aux_params, too."
            )
        made = cls(sym_gen, default_bucket_key, **kwargs)
        for key, graph in sym_dict.items():
            made._buckets[key] = made._made(key, graph)
        first = made._buckets.get(default_bucket_key, made._curr_module)
        first._loaded = (arg_params, aux_params)
        first.params_initialized = made.params_initialized = True
        made._curr_module = made._buckets[default_bucket_key] = first
        return made
