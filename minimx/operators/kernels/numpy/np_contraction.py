"""Sums of products, by NumPy's einsum and through it by BLAS."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minimx.core.kernels.cpu.blas import one_thread
from minimx.core.kernels.cpu.matmul import narrow_product
from minimx.core.shapes import Shape

Launch = Callable[..., None]


def einsum(text: str, shapes: Sequence[Shape], pairwise: bool) -> Launch:
    """(*operands, out): the sum that `text` says; float16 is added up in float32.

    pairwise: multiply two operands at a time, in an order found once, here.
    """
    path: Any = False
    if pairwise and all(0 not in shape for shape in shapes):
        ghosts = [np.broadcast_to(np.float32(0), shape) for shape in shapes]
        path = np.einsum_path(text, *ghosts, optimize="greedy")[0]

    def launch(*arrays: Any) -> None:
        *operands, out = arrays
        if out.dtype == np.float16:
            operands = [x.astype(np.float32) for x in operands]
        with one_thread:
            found = np.einsum(text, *operands, optimize=path)
        np.copyto(out, found, casting="unsafe")

    return launch


def place(text: str) -> Launch:
    """(x, out): zeros, with x in NumPy's view of out that `text` names."""

    def launch(x: Any, out: Any) -> None:
        out.fill(0)
        np.einsum(text, out)[...] = x

    return launch


def tensordot(left: Shape, right: Shape) -> Launch:
    """(a, b, out): the sum over pairs of axes, as one product of matrices."""

    def launch(a: Any, b: Any, out: Any) -> None:
        if out.dtype == np.float16:
            a, b = a.astype(np.float32), b.astype(np.float32)
        with one_thread:
            found = np.tensordot(a, b, (left, right))
        np.copyto(out, found.reshape(out.shape), casting="unsafe")

    return launch


def matmul(a: Any, b: Any, out: Any) -> None:
    """Stacks of matrix products."""
    if out.dtype == np.float16:
        narrow_product(a, b, out)
        return
    with one_thread:
        np.copyto(out, np.matmul(a, b), casting="unsafe")
