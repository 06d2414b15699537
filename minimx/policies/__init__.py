"""`mx.policies`: bring your own policy, and let the real runtime run it.

    class BestFit:
        def size(self, nbytes, idle):          # how large is the block for a request?
            return min((b for b in idle if nbytes <= b <= 2 * nbytes), default=nbytes)

    mx.storage.register_pool("BestFit", BestFit)     # checked, or refused with a lesson
    mx.knobs.MXNET_CPU_MEM_POOL_TYPE = "BestFit"     # from now on it decides
    mx.policies.score(BestFit)                       # beside the built-ins and a bound
    mx.policies.export_test(BestFit, "test_best_fit.py")
    mx.policies.submit(mx.policies.score(BestFit), "Ada", "class.json")

    registered by                 what it decides               chosen by
    mx.storage.register_pool      size(nbytes, idle)            MXNET_…_MEM_POOL_TYPE
    mx.engine.register            pick(ready)                   MXNET_ENGINE_TYPE
    mx.policies.register_planner  assign(results)               MINIMX_MEMORY_PLANNER
    mx.kvstore.register_tree      parents(links, root)          MINIMX_KVSTORE_TREE
    mx.amp.register_scaler        scale(scale, good, overflow)  LossScaler(policy=…)

A policy only decides; pool, engine, planner, store and scaler do what they always do.
If it breaks a rule later, in the running system, or has no answer after five seconds,
the built-in takes over at that step, a `PolicyWarning` says so, and the knob goes back.

Reading order: `asking.py` (a question, its time limit), `watching.py` (the limit in the
running system), `kinds.py`, then one of
`pools.py`, `schedulers.py`, `planners.py`, `trees.py`, `scalers.py`; `registry.py`,
`scoring.py`, `export.py`, `leaderboard.py`. Traces are made of what `networks.py`
draws.
"""

from __future__ import annotations

from minimx.core.errors import PolicyError
from minimx.policies.export import export_test
from minimx.policies.kinds import PolicyWarning
from minimx.policies.leaderboard import Leaderboard, leaderboard, submit
from minimx.policies.planners import planned as planned  # for the core
from minimx.policies.pools import pool_policy as pool_policy
from minimx.policies.registry import (
    check,
    register_engine,
    register_planner,
    register_pool,
    register_scaler,
    register_tree,
    unregister,
)
from minimx.policies.scoring import Score, score
from minimx.policies.trees import planned_trees as planned_trees  # for the store

__all__ = [
    "Leaderboard",
    "PolicyError",
    "PolicyWarning",
    "Score",
    "check",
    "export_test",
    "leaderboard",
    "register_engine",
    "register_planner",
    "register_pool",
    "register_scaler",
    "register_tree",
    "score",
    "submit",
    "unregister",
]
