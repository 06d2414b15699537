"""Which modules provide what the core uses beside its own; see `core/extensions.py`."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from minimx.core.extensions import provide

EXTENSIONS = {
    "GPU launcher": "minimx.cuda.launcher",
    "code files": "minimx.fast.code_files",
    "compiling": "minimx.fast.compiling",
    "convolution tuner": "minimx.fast.convolution.tuner",
    "cuda": "minimx.cuda.interface",
    "fusion": "minimx.fast.fusion.groups",
    "graph texts": "minimx.graphs.log",
    "knob declarations": "minimx.tools.knob_declarations",
    "knob examples": "minimx.tools.knob_examples",
    "knob presets": "minimx.tools.knob_presets",
    "knob texts": "minimx.tools.knob_show",
    "launchers": "minimx.core.kernels.native",
    "memory plan texts": "minimx.graphs.memory_reasons",
    "memory reports": "minimx.tools.memory",
    "mirror strategies": "minimx.graphs.mirror_front",
    "oneDNN integers": "minimx.fast.onednn.integers",
    "oneDNN products": "minimx.fast.onednn.products",
    "oneDNN networks": "minimx.fast.onednn.recurrent",
    "oneDNN regions": "minimx.fast.onednn.regions",
    "operator tuning": "minimx.fast.tuning",
    "policies": "minimx.policies",
    "record curves": "minimx.tools.record_curves",
    "record files": "minimx.tools.record_archive",
    "recorded symbols": "minimx.symbol.tracing.history",
    "second compiler": "minimx.fast.ahead",
    "simulated GPUs": "minimx.tools.simulated_gpu",
    "virtual time": "minimx.tools.virtual_time",
}


def _asked_of(module: str, function: str) -> Callable[[str, Any], str]:
    """Why a knob cannot act, asked of a module that is imported for it."""

    def why(name: str, value: Any) -> str:
        return str(getattr(import_module(module), function)(name, value))

    return why


def _bind_threads(name: str, new: Any, old: Any) -> None:
    """Threads are bound to cores by a module that few programs need."""
    import_module("minimx.fast.pinning").turned(name, new, old)


def _connect() -> None:
    for name, module in EXTENSIONS.items():
        provide(name, module)
    from minimx.core.knobs import knobs  # which asks for the declarations of all parts

    # These need a library: to set one without it gives a warning at once.
    knobs.needs(
        (
            *("MXNET_ONEDNN_ENABLED", "MXNET_ONEDNN_CACHE_NUM"),
            *("MXNET_ONEDNN_FORCE_FC_AB_FORMAT", "MXNET_USE_ONEDNN_RNN"),
            "MXNET_RNN_USE_WEIGHT_CACHE",
        ),
        _asked_of("minimx.fast.onednn.library", "why_not"),
    )
    knobs.needs(
        ("MXNET_CUDA_LIB_CHECKING", "MXNET_CUDNN_LIB_CHECKING"),
        _asked_of("minimx.cuda.toolkit", "why_unmade"),
    )
    import_module("minimx.fast.compiled").begin()  # before what it has is imported
    if affinity := str(knobs.get("KMP_AFFINITY")):  # before a thread works
        import_module("minimx.fast.pinning").begin(affinity)
    knobs.watch("KMP_AFFINITY", _bind_threads)


_connect()
