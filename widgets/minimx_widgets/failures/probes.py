"""The instruments: what each shows and costs, and the number that one may predict.

    predicted(PROBES["training"]["map"], "12", outcome)     # a `Prediction`, judged

A probe runs the program once more under an instrument, and costs points. The number is
asked before; a prediction that is right makes the probe free.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from minimx.core.errors import ArgumentError
from minimx_widgets.course.predicting.reading import Unreadable, read_number
from minimx_widgets.course.predicting.units import shown
from minimx_widgets.failures import evidence as by
from minimx_widgets.failures.causes import JOB, TRAINING
from minimx_widgets.failures.jobs import seen as of_job

#: Points for a run with remedies, and for an answer that is wrong.
REMEDY, WRONG = 2, 2
#: How far off, relatively, a prediction may be and still be right.
WITHIN: Final = 0.1

Outcome = Any


@dataclass(frozen=True)
class Probe:
    """An instrument.

    label, what: on its button, and what it shows. cost: points. question: the number
    that one may predict; {steps} stands for how many steps the run has. number: reads
    it off an outcome. look: what is shown of an outcome. wants: what the run has to do.
    """

    label: str
    what: str
    cost: int
    question: str
    unit: str
    number: Callable[[Outcome], float]
    look: Callable[[Outcome], by.Evidence]
    wants: Mapping[str, bool] = field(default_factory=dict)


@dataclass(frozen=True)
class Prediction:
    """What was predicted before a probe, and what the run says."""

    said: float
    seen: float
    unit: str

    @property
    def right(self) -> bool:
        """Whether it is right, to a tenth."""
        return self.said == self.seen or (
            abs(self.said - self.seen) <= WITHIN * abs(self.seen)
        )

    def __repr__(self) -> str:
        mark = "✔" if self.right else "✘"
        said, seen = (shown(each, self.unit) for each in (self.said, self.seen))
        return f"{mark} you said {said}, the run says {seen}"


def predicted(probe: Probe, said: float | str, outcome: Outcome) -> Prediction:
    """Judge a prediction by the run. said: a number, or text as people write one."""
    return Prediction(number_in(probe, said), probe.number(outcome), probe.unit)


def number_in(probe: Probe, said: float | str) -> float:
    """The number that was predicted.

    Raises `ArgumentError` for text that says none, or that can be read in two ways.
    """
    try:
        return read_number(str(said), probe.unit)
    except Unreadable as error:
        raise ArgumentError(
            f"the prediction {said!r} was not taken, and nothing ran: {error}"
        ) from None


PROBES: Final[Mapping[str, Mapping[str, Probe]]] = {
    TRAINING: {
        "message": Probe(
            "Message",
            "the error, who pushed the operation, and who waited",
            1,
            "How many lines of the program does the traceback name?",
            "lines",
            by.lines_named,
            by.message,
        ),
        "timeline": Probe(
            "Timeline",
            "every operation by worker; the first that failed",
            2,
            "How many operations failed, or were poisoned by one that did?",
            "operations",
            by.failed_count,
            by.timeline,
            {"record": True},
        ),
        "map": Probe(
            "Finite map",
            "magnitudes and NaN by layer and step, forward and back",
            3,
            "In how many of the {steps} steps is every number finite?",
            "steps",
            by.finite_steps,
            by.finite_map,
            {"watch": True},
        ),
        "norms": Probe(
            "Norms",
            "gradients, loss scale and how far weights moved, by step",
            2,
            "In how many of the {steps} steps do the weights move by more than 0.001?",
            "steps",
            by.moving_steps,
            by.norms,
            {"norms": True},
        ),
        "parameters": Probe(
            "Parameters",
            "grad_req, types, whether gradients are fresh",
            1,
            "How many parameters have other values at the end than at the start?",
            "parameters",
            by.moved,
            by.parameters,
        ),
    },
    JOB: {
        "layers": Probe(
            "Layers",
            "how long a step takes, and on which device each layer computes",
            2,
            "For how many percent of a step do the GPUs do nothing?",
            "%",
            of_job.idle,
            of_job.layers,
        ),
        "copies": Probe(
            "Copies",
            "what crosses between devices in a step, by phase and key",
            2,
            "How many KiB cross between devices in a step?",
            "KiB",
            of_job.kib,
            of_job.copies,
        ),
        "memory": Probe(
            "Memory",
            "what the pools request from the drivers, and hold, by step",
            2,
            "How many new blocks do drivers give in the last third of the run?",
            "blocks",
            of_job.late_blocks,
            of_job.memory,
        ),
        "graph": Probe(
            "Graph",
            "the operators of each layer's exported JSON file",
            1,
            "How many operators do the exported graphs of all layers have?",
            "operators",
            of_job.operators,
            of_job.graph,
        ),
        "nodes": Probe(
            "Nodes",
            "the largest difference of a weight between the nodes, by step",
            2,
            "After how many of the {steps} steps do the nodes have equal weights?",
            "steps",
            of_job.equal_steps,
            of_job.nodes,
        ),
        "restart": Probe(
            "Restart",
            "the losses, beside those of the same job without its restart",
            3,
            "How many of the {steps} losses are those of a job that never stopped?",
            "losses",
            of_job.equal_losses,
            of_job.restart,
            {"compared": True},
        ),
    },
}
