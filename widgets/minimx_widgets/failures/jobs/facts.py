"""What a number decides about a job, and what a run of it showed."""

from __future__ import annotations

from dataclasses import dataclass, field

from minimx_widgets.failures.outcome import RunOutcome


@dataclass(frozen=True)
class JobFacts:
    """What a seed decides: sizes, places, and what is wrong.

    layers: dense ones before the head. batch: rows of a padded batch. place: the layer
    that a fault concerns. times: rounds of the loop. saved: the job is stopped after so
    many steps, and goes on from a checkpoint.
    """

    fault: str
    layers: int
    width: int
    batch: int
    steps: int
    place: int
    times: int
    saved: int
    rate: float
    seed: int


@dataclass
class JobOutcome(RunOutcome):
    """What a run of a job showed; a loss is the mean of both nodes.

    unbroken: the losses of the same run without the restart, where that was wanted.
    steps: numbers of each step: us, images, idle (percent, mean of the GPUs), mallocs
    (blocks that drivers gave), reserved and used (bytes on all GPUs), apart (largest
    difference of a weight between the nodes, after the step). apart: before the first
    step. copies: of the last step, by (phase, source, target, key), how many and their
    bytes. computed: of the last step, by (layer, device), how many operations and their
    ns. operators: by layer, of its exported graph.
    """

    unbroken: dict[int, float] = field(default_factory=dict)
    steps: list[dict[str, float]] = field(default_factory=list)
    apart: float = 0.0
    copies: dict[tuple[str, str, str, str], tuple[int, int]] = field(
        default_factory=dict
    )
    computed: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)
    operators: dict[str, dict[str, int]] = field(default_factory=dict)

    @property
    def late(self) -> list[dict[str, float]]:
        """The steps of the last third of the run."""
        return self.steps[2 * len(self.steps) // 3 :]

    @property
    def late_mallocs(self) -> int:
        """How often drivers gave a block in the last third of the run."""
        return int(sum(step["mallocs"] for step in self.late))

    @property
    def images_per_ms(self) -> float:
        """Images of all nodes per virtual millisecond, in the last step."""
        last = self.steps[-1]
        return 1e3 * last["images"] / last["us"]

    @property
    def at_end(self) -> float:
        """The largest difference of a weight between the nodes, at the end."""
        return self.steps[-1]["apart"] if self.steps else self.apart

    @property
    def kib(self) -> float:
        """KiB that cross between devices in the last step."""
        return sum(nbytes for _, nbytes in self.copies.values()) / 1024
