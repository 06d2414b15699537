"""minimx: MXNet's Python API over a runtime that you can look inside while it runs.

    import minimx as mx

This is the front door: it re-exports, and where IPython runs it lets `%env` turn knobs.
Inside the package nobody imports it; a room imports the room below that defines what it
needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minimx import absent as _absent
from minimx import (
    amp,
    attribute,
    autograd,
    base,
    callback,
    context,
    contrib,
    engine,
    errors,
    executor,
    gluon,
    image,
    initializer,
    io,
    kvstore,
    lr_scheduler,
    metric,
    model,
    module,
    monitor,
    name,
    nd,
    np,
    npx,
    numerics,
    operator,
    ops,
    optimizer,
    profiler,
    random,
    record,
    recordio,
    replay,
    rnn,
    rtc,
    runtime,
    storage,
    symbol,
    symbol_op,
    test_utils,
    util,
    visualization,
)
from minimx import context as device
from minimx import image as img
from minimx import initializer as init
from minimx import kvstore as kv
from minimx import module as mod
from minimx import monitor as mon
from minimx import nd as ndarray
from minimx import np as numpy
from minimx import npx as numpy_extension
from minimx import symbol as sym
from minimx import visualization as viz
from minimx.attribute import AttrScope
from minimx.base import MXNetError
from minimx.context import (
    Context,
    Device,
    cpu,
    cpu_pinned,
    cpu_shared,
    current_context,
    current_device,
    gpu,
    gpu_memory_info,
    num_gpus,
)
from minimx.doors import open_doors as _open_doors
from minimx.executor import Executor
from minimx.knobs import ipython as _ipython
from minimx.knobs import knobs
from minimx.record import Record
from minimx.symbol import Symbol
from minimx.util import (
    is_np_array,
    is_np_shape,
    np_array,
    np_shape,
    set_np_shape,
    use_np,
    use_np_array,
    use_np_shape,
)
from minimx.version import __version__

_open_doors()
_ipython.install()  # from now on `%env NAME=value` acts from the next cell

__all__ = [
    "AttrScope",
    "Context",
    "Device",
    "Executor",
    "MXNetError",
    "Record",
    "Symbol",
    "__version__",
    "amp",
    "attribute",
    "autograd",
    "base",
    "callback",
    "context",
    "contrib",
    "cpu",
    "cpu_pinned",
    "cpu_shared",
    "current_context",
    "current_device",
    "device",
    "engine",
    "errors",
    "executor",
    "gluon",
    "gpu",
    "gpu_memory_info",
    "image",
    "img",
    "init",
    "initializer",
    "io",
    "is_np_array",
    "is_np_shape",
    "knobs",
    "kv",
    "kvstore",
    "lr_scheduler",
    "metric",
    "mod",
    "model",
    "module",
    "mon",
    "monitor",
    "name",
    "nd",
    "ndarray",
    "np",
    "np_array",
    "np_shape",
    "npx",
    "num_gpus",
    "numerics",
    "numpy",
    "numpy_extension",
    "operator",
    "ops",
    "optimizer",
    "profiler",
    "random",
    "record",
    "recordio",
    "replay",
    "rnn",
    "rtc",
    "runtime",
    "set_np_shape",
    "storage",
    "sym",
    "symbol",
    "symbol_op",
    "test_utils",
    "use_np",
    "use_np_array",
    "use_np_shape",
    "util",
    "visualization",
    "viz",
]

if not TYPE_CHECKING:  # a checker should still miss what is not there

    def __getattr__(name: str) -> object:
        raise _absent.missing("mx", name, __all__)


def __dir__() -> list[str]:
    return sorted(__all__)
