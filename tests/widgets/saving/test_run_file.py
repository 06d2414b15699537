"""A run as one file: what comes back, and files that are not what they seem."""

from __future__ import annotations

import io
import json
import os
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import minimx as mx
from minimx.core.errors import DataError
from minimx.core.record import Record
from minimx_widgets import (
    ABCompare,
    DeviceView,
    EngineTimeline,
    MemoryTimeline,
    PoolMap,
    open_run,
    save_run,
)
from minimx_widgets.run import Run
from minimx_widgets.saving.run_file import contents_of
from tests.widgets.saving.test_states import recorded


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A run with two views whose settings were changed, and one turned knob."""
    record = recorded()
    record.knob("MXNET_CPU_WORKER_NTHREADS", "1", "3", "live")
    engine = EngineTimeline(record, colour="layer", marks=[1.0, 9.0])
    PoolMap(record, ghost="Round").what_if(page=4096)
    engine.select(2)
    saved = save_run(record, tmp_path / "monday")
    engine.run.close()
    return saved


def test_the_views_come_back_as_they_were(path: Path) -> None:
    assert path.name == "monday.npz"
    run = open_run(path)
    engine, pool = run.views()
    assert engine.state_string == "EngineTimeline:1?colour=layer&marks=[1.0,9.0]&op=2"
    assert pool.state_string == 'PoolMap:1?ghost=Round&op=2&tried={"page":"4KiB"}'
    assert engine.run is pool.run, "they share the selection"
    assert run.views()[0] is engine, "made once"
    assert "EngineTimeline, PoolMap" in repr(run)
    assert run.svg().startswith("<svg")
    assert {"minimx", "python", "processor", "cores"} <= set(run.environment)
    run.close()


def test_the_knobs_are_code_that_runs(path: Path) -> None:
    run = open_run(path)
    assert run.knobs["MXNET_CPU_WORKER_NTHREADS"] == 3
    inside: dict[str, Any] = {"mx": mx}
    exec(run.code().replace("...", "found = mx.knobs.snapshot()"), inside)
    for name, value in run.knobs.items():
        assert inside["found"][name] == value, name


def test_a_plain_record_is_shown_too_and_a_run_is_compared(path: Path) -> None:
    plain = Record.load(path).save(path.with_name("plain.npz"))
    run = open_run(plain)
    assert run.environment == {} and run.lab == {}
    names = [type(view).__name__ for view in run.views()]
    assert names == ["TrainingMonitor", "MemoryTimeline", "EngineTimeline"]
    run.close()
    pair = ABCompare(path, plain)
    assert pair.spans[0] == pair.spans[1]
    pair.close()


def test_nothing_of_this_machine_but_versions_and_processor(path: Path) -> None:
    content = zipfile.ZipFile(path).read("manifest.npy").decode("latin-1")
    for private in (os.getcwd(), str(Path.home()), os.uname().nodename):
        if len(private) > 3:
            assert private not in content


def test_the_newest_rows_alone() -> None:
    record = Record()
    for step in range(50):
        record.metric(step, "loss", float(step))
    found = contents_of(record, newest=10)
    assert found.tables["metrics"]["step"].tolist() == list(range(40, 50))
    assert found.dropped["metrics"] == 40
    again = Record.of(found)
    assert again.texts(again.metrics()["name"]) == ["loss"] * 10


def changed(path: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    """The same file with another manifest."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    found = json.loads(np.load(io.BytesIO(members["manifest.npy"])).tobytes())
    change(found["more"])
    text = np.frombuffer(json.dumps(found).encode(), np.uint8)
    content = io.BytesIO()
    np.lib.format.write_array(content, text, (1, 0))
    members["manifest.npy"] = content.getvalue()
    other = path.with_name("changed.npz")
    with zipfile.ZipFile(other, "w") as archive:
        for name, each in members.items():
            archive.writestr(name, each)
    return other


