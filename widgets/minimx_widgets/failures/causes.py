"""What may be wrong with a program on trial, and what may be tried.

`CAUSES` is what may be wrong, `REMEDIES` what may be tried, by program; every case
offers all causes and all remedies of its program. Which remedy helps stands nowhere:
the lab runs the program with it, and looks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

#: The two programs: a training whose numbers go wrong, a job that is slow or unequal.
TRAINING, JOB = "training", "job"


@dataclass(frozen=True)
class Cause:
    """Something that goes wrong.

    asks: what has to be named besides the cause: "layer", "step" or both. look: which
    evidence tells it from others. says: what happened, shown when the case is solved.
    sign: what one would see if it were the cause. probe: the instrument that is enough
    to find it. program: in which of the two it is.
    """

    name: str
    text: str
    asks: tuple[str, ...]
    look: str
    says: str
    sign: str
    probe: str
    program: str = TRAINING


CAUSES: Final = {
    cause.name: cause
    for cause in (
        Cause(
            "async",
            "an operation raised on a worker",
            ("layer", "step"),
            "the timeline: the first operation that failed, not the line that waited",
            "The kernel raised on a worker. No thread waited there, so the exception "
            "travelled with the result, through everything computed from it, until a "
            "loss was read.",
            "the record would hold operations that failed.",
            "timeline",
        ),
        Cause(
            "stale",
            "parameters are cut off from the loss",
            ("layer",),
            "the parameters: whose gradient no backward filled, and which never moved",
            "detach() ends the tape. The parameters before it get no gradient, and "
            "ignore_stale_grad=True silenced the warning that says so.",
            "parameters would end with the bits that they began with.",
            "parameters",
        ),
        Cause(
            "added",
            "gradients of earlier steps are added",
            (),
            "the parameters: their grad_req, and how the gradients' norm grows",
            "grad_req='add' sums over steps until the program zeroes the gradients, "
            "and this one does not.",
            "a parameter would have grad_req='add'.",
            "parameters",
        ),
        Cause(
            "empty",
            "0 / 0: an empty sample is normalised",
            ("layer", "step"),
            "the finite map: the first bad cell, and whether its inputs were finite",
            "A sample of zeros has a mean square of 0, and 0 / 0 is NaN. One bad row "
            "makes the loss NaN, then the gradients, then all weights.",
            "the first bad operation would divide, in forward.",
            "map",
        ),
        Cause(
            "slope",
            "the slope of a square root at 0",
            ("layer",),
            "the finite map: the first bad cell is in the backward half",
            "The root of 0 is 0, but its slope is infinite: forward all is well, and "
            "backward multiplies the gradient by 1/(2·0).",
            "the first bad operation would be in the backward half.",
            "map",
        ),
        Cause(
            "rate",
            "the learning rate is too high",
            ("step",),
            "the finite map: magnitudes grow from step to step before they overflow",
            "Each step overshoots by more than the last one, until float32 ends at "
            "3.4e38.",
            "magnitudes would grow for steps before the first overflow.",
            "map",
        ),
        Cause(
            "cast",
            "a cast to float32 is missing before exp or a sum",
            ("layer",),
            "the finite map: the first bad operation's type, and its finite inputs",
            "float16 ends at 65,504, and exp(11.1) is more than that. In float32 the "
            "same numbers are small.",
            "the first bad operation would compute in float16.",
            "map",
        ),
        Cause(
            "mixed",
            "two element types meet in one operation",
            ("layer",),
            "the message: which types it names, and who called",
            "One layer was left out when the network was cast to float16. Operators do "
            "not guess which of two types was meant.",
            "an error would name two types.",
            "message",
        ),
        Cause(
            "clip",
            "gradients are clipped before they are unscaled",
            (),
            "the norms: the gradients' norm when they were clipped, beside the scale",
            "The limit was compared with gradients times the loss scale, and the step "
            "then divided by the scale: weights move by a 65,536th of it.",
            "the loss would be scaled, and the clipped norm far above the limit.",
            "norms",
        ),
        Cause(
            "device",
            "a layer computes on the CPU, between two that do not",
            ("layer",),
            "the layers: on which device each of them computes",
            "The weights of one layer were initialized on the CPU. The program copies "
            "its input there and its result back, and the gradients the other way "
            "round: four copies in every step and node, without a warning.",
            "a layer would compute on another device than its neighbours.",
            "layers",
            JOB,
        ),
        Cause(
            "shapes",
            "batches of changing shapes, and a pool that keeps a block for each",
            (),
            "the memory: how often drivers are asked for blocks late in the run",
            "Every batch had as many rows as it happened to have. The pool gives a "
            "freed block only to a request that is rounded to its size, so new shapes "
            "need new blocks, and the old ones wait.",
            "drivers would still be asked for blocks late in the run.",
            "memory",
            JOB,
        ),
        Cause(
            "restart",
            "a checkpoint without the optimizer's state",
            ("step",),
            "the restart: which losses differ from those of a run that never stopped",
            "The weights were saved, the momentum was not. The first loss after the "
            "restart is right, as it is computed from weights alone; the next ones are "
            "not.",
            "losses would differ from those of a run without a restart, from the "
            "second one after it on.",
            "restart",
            JOB,
        ),
        Cause(
            "unsummed",
            "the gradients of the nodes are never added",
            (),
            "the nodes: whether weights are equal at first, and how the gap grows",
            "Each node trained alone, on its half of the data. They begin with the "
            "same weights and go apart with every step.",
            "the weights of the nodes would be equal at first, and then go apart.",
            "nodes",
            JOB,
        ),
        Cause(
            "seeds",
            "the nodes begin with different weights",
            (),
            "the nodes: whether weights are equal before the first step",
            "Each node drew its own first weights, and node 0 did not send its weights "
            "to the other. Equal sums of gradients keep the distance as it is.",
            "the weights of the nodes would differ before the first step.",
            "nodes",
            JOB,
        ),
        Cause(
            "loop",
            "a loop in the network became many operators of its graph",
            (),
            "the graph: how many operators each layer has in its exported file",
            "A graph has no loops: each round of Python's loop is an operator of its "
            "own, forward and backward, and each costs a launch.",
            "the exported graph of a layer would hold one operator many times.",
            "graph",
            JOB,
        ),
        Cause(
            "store",
            "gradients are added on the host, and not on the GPUs",
            (),
            "the copies: where the gradients go, by key",
            "The store was 'local': every gradient goes to the host, is added there, "
            "and the sum goes back to each GPU.",
            "gradients would be copied to the host and back.",
            "copies",
            JOB,
        ),
        Cause(
            "batch",
            "batches are too small for the devices",
            (),
            "the layers: how much of a step the GPUs do nothing, and images a step",
            "A step has costs that do not depend on the batch: pushes, launches, the "
            "gradients that are added. Few images cannot pay for them.",
            "a step would be as fast as before, and have few images.",
            "layers",
            JOB,
        ),
    )
}

#: By program, what may be tried.
REMEDIES: Final[Mapping[str, Mapping[str, str]]] = {
    TRAINING: {
        "data": "repair the data: mend rows without content and numbers out of range",
        "eps": "add a small number under roots and divisors",
        "rate": "set the learning rate back to its usual value",
        "faster": "raise the learning rate tenfold",
        "zero": "zero the gradients before each backward",
        "write": "set grad_req to 'write'",
        "attach": "take detach() out of the network",
        "cast": "compute exponentials and their sums in float32",
        "match": "cast every layer and the data to one type",
        "unscale": "unscale the gradients before they are clipped",
        "clip": "clip the gradients at norm 1",
        "naive": "run under NaiveEngine",
        "wait": "read the loss in every step",
    },
    JOB: {
        "pin": "put the weights of every layer on the GPU of its node",
        "pad": "pad every batch to the same number of rows",
        "round": "set MXNET_GPU_MEM_POOL_TYPE to Round",
        "states": "save and load the optimizer's state with the weights",
        "sum": "add the gradients of all nodes in every step",
        "seed": "draw the first weights from the same seed on all nodes",
        "broadcast": "send the weights of node 0 to the others before the first step",
        "once": "write the loop of additions as one addition",
        "device": "use the store 'device' for gradients",
        "nccl": "use the store 'nccl' for gradients",
        "larger": "take 16 times as many images a step, where there are few",
        "static": "hybridize with static_alloc=True and static_shape=True",
        "slower": "halve the learning rate",
    },
}
