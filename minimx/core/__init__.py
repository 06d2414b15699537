"""The core: what every program needs, and what the reading order in README visits.

From the ground up: `errors`, `events`, `dtypes`, `shapes` and `device` are what
everyone may know; `knobs` the settings; `drivers` and `storage` memory; `engine` who
may run when; `record` and `replay` what happened; `kernels` loops over numbers, `ops`
what an operator is and `operators` the main ones; `arrays` memory with a shape, and one
call from Python to the engine; `autograd` the tape; `graph` a computation written down,
prepared and run; `cached_op` what `hybridize` makes of a block.
"""
