"""What symbols and executors need of graphs beside the core.

`json` (with `spelling`, and `control` for loops) writes and reads files, `portable`
makes graphs that MXNet can read; `casts` and `narrowing` are mixed precision; `storage`
tells which values are sparse, `places` on which device a node runs; `watching`,
`backward_steps` and `monitored_walk` tell monitors what is computed.
"""
