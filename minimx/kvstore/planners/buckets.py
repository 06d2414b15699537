"""Small keys travel together: one message for a bucket instead of one for each key.

A message costs its latency, however small it is. The troubleshooting guide names
`MXNET_KVSTORE_REDUCE_BUCKET_SIZE` for this; no version of MXNet has read it.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Generic, NamedTuple, TypeVar

KeyT = TypeVar("KeyT", bound=Hashable)


class Sized(NamedTuple, Generic[KeyT]):
    """A key with what decides whether it may share a bucket.

    kind: keys of one kind share: the element type, the devices. nbytes: of its array.
    """

    key: KeyT
    nbytes: int
    kind: Hashable = None


def plan_buckets(keys: Sequence[Sized[KeyT]], limit: int) -> list[list[KeyT]]:
    """Keys in order, as many to a bucket as fit.

    limit: bytes of a bucket; a larger key has one of its own, and 0 gives each its own.

    >>> plan_buckets([Sized("a", 4), Sized("b", 4), Sized("c", 9), Sized("d", 1)], 8)
    [['a', 'b'], ['c'], ['d']]
    """
    found: list[list[KeyT]] = []
    filled = 0
    kind: Hashable = None
    for key in keys:
        if found and key.kind == kind and filled + key.nbytes <= limit:
            found[-1].append(key.key)
            filled += key.nbytes
        else:
            found.append([key.key])
            filled, kind = key.nbytes, key.kind
    return found
