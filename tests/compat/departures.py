"""Operators that answer otherwise than MXNet 1.9.1 on purpose, and why."""

from __future__ import annotations

DEPARTURES: dict[str, str] = {}
