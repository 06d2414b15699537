"""`SVRGModule`: stochastic gradients with the noise of their batch taken out.

Every few epochs the parameters are copied, and the gradient of all data at the copy is
computed. In a step the gradient of the batch at the copy is subtracted, and that of all
data added: what is left of the batch's own noise is what differs between parameters and
copy (Johnson and Zhang, 2013). A step costs two gradients.
"""

from __future__ import annotations

from typing import Any

from minimx.core.errors import ArgumentError, MissingArgument
from minimx.module import Module


class SVRGModule(Module):
    """A `Module` that trains with such gradients.

    update_freq: after how many epochs the parameters are copied anew. kwargs: as for
    `Module`.
    """

    def __init__(
        self, symbol: Any, *args: Any, update_freq: int, **kwargs: Any
    ) -> None:
        super().__init__(symbol, *args, **kwargs)
        if not isinstance(update_freq, int):
            raise MissingArgument(
                f"SVRGModule: update_freq is a number of epochs, not {update_freq!r}."
            )
        if update_freq < 1:
            raise ArgumentError(
                f"SVRGModule: update_freq={update_freq}; give 1 or more."
            )
        self.update_freq = update_freq
        self._mod_aux = Module(symbol, *args, **kwargs)  # it holds the copy
        self._full: list[list[Any]] = []  # the gradients of all data, as grad_arrays

    def bind(self, *args: Any, **kwargs: Any) -> None:
        """Allocate what batches of these shapes need, see `Module.bind`."""
        super().bind(*args, **kwargs)
        if self.for_training:
            self._mod_aux.bind(*args, **kwargs)

    def reshape(self, data_shapes: Any, label_shapes: Any = None) -> None:
        """Go on with batches of other shapes and the same parameters."""
        super().reshape(data_shapes, label_shapes)
        if self._mod_aux.binded:
            self._mod_aux.reshape(data_shapes, label_shapes)

    def update_full_grads(self, train_data: Any) -> None:
        """Copy the parameters, and compute the gradient of all data at them."""
        copy = self._mod_aux
        copy.init_params(None, *self.get_params(), force_init=True)
        train_data.reset()
        sums: list[list[Any]] = []
        batches = 0.0
        for batch in train_data:
            copy.forward(batch, is_train=True)
            copy.backward()
            grads = copy._group.grad_arrays
            if not sums:
                sums = [[None if g is None else g * 0 for g in row] for row in grads]
            for row, found in zip(sums, grads, strict=True):
                row[:] = [
                    None if new is None else old + new
                    for old, new in zip(row, found, strict=True)
                ]
            batches += 1 - (batch.pad or 0) / train_data.batch_size
        self._full = [[s if s is None else s / batches for s in row] for row in sums]

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        """Compute the outputs of a batch; in training also those at the copy."""
        super().forward(data_batch, is_train)
        if self._full and (self.for_training if is_train is None else is_train):
            self._mod_aux.forward(data_batch, is_train)

    def backward(self, out_grads: Any = None) -> None:
        """Compute the gradients, at the parameters and at the copy."""
        super().backward(out_grads)
        if self._full:
            self._mod_aux.backward(out_grads)

    def update(self) -> None:
        """Correct the gradients, if the full ones were computed; then update."""
        if self._full:
            rows = (
                self._group.grad_arrays,
                self._mod_aux._group.grad_arrays,
                self._full,
            )
            for mine, copied, full in zip(*rows, strict=True):
                for grad, noise, mean in zip(mine, copied, full, strict=True):
                    if grad is not None:
                        grad[:] = grad - noise + mean
        super().update()

    def _train(self, epoch: int, data: Any, *args: Any) -> None:
        if epoch % self.update_freq == 0:
            self.update_full_grads(data)
            data.reset()
        super()._train(epoch, data, *args)
