"""`mx.contrib.tensorboard`: metrics as curves in TensorBoard."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

from minimx.callback import BatchEndParam

#: Packages with a `SummaryWriter`, the lightest one first; mxboard imports mxnet.
WRITERS = ("tensorboardX", "torch.utils.tensorboard", "mxboard")


class LogMetricsCallback:
    """Writes the metric of a fit to files that TensorBoard shows; a callback.

    logging_dir: the folder of the files, one for each curve of the same name. prefix:
    goes before the names of the metrics, with a hyphen. summary_writer: what writes,
    from tensorboardX, torch or mxboard, whichever is installed. Raises ImportError if
    none is.

        learned, tested = LogMetricsCallback("train"), LogMetricsCallback("valid")
        module.fit(train, valid, batch_end_callback=learned, eval_end_callback=tested)

    and then `tensorboard --logdir=.`.
    """

    def __init__(self, logging_dir: str | os.PathLike[str], prefix: str | None = None):
        self.prefix = prefix
        self.summary_writer = _writer(os.fspath(logging_dir))

    def __call__(self, param: BatchEndParam) -> None:
        """Write the values of the metric, for the epoch that it is in."""
        if param.eval_metric is None:
            return
        for name, value in param.eval_metric.get_name_value():
            word = name if self.prefix is None else f"{self.prefix}-{name}"
            self.summary_writer.add_scalar(word, value, global_step=param.epoch)


def _writer(folder: str) -> Any:
    reasons = []
    for package in WRITERS:
        try:
            return import_module(package).SummaryWriter(folder)
        except ImportError as reason:
            reasons.append(f"{package}: {reason}")
    raise ImportError(
        "LogMetricsCallback writes through one of several packages, and none can be "
        f"imported ({'; '.join(reasons)}). Install one: pip install tensorboardX"
    )
