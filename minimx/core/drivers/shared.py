"""Host memory that several processes may map: `cpu_shared`.

A segment is a file without a name that lives in memory. Children that are forked later
see it as they see all memory; any other process may map it once it is sent the
descriptor (`Segment.fd`). The kernel frees a segment with its last mapping and its last
descriptor, also where processes were killed: without a name, nothing can stay behind.
"""

from __future__ import annotations

import mmap
import os
import sys
import tempfile

import numpy as np

from minimx.core.drivers.base import Bytes, DeviceFull, Region, address_of
from minimx.core.drivers.host import HostDriver
from minimx.core.errors import DataError

#: So many segments keep their descriptors; a process may open 1024 files, as a rule.
MOST_DESCRIPTORS = 128
#: Fewer bytes are not worth a descriptor: copying them is quicker than mapping them.
SMALLEST = 1 << 14

_open_descriptors: set[int] = set()


class Segment(Region):
    """A region that other processes may map, by its file descriptor."""

    __slots__ = ("fd",)

    def __init__(self, data: Bytes, fd: int) -> None:
        super().__init__(data, address_of(data), data.nbytes)
        self.fd = fd
        _open_descriptors.add(fd)

    def __del__(self) -> None:
        fd = getattr(self, "fd", None)  # missing if __init__ was interrupted
        if fd is not None:
            _open_descriptors.discard(fd)
            os.close(fd)


class SharedDriver(HostDriver):
    """Segments; small pieces and those beyond `MOST_DESCRIPTORS` have no descriptor.

    Such memory is seen by children that are forked later, and by no other process.
    """

    def attach(self, fd: int, nbytes: int) -> Region:
        """The segment behind a descriptor that another process has sent.

        It is mapped, not copied, unless too many descriptors are open already. The
        descriptor is the driver's from now on. Raises `DataError` if the file is
        shorter than `nbytes`: touching what is missing would end the process.
        """
        try:
            length = os.fstat(fd).st_size
            if length < nbytes:
                raise DataError(
                    f"{self.device}: the memory that a process sent has {length:,} "
                    f"bytes, not the {nbytes:,} that it claims."
                )
            few = len(_open_descriptors) < MOST_DESCRIPTORS
            data = _mapped(fd, nbytes, keep=few)
        except BaseException:
            os.close(fd)
            raise
        if few:
            region: Region = Segment(data, fd)
        else:
            os.close(fd)
            region = _anonymous(nbytes)
            region.data[:] = data
        self.used += nbytes
        return region

    def _fresh(self, nbytes: int) -> Region:
        if nbytes < SMALLEST or len(_open_descriptors) >= MOST_DESCRIPTORS:
            return _anonymous(nbytes)
        fd = _nameless_file()
        try:
            os.truncate(fd, nbytes)
            return Segment(_mapped(fd, nbytes, keep=True), fd)
        except OSError as reason:
            os.close(fd)
            raise DeviceFull(f"no {nbytes:,} bytes of shared memory.") from reason


def _nameless_file() -> int:
    """The descriptor of an empty file that no folder lists."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("minimx")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def _mapped(fd: int, nbytes: int, keep: bool) -> Bytes:
    """The bytes of a file. keep: the descriptor stays open as long as they are used."""
    if sys.version_info >= (3, 13) and keep:  # else Python keeps a second descriptor
        pages = mmap.mmap(fd, nbytes, trackfd=False)
    else:
        pages = mmap.mmap(fd, nbytes)
    return np.frombuffer(pages, np.uint8)


def _anonymous(nbytes: int) -> Region:
    try:
        data = np.frombuffer(mmap.mmap(-1, nbytes), np.uint8)
    except (OSError, MemoryError):
        raise DeviceFull(f"no {nbytes:,} bytes of shared memory.") from None
    return Region(data, address_of(data), nbytes)
