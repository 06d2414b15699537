"""The vocabulary: one data sheet per operator; importing this registers them all."""

from __future__ import annotations

from minimx.ops import elementwise, scalar

__all__ = ["elementwise", "scalar"]
