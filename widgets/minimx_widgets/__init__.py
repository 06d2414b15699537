"""Windows on a running minimx: knobs, memory, engine, training, and a lab of all four.

    from minimx_widgets import Lab
    Lab("lenet", "glyphs")

Or on any record: `MemoryTimeline(record)`, `EngineTimeline(record)`, `PoolMap(record)`,
and the account of it all, `Overview(record)`. Two records: `ABCompare(before, after)`;
the same training under two settings: `lab.compare(dtype="float16")`.
What becomes of a network as a graph, under the knobs in force or others:
`MemoryPlan(net, data=shape)`, `GraphPassDiff(net, data=shape)`,
`MirrorExplorer(net, data=shape)`. Which algorithms compute its convolutions:
`ConvChooser(net, data=shape)`. How large the numbers of a training are, and what a type
makes of them: `NumericsMonitor(record)`. What it says of test images, and which ones it
confuses: `DataView(net, data)`. What was recorded for gradients, and the walk
back: `TapeStepper(watch)`. What `minimx bench` measured: `BenchCurves("mine.json")`.
Trainings that go wrong, to be diagnosed: `FailureLab()`.

Names are looked up when they are first used, because Jupyter's server imports this
package for `minimx_widgets.server` and needs none of them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from minimx_widgets import kernel

if TYPE_CHECKING:
    from minimx_widgets.ab_compare import ABCompare as ABCompare
    from minimx_widgets.before_after import BeforeAfter as BeforeAfter
    from minimx_widgets.bench_curves import BenchCurves as BenchCurves
    from minimx_widgets.conv_chooser import ConvChooser as ConvChooser
    from minimx_widgets.data_view import DataView as DataView
    from minimx_widgets.device_view import DeviceView as DeviceView
    from minimx_widgets.engine_timeline import EngineTimeline as EngineTimeline
    from minimx_widgets.failure_lab import FailureLab as FailureLab
    from minimx_widgets.five import FiveSwitches as FiveSwitches
    from minimx_widgets.knob_panel import KnobPanel as KnobPanel
    from minimx_widgets.lab import Lab as Lab
    from minimx_widgets.memory_plan import MemoryPlan as MemoryPlan
    from minimx_widgets.memory_timeline import MemoryTimeline as MemoryTimeline
    from minimx_widgets.mirror_explorer import MirrorExplorer as MirrorExplorer
    from minimx_widgets.numerics_monitor import NumericsMonitor as NumericsMonitor
    from minimx_widgets.overview import Overview as Overview
    from minimx_widgets.pass_diff import GraphPassDiff as GraphPassDiff
    from minimx_widgets.pool_map import PoolMap as PoolMap
    from minimx_widgets.result import Result as Result
    from minimx_widgets.side_by_side import SideBySide as SideBySide
    from minimx_widgets.tape_stepper import TapeStepper as TapeStepper
    from minimx_widgets.training_monitor import TrainingMonitor as TrainingMonitor

_ROOMS = {
    "ABCompare": "ab_compare",
    "BeforeAfter": "before_after",
    "BenchCurves": "bench_curves",
    "ConvChooser": "conv_chooser",
    "DataView": "data_view",
    "DeviceView": "device_view",
    "EngineTimeline": "engine_timeline",
    "FailureLab": "failure_lab",
    "FiveSwitches": "five",
    "GraphPassDiff": "pass_diff",
    "KnobPanel": "knob_panel",
    "Lab": "lab",
    "MemoryPlan": "memory_plan",
    "MemoryTimeline": "memory_timeline",
    "MirrorExplorer": "mirror_explorer",
    "NumericsMonitor": "numerics_monitor",
    "Overview": "overview",
    "PoolMap": "pool_map",
    "Result": "result",
    "SideBySide": "side_by_side",
    "TapeStepper": "tape_stepper",
    "TrainingMonitor": "training_monitor",
}
__all__ = list(_ROOMS)

kernel.keep_addresses()


def __getattr__(name: str) -> Any:
    if name not in _ROOMS:
        raise AttributeError(f"module 'minimx_widgets' has no attribute {name!r}")
    return getattr(import_module(f"minimx_widgets.{_ROOMS[name]}"), name)


def __dir__() -> list[str]:
    return __all__
