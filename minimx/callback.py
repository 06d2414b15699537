"""Callbacks: functions that a training loop calls to report or to save.

A batch callback gets a `BatchEndParam`; an epoch callback gets
`(epoch, symbol, arg_params, aux_params)`, as in MXNet.
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import minimx.nd as nd
from minimx.core.errors import ArgumentError


class BatchEndParam(NamedTuple):
    """What a batch callback is called with."""

    epoch: int
    nbatch: int
    eval_metric: Any
    locals: Any = None


def _log(message: str, *values: Any) -> None:
    import logging  # slow to import, and most programs log nothing

    logging.info(message, *values)


def _shown(value: Any) -> str:
    """A value of a metric: as a number, or as it is written if it is an array."""
    if getattr(value, "size", 1) != 1:
        return str(getattr(value, "asnumpy", lambda: value)())
    return f"{float(value):f}"


class Speedometer:
    """Log samples per second, and the metric, every `frequent` batches.

    auto_reset: start the metric again after each report.
    """

    def __init__(
        self, batch_size: int, frequent: int = 50, auto_reset: bool = True
    ) -> None:
        self.batch_size = batch_size
        self.frequent = frequent
        self.auto_reset = auto_reset
        self.last_count = 0
        self.last_speed = 0.0  # samples per second at the latest report
        self._since: float | None = None

    def __call__(self, param: Any) -> None:
        """Count a batch; report if it is time."""
        count = param.nbatch
        if self._since is None or count < self.last_count:  # a new epoch
            self._since = time.perf_counter()
        elif count % self.frequent == 0:
            passed = max(time.perf_counter() - self._since, 1e-9)
            self.last_speed = self.frequent * self.batch_size / passed
            self._report(param, count)
            self._since = time.perf_counter()
        self.last_count = count

    def _report(self, param: Any, count: int) -> None:
        text = f"Epoch[{param.epoch}] Batch [{count - self.frequent}-{count}]"
        text += f"\tSpeed: {self.last_speed:.2f} samples/sec"
        metric = param.eval_metric
        if metric is not None:
            for name, value in metric.get_name_value():
                text += f"\t{name}={_shown(value)}"
            if self.auto_reset:
                metric.reset_local()
        _log(text)


class ProgressBar:
    """Draw how many of `total` batches are done, in one line on standard error."""

    def __init__(self, total: int, length: int = 80) -> None:
        self.total = total
        self.bar_len = length

    def __call__(self, param: Any) -> None:
        """Draw the bar for `param.nbatch` batches done."""
        share = min(max(param.nbatch / max(self.total, 1), 0.0), 1.0)
        full = round(self.bar_len * share)
        bar = "=" * full + "-" * (self.bar_len - full)
        sys.stderr.write(f"[{bar}] {math.ceil(100 * share)}%\r")
        sys.stderr.flush()


class LogValidationMetricsCallback:
    """Log every metric after an evaluation."""

    def __call__(self, param: Any) -> None:
        """Log the metrics of `param`."""
        if param.eval_metric is None:
            return
        for name, value in param.eval_metric.get_name_value():
            _log("Epoch[%d] Validation-%s=%s", param.epoch, name, _shown(value))


def log_train_metric(period: int, auto_reset: bool = False) -> Callable[[Any], None]:
    """A batch callback that logs the metric every `period` batches."""

    def log(param: Any) -> None:
        if param.nbatch % period or param.eval_metric is None:
            return
        for name, value in param.eval_metric.get_name_value():
            where = param.epoch, param.nbatch
            _log("Iter[%d] Batch[%d] Train-%s=%s", *where, name, _shown(value))
        if auto_reset:
            param.eval_metric.reset_local()

    return log


def save_checkpoint(
    prefix: str,
    epoch: int,
    symbol: Any,
    arg_params: dict[str, Any],
    aux_params: dict[str, Any],
) -> None:
    """Write `prefix-0001.params`, and `prefix-symbol.json` if there is a symbol."""
    if symbol is not None:
        symbol.save(f"{prefix}-symbol.json")
    stored = {f"arg:{name}": value for name, value in arg_params.items()}
    stored |= {f"aux:{name}": value for name, value in aux_params.items()}
    nd.save(f"{prefix}-{epoch:04d}.params", stored)


def do_checkpoint(
    prefix: str | os.PathLike[str], period: int = 1
) -> Callable[..., None]:
    """An epoch callback that saves a checkpoint every `period` epochs."""
    if period < 1:
        raise ArgumentError(f"do_checkpoint: period={period}; give 1 or more epochs.")

    def checkpoint(
        iter_no: int,
        symbol: Any = None,
        arg_params: dict[str, Any] | None = None,
        aux_params: dict[str, Any] | None = None,
    ) -> None:
        if (iter_no + 1) % period == 0:
            save_checkpoint(
                str(prefix), iter_no + 1, symbol, arg_params or {}, aux_params or {}
            )

    return checkpoint


def module_checkpoint(
    mod: Any,
    prefix: str | os.PathLike[str],
    period: int = 1,
    save_optimizer_states: bool = False,
) -> Callable[..., None]:
    """An epoch callback that lets a module save itself every `period` epochs.

    save_optimizer_states: also the states of its optimizer.
    """
    if period < 1:
        raise ArgumentError(
            f"module_checkpoint: period={period}; give 1 or more epochs."
        )

    def checkpoint(
        iter_no: int, sym: Any = None, arg: Any = None, aux: Any = None
    ) -> None:
        if (iter_no + 1) % period == 0:
            mod.save_checkpoint(str(prefix), iter_no + 1, save_optimizer_states)

    return checkpoint
