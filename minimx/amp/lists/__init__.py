"""Which operators compute in which type under mixed precision, in MXNet's lists.

    target       in two-byte numbers: what spends its time multiplying matrices
    float32      sums over many elements, and what leaves float16's range
    widest       in the widest type among the inputs
    conditional  in float32 where a setting asks for a function of wide range
    either       in the type that comes: everything else

The rule of an operator stands on its data sheet (`casting`, see ops/casting.py); the
lists are read off the sheets once, when this package is first imported.
"""

from __future__ import annotations

from typing import Any

from minimx.amp.casting import checked_target
from minimx.amp.lists import symbol_bf16, symbol_fp16

__all__ = ["symbol_bf16", "symbol_fp16"]


def _narrow(target_dtype: Any) -> bool:
    return checked_target(target_dtype) == "float16"


def _of(target_dtype: Any) -> Any:
    return symbol_fp16 if _narrow(target_dtype) else symbol_bf16


def list_lp16_ops(target_dtype: Any = "float16") -> list[str]:
    """The operators that compute in `target_dtype`."""
    if _narrow(target_dtype):
        return list(symbol_fp16.FP16_FUNCS)
    return list(symbol_bf16.BF16_FUNCS)


def list_fp32_ops(target_dtype: Any = "float16") -> list[str]:
    """The operators that compute in float32."""
    return list(_of(target_dtype).FP32_FUNCS)


def list_lp16_fp32_ops(target_dtype: Any = "float16") -> list[str]:
    """The operators that compute in the type that comes."""
    if _narrow(target_dtype):
        return list(symbol_fp16.FP16_FP32_FUNCS)
    return list(symbol_bf16.BF16_FP32_FUNCS)


def list_conditional_fp32_ops(
    target_dtype: Any = "float16",
) -> list[tuple[str, str, list[str]]]:
    """(operator, setting, values) with which it computes in float32."""
    return list(_of(target_dtype).CONDITIONAL_FP32_FUNCS)


def list_widest_type_cast(target_dtype: Any = "float16") -> list[str]:
    """The operators that compute in the widest type among their inputs."""
    return list(_of(target_dtype).WIDEST_TYPE_CASTS)


def list_loss_output_functions(target_dtype: Any = "float16") -> list[str]:
    """The operators that are a loss and its gradient at once."""
    return list(_of(target_dtype).LOSS_OUTPUT_FUNCTIONS)


def list_lp16_use_fp32_params(
    target_dtype: Any = "float16",
) -> dict[str, list[str]] | None:
    """For bfloat16, the inputs of operators that stay in float32; else None."""
    return None if _narrow(target_dtype) else dict(symbol_bf16.BF16_USE_FP32_PARAMS)
