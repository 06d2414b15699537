"""Numbers that the experiments of claims could have given: other than they gave."""

from __future__ import annotations

from typing import Any

from minimx.kvstore.simulation import simulate
from minimx_widgets.course.batching import Feeding
from minimx_widgets.course.data_parallel.workloads import line, three_layers


def _nets(share: float, extra: float) -> dict[str, Any]:
    rules = {"1.x": (share, extra), "remap": (share, extra)}
    return {"v1": rules, "v2": rules}


def _reports() -> list[Any]:
    return [simulate(three_layers(0.1), line(), "ring", 2)]


def _busy() -> dict[str, Any]:
    return {"memory": Feeding(batch=64, batch_ms=128.0, read_ms=0.1).run()}


#: By notebook and claim, numbers that an experiment could have given, and the verdict.
OTHER: dict[str, dict[str, tuple[dict[str, Any], str]]] = {
    "00": {
        "scheduling_threads": ({"before": 1, "turned": 1}, "fails"),
        "back_to_empty": (
            {"here": "NaiveEngine", "in_mxnet": "an error"},
            "fails",
        ),
        "no_pools": ({"here": "the pool", "read": False}, "fails"),
        "one_default": ({"said": ["2", "2", "2"]}, "holds"),
        "guides_bucket": ({"live": False, "readers": 0}, "fails"),
    },
    "01": {
        "when_needed": ({"done": 0}, "holds"),
        "far_from_origin": (
            {"where": "at the call", "naive": "at the call", "line": True},
            "fails",
        ),
        "in_the_master_thread": ({"lanes": ["cpu(0)/0"], "ratio": 9.0}, "fails"),
        "thread_per_gpu": ({"lanes": ["gpu(0)/0"]}, "holds"),
        "both_waits": ({"both": 1.0, "no_first": 1.0, "no_second": 1.0}, "fails"),
    },
    "02": {
        "one_after_the_other": ({"ms": 3}, "fails"),
        "any_error": ({"threaded": "garbage", "naive": "garbage"}, "holds"),
        "global_pool": ({"ms": 6}, "fails"),
        "per_device_asynchronously": ({"ms": 3, "unasked": True}, "fails"),
        "only_when_needed": ({"unasked": False}, "holds"),
    },
    "03": {
        "many_in_parallel": ({"one": 24.0, "four": 24.0}, "fails"),
        "threads_for_urgent_jobs": ({"arrival": 15.0, "need": 15.0}, "fails"),
        "half_of_the_processors": ({"processors": 16, "asked": {1: 8}}, "holds"),
        "one_place_each": ({"free": [2, 2], "bound": [2, 2]}, "fails"),
        "a_single_device": ({"same": 6.0, "other": 6.0}, "holds"),
    },
    "04": {
        "recorded_only_when_needed": ({"issued": 2, "ran": 1}, "holds"),
        "stale_gradients": ({"value": 0.0, "said": ""}, "fails"),
        "likely_fragmentation": ({"count": 5, "losses": 9, "tape": 9}, "holds"),
        "memory_reuse": (
            {"calls": (3, 3), "graph": (2, 2), "static": (1, 1)},
            "holds",
        ),
        "copies_in_forward": ({"calls": ["Cast", "relu"]}, "holds"),
    },
    "05": {
        "entire_graph": ({"on": 7, "off": 100}, "fails"),
        "less_parallel": ({"limits": (20, 41), "took": (66.0, 66.0)}, "fails"),
        "common_limit": ({"common": 7, "backward": 15}, "fails"),
        "every_operator": ({"by_default": (7, 1), "all_off": (7, 1)}, "fails"),
        "fusion_and_reuse": (
            {
                "without": ["tanh"],
                "with_it": ["_FusedOp"],
                "requests": (100, 100, 0),
            },
            "holds",
        ),
    },
    "06": {
        "in_place": (
            {
                "kib": {
                    "no optimization": 237,
                    "with in-place": 237,
                    "with sharing": 237,
                    "with both": 237,
                },
                "readers": 0,
            },
            "fails",
        ),
        "no_sharing": ({"with_in_place": 9, "without": 9}, "holds"),
        "hard_to_diagnose": ({"plans": 4, "outcomes": 2}, "holds"),
        "largest_that_fits": (
            {"mebibytes": 64, "largest": {"no optimization": 9, "with both": 9}},
            "holds",
        ),
    },
    "07": {
        "best_of_all_ranges": (
            {"default": [1, 2], "search": [1, 2], "kib": {1: 9.0}, "found": 9.0},
            "holds",
        ),
        "range_0_shares_nothing": ({"kib": 852.0, "apart": 852.0}, "holds"),
        "memory_opt": ({"kib": {"a chain": (9.0, 9.0)}}, "fails"),
    },
    "colours": {
        "workspaces_of_a_device": (
            {"spaces": {1: (1, 9), 2: (2, 18)}, "megabytes_of_mxnet": (108, 62)},
            "holds",
        ),
        "memory_for_parallelism": ({"kib": [1, 2], "took": [9.0, 9.0]}, "depends"),
    },
    "08": {
        "round_reuses_more": (
            {"costs": {"vary": [(9.0, 9), (9.0, 9)], "same": [(9.0, 9), (9.0, 9)]}},
            "fails",
        ),
        "cutoff_28": (
            {"ragged": [(9.0, 9), (8.0, 8)], "large": [(9.0, 9), (8.0, 8)]},
            "holds",
        ),
        "naive_above_the_cutoff": (
            {"asked": 33, "by_round": 34.0, "by_naive": 34.0},
            "holds",
        ),
        "exact_requested_size": ({"asked": 3.0, "got": 3.0}, "holds"),
        "reserve_frees_earlier": (
            {"capacity": 200, "without": 6, "with_it": 6},
            "fails",
        ),
        "out_of_memory": ({"stay": 120, "leave": 120}, "fails"),
        "allocated_reserved_cached": (
            {"free": 236.0, "total": 256.0, "used": 20.0, "cached": 40.0},
            "holds",
        ),
    },
    "09": {
        "thirty_to_fifty": (_nets(0.6, 0.05), "holds"),
        "ninety_five": (_nets(0.6, 0.5), "fails"),
        "switch_in_gluon": ({"extra": 0.0, "in_mxnet": 0.0}, "fails"),
        "square_root": ({"found": {64: (16.0, 49), 256: (64.0, 225)}}, "fails"),
        "three_quarters": ({"found": {64: (16.0, 191)}}, "fails"),
        "more_memory": (_nets(0.9, 0.05), "fails"),
    },
    "10": {
        "pointwise_only": (
            {"apart": 5, "fused": 1, "less": 5.0, "product_outside": False},
            "depends",
        ),
        "only_on_gpus": ({"name": "abs"}, "holds"),
        "static_allocation_fuses": (
            {"static": "_FusedOp", "hybrid": "abs", "no_graph": "abs"},
            "holds",
        ),
        "from_the_threshold_on": (
            {"size": 200_000, "below": 2, "at": 2, "all_of_mxnet": False},
            "fails",
        ),
        "duplicates": ({"exp": 1, "Dropout": 1}, "holds"),
    },
    "11": {
        "silent_divergence": ({"zeros": [0.0, 0.1], "ratio": 1.0}, "fails"),
        "guide_runs": ({"refusal": ""}, "holds"),
        "as_accurate": ({"apart": {"float16": -0.02}}, "fails"),
        "needs_scaling": ({"ratios": {"float16": 1.2, "bfloat16": 1.2}}, "holds"),
    },
    "12": {
        "everything_fine": ({"fed": _busy()}, "holds"),
        "often_sufficient": ({"busy": {"a K80": 1.0}, "needed": 4}, "holds"),
        "largest_is_quickest": (
            {"falling": 0, "columns": 32, "vgg": {64: 1.0, 256: 2.0}},
            "holds",
        ),
        "fits_128": ({"gibibytes": 8, "cells": {128: "OOM"}}, "fails"),
        "quicker_in_float16": ({"gains": {"ResNet-50": 1.9}}, "holds"),
    },
    "13": {
        "less_than_computing": ({"reports": _reports()}, "holds"),
        "larger_batches": ({"waits": {8: 0.2, 16: 0.2}}, "fails"),
        "device_or_nccl": ({"factors": {8: 3.9}}, "holds"),
        "trees": (
            {"ms": {"a box": {"tree": 1.0, "device": 3.0, "nccl": 2.0}}, "batch": 8},
            "holds",
        ),
        "bigger_than": ({"elements": 1_000_000, "threads": 1}, "holds"),
        "random_server": ({"first": [0, 1], "again": [1, 0]}, "holds"),
        "bucket_size": (
            {"before": 36.0, "after": 36.0, "default": 0, "readers": 0},
            "fails",
        ),
        "equal_seeds": ({"apart": 0.0, "repeated": 0, "steps": 10}, "holds"),
    },
    "14": {
        "details_are_hidden": ({"together": 5, "apart": 15, "by_hand": 0}, "holds"),
        "mode_0_is_symbolic": (
            {"meant": {"1.x": True, "2.0": True}, "events": 5},
            "holds",
        ),
        "default_mode": ({"default": 13, "shown": {13: 5, 15: 5}}, "fails"),
        "operator_level": ({"names": ["Activation", "sgemm_kernel"]}, "fails"),
        "files_grow": (
            {"times": 10, "trace": 10.0, "table": 10.0, "each": 150.0},
            "holds",
        ),
        "wait_before_stop": ({"with_it": 3, "without": 3}, "fails"),
    },
    "15": {
        "static_or_shapes": ({"static": True, "shapes": True}, "holds"),
        "nccl_and_larger": ({"cured": {"store": True, "batch": True}}, "holds"),
        "updates_or_seeds": ({"apart": {"unsummed": 0.0, "seeds": 0.0}}, "fails"),
        "json_graphs": ({"faulty": 8, "healthy": 8}, "fails"),
    },
    "16": {
        "exact_size": ({"sizes": (1, 2), "calls": 2}, "holds"),
        "round_for_changing_shapes": ({"costs": {"training": (1.0, 2.0)}}, "holds"),
        "unpooled": ({"asked": {"training": (9, 3)}}, "fails"),
    },
    "conv": {
        "tests_are_run": ({"without": True, "with_it": True}, "holds"),
        "fastest_of_all": (
            {"taken": {1: ("direct", 0), 2: ("direct", 0)}},
            "fails",
        ),
        "fastest_of_all_in_1x": (
            {"taken": {1: ("direct", 0), 2: ("winograd4", 5 << 20)}},
            "holds",
        ),
        "filtered_is_more_exact": ({"ratios": {"F(4×4)": 19.0}}, "holds"),
        "sometimes_helps": ({"gain": 0.1}, "fails"),
    },
    "every": {
        "naive_above_the_cutoff": ({"mib": 48, "naive": 48.0, "found": 48.0}, "holds"),
        "multiples_above_the_cutoff": (
            {"mib": 36, "step": 16.0, "found": 64.0},
            "fails",
        ),
        "only_sgd_joins": (
            {"weights": 12, "most": 4, "each": {"sgd": 3, "adam": 3, "nag": 12}},
            "depends",
        ),
        "as_many_buffers": ({"copies": 4, "graphs": 2, "count": 2}, "depends"),
    },
    "rely": {
        "explicit_contexts": ({"error": ""}, "fails"),
        "mixing_is_slower": ({"copies": 4, "nbytes": 1024, "factor": 1.0}, "fails"),
        "checkpoints_recover": ({"same": 6}, "holds"),
        "large_batches_learn_less": (
            {"found": {32: (192, 90.0), 1024: (6, 90.0)}},
            "fails",
        ),
    },
    "same": {
        "other_accuracy": ({"one": 1.6, "means": 4.0, "noise": 1.6}, "holds"),
        "less_precise": ({"steps": 32, "far": 0.1}, "holds"),
        "learns_the_same": ({"agree": [False, False], "words": []}, "fails"),
    },
}
