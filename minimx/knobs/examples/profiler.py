"""Examples of the knobs of profiler."""

from __future__ import annotations

from minimx.knobs.examples import Example

EXAMPLES: dict[str, Example] = {}
