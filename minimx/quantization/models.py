"""Whole models on integers of eight bits: graphs with parameters, calibrated or not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from minimx.core.device import Device, cpu
from minimx.core.errors import ArgumentError
from minimx.io import DataIter
from minimx.module import Module
from minimx.quantization.collectors import (
    LayerHistogramCollector,
    LayerOutputMinMaxCollector,
    Table,
    optimal_thresholds,
)
from minimx.quantization.graph import Quantized, narrowed, quantized, with_table
from minimx.quantization.parameters import Arrays, load_symbol, quantized_parameters
from minimx.quantization.rules import Choice
from minimx.symbol import Symbol

Model = tuple[Symbol, Arrays, Arrays]

MODES = ("none", "naive", "entropy", "customize")
BACKEND = "ONEDNN_QUANTIZE"


def quantize_model(
    sym: Any,
    arg_params: Mapping[str, Any],
    aux_params: Mapping[str, Any],
    data_names: Sequence[str] = ("data",),
    label_names: Sequence[str] | None = ("softmax_label",),
    ctx: Any = None,
    excluded_sym_names: Sequence[str] | None = None,
    excluded_op_names: Sequence[str] | None = None,
    calib_mode: str | None = "entropy",
    calib_data: Any = None,
    num_calib_examples: int | None = None,
    quantized_dtype: str = "int8",
    quantize_mode: str = "smart",
    quantize_granularity: str = "tensor-wise",
    logger: Any = None,
) -> Model:
    """A model on integers of eight bits, from one on real numbers.

    sym: a Symbol, or a file that it is in. arg_params, aux_params: its values by name,
    of float32. excluded_sym_names, excluded_op_names: nodes, or operators, that stay on
    real numbers. calib_mode: how the ranges of values inside are found:
        'none'     at each run, by their smallest and largest, which takes time
        'naive'    by the smallest and largest over calib_data
        'entropy'  where it loses least over calib_data to cut off what lies beyond
    calib_data: batches of data_names, and of label_names if it has labels;
    num_calib_examples: at least so many of its examples, by default all. ctx: where
    calibration runs. quantized_dtype: 'int8', 'uint8' for data without negative
    numbers, or 'auto', which chooses by what was measured. quantize_mode: 'smart', or
    'full' for all operators that can be. quantize_granularity: 'channel-wise' for
    levels of their own for each output of dense layers that a backend has fused.
    Returns the symbol, its arguments and its states. Raises ArgumentError.
    """
    mode = _mode(calib_mode, ("none", "naive", "entropy"))
    words = quantized_dtype, quantize_mode, quantize_granularity
    chosen = _choice(excluded_sym_names, excluded_op_names, *words, mode)
    symbol = load_symbol(sym)
    _log(logger, "Quantizing symbol")
    found = quantized(symbol.graph, frozenset(arg_params), chosen)
    qsym = Symbol(found.graph.outputs)
    if mode != "none":
        if not isinstance(calib_data, DataIter):
            raise ArgumentError(
                f"calib_mode={mode!r} needs calib_data, a DataIter such as "
                f"mx.io.NDArrayIter, not {calib_data!r:.60}."
            )
        collector = _collector(mode, found.layers, quantized_dtype, logger)
        described: Any = calib_data
        labels = described.provide_label or None
        module = Module(symbol, data_names, label_names, context=_device(ctx))
        module.bind(described.provide_data, labels, for_training=False)
        module.set_params(dict(arg_params), dict(aux_params))
        collect(module, calib_data, collector, num_calib_examples, logger)
        table = thresholds(mode, collector, quantized_dtype, logger)
        qsym = _calibrated(qsym, table)
    _log(logger, "Quantizing parameters")
    return qsym, quantized_parameters(qsym, arg_params), dict(aux_params)


def quantize_model_mkldnn(
    sym: Any,
    arg_params: Mapping[str, Any],
    aux_params: Mapping[str, Any],
    data_names: Sequence[str] = ("data",),
    label_names: Sequence[str] | None = ("softmax_label",),
    ctx: Any = None,
    *args: Any,
    **kwargs: Any,
) -> Model:
    """`quantize_model` of a graph whose layers were fused before (ONEDNN_QUANTIZE).

    Arguments and result as there; ctx: a CPU. Raises ArgumentError for another device.
    """
    if _device(ctx).device_type != "cpu":
        raise ArgumentError(
            f"quantize_model_mkldnn: ctx={ctx}; the fused operators are for a CPU. "
            "quantize_model takes other devices."
        )
    symbol = load_symbol(sym).get_backend_symbol(BACKEND)
    return quantize_model(
        symbol, arg_params, aux_params, data_names, label_names, ctx, *args, **kwargs
    )


def quantize_graph(
    sym: Any,
    arg_params: Mapping[str, Any],
    aux_params: Mapping[str, Any],
    ctx: Any = None,
    excluded_sym_names: Sequence[str] | None = None,
    excluded_op_names: Sequence[str] | None = None,
    calib_mode: str | None = "entropy",
    quantized_dtype: str = "int8",
    quantize_mode: str = "full",
    quantize_granularity: str = "tensor-wise",
    LayerOutputCollector: Any = None,
    logger: Any = None,
) -> tuple[Symbol, Arrays, Arrays, Any]:
    """The first half of `quantize_model`: a model on integers, not yet calibrated.

    Arguments as there; LayerOutputCollector: for calib_mode='customize', an object with
    `collect(name, array)` and `min_max_dict`. Returns the symbol, its arguments and
    states, and a collector, None for calib_mode='none'. Let an executor of `sym` show
    it its values (`set_monitor_callback(collector.collect, monitor_all=True)`), and
    hand it to `calib_graph`. Raises ArgumentError.
    """
    mode = _mode(calib_mode, MODES)
    words = quantized_dtype, quantize_mode, quantize_granularity
    chosen = _choice(excluded_sym_names, excluded_op_names, *words, mode)
    _device(ctx)
    found: Quantized = quantized(load_symbol(sym).graph, frozenset(arg_params), chosen)
    qsym = Symbol(found.graph.outputs)
    _log(logger, "Quantizing parameters")
    values = quantized_parameters(qsym, arg_params)
    if mode == "customize":
        collector = LayerOutputCollector
        if collector is None:
            raise ArgumentError(
                "calib_mode='customize' needs LayerOutputCollector, an object with "
                "collect(name, array) and min_max_dict."
            )
    else:
        collector = _collector(mode, found.layers, quantized_dtype, logger)
    return qsym, values, dict(aux_params), collector


def calib_graph(
    qsym: Symbol,
    arg_params: Mapping[str, Any],
    aux_params: Mapping[str, Any],
    collector: Any,
    calib_mode: str | None = "entropy",
    quantized_dtype: str = "int8",
    logger: Any = None,
) -> Model:
    """The second half of `quantize_model`: measured ranges for a model on integers.

    qsym: of `quantize_graph`; arg_params, aux_params: of the model on real numbers.
    collector: that of `quantize_graph`, which has seen some batches. calib_mode:
    'naive', 'entropy' or 'customize'. Returns the symbol, its arguments and its states.
    Raises ArgumentError for another mode.
    """
    mode = _mode(calib_mode, MODES[1:])
    qsym = _calibrated(qsym, thresholds(mode, collector, quantized_dtype, logger))
    _log(logger, "Quantizing parameters")
    return qsym, quantized_parameters(qsym, arg_params), dict(aux_params)


def _calibrated(qsym: Symbol, table: Table) -> Symbol:
    """The graph with measured ranges; sums and products are rounded at once."""
    return Symbol(narrowed(with_table(qsym.graph, table)).outputs)


def thresholds(mode: str, collector: Any, dtype: str, logger: Any = None) -> Table:
    """The ranges of the layers that a collector has seen."""
    if mode == "entropy":
        return optimal_thresholds(collector.hist_dict, dtype, logger=logger)
    table: Table = collector.min_max_dict
    return table


def collect(
    module: Module,
    batches: DataIter,
    collector: Any,
    examples: int | None = None,
    logger: Any = None,
) -> int:
    """Show a collector what a module computes for batches; how many examples it saw.

    examples: no further batch once there were so many; None: all.
    """
    group = module._exec_group
    assert group is not None
    group.execs[0].set_monitor_callback(collector.collect, monitor_all=True)
    seen = 0
    for batch in batches:
        module.forward(batch, is_train=False)
        seen += batches.batch_size
        if examples is not None and seen >= examples:
            break
    _log(logger, f"Collected statistics of {seen} examples")
    return seen


def _collector(mode: str, layers: Sequence[str], dtype: str, logger: Any) -> Any:
    """What looks at the values of layers in a mode; None where nothing has to."""
    makers: Mapping[str, Callable[[], Any]] = {
        "naive": lambda: LayerOutputMinMaxCollector(dtype, layers, logger),
        "entropy": lambda: LayerHistogramCollector(include_layer=layers, logger=logger),
        "none": lambda: None,
    }
    return makers[mode]()


def _mode(given: str | None, known: Sequence[str]) -> str:
    mode = given or "none"
    if mode not in known:
        raise ArgumentError(f"calib_mode={given!r}: choose one of {', '.join(known)}.")
    return mode


def _choice(
    names: Any, ops: Any, dtype: str, mode: str, granularity: str, calibration: str
) -> Choice:
    """What is asked for; raises ArgumentError for a name that is in no list."""
    for given in (names, ops):
        if given is not None and not isinstance(given, (list, tuple)):
            raise ArgumentError(
                f"excluded names are a list of strings, not a {type(given).__name__}."
            )
    calibrated = calibration != "none"
    return Choice(names or (), ops or (), dtype, mode, granularity, calibrated)


def _device(ctx: Any) -> Device:
    """A single device, by default the CPU."""
    if ctx is None:
        return cpu()
    if not isinstance(ctx, Device):
        raise ArgumentError(
            f"ctx is a single device, such as mx.cpu(), not {ctx!r:.60}."
        )
    return ctx


def _log(logger: Any, text: str) -> None:
    if logger:
        logger.info(text)
