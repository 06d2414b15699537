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
    """The operators that compute in `target_dtype`, sorted, with all their aliases.

    target_dtype: float16 or bfloat16. Raises `ArgumentError` for another one, as all
    lists here do. Returns a new list each time.
    """
    if _narrow(target_dtype):
        return list(symbol_fp16.FP16_FUNCS)
    return list(symbol_bf16.BF16_FUNCS)


def list_fp32_ops(target_dtype: Any = "float16") -> list[str]:
    """The operators that compute in float32, whatever the types of their inputs."""
    return list(_of(target_dtype).FP32_FUNCS)


def list_lp16_fp32_ops(target_dtype: Any = "float16") -> list[str]:
    """The operators that compute in the type of their inputs, of two or four bytes."""
    if _narrow(target_dtype):
        return list(symbol_fp16.FP16_FP32_FUNCS)
    return list(symbol_bf16.BF16_FP32_FUNCS)


def list_conditional_fp32_ops(
    target_dtype: Any = "float16",
) -> list[tuple[str, str, list[str]]]:
    """Operators that compute in float32 under a condition.

    Returns (operator, setting, values): where the setting has one of the values, such
    as ("Activation", "act_type", ["softrelu"]).
    """
    return list(_of(target_dtype).CONDITIONAL_FP32_FUNCS)


def list_widest_type_cast(target_dtype: Any = "float16") -> list[str]:
    """The operators whose inputs are converted to the widest type among them."""
    return list(_of(target_dtype).WIDEST_TYPE_CASTS)


def list_loss_output_functions(target_dtype: Any = "float16") -> list[str]:
    """The operators that are a loss and its gradient at once, such as SoftmaxOutput.

    `backward` ignores head gradients there, so the loss scale is multiplied in.
    """
    return list(_of(target_dtype).LOSS_OUTPUT_FUNCTIONS)


def list_lp16_use_fp32_params(
    target_dtype: Any = "float16",
) -> dict[str, list[str]] | None:
    """{operator: inputs that stay in float32} for bfloat16; None for float16.

    An input that may be converted (the data) is an empty name in its position.
    """
    return None if _narrow(target_dtype) else dict(symbol_bf16.BF16_USE_FP32_PARAMS)
