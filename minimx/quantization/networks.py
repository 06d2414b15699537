"""Gluon networks on integers of eight bits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import minimx.nd as nd
from minimx.core.device import cpu
from minimx.core.errors import ArgumentError
from minimx.gluon import HybridBlock, SymbolBlock
from minimx.gluon.export import as_symbol, named_values
from minimx.io import DataBatch, DataDesc, DataIter
from minimx.module import Module
from minimx.quantization.models import BACKEND, calib_graph, collect, quantize_graph
from minimx.symbol import Symbol, var


def quantize_net_v2(
    network: HybridBlock,
    quantized_dtype: str = "auto",
    quantize_mode: str = "full",
    quantize_granularity: str = "tensor-wise",
    exclude_layers: Sequence[str] | None = None,
    exclude_layers_match: Sequence[str] | None = None,
    exclude_operators: Sequence[str] | None = None,
    calib_data: Any = None,
    data_shapes: Sequence[DataDesc] | None = None,
    calib_mode: str | None = "none",
    num_calib_examples: int | None = None,
    ctx: Any = None,
    LayerOutputCollector: Any = None,
    logger: Any = None,
) -> SymbolBlock:
    """A network on integers of eight bits, from one on real numbers.

    network: initialized, with parameters of float32; it is hybridized. On a CPU its
    layers are fused first (the backend ONEDNN_QUANTIZE). exclude_layers,
    exclude_layers_match, exclude_operators: nodes by name, by a part of their names, or
    by operator, that stay on real numbers. calib_data: a DataLoader or DataIter;
    data_shapes: DataDescs of the inputs, needed without calib_data. All else as for
    `quantize_model`; LayerOutputCollector as for `quantize_graph`.
    Returns a block that takes and gives what the network does. Raises ArgumentError.
    """
    ctx = cpu() if ctx is None else ctx
    batches: Any = None if calib_data is None else as_data_iter(calib_data)
    shapes = list(data_shapes or (batches.provide_data if batches else ()))
    if not shapes:
        raise ArgumentError(
            "quantize_net: give calib_data, or data_shapes, a list such as "
            "[mx.io.DataDesc('data', (1, 3, 224, 224))]."
        )
    if batches is None and (calib_mode or "none") != "none":
        raise ArgumentError(f"calib_mode={calib_mode!r} needs calib_data.")
    symbol, args, states, shapes = _written(network, shapes)
    excluded = [*(exclude_layers or ())]
    for part in exclude_layers_match or ():
        excluded += [node.name for node in symbol.graph if part in node.name]
    if ctx.device_type == "cpu":
        symbol = symbol.get_backend_symbol(BACKEND)
    qsym, values, states, collector = quantize_graph(
        symbol, args, states, ctx, excluded, list(exclude_operators or ()),
        calib_mode, quantized_dtype, quantize_mode, quantize_granularity,
        LayerOutputCollector, logger,
    )  # fmt: skip
    names = [one.name for one in shapes]
    if collector is not None:
        assert batches is not None
        del batches.provide_data[len(names) :]
        module = Module(symbol, names, None, context=ctx)
        module.bind(shapes, for_training=False)
        module.set_params(args, states)
        collect(module, batches, collector, num_calib_examples, logger)
        qsym, values, states = calib_graph(
            qsym, args, states, collector, calib_mode, quantized_dtype, logger
        )
    return _block(qsym, names, values | states, ctx)


def _block(qsym: Symbol, names: Sequence[str], values: Any, ctx: Any) -> SymbolBlock:
    """A graph on integers as a block, with the values of its parameters."""
    made = SymbolBlock(qsym, [var(name) for name in names])
    parameters = made.collect_params()
    parameters.setattr("grad_req", "null")  # no gradient flows through integers
    parameters.load_dict(values, ctx, cast_dtype=True, dtype_source="saved")
    return made


def quantize_net(
    network: HybridBlock,
    quantized_dtype: str = "auto",
    quantize_mode: str = "full",
    exclude_layers: Sequence[str] | None = None,
    exclude_layers_match: Sequence[str] | None = None,
    exclude_operators: Sequence[str] | None = None,
    calib_data: Any = None,
    data_shapes: Sequence[DataDesc] | None = None,
    calib_mode: str | None = "none",
    num_calib_examples: int | None = None,
    ctx: Any = None,
    logger: Any = None,
) -> SymbolBlock:
    """`quantize_net_v2` with levels for whole arrays; arguments and result as there."""
    return quantize_net_v2(
        network, quantized_dtype, quantize_mode, "tensor-wise", exclude_layers,
        exclude_layers_match, exclude_operators, calib_data, data_shapes, calib_mode,
        num_calib_examples, ctx, logger=logger,
    )  # fmt: skip


def _written(
    network: HybridBlock, shapes: Sequence[DataDesc]
) -> tuple[Symbol, dict[str, Any], dict[str, Any], list[DataDesc]]:
    """The graph of a network, its arguments and states, and its inputs."""
    if not isinstance(network, HybridBlock):
        raise ArgumentError(
            f"quantize_net: a {type(network).__name__} is no HybridBlock, and so no "
            "graph can be made of it."
        )
    network.hybridize()
    taken = [*shapes]
    while True:
        try:
            network(*[nd.zeros(one.shape, dtype=one.dtype) for one in taken])
            break
        except TypeError:  # the last one is a label, as far as we know
            if len(taken) == 1:
                raise
            taken.pop()
    written = network._latest
    assert written is not None
    named = named_values(written)
    kinds = ({}, {})  # type: tuple[dict[str, Any], dict[str, Any]]
    for name, value in named.items():
        kind, _, word = name.partition(":")
        kinds[kind == "aux"][word] = value
    inputs = [
        DataDesc(node.name, one.shape, one.dtype, one.layout)
        for node, one in zip(written.inputs, taken, strict=True)
    ]
    return as_symbol(written), *kinds, inputs


def as_data_iter(calib_data: Any) -> DataIter:
    """An iterator of batches, of itself or of a loader."""
    return calib_data if isinstance(calib_data, DataIter) else _Batches(calib_data)


class _Batches(DataIter):
    """A loader of Gluon as an iterator of batches.

    It gives the arrays that `provide_data` describes; who takes less shortens that.
    Arrays of five axes and more have several images to a sample.
    """

    def __init__(self, loader: Iterable[Any]) -> None:
        self._loader = loader
        first = next(iter(loader))
        arrays = _arrays(first)
        super().__init__(arrays[0].shape[0])
        words = ["data", *[f"data{k}" for k in range(len(arrays) - 1)]]
        if len(arrays) > 2:
            words = [f"data{k}" for k in range(len(arrays))]
        self.provide_data = [
            DataDesc(word, array.shape)
            for word, array in zip(words, arrays, strict=True)
        ]
        self.provide_label: list[DataDesc] = []
        self.reset()

    def reset(self) -> None:
        """Begin anew."""
        self._iterator = iter(self._loader)

    def next(self) -> DataBatch:
        """The next batch."""
        return DataBatch(_arrays(next(self._iterator))[: len(self.provide_data)])


def _arrays(example: Any) -> list[Any]:
    """The arrays of a batch, the first with four axes at most."""
    arrays = [*example] if isinstance(example, (list, tuple)) else [example]
    if arrays[0].ndim > 4:
        arrays[0] = arrays[0].reshape((-1, *arrays[0].shape[2:]))
    return arrays
