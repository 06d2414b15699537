"""The code that pages of the book run, without NumPy, gives the numbers of minimx."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import tarfile
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import site_python
import site_recorded
import site_turn
import turning

from minimx.core.errors import KnobError
from minimx.core.graph.memory.memory import plan_memory
from minimx.core.knobs import knobs
from minimx.core.record import Record
from minimx.core.replay import replay_pool
from minimx.experiments.graphs import settings_of
from minimx.experiments.rerun import rerun

Asked = Callable[[str, Mapping[str, Any], list[dict[str, Any]]], list[Any]]
#: What a page's worker does, in a Python that can import nothing but the library.
WORKER = """
import json, sys
sys.path.insert(0, sys.argv[1])
import numpy, turning
assert numpy.__file__.startswith(sys.argv[1]), numpy.__file__
page, data, every = json.load(sys.stdin)
print(json.dumps([turning.answer(page, data, turned) for turned in every]))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("turn")
    (folder / "minimx.zip").write_bytes(site_turn.packed())
    return folder


@pytest.fixture(scope="module")
def asked(folder: Path) -> Asked:
    """Answers of the zip's code, for some settings of a page."""

    def answers(page: str, data: Any, every: list[dict[str, Any]]) -> list[Any]:
        command = [sys.executable, "-S", "-I", "-c", WORKER, str(folder / "minimx.zip")]
        done = subprocess.run(
            command,
            input=json.dumps([page, data, every]),
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert not done.returncode, done.stderr[-3000:]
        found: list[Any] = json.loads(done.stdout)
        return found

    return answers


@pytest.fixture(scope="module")
def pool(folder: Path) -> tuple[Record, dict[str, Any]]:
    data = site_recorded.pool(folder)
    return Record.load(folder / "pool.npz"), data


POOLS: list[dict[str, Any]] = [
    {},
    {"MXNET_GPU_MEM_POOL_TYPE": "Unpooled"},
    {"MXNET_GPU_MEM_POOL_TYPE": "Round", "MXNET_GPU_MEM_POOL_ROUND_LINEAR_CUTOFF": 20},
    {"MXNET_GPU_MEM_POOL_PAGE_SIZE": 65536, "MXNET_GPU_MEM_POOL_RESERVE": 70},
    {
        "MXNET_GPU_MEM_LARGE_ALLOC_ROUND_SIZE": 8 << 20,
        "MINIMX_SIM_GPU_MEMORY": 14 << 20,
    },
    {"MXNET_GPU_MEM_POOL_TYPE": "Round", "MINIMX_SIM_GPU_MEMORY": 12 << 20},
]


def test_a_pool_without_numpy_decides_as_a_replay(
    pool: tuple[Record, dict[str, Any]], asked: Asked
) -> None:
    record, data = pool
    outcomes = set()
    for turned, found in zip(POOLS, asked("pool", data, POOLS), strict=True):
        pools = {k: v for k, v in turned.items() if "MEM_" in k}
        size = turned.get("MINIMX_SIM_GPU_MEMORY")
        replay = replay_pool(record, "gpu(0)", knobs=pools, capacity=size)
        mine = {name: value for name, (value, _) in found["figures"].items()}
        assert mine.pop("refused") == len(replay.refused)
        assert mine == {name: getattr(replay.stats, name) for name in mine}
        assert max(found["curves"]["reserved"]) == replay.history.peak_reserved
        assert max(found["curves"]["in use"]) == replay.history.in_use.max()
        assert found["curves"]["in use"][-1] == replay.stats.live_rounded
        outcomes.add((*mine.values(), len(replay.refused)))
    assert len(outcomes) == len(POOLS)  # every one of these knobs moves something


PLANS: list[dict[str, Any]] = [
    {},
    {"MXNET_EXEC_ENABLE_INPLACE": False},
    {"NNVM_EXEC_MATCH_RANGE": 0},
    {"NNVM_EXEC_MATCH_RANGE": 2},
    {"NNVM_EXEC_MATCH_RANGE": 4, "MXNET_EXEC_ENABLE_INPLACE": False},
    {"NNVM_EXEC_MATCH_RANGE": 64, "NNVM_AUTO_SEARCH_MATCH_RANGE": True},
]


def test_a_planner_without_numpy_plans_as_in_a_program(
    folder: Path, asked: Asked
) -> None:
    program = site_recorded.planner_program()
    made = program.prepared
    data = site_recorded.planner(folder)
    totals = set()
    for turned, found in zip(PLANS, asked("planner", data, PLANS), strict=True):
        settings = settings_of({**turned})
        plan = plan_memory(made.graph, made.specs, made.external, settings)
        mine = {name: value for name, (value, _) in found["figures"].items()}
        assert mine == {
            "total": plan.total,
            "apart": plan.bytes_apart,
            "blocks": len(plan.blocks),
            "inplace": len(plan.inplace),
            "match_range": plan.match_range,
            "tried": len(plan.candidates),
        }
        blocks, tried = found["bars"].values()
        assert [size for _, size in blocks] == [one.nbytes for one in plan.blocks]
        assert {int(name): size for name, size in tried} == plan.candidates
        totals.add(plan.total)
    assert len(totals) > 3


ENGINES: list[dict[str, Any]] = [
    {},
    {"MXNET_CPU_WORKER_NTHREADS": 1},
    {"MXNET_CPU_WORKER_NTHREADS": 4},
    {"MXNET_ENGINE_TYPE": "ThreadedEngine"},
    {"MXNET_ENGINE_TYPE": "NaiveEngine", "MXNET_CPU_WORKER_NTHREADS": 8},
]


def test_an_engine_without_numpy_schedules_as_a_replay(
    folder: Path, asked: Asked
) -> None:
    data = site_recorded.engine(folder)
    record = Record.load(folder / "engine.npz")
    makespans = set()
    for turned, found in zip(ENGINES, asked("engine", data, ENGINES), strict=True):
        replay = rerun(record, **turned)
        figures = {name: value for name, (value, _) in found["figures"].items()}
        assert figures["makespan"] == replay.schedule.makespan
        assert figures["pushes"] == replay.pushes
        lanes = {
            (worker, name, start, end)
            for worker, row in found["lanes"]
            for name, start, end in row
        }
        assert lanes == {(o.worker, o.name, o.start, o.end) for o in replay.lanes}
        assert figures["busy"] == sum(o.end - o.start for o in replay.lanes)
        makespans.add(figures["makespan"])
    assert len(makespans) >= 4


def test_knobs_that_contradict_one_another_raise_as_everywhere(
    pool: tuple[Record, dict[str, Any]],
) -> None:
    turned = {"MXNET_GPU_MEM_POOL_TYPE": "Round", "MXNET_GPU_MEM_POOL_PAGE_SIZE": 12288}
    with pytest.raises(KnobError, match="power of two"):
        turning.answer("pool", pool[1], turned)


def test_what_needs_numpy_says_where_one_is(folder: Path) -> None:
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import turning, numpy\n"
        "numpy.zeros(3)"
    )
    command = [sys.executable, "-S", "-I", "-c", program, str(folder / "minimx.zip")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (
        "numpy.zeros was asked for, and there is no NumPy in this page" in done.stderr
    )


def test_the_zip_has_the_files_as_they_are() -> None:
    files = site_turn.sources()
    for name in ("minimx/core/storage/pool.py", "minimx/core/storage/policy.py"):
        assert files[name] == (site_turn.ROOT / name).read_text(encoding="utf-8")
    empty = {name for name, text in files.items() if not text}
    assert {
        f"{name.replace('.', '/')}/__init__.py" for name in site_turn.EMPTY
    } >= empty


def test_there_is_a_frame_for_every_choice(
    pool: tuple[Record, dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    some = site_turn.CONTROLS["pool"][:2]
    monkeypatch.setitem(site_turn.CONTROLS, "pool", some)
    made = site_turn.frames("pool", pool[1])
    assert len(made["frames"]) == len(some[0].framed) * len(some[1].framed)
    last = {one.knob: one.framed[-1] for one in some}
    key = "".join(str(len(one.framed) - 1) for one in some)
    assert made["answers"][made["frames"][key]] == turning.answer("pool", pool[1], last)


def test_every_control_starts_with_a_framed_value() -> None:
    for page in turning.PAGES:
        for control in site_turn.CONTROLS[page]:
            assert {control.start, *control.framed} <= {*control.values}
            assert control.start in control.framed
            assert len(control.framed) < 10  # one digit in the key of a frame


def archive(name: str) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as packed:
        packed.addfile(tarfile.TarInfo(f"package/{name}"), io.BytesIO(b""))
    return out.getvalue()


def test_other_bytes_than_those_that_are_pinned_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        urllib.request, "urlopen", lambda *_, **__: io.BytesIO(archive("a"))
    )
    with pytest.raises(ValueError, match="has not the SHA-512 of version"):
        site_python._packed(tmp_path / "kept.tgz")
    assert not [*tmp_path.iterdir()]


def test_without_the_registry_a_kept_package_serves_and_none_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def down(*_: Any, **__: Any) -> None:
        raise OSError("no network")

    monkeypatch.setattr(urllib.request, "urlopen", down)
    monkeypatch.setattr(site_python, "is_pinned", lambda packed: packed == b"good")
    (tmp_path / "kept.tgz").write_bytes(b"good")
    assert site_python._packed(tmp_path / "kept.tgz") == b"good"
    with knobs(MINIMX_CACHE=str(tmp_path)):
        assert "no network" in site_python.unpack(tmp_path / "out")
    assert not (tmp_path / "out").exists()
