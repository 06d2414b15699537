"""The lists for float16, under MXNet's names; see `minimx.amp.lists`."""

from __future__ import annotations

from minimx.amp.lists.derived import conditional, losses, named

FP16_FUNCS = named("target", "float16")
FP16_FP32_FUNCS = named("either", "float16")
FP32_FUNCS = named("float32", "float16")
CONDITIONAL_FP32_FUNCS = conditional()
WIDEST_TYPE_CASTS = named("widest", "float16")
LOSS_OUTPUT_FUNCTIONS = losses()
