"""Save a network and its trainer now and then, keep the best, and go on from there."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from minimx.core.errors import ArgumentError, DataError
from minimx.gluon.block import HybridBlock
from minimx.gluon.contrib.estimator.events import BatchEnd, EpochEnd, TrainBegin, Watch
from minimx.gluon.export import as_symbol


class UnequalPeriods(ArgumentError, AssertionError):
    """Epochs were saved and batches are trained, or the reverse; an AssertionError."""


class CheckpointHandler(TrainBegin, BatchEnd, EpochEnd):
    """Write `PREFIX-epochEbatchB.params` and `.states` into a folder.

    model_dir: made if it is not there. model_prefix: PREFIX.
    monitor, mode: with `save_best`, the metric whose best value also writes
        `PREFIX-best.params` and `.states`; `min` or `max` is better.
    epoch_period, batch_period: how often; None for never.
    max_checkpoints: older ones are deleted, the best one never.
    resume_from_checkpoint: load the newest checkpoint of the folder, and train what is
        left of the epochs or batches.
    A hybridized network also writes its graph after the first batch.
    """

    def __init__(
        self,
        model_dir: str,
        model_prefix: str = "model",
        monitor: Any = None,
        verbose: int = 0,
        save_best: bool = False,
        mode: str = "auto",
        epoch_period: int | None = 1,
        batch_period: int | None = None,
        max_checkpoints: int = 5,
        resume_from_checkpoint: bool = False,
    ) -> None:
        self._watch = Watch("CheckpointHandler", monitor, mode) if save_best else None
        self.monitor = monitor
        self.verbose = verbose
        self.model_dir = model_dir
        self.model_prefix = model_prefix
        self.save_best = save_best
        self.epoch_period = epoch_period
        self.batch_period = batch_period
        self.max_checkpoints = max_checkpoints
        self.resume_from_checkpoint = resume_from_checkpoint
        self.current_batch = 0
        self.current_epoch = 0
        self.trained_epoch = self.trained_batch = -1
        self.saved_checkpoints: list[str] = []
        os.makedirs(model_dir, exist_ok=True)

    @property
    def best(self) -> float | None:
        """The best value of the monitor."""
        return None if self._watch is None else self._watch.best

    def train_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """Count from 0, or go on from the newest checkpoint."""
        self.current_epoch = self.current_batch = 0
        if self._watch is not None:
            self._watch.begin(None)
        if self.resume_from_checkpoint:
            self._check_periods(estimator)
            self._resume(estimator)

    def batch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """Count a batch; save if it is time."""
        if self.current_batch == 0:
            self._save_graph(estimator)
        if self.batch_period and (self.current_batch + 1) % self.batch_period == 0:
            self._save(estimator)
        self.current_batch += 1

    def epoch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """Count an epoch; save if it is time."""
        if self.epoch_period and (self.current_epoch + 1) % self.epoch_period == 0:
            self._save(estimator)
        self.current_epoch += 1

    # -- writing ----------------------------------------------------------------------

    def _save(self, estimator: Any) -> None:
        epoch, batch = self.current_epoch, self.current_batch
        if self.resume_from_checkpoint:
            epoch += self.trained_epoch + 1
            # At the end of an epoch the batch is counted already.
            batch += self.trained_batch + (0 if estimator.max_epoch else 1)
        name = f"{self.model_prefix}-epoch{epoch}batch{batch}"
        self._write(estimator, name)
        self.saved_checkpoints.append(name)
        while len(self.saved_checkpoints) > self.max_checkpoints:
            self._delete(self.saved_checkpoints.pop(0))
        self._report(estimator, f"after {self.current_batch + 1} batches saved {name}")
        self._save_if_best(estimator)

    def _save_if_best(self, estimator: Any) -> None:
        value = None if self._watch is None else self._watch.value()
        if self._watch is None or value is None:
            return
        name, before = self.monitor.get()[0], self._watch.best
        if self._watch.improves(value):
            self._write(estimator, f"{self.model_prefix}-best")
            self._watch.best = value
            how = f"improved from {before:.5f} to {value:.5f}, the best is saved"
        else:
            how = f"did not improve from {before:.5f}"
        self._report(estimator, f"{name} {how}")

    def _write(self, estimator: Any, name: str) -> None:
        estimator.net.save_parameters(os.path.join(self.model_dir, f"{name}.params"))
        estimator.trainer.save_states(os.path.join(self.model_dir, f"{name}.states"))

    def _delete(self, name: str) -> None:
        for kind in ("params", "states"):
            Path(self.model_dir, f"{name}.{kind}").unlink(missing_ok=True)

    def _save_graph(self, estimator: Any) -> None:
        net, path = estimator.net, os.path.join(self.model_dir, self.model_prefix)
        if isinstance(net, HybridBlock) and net._latest is not None:
            as_symbol(net._latest).save(f"{path}-symbol.json")
        else:
            estimator.logger.info(
                "The graph is not saved: make the network a HybridBlock and call "
                "hybridize() to have %s-symbol.json.",
                path,
            )

    def _report(self, estimator: Any, what: str) -> None:
        if self.verbose > 0:
            estimator.logger.info(
                "[Epoch %d] CheckpointHandler: %s", self.current_epoch, what
            )

    # -- going on ---------------------------------------------------------------------

    def _check_periods(self, estimator: Any) -> None:
        by_batch, by_epoch = bool(estimator.max_batch), bool(estimator.max_epoch)
        if (by_batch, by_epoch) != (bool(self.batch_period), bool(self.epoch_period)):
            raise UnequalPeriods(
                "CheckpointHandler: to resume, save by epochs what is trained for "
                "epochs (batch_period=None), and by batches what is trained for "
                "batches (epoch_period=None)."
            )

    def _stored(self) -> list[tuple[int, int, str]]:
        """Epoch, batch and name of the checkpoints in the folder, in order."""
        prefix = re.escape(self.model_prefix)
        form = re.compile(prefix + r"-epoch(\d+)batch(\d+)\.params")
        found = [form.fullmatch(file) for file in os.listdir(self.model_dir)]
        return sorted(
            (int(one[1]), int(one[2]), one[0].removesuffix(".params"))
            for one in found
            if one is not None
        )

    def _resume(self, estimator: Any) -> None:
        stored = self._stored()
        self.saved_checkpoints = [name for _, _, name in stored]
        if not stored:
            self.trained_epoch = self.trained_batch = -1
            estimator.logger.info(
                "CheckpointHandler: No checkpoint found, training from scratch."
            )
            return
        self.trained_epoch, self.trained_batch, name = stored[-1]
        left = {
            "max_epoch": self._left(estimator.max_epoch, self.trained_epoch, "epoch"),
            "max_batch": self._left(estimator.max_batch, self.trained_batch, "batch"),
        }
        path = os.path.join(self.model_dir, name)
        if not os.path.exists(f"{path}.states"):
            raise DataError(f"CheckpointHandler: {path}.states is missing.")
        estimator.net.load_parameters(f"{path}.params", ctx=estimator.context)
        estimator.trainer.load_states(f"{path}.states")
        vars(estimator).update(left)
        estimator.logger.warning(
            "CheckpointHandler: Checkpoint resumed from epoch %d batch %d",
            self.trained_epoch,
            self.trained_batch,
        )

    def _left(self, most: int | None, last: int, what: str) -> int | None:
        if not most:
            return most
        if last >= most - 1:
            raise ArgumentError(
                f"CheckpointHandler: the newest checkpoint is of {what} {last}, so "
                f"nothing is left of {most}. Ask for more, or give "
                "resume_from_checkpoint=False."
            )
        return most - last - 1
