"""What symbols and executors need of graphs beside the core.

`json` (with `spelling`, and `control` for loops) writes and reads files, `portable`
makes graphs that MXNet can read; `casts` and `narrowing` are mixed precision; `folding`
and `onednn_backends` are backends, which are there whenever graphs are made; `storage`
tells which values are sparse, and `sparse_runs` (with `sparse_calls`) runs graphs that
have some; `placement` tells on which device a node runs; `watching`, `backward_steps`
and `monitored_walk` tell monitors what is computed.
"""

from __future__ import annotations

from minimx.graphs import folding, onednn_backends

__all__ = ["folding", "onednn_backends"]
