"""`gluon.contrib.nn`: layers side by side, and layers that have moved to `gluon.nn`."""

from __future__ import annotations

from typing import Any

from minimx import nd
from minimx.gluon.block import Block
from minimx.gluon.nn.basic import Concatenate, HybridConcatenate, Identity
from minimx.gluon.nn.norm import SyncBatchNorm
from minimx.gluon.nn.shuffle import PixelShuffle1D, PixelShuffle2D, PixelShuffle3D


class Concurrent(Concatenate):
    """Hand the input to every block, and join what comes out along an axis."""


class HybridConcurrent(HybridConcatenate):
    """`Concurrent` of hybrid blocks."""


class SparseEmbedding(Block):
    """A large table of vectors, of which a batch reads and changes a few rows.

    x (…) of numbers, out (…, output_dim); weight (input_dim, output_dim) and its
    gradient are row_sparse, so that a Trainer is needed before the first batch.
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        dtype: Any = "float32",
        weight_initializer: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._settings = {
            "input_dim": input_dim,
            "output_dim": output_dim,
            "dtype": dtype,
            "sparse_grad": True,
        }
        self.weight = self.params.get(
            "weight",
            shape=(input_dim, output_dim),
            init=weight_initializer,
            dtype=dtype,
            stype="row_sparse",
            grad_stype="row_sparse",
        )

    def forward(self, x: Any) -> Any:
        """The vectors of the numbers in x."""
        weight = self.weight.row_sparse_data(x)
        return nd.Embedding(x, weight, **self._settings)

    def __repr__(self) -> str:
        sizes = f"{self._settings['input_dim']} -> {self._settings['output_dim']}"
        return f"SparseEmbedding({sizes}, {self._settings['dtype']})"


__all__ = [
    "Concurrent",
    "HybridConcurrent",
    "Identity",
    "PixelShuffle1D",
    "PixelShuffle2D",
    "PixelShuffle3D",
    "SparseEmbedding",
    "SyncBatchNorm",
]
