"""Notebook 12: what feeds a network, and which part of it holds the rest up.

Four experiments on the real input pipeline, after the advice of MXNet's performance
page: how many threads decode, records or loose files, how fast the storage is, how
large a batch is. Each returns `Measured` lines in a `Feed`, which prints a table.

`Photos` makes the material: smooth pictures with some noise, so that JPEG files have
the size of photographs, as loose files and as one file of records. Storage of a given
speed is simulated by `SlowStorage`, since a learner's disk answers from memory the
second time that it is asked. It counts the time that it would take: what is compared
by its speed comes out in the same order on a machine that does other work as well.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from minimx.image import codec
from minimx.io import ImageRecordIter
from minimx.recordio import MXIndexedRecordIO, pack, unpack
from minimx.tools.progress import Bar
from minimx_widgets.tables import Table

#: Small enough for a notebook: a few seconds on two cores.
COUNT, HEIGHT, WIDTH = 96, 240, 320
ROUNDS = 5  # of the experiments whose cases take no longer than they must


@dataclass(frozen=True)
class Measured:
    """One way to feed: what was varied, and what came of it."""

    setting: str
    images: int
    seconds: float
    megabytes: float

    @property
    def per_second(self) -> float:
        """Images per second."""
        return self.images / self.seconds


@dataclass(frozen=True)
class Feed:
    """The lines of an experiment, and what they are compared with: the first one."""

    varied: str
    lines: tuple[Measured, ...]

    def table(self) -> Table:
        """Images per second, and how many times as many as in the first line."""
        first = self.lines[0].per_second
        rows = [
            [
                line.setting,
                f"{line.per_second:,.0f}",
                f"{line.megabytes / line.seconds:,.1f}",
                f"{line.per_second / first:.2f}",
            ]
            for line in self.lines
        ]
        return Table.of([self.varied, "images/s", "MB/s read", "times"], rows)

    def __repr__(self) -> str:
        return repr(self.table())

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()

    @property
    def best(self) -> Measured:
        """The fastest line."""
        return max(self.lines, key=lambda line: line.per_second)


class Photos:
    """Pictures of two classes, as loose JPEG files and as a file of records.

    The folder is a temporary one, which goes when this object goes, unless one is
    named. count, height, width, quality: of the pictures.
    """

    def __init__(
        self,
        count: int = COUNT,
        height: int = HEIGHT,
        width: int = WIDTH,
        quality: int = 90,
        folder: str | os.PathLike[str] | None = None,
    ) -> None:
        if folder is None:
            folder = tempfile.mkdtemp(prefix="minimx-photos-")
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self.folder = Path(folder)
        self.count = count
        self.files: list[Path] = []
        self._write(height, width, quality)

    @property
    def records(self) -> Path:
        """The file of records; its index ends in .idx."""
        return self.folder / "photos.rec"

    @property
    def megabytes(self) -> float:
        """The size of all pictures together."""
        return sum(path.stat().st_size for path in self.files) / 1e6

    def _write(self, height: int, width: int, quality: int) -> None:
        rng = np.random.default_rng(0)
        index = self.folder / "photos.idx"
        writer = MXIndexedRecordIO(index, self.records, "w")
        with Bar() as bar:
            for number in range(self.count):
                content = codec.encode(_picture(rng, height, width), ".jpg", quality)
                path = self.folder / f"{number:05d}.jpg"
                path.write_bytes(content)
                self.files.append(path)
                header = (0, float(number % 2), number, 0)
                writer.write_idx(number, pack(header, content))
                bar.show(number + 1, self.count, "pictures")
        writer.close()

    def __repr__(self) -> str:
        return f"Photos({self.count} pictures, {self.megabytes:.1f} MB)"


def _picture(rng: np.random.Generator, height: int, width: int) -> Any:
    """A smooth picture with a little noise, (H, W, 3)."""
    coarse = rng.integers(0, 256, (6, 8, 3)).astype(np.uint8)
    smooth = codec.resize(coarse, width, height, 2).astype(np.int16)
    noise = rng.integers(-6, 7, smooth.shape)
    return (smooth + noise).clip(0, 255).astype(np.uint8)


class SlowStorage:
    """Storage of a given speed, in virtual time: reading counts what it would take.

    megabytes_per_second: how fast bytes come; seek_ms: how long it takes to begin at
    another place. One request after the other is served, as by one disk. seconds: the
    virtual time of all requests so far.
    """

    def __init__(self, megabytes_per_second: float, seek_ms: float = 0.0) -> None:
        self.bytes_per_second = megabytes_per_second * 1e6
        self.seek = seek_ms / 1e3
        self.seconds = 0.0

    def wait(self, size: int, seeks: int = 1) -> None:
        """Count the time that so many bytes and so many seeks take."""
        self.seconds += size / self.bytes_per_second + seeks * self.seek


def _timed(
    setting: str,
    photos: Photos,
    work: Callable[[], int],
    clock: Callable[[], float] = time.perf_counter,
) -> Measured:
    """How long some work takes that says how many images it has fed."""
    start = clock()
    images = work()
    seconds = clock() - start
    return Measured(setting, images, seconds, photos.megabytes * images / photos.count)


def _fed(photos: Photos, side: int, batch: int, threads: int) -> int:
    """Feed all pictures once, resized so that side × side can be cut out of them."""
    feed = ImageRecordIter(
        str(photos.records),
        (3, side, side),
        batch,
        path_imgidx=str(photos.records.with_suffix(".idx")),
        resize=side,
        preprocess_threads=threads,
        round_batch=False,
    )
    return sum(batch - (one.pad or 0) for one in feed)


def _all(
    varied: str, cases: Sequence[tuple[str, Callable[[], Measured]]], rounds: int = 1
) -> Feed:
    """Run the cases of an experiment, under a bar; of several rounds the best is kept.

    What takes some hundredths of a second is easily disturbed, and never too quick.
    """
    found: list[list[Measured]] = [[] for _ in cases]
    total = rounds * len(cases)
    with Bar() as bar:
        for done in range(total):
            name, case = cases[done % len(cases)]
            bar.show(done, total, name)
            found[done % len(cases)].append(case())
        bar.show(total, total, varied)
    return Feed(varied, tuple(min(lines, key=lambda x: x.seconds) for lines in found))


def decode_threads(
    photos: Photos, threads: Sequence[int] = (1, 2, 4), side: int = 128, batch: int = 16
) -> Feed:
    """How many images per second come, by the number of threads that decode."""

    def case(count: int) -> Callable[[], Measured]:
        return lambda: _timed(
            str(count), photos, lambda: _fed(photos, side, batch, count)
        )

    return _all("threads", [(f"{n} threads", case(n)) for n in threads], ROUNDS)


def batch_sizes(
    photos: Photos, sizes: Sequence[int] = (1, 8, 32), side: int = 128, threads: int = 2
) -> Feed:
    """How many images per second come, by the size of a batch."""

    def case(size: int) -> Callable[[], Measured]:
        return lambda: _timed(
            str(size), photos, lambda: _fed(photos, side, size, threads)
        )

    return _all("batch", [(f"batches of {n}", case(n)) for n in sizes], ROUNDS)


def records_or_files(photos: Photos, storage: SlowStorage | None = None) -> Feed:
    """How fast the bytes of all pictures are read: loose files, records, shuffled ones.

    storage: what they lie on; a loose file costs a seek, and so does a record that does
    not follow the one before; the records in order cost one in all. Nothing is decoded.
    With storage its virtual time is what counts, without it the clock on the wall.
    """
    clock = time.perf_counter if storage is None else lambda: storage.seconds

    def read_files() -> int:
        for path in photos.files:
            content = path.read_bytes()
            if storage is not None:
                storage.wait(len(content))
        return len(photos.files)

    def read_records(order: Sequence[int]) -> int:
        last = -1
        for number, content in _records(photos, order):
            if storage is not None:
                storage.wait(len(content), seeks=int(number == 0 or number != last + 1))
            last = number
        return len(order)

    def case(name: str, work: Callable[[], int]) -> tuple[str, Callable[[], Measured]]:
        return name, lambda: _timed(name, photos, work, clock)

    kept = range(photos.count)
    shuffled = np.random.default_rng(0).permutation(photos.count).tolist()
    cases = [
        case("loose files", read_files),
        case("records", lambda: read_records(kept)),
        case("records, shuffled", lambda: read_records(shuffled)),
    ]
    return _all("format", cases)


def _records(photos: Photos, order: Sequence[int]) -> Iterator[tuple[int, bytes]]:
    """The pictures of the records with their numbers, in an order."""
    reader = MXIndexedRecordIO(photos.records.with_suffix(".idx"), photos.records, "r")
    try:
        for number in order:
            content = reader.read_idx(number)
            assert content is not None  # all of them were written
            yield number, unpack(content)[1]
    finally:
        reader.close()


def storage_speeds(
    photos: Photos, megabytes_per_second: Sequence[float] = (2000.0, 20.0, 5.0)
) -> Feed:
    """How many images per second are read and decoded, by the speed of the storage.

    One picture after the other is read and decoded, so that both times add up; a loader
    with threads reads while it decodes, and is as slow as the slower of the two. The
    decoding is measured, once for all lines; the reading is virtual time.
    """

    def decode() -> int:
        pictures = [codec.decode(one) for _, one in _records(photos, order)]
        return len(pictures)

    def line(speed: float) -> Measured:
        storage = SlowStorage(speed)
        for _, content in _records(photos, order):
            storage.wait(len(content), seeks=0)
        seconds = decoding.seconds + storage.seconds
        return Measured(f"{speed:g}", photos.count, seconds, photos.megabytes)

    order = range(photos.count)
    decoding = _all(
        "decoding", [("decoding", lambda: _timed("decoding", photos, decode))], ROUNDS
    ).lines[0]
    return Feed("MB/s", tuple(map(line, megabytes_per_second)))
