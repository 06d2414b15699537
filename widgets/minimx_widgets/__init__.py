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
back: `TapeStepper(watch)`. The engine's scheduler, one move at a time, and yours to
move: `SchedulerStepper(program)`. You in place of the pool, the memory planner, the
mirror planner, the kvstore: `PoolLevel(1)`, `PlannerLevel(1)`, `MirrorLevel(1)`,
`PushLevel(1)`. What `minimx bench` measured:
`BenchCurves("mine.json")`. How workers share gradients, here or on 4,096 machines:
`KVStoreView()`.
Trainings that go wrong, to be diagnosed: `FailureLab()`. The lines of minimx that obey
a knob or define an operator: `source("MXNET_ENGINE_TYPE")`. A run as one file, with its
views: `save_run(record, "monday.npz")`, and `open_run("monday.npz")`.

Names are looked up when they are first used, because Jupyter's server imports this
package for `minimx_widgets.server` and needs none of them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from minimx_widgets import kernel

if TYPE_CHECKING:
    from minimx_widgets.code.finding import source as source
    from minimx_widgets.lab.before_after import BeforeAfter as BeforeAfter
    from minimx_widgets.lab.five import FiveSwitches as FiveSwitches
    from minimx_widgets.lab.lab import Lab as Lab
    from minimx_widgets.levels.mirror_level import MirrorLevel as MirrorLevel
    from minimx_widgets.levels.planner_level import PlannerLevel as PlannerLevel
    from minimx_widgets.levels.pool_level import PoolLevel as PoolLevel
    from minimx_widgets.levels.push_level import PushLevel as PushLevel
    from minimx_widgets.saving.run_file import open_run as open_run
    from minimx_widgets.saving.run_file import save_run as save_run
    from minimx_widgets.scheduler.view import SchedulerStepper as SchedulerStepper
    from minimx_widgets.training.result import Result as Result
    from minimx_widgets.views.ab_compare import ABCompare as ABCompare
    from minimx_widgets.views.bench_curves import BenchCurves as BenchCurves
    from minimx_widgets.views.conv_chooser import ConvChooser as ConvChooser
    from minimx_widgets.views.data_view import DataView as DataView
    from minimx_widgets.views.device_view import DeviceView as DeviceView
    from minimx_widgets.views.engine_timeline import EngineTimeline as EngineTimeline
    from minimx_widgets.views.failure_lab import FailureLab as FailureLab
    from minimx_widgets.views.knob_panel import KnobPanel as KnobPanel
    from minimx_widgets.views.kvstore_view import KVStoreView as KVStoreView
    from minimx_widgets.views.memory_plan import MemoryPlan as MemoryPlan
    from minimx_widgets.views.memory_timeline import MemoryTimeline as MemoryTimeline
    from minimx_widgets.views.mirror_explorer import MirrorExplorer as MirrorExplorer
    from minimx_widgets.views.numerics_monitor import NumericsMonitor as NumericsMonitor
    from minimx_widgets.views.overview import Overview as Overview
    from minimx_widgets.views.pass_diff import GraphPassDiff as GraphPassDiff
    from minimx_widgets.views.pool_map import PoolMap as PoolMap
    from minimx_widgets.views.side_by_side import SideBySide as SideBySide
    from minimx_widgets.views.tape_stepper import TapeStepper as TapeStepper
    from minimx_widgets.views.training_monitor import TrainingMonitor as TrainingMonitor

_MODULES = {
    "ABCompare": "views.ab_compare",
    "BeforeAfter": "lab.before_after",
    "BenchCurves": "views.bench_curves",
    "ConvChooser": "views.conv_chooser",
    "DataView": "views.data_view",
    "DeviceView": "views.device_view",
    "EngineTimeline": "views.engine_timeline",
    "FailureLab": "views.failure_lab",
    "FiveSwitches": "lab.five",
    "GraphPassDiff": "views.pass_diff",
    "KVStoreView": "views.kvstore_view",
    "KnobPanel": "views.knob_panel",
    "Lab": "lab.lab",
    "MemoryPlan": "views.memory_plan",
    "MemoryTimeline": "views.memory_timeline",
    "MirrorExplorer": "views.mirror_explorer",
    "MirrorLevel": "levels.mirror_level",
    "NumericsMonitor": "views.numerics_monitor",
    "Overview": "views.overview",
    "PlannerLevel": "levels.planner_level",
    "PoolLevel": "levels.pool_level",
    "PoolMap": "views.pool_map",
    "PushLevel": "levels.push_level",
    "Result": "training.result",
    "SchedulerStepper": "scheduler.view",
    "SideBySide": "views.side_by_side",
    "TapeStepper": "views.tape_stepper",
    "TrainingMonitor": "views.training_monitor",
    "open_run": "saving.run_file",
    "save_run": "saving.run_file",
    "source": "code.finding",
}
__all__ = list(_MODULES)

kernel.keep_addresses()


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'minimx_widgets' has no attribute {name!r}")
    return getattr(import_module(f"minimx_widgets.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
