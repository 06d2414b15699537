"""What both libraries learnt: kept by `make same`, judged, and shown."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from minimx_widgets.tables import Table

RESULTS = Path(__file__).parent / "results"
#: Name of a library, and how it is called in tables.
LIBRARIES = {"minimx": "minimx", "torch": "PyTorch"}
#: What is trained, by the name of its task.
TITLES = {
    "resnet": "ResNet-20 on 28×28 images",
    "lstm": "LSTM, characters of Genesis",
}
#: A difference that is never more than noise.
LEAST_NOISE = 1e-3


@dataclass(frozen=True)
class Comparison:
    """One task done by both libraries with several seeds.

    conditions: date and machine. size: of the task, as in `tasks.Size`. runs: by seed;
    each has the seed and, for each library, `losses` of all steps, `scores` after each
    epoch, `seconds` and `version`.
    """

    name: str
    conditions: Mapping[str, Any]
    size: Mapping[str, Any]
    runs: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def read(cls, path: Path) -> Comparison:
        """A comparison that was saved."""
        kept = json.loads(path.read_text(encoding="utf-8"))
        return cls(path.stem.split("-")[-1], **kept)

    def save(self, folder: Path = RESULTS) -> Path:
        """Write a file that is named by date and task; returns its path."""
        kept = {
            "conditions": self.conditions,
            "size": self.size,
            "runs": self.runs,
        }
        path = folder / f"{self.conditions['date']}-{self.name}.json"
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(kept) + "\n", encoding="utf-8")
        return path

    @property
    def kind(self) -> str:
        """What a score is."""
        return "perplexity" if self.name == "lstm" else "accuracy"

    def losses(self, library: str, seed: int) -> list[float]:
        """The loss of every step."""
        run = next(run for run in self.runs if run["seed"] == seed)
        return list(run[library]["losses"])

    def scores(self, library: str) -> list[float]:
        """The score after the last epoch, by seed."""
        return [float(run[library]["scores"][-1]) for run in self.runs]

    @property
    def difference(self) -> float:
        """By how much our mean score is above theirs."""
        ours, theirs = (statistics.mean(self.scores(name)) for name in LIBRARIES)
        return ours - theirs

    @property
    def noise(self) -> float:
        """Two standard errors of the difference of mean scores; at least a thousandth.

        >>> runs = [{"minimx": {"scores": [s]}, "torch": {"scores": [0.4]}}
        ...         for s in (0.5, 0.7)]
        >>> round(Comparison("resnet", {}, {}, runs).noise, 9)
        0.2
        """
        spread = [
            statistics.variance(self.scores(library)) if len(self.runs) > 1 else 0.0
            for library in LIBRARIES
        ]
        return max(2 * math.sqrt(sum(spread) / len(self.runs)), LEAST_NOISE)

    @property
    def agrees(self) -> bool:
        """Whether the difference is no more than noise."""
        return abs(self.difference) <= self.noise

    def table(self) -> Table:
        """The score of every seed, their means, and the verdict."""
        heads = ("seed", *LIBRARIES.values(), "first losses apart by")
        rows = []
        for run in self.runs:
            losses = [run[library]["losses"] for library in LIBRARIES]
            scores = [f"{run[library]['scores'][-1]:.3f}" for library in LIBRARIES]
            far = max(apart(losses[0][:4], losses[1][:4]))
            rows.append((str(run["seed"]), *scores, f"{far:.0e}"))
        means = [f"{statistics.mean(self.scores(name)):.3f}" for name in LIBRARIES]
        rows.append(("mean", *means, ""))
        return Table.of(heads, rows, self.verdict())

    def verdict(self) -> str:
        """In words: what was compared, and by how much the means differ."""
        return (
            f"{TITLES[self.name]}: {self.kind} of minimx {self.difference:+.4f}, "
            f"noise of the seeds ±{self.noise:.4f}"
        )

    def where(self) -> str:
        """Machine, date and versions."""
        texts, last = self.conditions, self.runs[-1]
        versions = " and ".join(
            f"{text} {last[name]['version']}" for name, text in LIBRARIES.items()
        )
        return (
            f"{texts['date']}, {texts['cores']} cores of {texts['cpu']}, Python "
            f"{texts['python']}: {versions}"
        )


def recorded(name: str) -> Comparison:
    """The latest comparison of a task, `resnet` or `lstm`, that is kept."""
    return Comparison.read(sorted(RESULTS.glob(f"*-{name}.json"))[-1])


def apart(ours: Sequence[float], theirs: Sequence[float]) -> list[float]:
    """The relative difference of losses, step by step, as far as both go.

    >>> [round(far, 3) for far in apart([1.0, 2.2], [1.0, 2.0, 1.5])]
    [0.0, 0.1]
    """
    return [abs(our / their - 1) for our, their in zip(ours, theirs, strict=False)]