HOSTILE: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "a module": (lambda m: m.update(views=["os:1"]), "no view 'os'"),
    "another view": (lambda m: m.update(views=["KnobPanel:1"]), "no view 'KnobPanel'"),
    "many views": (lambda m: m.update(views=["PoolMap:1"] * 99), "at most 24"),
    "a view of numbers": (lambda m: m.update(views=[1]), "no short text"),
    "a long view": (lambda m: m.update(views=["x" * 9000]), "no short text"),
    "an environment": (lambda m: m.update(environment={"a": [1]}), "environment"),
    "a long name": (lambda m: m.update(environment={"a" * 999: "b"}), "environment"),
    "a lab": (lambda m: m.update(lab=[1]), "the lab"),
    "knobs of a lab": (lambda m: m.update(lab={"knobs": {"A": 1}}), "state of the lab"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_what_is_kept_beside_the_record_is_checked(case: str, path: Path) -> None:
    change, says = HOSTILE[case]
    with pytest.raises(DataError, match=says) as refused:
        open_run(changed(path, change))
    assert "changed.npz is not a sound run file" in str(refused.value)


def test_a_view_of_another_version_is_shown_as_usual(path: Path) -> None:
    other = changed(path, lambda m: m.update(views=["EngineTimeline:9?colour=layer"]))
    run = open_run(other)
    with pytest.warns(UserWarning, match=r"changed.npz: .*version 9"):
        (view,) = run.views()
    assert view.state_string == "EngineTimeline:1"
    run.close()


def test_cut_off_foreign_and_absent_files(path: Path, tmp_path: Path) -> None:
    whole = path.read_bytes()
    (tmp_path / "cut.npz").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "text.npz").write_text("hello")
    np.savez(tmp_path / "foreign.npz", a=np.arange(3))
    for name in ("cut.npz", "text.npz", "foreign.npz", "absent.npz"):
        with pytest.raises(DataError, match=name):
            open_run(tmp_path / name)
    with pytest.raises(DataError, match="does not exist"):
        save_run(Record(), tmp_path / "nowhere" / "run.npz")


@settings(
    max_examples=30,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    database=None,
)
@given(
    where=st.floats(0, 1, exclude_max=True),
    byte=st.integers(0, 255),
    many=st.integers(1, 9),
)
def test_damaged_bytes_are_refused_or_harmless(
    path: Path, where: float, byte: int, many: int
) -> None:
    content = bytearray(path.read_bytes())
    at = int(where * len(content))
    content[at : at + many] = bytes([byte]) * many
    damaged = path.with_name("damaged.npz")
    damaged.write_bytes(content)
    before = set(path.parent.iterdir())
    try:
        run = open_run(damaged)
    except DataError:
        pass
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run.views()
        run.close()
    assert set(path.parent.iterdir()) == before


def test_one_selection_for_a_comparison_and_the_views_of_its_records() -> None:
    first, second = recorded(), recorded()
    views = [EngineTimeline(first), MemoryTimeline(first), DeviceView(second)]
    pair = ABCompare(first, second)
    op = int(pair.alignment.before.ops()["op"][pair.alignment.pairs[0, 0]])
    there = pair.counterpart(0, op)
    assert there
    pair.views[0].select(op)
    assert [view.run.selected for view in views] == [op, op, there]
    assert pair.views[1].run.selected == there
    views[2].select(0)
    assert [view.run.selected for view in (*views, *pair.views)] == [0] * 5
    views[1].select(op)
    assert [view.run.selected for view in pair.views] == [op, there]
    pair.close()
    views[1].select(0)
    assert pair.views[0].run.selected == op, "closed, it follows no more"
    Run.of(first).close()
    Run.of(second).close()


def test_a_replay_shares_the_selection_of_its_record() -> None:
    record = recorded()
    view = EngineTimeline(record)
    pair = ABCompare(record, MXNET_CPU_WORKER_NTHREADS=2)
    op = int(record.pushes()["op"][0])
    view.select(op)
    assert pair.views[0].run.selected == op
    assert pair.views[1].run.selected == pair.counterpart(0, op)
    assert pair.state_string == f"ABCompare:1?op={op}"
    pair.swap()
    view.select(0)
    assert [one.run.selected for one in pair.views] == [0, 0]
    pair.close()
    view.run.close()
