"""`minimx im2rec`: images in a folder become a file of records, as in MXNet's tool.

    minimx im2rec --list --recursive --train-ratio 0.9 pets photos/   # the lists
    minimx im2rec --resize 256 --num-thread 4 pets photos/            # the records

A list is a text file with a line `number<TAB>label…<TAB>path` for each image; with
--recursive the label is the number of the folder. For each list that begins with the
prefix, `NAME.rec` and its index `NAME.idx` are written, under other names until they
are whole. An image that cannot be read is named and left out.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from concurrent.futures import Future

#: Number, path below the root, labels.
Entry = tuple[int, str, Sequence[float]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What may be written after `minimx im2rec`; MXNet's words."""
    parser.add_argument("prefix", help="how the names of lists and records begin")
    parser.add_argument("root", help="the folder of the images")
    lists = parser.add_argument_group("making lists")
    lists.add_argument("--list", action="store_true", help="make lists, and no records")
    lists.add_argument(
        "--exts", nargs="+", default=[".jpeg", ".jpg", ".png"], metavar="EXT"
    )
    lists.add_argument("--chunks", type=int, default=1, help="so many parts")
    lists.add_argument("--train-ratio", type=float, default=1.0, metavar="R")
    lists.add_argument("--test-ratio", type=float, default=0.0, metavar="R")
    lists.add_argument(
        "--recursive",
        action="store_true",
        help="look into folders, and take each for a class",
    )
    lists.add_argument("--no-shuffle", dest="shuffle", action="store_false")
    records = parser.add_argument_group("making records")
    records.add_argument(
        "--pass-through", action="store_true", help="store the files as they are"
    )
    records.add_argument(
        "--resize", type=int, default=0, help="pixels of the shorter side"
    )
    records.add_argument("--center-crop", action="store_true", help="cut a square")
    records.add_argument(
        "--quality", type=int, default=95, help="JPEG 1 to 100, PNG 0 to 9"
    )
    records.add_argument("--num-thread", type=int, default=1, metavar="N")
    records.add_argument(
        "--color", type=int, default=1, choices=[-1, 0, 1], help="0 makes grey"
    )
    records.add_argument("--encoding", default=".jpg", choices=[".jpg", ".png"])
    records.add_argument(
        "--pack-label", action="store_true", help="store labels of several numbers"
    )


def run(options: argparse.Namespace, out: TextIO) -> int:
    """Make lists, or records; returns the exit code."""
    from minimx.core.errors import DataError

    try:
        return _make_lists(options, out) if options.list else _make_all(options, out)
    except (DataError, OSError) as reason:
        print(f"minimx im2rec: {reason}", file=sys.stderr)
        return 2


# -- lists -----------------------------------------------------------------------------


def found_images(root: str, recursive: bool, exts: Sequence[str]) -> Iterator[Entry]:
    """The images of a folder in order, each with the number of its folder."""
    known = {ext.lower() for ext in exts}
    folders: dict[str, int] = {}
    number = 0
    for folder, inner, files in os.walk(root, followlinks=True):
        inner.sort()
        for name in sorted(files):
            if os.path.splitext(name)[1].lower() in known:
                label = folders.setdefault(folder, len(folders)) if recursive else 0
                yield number, os.path.relpath(os.path.join(folder, name), root), [label]
                number += 1
        if not recursive:
            return


