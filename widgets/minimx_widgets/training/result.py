"""What came out of a training."""

from __future__ import annotations

from dataclasses import dataclass

from minimx_widgets.units import counted


@dataclass(frozen=True)
class Result:
    """What came out of a training."""

    epochs: int
    steps: int
    loss: float
    train_accuracy: float
    test_accuracy: float
    skipped: int = 0  # steps whose gradients overflowed

    @property
    def text(self) -> str:
        """The result for reading."""
        return (
            f"{counted(self.epochs, 'epoch')} · {self.steps:,} steps · loss "
            f"{self.loss:.4f} · {100 * self.test_accuracy:.2f} % of the test set right"
            + (f" · {counted(self.skipped, 'step')} skipped" if self.skipped else "")
        )

    def __repr__(self) -> str:
        return (
            f"Result(epochs={self.epochs}, steps={self.steps}, loss={self.loss:.4f}, "
            f"train={100 * self.train_accuracy:.2f}%, "
            f"test={100 * self.test_accuracy:.2f}%"
            + (f", skipped={self.skipped})" if self.skipped else ")")
        )
