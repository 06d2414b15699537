"""The experiments of notebook 12: what feeds a network."""

from __future__ import annotations

from pathlib import Path

import pytest

from minimx.core.knobs import knobs
from minimx_widgets.course import feeding
from minimx_widgets.course.feeding import Feed, Measured, Photos, SlowStorage


@pytest.fixture(scope="module")
def photos() -> Photos:
    with knobs(MINIMX_PROGRESS=0):
        return Photos(10, 60, 80)


def test_pictures_are_there_twice(photos: Photos) -> None:
    assert len(photos.files) == 10
    contents = [path.read_bytes() for path in photos.files]
    assert [one for _, one in feeding._records(photos, range(10))] == contents
    assert photos.megabytes == pytest.approx(sum(map(len, contents)) / 1e6)
    assert repr(photos).startswith("Photos(10 pictures, 0.")


def test_a_temporary_folder_goes() -> None:
    photos = Photos(1, 8, 8)
    folder = photos.folder
    assert folder.exists()
    del photos
    assert not folder.exists()


def test_a_named_folder_stays(tmp_path: Path) -> None:
    del_me = Photos(1, 8, 8, folder=tmp_path)
    del del_me
    assert (tmp_path / "photos.rec").exists()


def test_every_experiment_feeds_all_pictures(
    photos: Photos, capsys: pytest.CaptureFixture[str]
) -> None:
    feeds = [
        feeding.decode_threads(photos, (1, 2), side=32, batch=4),
        feeding.batch_sizes(photos, (1, 4, 16), side=32),
        feeding.records_or_files(photos),
        feeding.storage_speeds(photos, (1000.0, 100.0)),
    ]
    for feed in feeds:
        assert {line.images for line in feed.lines} == {10}
        assert all(line.seconds > 0 for line in feed.lines)
        assert "images/s" in repr(feed)
        assert feed._repr_html_().count("<tr") >= len(feed.lines)
    assert "1 threads" in capsys.readouterr().err  # the bar


def test_slow_storage_takes_its_time(photos: Photos) -> None:
    slow = feeding.storage_speeds(photos, (1000.0, 1.0))
    # 1 MB/s takes at least as many seconds as there are megabytes.
    assert slow.lines[1].seconds > photos.megabytes
    assert slow.best is slow.lines[0]


def test_loose_files_cost_a_seek_each(photos: Photos) -> None:
    slow = SlowStorage(1e6, seek_ms=5)
    files, records, _ = feeding.records_or_files(photos, slow).lines
    assert files.seconds > 10 * 0.005
    assert records.seconds < files.seconds


class Counting(SlowStorage):
    """Storage that takes no time and counts the seeks of each request."""

    def __init__(self) -> None:
        super().__init__(1e9)
        self.seeks: list[int] = []

    def wait(self, size: int, seeks: int = 1) -> None:
        self.seeks.append(seeks)


def test_a_record_that_does_not_follow_costs_a_seek(photos: Photos) -> None:
    storage = Counting()
    feeding.records_or_files(photos, storage)
    files, records, shuffled = (storage.seeks[k : k + 10] for k in (0, 10, 20))
    assert (sum(files), sum(records)) == (10, 1)
    assert sum(shuffled) > 5


def test_the_table_compares_with_the_first_line() -> None:
    feed = Feed("threads", (Measured("1", 10, 2.0, 4.0), Measured("2", 10, 1.0, 4.0)))
    assert repr(feed).splitlines()[-1].split() == ["2", "10", "4.0", "2.00"]
    assert feed.best.per_second == 10
