"""The default launch: which arguments a kernel gets, and for which element types."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minimx.core.ops.registry import lookup
from minimx.core.ops.spec import Spec
from minimx.cuda.kernels import default_launch
from minimx.cuda.kernels.default_launch import builtin, real, real_first, runs, wide
from minimx.cuda.launches import makers

pytestmark = pytest.mark.cuda


def specs(*names: str) -> list[Spec]:
    return [Spec.of((2, 3), np.dtype(name)) for name in names]


def test_a_kernel_gets_inputs_then_settings_then_outputs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(default_launch, "DEFAULTS", {})
    seen: list[Any] = []

    @runs("LRN", types=real)
    def kernel(data: Any, nsize: int, alpha: float, out: Any) -> None:
        seen.append((data, nsize, alpha, out))

    make = default_launch.DEFAULTS["LRN"]
    op = lookup("LRN").of(nsize=5, alpha=0.5)
    launch = make(op, *specs("float32"))
    assert launch is not None
    launch("data", "out")
    assert seen == [("data", 5, 0.5, "out")]
    assert make(op, *specs("int32")) is None


def test_operators_with_a_default_launch_have_no_rule_of_their_own() -> None:
    made = makers()
    assert {"LRN", "_linalg_potrf", "shuffle"} <= set(default_launch.DEFAULTS)
    for name, make in default_launch.DEFAULTS.items():
        assert made[name] is make
        assert make.__module__.startswith("minimx.cuda.kernels.")


def test_predicates_tell_element_types_apart() -> None:
    assert real(*specs("float32", "float64")) and not real(*specs("float16"))
    assert real_first(*specs("float32", "int64"))
    assert not real_first(*specs("int64", "float32"))
    assert builtin(*specs("float16", "bool")) and not wide(*specs("float16"))
