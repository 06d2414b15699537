"""A trained network in float32 made into one of mixed precision, for prediction.

The work is the graph pass `minimx.graphs.casts`; here symbols, parameters
and blocks are brought to it and taken back.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from minimx import model, symbol
from minimx.amp.casting import Conditions, rules
from minimx.amp.lists import list_widest_type_cast
from minimx.core.arrays.array import NDArray
from minimx.core.device import Device
from minimx.core.dtypes import resolve
from minimx.core.errors import ArgumentError, ListedTwice, ParameterError
from minimx.core.graph.values.ir import Entry
from minimx.gluon import HybridBlock, SymbolBlock
from minimx.graphs.casts import insert_casts, kinds_of
from minimx.graphs.narrowing import narrowable, saying
from minimx.module import BucketingModule
from minimx.symbol import Symbol


def convert_symbol(
    sym: Symbol,
    target_dtype: Any = "float16",
    target_dtype_ops: Iterable[str] | None = None,
    fp32_ops: Iterable[str] | None = None,
    conditional_fp32_ops: Conditions | None = None,
    excluded_sym_names: Sequence[str] | None = None,
    data_names: Sequence[str] | None = None,
    cast_optional_params: bool = False,
) -> Symbol:
    """A graph with conversions to `target_dtype` where operators compute in it.

    target_dtype: float16 or bfloat16. target_dtype_ops, fp32_ops: operators that
    compute in it, or in float32, instead of MXNet's lists. conditional_fp32_ops:
    (operator, setting, values) with which it computes in float32. excluded_sym_names:
    nodes that compute in float32 whatever they are. data_names: inputs that are no
    parameters and keep their types; by default a guess by name. cast_optional_params:
    let parameters that are only needed in the two-byte type have it (`__dtype__`), so
    that their conversion can be done once. Those of operators which compute in the type
    that comes have it in any case, as in MXNet.

    Raises `ArgumentError` for unknown types, operators and nodes.
    """
    if not isinstance(sym, Symbol):
        raise ArgumentError(
            f"convert_symbol: a {type(sym).__name__} is no Symbol. For a block there "
            "is convert_hybrid_block."
        )
    if isinstance(excluded_sym_names, str):
        raise ArgumentError(
            f"convert_symbol: excluded_sym_names={excluded_sym_names!r} is one text; "
            "give a list of names."
        )
    excluded = list(excluded_sym_names or ())
    names = {node.name for node in sym.graph}
    strange = sorted(set(excluded) - names)
    if strange:
        raise ArgumentError(
            f"convert_symbol: the graph has no nodes {', '.join(strange)}; "
            "sym.get_internals() lists those that it has."
        )
    unknown = sorted(set(data_names or ()) - set(sym.list_inputs()))
    if unknown:
        raise ArgumentError(
            f"convert_symbol: the graph has no inputs {', '.join(unknown)}; it has "
            f"{', '.join(sym.list_inputs())}."
        )
    _refuse_widest(target_dtype, [*(target_dtype_ops or ()), *(fp32_ops or ())])
    wanted = rules(
        target_dtype, target_dtype_ops, fp32_ops, conditional_fp32_ops, excluded
    )
    kept = _guessed_data(sym) if data_names is None else data_names
    free = {*sym.list_inputs()} - {*kept}
    graph, kinds = sym.graph, dict(kinds_of(sym.graph))
    first = insert_casts(graph, kinds, wanted)
    names = narrowable(first.after, wanted, free, cast_optional_params)
    declared = dict.fromkeys(names, resolve(wanted.target))
    kinds |= {Entry(v): declared[v.name] for v in graph.variables if v.name in declared}
    return Symbol(saying(insert_casts(graph, kinds, wanted).after, declared).outputs)


def _refuse_widest(target_dtype: Any, names: Sequence[str]) -> None:
    """As MXNet does: in a graph there is no other way to give these."""
    fixed = sorted({*names} & {*list_widest_type_cast(target_dtype)})
    if fixed:
        raise ListedTwice(
            f"convert_symbol: {', '.join(fixed)} computes in the widest type among its "
            "inputs. Name the nodes in excluded_sym_names to have them in float32."
        )


def _guessed_data(sym: Symbol) -> list[str]:
    """The inputs that are probably no parameters: these have a name or say a type."""
    endings = ("weight", "bias", "gamma", "beta", "mean", "var", "moving_avg")
    typed = {v.name for v in sym.graph.variables if "__dtype__" in v.attrs}
    inputs = sym.list_inputs()
    return [name for name in inputs if not name.endswith(endings) and name not in typed]


def convert_model(
    sym: Symbol,
    arg_params: Mapping[str, NDArray],
    aux_params: Mapping[str, NDArray],
    target_dtype: Any = "float16",
    target_dtype_ops: Iterable[str] | None = None,
    fp32_ops: Iterable[str] | None = None,
    conditional_fp32_ops: Conditions | None = None,
    excluded_sym_names: Sequence[str] | None = None,
    cast_optional_params: bool = False,
) -> tuple[Symbol, dict[str, NDArray], dict[str, NDArray]]:
    """A graph and its parameters in mixed precision; see `convert_symbol`.

    Parameters stay in float32 unless `cast_optional_params`, or unless their operator
    computes in the type that comes. Returns new dictionaries.
    Raises `ArgumentError` for what is no dictionary of parameters.
    """
    for name, params in (("arg_params", arg_params), ("aux_params", aux_params)):
        if not isinstance(params, Mapping):
            raise ArgumentError(
                f"convert_model: {name} is a {type(params).__name__}; give the "
                "dictionary that mx.model.load_checkpoint returns."
            )
    given = {*arg_params, *aux_params}
    data = [name for name in sym.list_inputs() if name not in given]
    found = convert_symbol(
        sym,
        target_dtype,
        target_dtype_ops,
        fp32_ops,
        conditional_fp32_ops,
        excluded_sym_names,
        data,
        cast_optional_params,
    )
    kinds = {entry.node.name: kind for entry, kind in kinds_of(found.graph).items()}

    def converted(params: Mapping[str, NDArray]) -> dict[str, NDArray]:
        return {
            name: x.astype(kinds[name].name) if name in kinds else x.copy()
            for name, x in params.items()
        }

    return found, converted(arg_params), converted(aux_params)


def convert_hybrid_block(
    block: HybridBlock,
    target_dtype: Any = "float16",
    target_dtype_ops: Iterable[str] | None = None,
    fp32_ops: Iterable[str] | None = None,
    conditional_fp32_ops: Conditions | None = None,
    excluded_sym_names: Sequence[str] | None = None,
    ctx: Device | Sequence[Device] | None = None,
    cast_optional_params: bool = False,
    *,
    device: Device | Sequence[Device] | None = None,
) -> SymbolBlock:
    """A block in mixed precision, for prediction; see `convert_symbol`.

    block: hybridized, and called at least once. ctx, or device: where the new one
    lives; where the old one does unless given. Raises `ArgumentError` for another kind
    of block.
    """
    if not isinstance(block, HybridBlock):
        raise ArgumentError(
            f"convert_hybrid_block: a {type(block).__name__} is no HybridBlock; only "
            "these become graphs."
        )
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "model")
        block.export(path)
        sym, args, states = model.load_checkpoint(path, 0)
    found, args, states = convert_model(
        sym,
        args,
        states,
        target_dtype,
        target_dtype_ops,
        fp32_ops,
        conditional_fp32_ops,
        excluded_sym_names,
        cast_optional_params,
    )
    known = {*args, *states}
    inputs = [symbol.var(name) for name in found.list_inputs() if name not in known]
    home = ctx if device is None else device
    if home is None:
        parameters = list(block.collect_params().values())
        home = parameters[0].list_ctx() if parameters else None
    made = SymbolBlock(found, inputs)
    parameters_of = made.collect_params()
    for name, value in {**args, **states}.items():
        parameter = parameters_of[name]
        parameter.cast(value.dtype)
        parameter.shape = value.shape
        parameter.initialize(ctx=home)
        parameter.set_data(value)
    return made


def convert_bucketing_module(
    bucketing_mod: BucketingModule,
    target_dtype: Any = "float16",
    target_dtype_ops: Iterable[str] | None = None,
    fp32_ops: Iterable[str] | None = None,
    conditional_fp32_ops: Conditions | None = None,
    excluded_sym_names: Sequence[str] | None = None,
    cast_optional_params: bool = False,
) -> BucketingModule:
    """A module of buckets in mixed precision, for prediction; see `convert_symbol`.

    Raises `ArgumentError` for another kind of module, `ParameterError` for one whose
    parameters have no values yet.
    """
    if not isinstance(bucketing_mod, BucketingModule):
        raise ArgumentError(
            f"convert_bucketing_module: a {type(bucketing_mod).__name__} is no "
            "BucketingModule. For a symbol there is convert_model."
        )
    if not bucketing_mod.params_initialized:
        raise ParameterError(
            "convert_bucketing_module: the parameters have no values yet: bind the "
            "module and call init_params, or set_params."
        )
    args, states = bucketing_mod.get_params()
    found = {
        key: convert_model(
            bucket.symbol,
            args,
            states,
            target_dtype,
            target_dtype_ops,
            fp32_ops,
            conditional_fp32_ops,
            excluded_sym_names,
            cast_optional_params,
        )
        for key, bucket in bucketing_mod._buckets.items()
    }
    key = bucketing_mod._default_bucket_key
    _, args, states = found[key]
    return BucketingModule.load_dict(
        {key: symbol for key, (symbol, _, _) in found.items()},
        sym_gen=bucketing_mod._sym_gen,
        default_bucket_key=key,
        arg_params=args,
        aux_params=states,
        **bucketing_mod._settings,
    )
