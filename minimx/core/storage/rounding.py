"""How a request is rounded up to the size of a block.

A pool gives an idle block only to a request of the same rounded size. So coarse
rounding means more reuse, and more waste inside the blocks:

    requested        5,000 bytes    5,100 bytes    one block for both, in turn?
    exact            5,000          5,100          no
    to_multiple      8,192          8,192          yes, 2 pages of 4,096
    to_power2        8,192          8,192          yes, 2**13

These are the rules of MXNet's `src/storage/pooled_storage_manager.h`.
"""

from __future__ import annotations

from collections.abc import Callable

# From requested bytes (at least 1) to the bytes of the block.
Rounding = Callable[[int], int]


def to_multiple(nbytes: int, page: int = 4096, large: int = 2 << 20) -> int:
    """Round up to whole pages; what is above `large` then, to multiples of `large`.

    All in bytes. The rule of the Naive pool, MXNet 1.9.1's `GPUPooledStorageManager`.

    >>> to_multiple(1), to_multiple(4097), to_multiple(3 << 20)
    (4096, 8192, 4194304)
    """
    size = -(-nbytes // page) * page  # -(-a // b) is a / b, rounded up
    return size if size <= large else -(-size // large) * large


def to_power2(nbytes: int, page: int = 4096, cutoff: int = 24) -> int:
    """Round up to a power of two; above 2**cutoff, to a multiple of 2**cutoff.

    `page`, a power of two, is the smallest block, in bytes. The rule of the Round pool,
    MXNet 1.9.1's `GPUPooledRoundedStorageManager`.

    >>> to_power2(5000), to_power2((16 << 20) + 1) == 32 << 20
    (8192, True)
    """
    if nbytes > 1 << cutoff:
        return -(-nbytes // (1 << cutoff)) << cutoff
    return max(page, 1 << (nbytes - 1).bit_length())


def exact(nbytes: int) -> int:
    """Do not round: without a pool nothing is used again.

    >>> exact(4097)
    4097
    """
    return nbytes
