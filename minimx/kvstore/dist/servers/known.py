"""What a worker knows of a key on servers, and how arrays are cut into their parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

import minimx.nd as nd
from minimx.core.arrays.array import NDArray
from minimx.core.engine.var import Var
from minimx.kvstore.dist.servers.post import Bytes, Header
from minimx.kvstore.dist.servers.server import ROWS
from minimx.kvstore.planners.placement import Part


class Known(NamedTuple):
    """What a worker knows of a key. parts: in elements, or rows of a sparse one.

    var: orders what is sent of the key.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    stype: str
    parts: tuple[Part, ...]
    var: Var

    def bytes_of(self, part: Part) -> slice:
        """Where a part is in the memory of a dense array."""
        size = self.dtype.itemsize
        return slice(part.start * size, part.stop * size)

    def shape_of(self, part: Part) -> tuple[int, ...]:
        """The shape in which a server keeps a part."""
        rest = self.shape[1:] if self.stype == ROWS else ()
        return (part.stop - part.start, *rest)


def memory_of(array: Any) -> Bytes:
    """The memory of an array, as bytes; a view where it lies in one piece."""
    found: Bytes = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return found


def cut_rows(known: Known, array: NDArray) -> list[tuple[Header, Bytes]]:
    """The rows of a sparse array in each part, numbered from the part's first."""
    numbers = array.indices.asnumpy().astype(np.int64)
    rows = array.data.asnumpy()
    found: list[tuple[Header, Bytes]] = []
    for part in known.parts:
        begin, end = np.searchsorted(numbers, [part.start, part.stop])
        sent = [numbers[begin:end] - part.start, rows[begin:end]]
        payload = np.concatenate([memory_of(one) for one in sent])
        found.append(({"rows": int(end - begin)}, payload))
    return found


def joined_rows(
    known: Known, answers: Sequence[tuple[Header, Bytes | None]]
) -> NDArray:
    """A sparse array from the rows that the server of each part has sent."""
    numbers: list[Any] = []
    rows: list[Any] = []
    for part, (header, payload) in zip(known.parts, answers, strict=True):
        if payload is not None:
            count = int(header["rows"])
            numbers.append(payload[: 8 * count].view(np.int64) + part.start)
            data = payload[8 * count :].view(known.dtype)
            rows.append(data.reshape(count, *known.shape[1:]))
    found: NDArray
    if not sum(map(len, numbers)):
        found = nd.sparse.zeros(ROWS, known.shape, dtype=known.dtype)
    else:
        content = np.concatenate(rows), np.concatenate(numbers)
        found = nd.sparse.row_sparse_array(content, known.shape, dtype=known.dtype)
    return found
