"""Record files: what is saved is what is loaded, and nothing else gets in."""

from __future__ import annotations

import io
import json
import random
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from minimx.core.dtypes import POWERS
from minimx.core.engine import Var
from minimx.core.errors import DataError
from minimx.core.events import Owner
from minimx.core.record import TABLES, Record, dtype_of
from minimx.core.record.tables import ADDED
from minimx.tools import record_archive as archive

ME = Owner("conv", "net.conv1", "forward", "activation")
Members = dict[str, Any]


@pytest.fixture
def record() -> Record:
    made = Record()
    made.conditions.knobs = {"A": 1, "B": "x", "C": 0.5, "D": True, "E": (1, 2)}
    made.conditions.devices = {"gpu(0)": 1 << 20}
    for i in range(20):
        number = made.new_op()
        made.op(number, "conv", "l", "forward", "d", "w", 1, 2, i, i + 1, -5, 0, i == 3)
        made.memory("alloc", "gpu(0)", i + 1, 100, 512, i * 512, ME)
        made.metric(i, "loss", 1 / (i + 1))
    written = Var()
    written.block = SimpleNamespace(id=7)
    whole = SimpleNamespace(reads=(), writes=(written,))
    fixed = ("add", "l", "forward", "d", "w", 1, 2, 3, 4, 0, 0, False)
    made.op(made.new_op(), *fixed, line="train.py:3", operation=whole)
    made.dependency(1, 2, "WAR")
    made.knob("A", 0, 1, "live")
    row = np.zeros(4 + len(POWERS))
    row[[0, 3, 4, -1]] = 2, 0.5, 1, 3
    made.tensor(1, "gradient", "net", "w", "float32", "float16", 8.0, row)
    made.scaling(1, 8.0, True, "w", "net", 1)
    made.communication(0, 9, "weight", "gpu(0)", "cpu(0)", 100, "push")
    return made


@pytest.fixture
def path(record: Record, tmp_path: Path) -> Path:
    return record.save(tmp_path / "run.npz")


def test_a_file_brings_everything_back(record: Record, path: Path) -> None:
    loaded = Record.load(str(path))
    for name in TABLES:
        assert np.array_equal(loaded.table(name), record.table(name)), name
    assert loaded.conditions == record.conditions
    assert loaded.strings == record.strings
    assert repr(loaded) == repr(record)
    assert loaded.memory_curve().peak == 2000
    batch = loaded.since()
    assert len(batch["ops"]) == 21
    assert len(loaded.since(batch.cursor)) == 0


def test_a_loaded_record_can_be_saved_again(path: Path, tmp_path: Path) -> None:
    again = Record.load(path).save(tmp_path / "again.npz")
    assert Record.load(again).ops().tobytes() == Record.load(path).ops().tobytes()


def test_what_was_dropped_is_not_forgotten(tmp_path: Path) -> None:
    record = Record(capacity=3)
    for i in range(10):
        record.metric(i, "loss", 0.0)
    loaded = Record.load(record.save(tmp_path / "run.npz"))
    assert loaded.dropped["metrics"] == 7
    assert not Record.load(record.save(tmp_path / "run.npz")).dropped["mem"]


def test_numpy_opens_the_file_without_pickles(path: Path) -> None:
    with np.load(path, allow_pickle=False) as found:
        assert set(found.files) == {"manifest", *TABLES}
        manifest = json.loads(found["manifest"].tobytes())
    assert set(manifest["conditions"]) == {
        "knobs",
        "seed",
        "clock",
        "cores",
        "devices",
        "t_start",
        "t_stop",
    }


def test_saving_is_all_or_nothing(record: Record, tmp_path: Path) -> None:
    target = tmp_path / "run.npz"
    target.write_text("precious")
    record.conditions.knobs["bad"] = object()
    with pytest.raises(TypeError):
        record.save(target)
    assert [p.name for p in tmp_path.iterdir()] == ["run.npz"]
    assert target.read_text() == "precious"
    with pytest.raises(DataError, match="folder .* does not exist"):
        record.save(tmp_path / "nowhere" / "run.npz")


def narrowed(ops: Any, version: int) -> Any:
    """The operations with the columns that files of a version had."""
    old = np.zeros(len(ops), dtype_of("ops", version))
    for column in old.dtype.names or ():
        old[column] = ops[column]
    return old


def older(version: int) -> Callable[[Members], None]:
    """The file as a version wrote it, without what came later."""

    def change(members: Members) -> None:
        later = [one for v, names in ADDED.items() if v > version for one in names]
        for name in later:
            members.pop(name)
        members["ops"] = narrowed(members["ops"], version)
        manifest(lambda found: found.update(version=version))(members)
        for part in ("rows", "dropped"):
            manifest(lambda found, p=part: [found[p].pop(n) for n in later])(members)  # type: ignore[misc]

    return change