def split(
    entries: list[Entry], chunks: int, train: float, test: float
) -> dict[str, list[Entry]]:
    """The lists to write, by how their names end.

    >>> entries = [(n, "", [0]) for n in range(10)]
    >>> {name: len(part) for name, part in split(entries, 1, 0.5, 0.2).items()}
    {'_test': 2, '_val': 3, '_train': 5}
    """
    size = -(-len(entries) // chunks)
    found = {}
    for number in range(chunks):
        part = entries[number * size : (number + 1) * size]
        name = f"_{number}" if chunks > 1 else ""
        if train == 1.0:
            found[name] = part
            continue
        tested, trained = int(size * test), int(size * train)
        if test:
            found[f"{name}_test"] = part[:tested]
        if train + test < 1.0:
            found[f"{name}_val"] = part[tested + trained :]
        found[f"{name}_train"] = part[tested : tested + trained]
    return found


def _make_lists(options: argparse.Namespace, out: TextIO) -> int:
    train, test = options.train_ratio, options.test_ratio
    if options.chunks < 1 or min(train, test) < 0 or train + test > 1:
        print("minimx im2rec: ratios are parts of 1, and chunks at least 1.", file=out)
        return 2
    entries = list(found_images(options.root, options.recursive, options.exts))
    if not entries:
        endings = ", ".join(options.exts)
        deeper = "" if options.recursive else " --recursive looks into its folders."
        print(f"No file in {options.root} ends in {endings}.{deeper}", file=out)
        return 2
    if options.shuffle:
        random.Random(100).shuffle(entries)  # MXNet's order
    for name, part in split(entries, options.chunks, train, test).items():
        path = Path(f"{options.prefix}{name}.lst")
        lines = (
            "\t".join([str(number), *(f"{x:f}" for x in labels), where]) + "\n"
            for number, where, labels in part
        )
        partial = path.with_name(f"{path.name}.{os.getpid()}.part")
        partial.write_text("".join(lines), encoding="utf-8")
        partial.replace(path)
        print(f"{path}: {len(part)} images", file=out)
    return 0


# -- records ---------------------------------------------------------------------------


def _make_all(options: argparse.Namespace, out: TextIO) -> int:
    prefix = Path(options.prefix)
    lists = sorted(prefix.parent.glob(f"{prefix.name}*.lst"))
    if not lists:
        print(f"There is no list {prefix}*.lst; --list makes one.", file=out)
        return 2
    if options.num_thread < 1:
        print("minimx im2rec: --num-thread must be at least 1.", file=out)
        return 2
    for path in lists:
        done, left_out = make_records(path, options)
        tail = f", {left_out} left out" if left_out else ""
        print(f"{path.with_suffix('.rec')}: {done} images{tail}", file=out)
    return 0


def make_records(path: Path, options: argparse.Namespace) -> tuple[int, int]:
    """Write the records of a list; how many there are, and how many were left out."""
    from minimx.image.sources import listed
    from minimx.recordio import MXIndexedRecordIO
    from minimx.tools.progress import Bar

    entries = [(key, name, label) for key, label, name in listed(path)]
    parts = [path.with_suffix(f".{kind}.{os.getpid()}.part") for kind in ("idx", "rec")]
    writer = MXIndexedRecordIO(parts[0], parts[1], "w")
    left_out = 0
    try:
        with Bar() as bar:
            for done, (entry, record) in enumerate(_encoded(entries, options), 1):
                if isinstance(record, str):
                    print(f"left out: {entry[1]}: {record}", file=sys.stderr)
                    left_out += 1
                else:
                    writer.write_idx(entry[0], record)
                bar.show(done, len(entries), entry[1])
        writer.close()
        for part, kind in zip(parts, (".idx", ".rec"), strict=True):
            part.replace(path.with_suffix(kind))
    finally:
        writer.close()
        for part in parts:
            part.unlink(missing_ok=True)
    return len(entries) - left_out, left_out


def _encoded(
    entries: list[Entry], options: argparse.Namespace
) -> Iterator[tuple[Entry, bytes | str]]:
    """The records in the order of the list, or as text what failed."""
    from concurrent.futures import ThreadPoolExecutor

    ahead: deque[tuple[Entry, Future[bytes | str]]] = deque()
    with ThreadPoolExecutor(options.num_thread, "im2rec") as workers:
        for entry in entries:
            ahead.append((entry, workers.submit(_record, entry, options)))
            if len(ahead) > 4 * options.num_thread:
                first, future = ahead.popleft()
                yield first, future.result()
        while ahead:
            first, future = ahead.popleft()
            yield first, future.result()


def _record(entry: Entry, options: argparse.Namespace) -> bytes | str:
    """One record, or why there is none."""
    from minimx.core.errors import MXNetError
    from minimx.image import codec
    from minimx.recordio import pack, pack_img

    number, name, labels = entry
    several = options.pack_label and len(labels) > 1
    try:
        if not len(labels):
            return "the list gives it no label"
        header = (0, labels if several else float(labels[0]), number, 0)
        content = codec.read(os.path.join(options.root, name))
        if options.pass_through:
            return pack(header, content)
        image = codec.decode(content, options.color, to_rgb=False)
        image = _fitted(image, options.center_crop, options.resize)
        image = image[..., 0] if image.shape[2] == 1 else image
        return pack_img(header, image, options.quality, options.encoding)
    except MXNetError as reason:
        return str(reason)


def _fitted(image: Any, square: bool, shorter: int) -> Any:
    """The image cut to a square, and resized."""
    from minimx.image import codec

    height, width = image.shape[:2]
    if square:
        side = min(height, width)
        y, x = (height - side) // 2, (width - side) // 2
        image = image[y : y + side, x : x + side]
        height = width = side
    if shorter:
        if height > width:
            size = shorter, height * shorter // width
        else:
            size = width * shorter // height, shorter
        image = codec.resize(image, *size)
    return image
