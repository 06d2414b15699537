"""The lists of mixed precision: every operator in one, and as MXNet has it.

`mxnet_lists.json` holds the names that stand in MXNet's lists, of 1.9.1 and 2.0.0b1.
"""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pytest

from minimx import amp
from minimx.core.errors import ArgumentError
from minimx.core.ops.casting import GROUPS, Rules, group
from minimx.core.ops.registry import ALIASES, REGISTRY, lookup

THEIRS = json.loads((Path(__file__).parent / "mxnet_lists.json").read_text())
EVERY = {*REGISTRY, *ALIASES}
TARGETS = ("float16", "bfloat16")

#: Here they are other names of an operator that stands in the list above them.
OTHER_NAMES = {
    *("Convolution_v1", "BatchNorm_v1", "Pooling_v1"),
    *("_add", "_grad_add"),
}
#: Methods of arrays use them: a copy has the type of the array, and what is written to
#: a view is written to the array. In MXNet methods do without the functions.
METHODS = {
    *("_copy", "identity", "Reshape", "reshape", "Flatten", "flatten"),
    *("expand_dims", "squeeze", "reshape_like"),
}
#: 1.9.1 counts.
MOVED = {"broadcast_hypot", "_hypot", "_hypot_scalar", "_linalg_gemm", "_linalg_gemm2"}


def ours(target: str) -> dict[str, list[str]]:
    return {
        "target": amp.list_lp16_ops(target),
        "float32": amp.list_fp32_ops(target),
        "widest": amp.list_widest_type_cast(target),
        "either": amp.list_lp16_fp32_ops(target),
        "conditional": [name for name, _, _ in amp.list_conditional_fp32_ops(target)],
    }


def by_name(lists: dict[str, Any]) -> dict[str, str]:
    """The group of each name."""
    return {
        name if isinstance(name, str) else name[0]: group
        for group in (*GROUPS, "conditional")
        for name in lists[group]
    }


@pytest.mark.parametrize("target", TARGETS)
def test_every_operator_is_in_one_list(target: str) -> None:
    names = [name for its in ours(target).values() for name in its]
    assert len(names) == len(set(names))
    assert set(names) == EVERY


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_every_sheet_says_a_rule_for_both_types(name: str) -> None:
    casting = REGISTRY[name].casting
    assert {casting.float16, casting.bfloat16} <= set(GROUPS)
    if casting.conditional:
        assert casting.float16 == casting.bfloat16 == "either"
        fields = REGISTRY[name].__dataclass_fields__  # type: ignore[attr-defined]
        assert set(casting.conditional) <= set(fields)
    assert not casting.loss or casting.float16 == casting.bfloat16 == "float32"


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("version", list(THEIRS))
def test_every_operator_has_the_rule_that_it_has_in_mxnet(
    version: str, target: str
) -> None:
    here, there = by_name(ours(target)), by_name(THEIRS[version][target])
    both = here.keys() & there.keys()
    assert len(both) > 440
    differ = {name for name in both if here[name] != there[name]}
    allowed = OTHER_NAMES | (METHODS if target == "bfloat16" else set())
    allowed |= MOVED if version == "2.0.0b1" else set()
    assert differ <= allowed


@pytest.mark.parametrize("target", TARGETS)
def test_conditions_losses_and_parameters_are_those_of_mxnet(target: str) -> None:
    theirs = THEIRS["1.9.1"][target]
    conditions = [tuple(each) for each in theirs["conditional"]]
    assert amp.list_conditional_fp32_ops(target) == conditions
    losses = set(amp.list_loss_output_functions(target))
    assert set(theirs["losses"]) <= losses
    assert losses - set(theirs["losses"]) == {
        *("MakeLoss", "make_loss", "SVMOutput", "Softmax")
    }, "these ignore the gradient that arrives, too"


def test_batch_norm_keeps_its_parameters_in_float32() -> None:
    assert amp.list_lp16_use_fp32_params("float16") is None
    found = amp.list_lp16_use_fp32_params("bfloat16")
    assert found is not None
    theirs = THEIRS["1.9.1"]["bfloat16"]["float32 inputs"]
    assert found["BatchNorm"] == theirs["BatchNorm"]


def test_the_lists_stand_where_programs_look_for_them() -> None:
    contrib = importlib.import_module("minimx.contrib")
    assert amp.list_lp16_ops() == contrib.amp.lists.symbol_fp16.FP16_FUNCS
    narrow = amp.lists.symbol_bf16
    assert amp.list_lp16_ops("bfloat16") == narrow.BF16_FUNCS
    assert amp.list_fp32_ops("bfloat16") == narrow.FP32_FUNCS
    with pytest.raises(ArgumentError, match="float16 and bfloat16"):
        amp.list_fp32_ops("float64")


def test_the_policy_gives_a_reason() -> None:
    rules = Rules("float16", {"exp": "float32"}, {}, ("e1",))
    op = lookup("exp").of()
    assert group(op, rules) == ("float32", "exp computes in float32")
    assert group(op, rules, "e1") == ("float32", "e1 is excluded")
