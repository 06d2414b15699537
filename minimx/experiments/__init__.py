"""Replay: a recorded run, decided again by the same policies under other settings."""

from minimx.core.replay import History, PoolReplay, Steps, replay_pool

__all__ = ["History", "PoolReplay", "Steps", "replay_pool"]
