"""Replay: a recorded run, decided again by the same policies under other settings."""

from minimx.core.replay import History, PoolReplay, Steps, replay_pool
from minimx.experiments.align import Alignment, align
from minimx.experiments.rerun import Measured, Rerun, measured, rerun
from minimx.experiments.why import Cause, Why, why

__all__ = [
    "Alignment",
    "Cause",
    "History",
    "Measured",
    "PoolReplay",
    "Rerun",
    "Steps",
    "Why",
    "align",
    "measured",
    "replay_pool",
    "rerun",
    "why",
]
