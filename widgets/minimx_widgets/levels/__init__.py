"""Levels of "be the runtime": a learner decides what the runtime would decide.

    level = PoolLevel(1)             # or PlannerLevel, MirrorLevel, PushLevel
    level                            # by mouse and keyboard, or:
    level.choose("B1")               # refused, with the reason, where it breaks a rule
    level.undo(), level.hint()       # how far the best end still is, and the way to it
    level.policy("Mine")             # the decisions as a class that the runtime runs

`game.py` says what a game is and searches for its best end, `play.py` keeps moves, and
`view.py` shows them. Each kind of levels gives its rules and its words: `sharing.py`
(blocks and who is in them) with `pools.py` and `planners.py`, then `mirrors.py` and
`pushes.py`; `pool_level.py` and its like hold the levels themselves.
"""
