"""The lists for bfloat16, under MXNet's names; see `minimx.amp.lists`."""

from __future__ import annotations

from minimx.amp.lists.derived import conditional, float32_inputs, losses, named

BF16_FUNCS = named("target", "bfloat16")
BF16_FP32_FUNCS = named("either", "bfloat16")
BF16_USE_FP32_PARAMS = float32_inputs("bfloat16")
FP32_FUNCS = named("float32", "bfloat16")
CONDITIONAL_FP32_FUNCS = conditional()
WIDEST_TYPE_CASTS = named("widest", "bfloat16")
LOSS_OUTPUT_FUNCTIONS = losses()
