"""Replay: a recorded run, decided again by the same policies under other settings."""

from minimx.core.replay.history import History, Steps
from minimx.core.replay.pool import PoolReplay, replay_pool

__all__ = ["History", "PoolReplay", "Steps", "replay_pool"]
