"""Knobs of what stands around the core: convolution, kvstore, oneDNN, and more.

The core declares its own knobs in `minimx/core/knobs/declarations`, and asks for these
as the extension "knob declarations", so that all of them are one table.
"""

from __future__ import annotations

from minimx.tools.knob_declarations import (
    convolution,
    distributed,
    kvstore,
    onednn,
    policies,
    profiler,
)

#: In the order in which a reader meets them.
GROUPS = (convolution, kvstore, distributed, onednn, profiler, policies)
