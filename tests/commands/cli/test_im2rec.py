"""`minimx im2rec`: lists of images, and files of records."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from minimx.commands.cli import main
from minimx.image import codec
from minimx.io import ImageRecordIter
from minimx.recordio import MXIndexedRecordIO, unpack, unpack_img


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """Two classes of four images each, 12 × 20, and a file that is none."""
    root = tmp_path / "photos"
    for label, kind in enumerate(("cat", "dog")):
        (root / kind).mkdir(parents=True)
        for number in range(4):
            image = np.full((12, 20, 3), 100 * label + 10 * number, np.uint8)
            path = root / kind / f"{number}.png"
            path.write_bytes(codec.encode(image, ".png", 1))
    (root / "notes.txt").write_text("no image")
    return root


def lists(folder: Path) -> dict[str, list[list[str]]]:
    return {
        path.stem: [line.split("\t") for line in path.read_text().splitlines()]
        for path in sorted(folder.glob("*.lst"))
    }


def records(path: Path) -> MXIndexedRecordIO:
    return MXIndexedRecordIO(path.with_suffix(".idx"), path.with_suffix(".rec"), "r")


def test_a_list(photos: Path, tmp_path: Path) -> None:
    prefix = str(tmp_path / "pets")
    assert main(["im2rec", "--list", "--recursive", prefix, str(photos)]) == 0
    (found,) = lists(tmp_path).values()
    # MXNet 1.9.1's tool gives this order.
    assert [int(number) for number, _, _ in found] != list(range(8))
    assert sorted(found)[0] == ["0", "0.000000", "cat/0.png"]
    assert sorted(found)[-1] == ["7", "1.000000", "dog/3.png"]
    words = ["im2rec", "--list", "--recursive", "--no-shuffle", prefix, str(photos)]
    assert main(words) == 0
    assert [row[0] for row in lists(tmp_path)["pets"]] == [str(n) for n in range(8)]


def test_lists_in_parts(photos: Path, tmp_path: Path) -> None:
    words = ["--train-ratio", "0.5", "--test-ratio", "0.25", "--chunks", "2"]
    prefix = str(tmp_path / "x")
    assert main(["im2rec", "--list", "--recursive", *words, prefix, str(photos)]) == 0
    found = lists(tmp_path)
    sizes = {name: len(rows) for name, rows in found.items()}
    one = {"test": 1, "train": 2, "val": 1}
    assert sizes == {
        f"x_{n}_{name}": size for n in (0, 1) for name, size in one.items()
    }
    assert sorted(int(row[0]) for rows in found.values() for row in rows) == list(
        range(8)
    )


def test_records(
    photos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prefix, root = str(tmp_path / "x"), str(photos)
    assert main(["im2rec", "--list", "--recursive", prefix, root]) == 0
    words = [
        "--resize",
        "6",
        "--encoding",
        ".png",
        "--quality",
        "3",
        "--num-thread",
        "2",
    ]
    assert main(["im2rec", *words, prefix, root]) == 0
    assert "x.rec: 8 images\n" in capsys.readouterr().out
    reader = records(tmp_path / "x")
    order = [int(row[0]) for row in lists(tmp_path)["x"]]
    assert reader.keys == order
    header, image = unpack_img(reader.read_idx(5) or b"")
    assert (header.id, header.label, image.shape) == (5, 1, (6, 10, 3))
    assert (image == 110).all()
    reader.close()
    it = ImageRecordIter(f"{prefix}.rec", (3, 6, 6), 8, preprocess_threads=1)
    (batch,) = it
    assert batch.label is not None
    assert batch.label[0].asnumpy().tolist() == [n // 4 for n in order]
    assert not list(tmp_path.glob("*.part"))


def test_files_as_they_are_squares_and_grey(photos: Path, tmp_path: Path) -> None:
    (tmp_path / "x.lst").write_text("3\t1\t2.5\tdog/2.png\n")
    prefix, root = str(tmp_path / "x"), str(photos)
    assert main(["im2rec", "--pass-through", "--pack-label", prefix, root]) == 0
    reader = records(tmp_path / "x")
    header, content = unpack(reader.read_idx(3) or b"")
    assert content == (photos / "dog" / "2.png").read_bytes()
    assert header.label.tolist() == [1, 2.5]
    reader.close()
    assert main(["im2rec", "--center-crop", "--color", "0", prefix, root]) == 0
    reader = records(tmp_path / "x")
    header, image = unpack_img(reader.read_idx(3) or b"")
    assert (header.label, image.shape) == (1, (12, 12))
    reader.close()


def test_what_cannot_be_read_is_left_out(
    photos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x.lst").write_text(
        "0\t0\tcat/0.png\n1\t0\tgone.png\n2\t0\tnotes.txt\n3\tcat/1.png\n"
    )
    assert main(["im2rec", str(tmp_path / "x"), str(photos)]) == 0
    text = capsys.readouterr()
    assert "x.rec: 1 images, 3 left out" in text.out
    for why in (
        "gone.png: image.read: cannot read",
        "notes.txt: 8 bytes that",
        "gives it no label",
    ):
        assert why in text.err


def test_mistakes(
    photos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prefix, root = str(tmp_path / "x"), str(photos)
    for words, what in [
        (["--list", prefix, root], "--recursive looks into its folders"),
        (["--list", "--train-ratio", "2", prefix, root], "ratios are parts of 1"),
        ([prefix, root], "--list makes one"),
    ]:
        assert main(["im2rec", *words]) == 2
        assert what in capsys.readouterr().out
    (tmp_path / "x.lst").write_text("nothing\n")
    before = (tmp_path / "x.rec").write_bytes(b"old")
    assert main(["im2rec", prefix, root]) == 2
    assert "is no list of images" in capsys.readouterr().err
    assert (tmp_path / "x.rec").stat().st_size == before
    (tmp_path / "x.lst").write_text("0\t0\tcat/0.png\n")
    assert main(["im2rec", "--num-thread", "0", prefix, root]) == 2
