"""Windows on a running minimx: knobs, memory, engine, training, and a lab of all four.

    from minimx_widgets import Lab
    Lab("lenet", "glyphs")

Or on any record: `MemoryTimeline(record)`, `EngineTimeline(record)`.
"""

from minimx_widgets.engine_timeline import EngineTimeline
from minimx_widgets.knob_panel import KnobPanel
from minimx_widgets.lab import Lab, Result
from minimx_widgets.memory_timeline import MemoryTimeline
from minimx_widgets.training_monitor import TrainingMonitor

__all__ = [
    "EngineTimeline",
    "KnobPanel",
    "Lab",
    "MemoryTimeline",
    "Result",
    "TrainingMonitor",
]