def test_a_column_that_older_files_lack_is_empty(path: Path) -> None:
    assert archive.VERSION == 6
    assert "line" not in (dtype_of("ops", 5).names or ())
    whole, found = Record.load(path), Record.load(rewritten(path, older(5)))
    assert found.ops().dtype == dtype_of("ops")
    assert set(found.texts(found.ops()["line"])) == {""}, "not the first text there is"
    assert len(whole.table("uses")) and not len(found.table("uses"))
    for column in narrowed(whole.ops(), 5).dtype.names:
        assert (found.ops()[column] == whole.ops()[column]).all(), column


def test_files_of_the_oldest_version_are_read(path: Path) -> None:
    whole, found = Record.load(path), Record.load(rewritten(path, older(3)))
    assert "inside" not in (dtype_of("ops", 3).names or ())
    assert not found.ops()["inside"].any()
    assert len(found.ops()) == len(whole.ops())
    assert len(whole.tensors()) and not len(found.tensors())
    assert found.dropped["tensors"] == 0


# Damaged and hostile files


def rewritten(path: Path, change: Callable[[Members], None]) -> Path:
    """The file with other members: arrays by name, or raw bytes by name."""
    with np.load(path) as found:
        members: Members = {name: found[name].copy() for name in found.files}
    change(members)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        for name, content in members.items():
            if isinstance(content, np.ndarray):
                buffer = io.BytesIO()
                np.lib.format.write_array(buffer, content)
                content = buffer.getvalue()
            out.writestr(f"{name}.npy", content)
    return path


def manifest(change: Callable[[dict[str, Any]], object]) -> Callable[[Members], None]:
    """A change of the manifest."""

    def apply(members: Members) -> None:
        found = json.loads(members["manifest"].tobytes())
        change(found)
        members["manifest"] = np.frombuffer(json.dumps(found).encode(), np.uint8)

    return apply


def value(table: str, column: str, new: float) -> Callable[[Members], None]:
    """A change of one value."""

    def apply(members: Members) -> None:
        members[table][column][0] = new

    return apply


def header(shape: tuple[int, ...], descr: Any = None) -> bytes:
    """A table that declares a shape and brings nothing."""
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        buffer,
        {
            "descr": descr or np.lib.format.dtype_to_descr(dtype_of("deps")),
            "fortran_order": False,
            "shape": shape,
        },
    )
    return buffer.getvalue()


def believed(members: Members) -> None:
    """A huge table in which header and manifest agree."""
    members["deps"] = header((1 << 40,))
    manifest(lambda found: found["rows"].update(deps=1 << 40))(members)


