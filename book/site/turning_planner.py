"""The memory planner: the results of a graph, and the blocks that they share."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from minimx.core.graph.memory.inplace import Pair
from minimx.core.graph.memory.memory import ranges
from minimx.core.graph.memory.sharing import NumberedGraph, StorageSharing
from minimx.core.graph.running.settings import KNOBS, Settings
from minimx.core.graph.values.ir import Entry
from minimx.core.knobs import knobs
from minimx.core.storage import human

FIELDS = {knob: field for field, knob in KNOBS.items()}


def answer(data: Mapping[str, Any], turned: Mapping[str, Any]) -> dict[str, Any]:
    """Figures of the plan with the fewest bytes, its blocks, and what was tried.

    data: a graph in numbers, as `site_recorded.py` writes it. turned: knobs of the
    planner.
    """
    fields: dict[str, Any] = {
        FIELDS[name]: knobs.declared[name].check(turned[name]) for name in turned
    }
    settings = Settings(**fields)
    graph = numbered(data)
    tried = [
        StorageSharing(graph, match_range, settings.enable_inplace)
        for match_range in ranges(settings)
    ]
    best = min(tried, key=lambda sharing: sharing.total)
    planned = [e for e, block in enumerate(best.storage) if block >= 0]
    apart = sum(graph.nbytes[e] for e in planned)
    blocks = f"{len(best.sizes)} for {len(planned)} results"
    return {
        "figures": {
            "total": [best.total, human(best.total)],
            "apart": [apart, human(apart)],
            "blocks": [len(best.sizes), blocks],
            "inplace": [len(best.written_over), f"{len(best.written_over)}"],
            "match_range": [best.match_range, f"{best.match_range}"],
            "tried": [len(tried), f"{len(tried)}"],
        },
        "bars": {
            "each block, in bytes": [
                [str(k), size] for k, size in enumerate(best.sizes)
            ],
            "each match range that was tried, in bytes": [
                [str(one.match_range), one.total] for one in tried
            ],
        },
    }


def numbered(data: Mapping[str, Any]) -> NumberedGraph:
    """The graph that the planner reads; of a node it asks only whether it computes."""
    nodes: Any = [SimpleNamespace(op=op or None) for op in data["ops"]]
    outs = [range(*ends) for ends in data["outs"]]
    places = [(n, e - out.start) for n, out in enumerate(outs) for e in out]
    return NumberedGraph(
        nodes=tuple(nodes),
        entries=[Entry(nodes[n], slot) for n, slot in places],
        outs=outs,
        ins=data["ins"],
        reads=data["reads"],
        ignored=[frozenset(each) for each in data["ignored"]],
        pairs=[tuple(Pair(*pair) for pair in each) for each in data["pairs"]],
        devices=[None] * len(nodes),
        readers=data["readers"],
        sizes=data["sizes"],
        itemsizes=data["itemsizes"],
        nbytes=data["nbytes"],
        dtypes=data["dtypes"],
        initial=data["initial"],
        writers={int(e): n for e, n in data["writers"].items()},
    )
