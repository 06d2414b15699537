"""Replay: a recorded run, decided again by the same policies under other settings."""

from minimx.replay.pool import PoolReplay, replay_pool

__all__ = ["PoolReplay", "replay_pool"]