HOSTILE: dict[str, tuple[Callable[[Members], None], str]] = {
    "table missing": (lambda m: m.pop("mem"), "'mem' is missing"),
    "manifest missing": (lambda m: m.pop("manifest"), "'manifest' is missing"),
    "huge shape": (lambda m: m.update(deps=header((1 << 40,))), "does not hold 1 rows"),
    "huge shape, believed by the manifest": (believed, "declares .* brings 0 bytes"),
    "negative shape": (lambda m: m.update(deps=header((-1,))), "does not hold 1 rows"),
    "two axes": (lambda m: m.update(deps=header((1, 1))), "does not hold 1 rows"),
    "objects": (lambda m: m.update(deps=header((1,), "|O")), "does not hold 1 rows"),
    "another dtype": (lambda m: m.update(deps=np.zeros(1)), "does not hold 1 rows"),
    "rows more than declared": (
        lambda m: m.update(deps=np.zeros(5, dtype_of("deps"))),
        "does not hold 1 rows",
    ),
    "no array": (lambda m: m.update(deps=b"hello"), "does not hold 1 rows|format 1.0"),
    "brackets": (
        lambda m: m.update(deps=b"\x93NUMPY\x01\x00" + b"\x70\x17" + b"(" * 6000),
        "does not hold 1 rows|format 1.0",
    ),
    "code in the header": (
        lambda m: m.update(
            deps=b"\x93NUMPY\x01\x00\x20\x00" + b"__import__('os')".ljust(32)
        ),
        "does not hold 1 rows|format 1.0",
    ),
    "format of the future": (
        lambda m: m.update(deps=b"\x93NUMPY\x09\x00" + b"\x00" * 50),
        "format 1.0",
    ),
    "text that is not there": (value("ops", "name", 1000), "ops.name"),
    "negative text": (value("mem", "device", -1), "mem.device"),
    "negative bytes": (value("mem", "requested", -5), "mem.requested"),
    "negative time": (value("metrics", "t", -5), "metrics.t"),
    "a power that no number has": (value("exponents", "power", 900), "powers of two"),
    "a scale of nothing": (value("tensors", "scale", 0), "scale in tensors"),
    "a scale that is none": (value("scaling", "scale", np.nan), "scale in scaling"),
    "end before start": (value("ops", "t_start", 1 << 40), "ends before it starts"),
    "a truth of 77": (
        lambda m: m["ops"]["failed"].view(np.uint8).__setitem__(0, 77),
        "ops.failed",
    ),
    "unknown memory event": (value("mem", "event", 0), "unknown memory events"),
    "another format": (
        manifest(lambda f: f.update(format="x")),
        "another kind of file",
    ),
    "another version": (manifest(lambda f: f.update(version=99)), "version 99"),
    "no strings": (manifest(lambda f: f.update(strings=[1])), "string table"),
    "no rows": (manifest(lambda f: f.pop("rows")), "'rows'"),
    "half a row": (manifest(lambda f: f["rows"].update(ops=1.5)), "'rows'"),
    "negative drop": (manifest(lambda f: f["dropped"].update(ops=-1)), "'dropped'"),
    "a table twice": (lambda m: m.update({"ops ": m["ops"]}), "no part of one"),
    "a file elsewhere": (
        lambda m: m.update({"/tmp/evil": m["ops"]}),
        "holds .*/tmp/evil.npy.*, no part of one",
    ),
    "a file above": (
        lambda m: m.update({"../../evil": m["ops"]}),
        "no part of one",
    ),
    "more that is no object": (manifest(lambda f: f.update(more=[1])), "'more'"),
    "another table": (manifest(lambda f: f["rows"].update(x=1)), "'rows'"),
    "conditions gone": (manifest(lambda f: f.pop("conditions")), "conditions"),
    "more conditions": (manifest(lambda f: f["conditions"].update(x=1)), "conditions"),
    "seed of text": (manifest(lambda f: f["conditions"].update(seed="1")), "seed"),
    "unknown clock": (manifest(lambda f: f["conditions"].update(clock="x")), "clock"),
    "strange knob": (
        manifest(lambda f: f["conditions"]["knobs"].update(A={"x": 1})),
        "knobs",
    ),
    "list manifest": (
        lambda m: m.update(manifest=np.frombuffer(b"[1]", np.uint8)),
        "not an object",
    ),
    "deep manifest": (
        lambda m: m.update(manifest=np.frombuffer(b"[" * 200_000, np.uint8)),
        "cannot be read",
    ),
    "binary manifest": (
        lambda m: m.update(manifest=np.frombuffer(b"\xff\xfe{}", np.uint8)),
        "cannot be read",
    ),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_file_is_refused(case: str, path: Path) -> None:
    change, message = HOSTILE[case]
    with pytest.raises(DataError, match=message) as refusal:
        Record.load(rewritten(path, change))
    assert str(path) in str(refusal.value)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_table_that_is_there_twice_is_refused(path: Path) -> None:
    with zipfile.ZipFile(path) as archive_:
        content = archive_.read("ops.npy")
    with zipfile.ZipFile(path, "a") as archive_:
        archive_.writestr("ops.npy", content)
    with pytest.raises(DataError, match="a table twice"):
        Record.load(path)


def test_plain_values_are_kept_beside_a_record(record: Record, path: Path) -> None:
    contents, more = archive.load_with_more(path)
    assert more == {}
    about = (contents.strings, contents.dropped, contents.conditions)
    archive.save(path, contents.tables, *about, {"views": ["a:1"]})
    assert archive.load_with_more(path)[1] == {"views": ["a:1"]}
    assert Record.load(path).conditions == record.conditions


def test_a_bomb_is_not_unpacked(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MOST_BYTES", 1 << 20)

    def bomb(members: Members) -> None:
        members["metrics"] = np.zeros(1 << 18, dtype_of("metrics"))
        manifest(lambda f: f["rows"].update(metrics=1 << 18))(members)

    with pytest.raises(DataError, match="claims .* bytes where at most"):
        Record.load(rewritten(path, bomb))


def test_tables_share_one_allowance(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = sum(member.file_size for member in zipfile.ZipFile(path).infolist())
    monkeypatch.setattr(archive, "MOST_BYTES", whole)
    Record.load(path)
    monkeypatch.setattr(archive, "MOST_BYTES", whole - 1)
    with pytest.raises(DataError, match="are allowed"):
        Record.load(path)


def test_missing_files_and_folders(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no such file"):
        Record.load(tmp_path / "nothing.npz")
    with pytest.raises(DataError, match="cannot be read"):
        Record.load(tmp_path)


def test_any_damage_is_a_data_error_or_harmless(path: Path) -> None:
    content = path.read_bytes()
    choice = random.Random(0)
    for _ in range(300):
        broken = bytearray(content)
        for _ in range(choice.randrange(1, 4)):
            broken[choice.randrange(len(broken))] = choice.randrange(256)
        if choice.random() < 0.2:
            del broken[choice.randrange(len(broken)) :]
        path.write_bytes(bytes(broken))
        try:
            Record.load(path).memory_curve()
        except DataError:
            continue
