"""minimx: MXNet's Python API over a runtime that you can look inside while it runs.

    import minimx as mx

This is the front door: it re-exports, and where IPython runs it lets `%env` turn knobs.
What every program needs is imported here: knobs, devices, memory, engine, records,
arrays and the tape. All else is imported when it is first used: `mx.gluon` imports
`minimx.gluon`. Inside the package no module imports the front door; a module imports
the module below that defines what it needs.
"""

from __future__ import annotations

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

from minimx import (
    _extensions,  # noqa: F401 (the core finds what it uses beside it)
    _interrupts,
    context,
    nd,
    ops,
    random,
)
from minimx import aliases as _aliases
from minimx import context as device
from minimx import nd as ndarray
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
from minimx.core import autograd, engine, errors, record, storage
from minimx.core.errors import MXNetError
from minimx.core.knobs import ipython as _ipython
from minimx.core.knobs import knobs
from minimx.core.record import Record
from minimx.version import MXNET_VERSION as __version__
from minimx.version import __version__ as __minimx_version__

if TYPE_CHECKING:
    from minimx import (
        amp,
        attribute,
        base,
        callback,
        contrib,
        executor,
        gluon,
        image,
        initializer,
        io,
        kvstore,
        library,
        lr_scheduler,
        metric,
        model,
        module,
        monitor,
        name,
        np,
        npx,
        numerics,
        onnx,
        operator,
        optimizer,
        policies,
        profiler,
        recordio,
        registry,
        rnn,
        rtc,
        runtime,
        symbol,
        symbol_op,
        test_utils,
        util,
        visualization,
    )
    from minimx import experiments as replay
    from minimx import image as img
    from minimx import initializer as init
    from minimx import kvstore as kv
    from minimx import module as mod
    from minimx import monitor as mon
    from minimx import np as numpy
    from minimx import npx as numpy_extension
    from minimx import symbol as sym
    from minimx import visualization as viz
    from minimx.attribute import AttrScope
    from minimx.commands.clusters.cluster import cluster
    from minimx.executor import Executor
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

__all__ = [
    "AttrScope", "Context", "Device", "Executor", "MXNetError", "Record", "Symbol",
    "__minimx_version__", "__version__", "amp", "attribute", "autograd", "base",
    "callback", "cluster", "context", "contrib", "cpu", "cpu_pinned", "cpu_shared",
    "current_context", "current_device", "device", "engine", "errors", "executor",
    "gluon", "gpu", "gpu_memory_info", "image", "img", "init", "initializer", "io",
    "is_np_array", "is_np_shape", "knobs", "kv", "kvstore", "library", "lr_scheduler",
    "metric", "mod", "model", "module", "mon", "monitor", "name", "nd", "ndarray", "np",
    "np_array", "np_shape", "npx", "num_gpus", "numerics", "numpy", "numpy_extension",
    "onnx", "operator", "ops", "optimizer", "policies", "profiler", "random", "record",
    "recordio", "registry", "replay", "rnn", "rtc", "runtime", "set_np_shape",
    "storage", "sym", "symbol", "symbol_op", "test_utils", "use_np", "use_np_array",
    "use_np_shape", "util", "visualization", "viz",
]  # fmt: skip


#: Second names of modules, and single names with the modules that define them.
_SHORT = {
    "img": "image",
    "init": "initializer",
    "kv": "kvstore",
    "mod": "module",
    "mon": "monitor",
    "numpy": "np",
    "numpy_extension": "npx",
    "sym": "symbol",
    "viz": "visualization",
}
_DEFINED_IN = {
    "AttrScope": "attribute",
    "cluster": "commands.clusters.cluster",
    "Executor": "executor",
    "Symbol": "symbol",
    **dict.fromkeys(["is_np_array", "is_np_shape", "np_array", "np_shape"], "util"),
    **dict.fromkeys(["set_np_shape", "use_np", "use_np_array", "use_np_shape"], "util"),
}


def _profile(_name: str, new: object, _old: object) -> None:
    """MXNET_PROFILER_AUTOSTART acts whether or not a program uses `mx.profiler`."""
    if new:
        _import_module("minimx.profiler")


_aliases.install()
_interrupts.install()
_ipython.install()  # from now on `%env NAME=value` acts from the next cell
knobs.watch("MXNET_PROFILER_AUTOSTART", _profile)
_profile("", knobs.get("MXNET_PROFILER_AUTOSTART"), None)

if not TYPE_CHECKING:  # a checker should still miss what is not there

    def __getattr__(name: str) -> object:
        if name in _DEFINED_IN:
            found = getattr(_import_module(f"minimx.{_DEFINED_IN[name]}"), name)
        elif name in __all__:
            found = _import_module(f"minimx.{_SHORT.get(name, name)}")
        else:
            found = _aliases.resolve(__name__, name, __all__)
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    return sorted(__all__)


if knobs.get("DMLC_ROLE") in ("server", "scheduler"):
    # As in MXNet: such a process serves, and never goes on in the program.
    _import_module("minimx.kvstore.dist.servers.service").serve_if_launched()
