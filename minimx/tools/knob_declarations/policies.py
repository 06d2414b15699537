"""Knobs that name a policy, to which users can add their own (`minimx/policies`).

Two more take such names beside what their own declarations list: MXNET_ENGINE_TYPE and
MXNET_CPU_MEM_POOL_TYPE, with those of the other kinds of memory.
"""

from __future__ import annotations

from functools import partial

from minimx.core.knobs.knob import Knob

GROUP = "policies"

policy = partial(Knob, group=GROUP, type="choice", status="live")

KNOBS = (
    policy(
        name="MINIMX_MEMORY_PLANNER",
        default="sharing",
        choices=("sharing", "by_size"),
        scope="bind",
        meaning=(
            "Who decides which results of a graph share a block. `sharing` is MXNet's "
            "pass, which the match range steers. `by_size` places the largest first, "
            "each where nothing is in use meanwhile. Others are planners of your own, "
            "by the names under which `mx.policies.register_planner` knows them."
        ),
        observable="Planned megabytes of a branching graph under each.",
    ),
    policy(
        name="MINIMX_KVSTORE_TREE",
        default="mxnet",
        choices=("mxnet", "direct"),
        meaning=(
            "Who plans the trees along which gradients are added. `mxnet` is MXNet's "
            "search, which the backtrack and the penalty steer. `direct` sends to the "
            "root over one link where there is one. Others are planners of your own, "
            "by the names under which `mx.kvstore.register_tree` knows them. "
            "Only with `MXNET_KVSTORE_USETREE`."
        ),
        observable="The parents in each tree, and the bytes over each link.",
    ),
)
