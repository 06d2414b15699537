"""Every reader of files, given damaged ones: an answer, or an error of the family.

A reader is a function of a folder in which its files lie; one of them is damaged at a
time. It reads them and uses what it read, as far as that goes, so that nothing is
believed which only shows later. What it holds (a network, a trainer) must be as before
where it refuses.
"""

from __future__ import annotations

import contextlib
import io
import json
import random
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import minimx as mx
from minimx import autograd, gluon, nd, npx
from minimx.commands.bench import result
from minimx.core.errors import ProfilerError
from minimx.kvstore.simulation import measure
from minimx.profiler.check import check_trace
from minimx.tools import numpy_files
from tests.probe.faults import Fault, ours
from tests.probe.files import header_changed, json_changed, member_changed
from tests.probe.mutations import changed

ROOT = Path(__file__).parents[1]
EXCHANGE = ROOT / "compat" / "answers" / "exchange"
SAMPLES = ROOT / "profiler" / "samples"
X = np.arange(12, dtype="float32").reshape(3, 4) / 8

Mutate = Callable[[bytes, random.Random], bytes]


@dataclass
class Reader:
    """read: given the folder; damage: of the file at its place in `files`."""

    files: dict[str, bytes]
    read: Callable[[Path], Any]
    damage: Mapping[str, Mutate] = field(default_factory=dict)


def _saved(save: Callable[[str], Any]) -> bytes:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "file")
        save(str(place))
        found = next(Path(folder).iterdir())
        return found.read_bytes()


def _net() -> Any:
    net = gluon.nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(gluon.nn.Dense(4, in_units=4), gluon.nn.Dense(2, in_units=4))
    net.initialize(mx.init.One())
    return net


def _values(net: Any) -> list[bytes]:
    return [p.data().asnumpy().tobytes() for p in net.collect_params().values()]


def _all_or_none(load: Callable[[Any, str], None], name: str) -> Callable[[Path], Any]:
    """A reader of a network's values, which stay as they are where it refuses."""
    net = _net()
    before = _values(net)
    at_first = [p.data().copy() for p in net.collect_params().values()]

    def read(folder: Path) -> None:
        try:
            load(net, str(folder / name))
        except BaseException:
            assert _values(net) == before, "a refused file changed values"
            raise
        net(nd.array(X)).asnumpy()
        for parameter, value in zip(
            net.collect_params().values(), at_first, strict=True
        ):
            parameter.set_data(value)

    return read


def _step(net: Any, trainer: Any) -> None:
    with autograd.record():
        loss = (net(nd.array(X)) ** 2).mean()
    loss.backward()
    trainer.step(1)


def _trained(optimizer: str, **settings: Any) -> tuple[Any, Any]:
    net = _net()
    trainer = gluon.Trainer(net.collect_params(), optimizer, settings)
    _step(net, trainer)
    return net, trainer


def _states(optimizer: str, **settings: Any) -> Reader:
    def schedule() -> Any:
        return mx.lr_scheduler.MultiFactorScheduler([2, 5], 0.5, 0.1)

    if settings.pop("scheduled", False):
        settings["lr_scheduler"] = schedule()
    net, trainer = _trained(optimizer, **settings)
    content = _saved(trainer.save_states)

    def now() -> bytes:
        found: bytes = trainer._updaters[0].get_states(True)
        return found

    def read(folder: Path) -> None:
        before = now()
        try:
            trainer.load_states(folder / "states")
        except BaseException:
            assert now() == before, "a refused file changed the trainer"
            raise
        _step(net, trainer)
        nd.waitall()
        trainer.load_states(folder / "sound")

    files = {"states": content, "sound": content}
    return Reader(files, read, {"states": header_changed})


def _store() -> Reader:
    store = mx.kv.create("local")
    store.init("w", nd.ones((3, 4)))
    store.set_optimizer(mx.optimizer.Adam())
    store.push("w", nd.ones((3, 4)))
    content = _saved(lambda path: store.save_optimizer_states(path, True))

    def read(folder: Path) -> None:
        store.load_optimizer_states(folder / "states")
        store.push("w", nd.ones((3, 4)))
        nd.waitall()
        store.load_optimizer_states(folder / "sound")

    files = {"states": content, "sound": content}
    return Reader(files, read, {"states": header_changed})


def _symbols() -> list[Reader]:
    found = []
    for path in sorted(EXCHANGE.glob("*-symbol.json")):

        def read(folder: Path) -> None:
            symbol = mx.sym.load(str(folder / "graph.json"))
            symbol.tojson()
            try:
                symbol.infer_shape_partial()
                symbol.infer_type_partial()
            except Exception as reason:
                if not ours(reason):
                    raise

        found.append(
            Reader(
                {"graph.json": path.read_bytes()}, read, {"graph.json": json_changed}
            )
        )
    return found


def _block(name: str) -> Reader:
    """An exported network, made again from both of its files, and called."""
    files = {
        "net-symbol.json": (EXCHANGE / f"{name}-symbol.json").read_bytes(),
        "net-0000.params": (EXCHANGE / f"{name}-0000.params").read_bytes(),
    }

    def read(folder: Path) -> None:
        block = gluon.SymbolBlock.imports(
            str(folder / "net-symbol.json"), ["data"], str(folder / "net-0000.params")
        )
        block(nd.ones((1, 1, 14, 14))).asnumpy()

    return Reader(files, read, {"net-symbol.json": json_changed})


def _look(batch: Any) -> None:
    batch.data[0].asnumpy()


def _records() -> Reader:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        writer = mx.recordio.MXIndexedRecordIO(
            f"{folder}/x.idx", f"{folder}/x.rec", "w"
        )
        image = (np.arange(768).reshape(16, 16, 3) % 255).astype("uint8")
        for i in range(4):
            head = (0, [1.0, i], i, 0)
            writer.write_idx(i, mx.recordio.pack_img(head, image, 9, ".png"))
        writer.close()
        files = {p.name: p.read_bytes() for p in Path(folder).iterdir()}

    def read(folder: Path) -> None:
        reader = mx.recordio.MXIndexedRecordIO(folder / "x.idx", folder / "x.rec", "r")
        try:
            for key in reader.keys:
                mx.recordio.unpack_img(reader.read_idx(key) or b"")
        finally:
            reader.close()
        images = mx.io.ImageRecordIter(
            path_imgrec=str(folder / "x.rec"),
            data_shape=(3, 16, 16),
            batch_size=2,
            label_width=2,
        )
        for batch in images:
            _look(batch)

    return Reader(files, read)


def _image(form: str) -> Reader:
    image = (np.arange(768).reshape(16, 16, 3) % 255).astype("uint8")
    content = mx.image.codec.encode(image, form)

    def read(folder: Path) -> None:
        mx.image.imread(str(folder / "image")).asnumpy()

    return Reader({"image": content}, read)


def _run_file() -> Reader:
    with mx.Record() as record:
        net, trainer = _trained("sgd")
        _step(net, trainer)
        nd.waitall()
    content = _saved(record.save)

    def read(folder: Path) -> None:
        found = mx.Record.load(folder / "run.npz")
        str(found)
        found.ops()

    return Reader({"run.npz": content}, read, {"run.npz": member_changed})


def _traces() -> list[Reader]:
    import gzip

    def read(folder: Path) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            mx.profiler.load(folder / "trace.json")
        with contextlib.suppress(ProfilerError):  # other profilers break its rules
            check_trace(folder / "trace.json")

    def packed(content: bytes, draw: random.Random) -> bytes:
        if draw.randrange(8) == 0:
            return changed(gzip.compress(content), draw)
        return json_changed(content, draw)

    found = []
    for path in sorted(SAMPLES.glob("*.json.gz")):
        whole = json.loads(gzip.decompress(path.read_bytes()))
        seen: Counter[str] = Counter()
        events = whole["traceEvents"]
        for event in events:  # the first of each kind, in their order
            seen[event["ph"]] += 1
            event["rank"] = seen[event["ph"]]
        whole["traceEvents"] = [e for e in events if e.pop("rank") <= 12]
        text = json.dumps(whole).encode()
        found.append(Reader({"trace.json": text}, read, {"trace.json": packed}))
    return found


def _texts() -> dict[str, Reader]:
    def csv(folder: Path) -> None:
        for batch in mx.io.CSVIter(
            data_csv=str(folder / "x.csv"), data_shape=(3,), batch_size=2
        ):
            _look(batch)

    def svm(folder: Path) -> None:
        for batch in mx.io.LibSVMIter(
            data_libsvm=str(folder / "x.svm"), data_shape=(5,), batch_size=2
        ):
            _look(batch)

    def idx(folder: Path) -> None:
        for batch in mx.io.MNISTIter(
            str(folder / "images"), str(folder / "labels"), batch_size=2
        ):
            _look(batch)

    def vectors(folder: Path) -> None:
        mx.contrib.text.embedding.CustomEmbedding(
            str(folder / "vectors"), init_unknown_vec=nd.zeros
        )

    head = np.array([3, 4, 4], ">u4").tobytes()
    return {
        "CSVIter": Reader({"x.csv": b"1,2,3\n4,5,6\n7,8,9.5\n"}, csv),
        "LibSVMIter": Reader({"x.svm": b"1 0:1 3:2.5\n0 1:3\n1 2:1 4:7\n"}, svm),
        "MNISTIter": Reader(
            {
                "images": b"\0\0\x08\x03" + head + bytes(48),
                "labels": b"\0\0\x08\x01" + np.array([3], ">u4").tobytes() + bytes(3),
            },
            idx,
        ),
        "CustomEmbedding": Reader({"vectors": b"a 1 2 3\nb 4 5 6\nc 7 8 9\n"}, vectors),
    }


def _machines() -> dict[str, Reader]:
    facts = {
        "name": "m", "cores": 2, "memory": 1e10, "host_memory": 1e10, "together": 1.5,
        "update": [1e-6, 1e9], "message": [1e-6, 1e9], "sums": {"2": [1e-6, 1e9]},
    }  # fmt: skip
    cell = {"model": "m", "batch": 2, "status": "ok", "seconds": [0.1, 0.2]}
    run = {"format": result.FORMAT, "machine": {}, "settings": {}, "cells": [cell]}
    as_json = {"file": json_changed}
    return {
        "measure.load": Reader(
            {"file": json.dumps(facts).encode()},
            lambda folder: measure.load(folder / "file"),
            as_json,
        ),
        "bench.result": Reader(
            {"file": json.dumps(run).encode()},
            lambda folder: result.load(folder / "file"),
            as_json,
        ),
    }


def readers() -> dict[str, Reader]:
    """All of them, by name."""
    several = {"a": nd.array(X), "b": nd.ones((2,), dtype="int8"), "c": nd.ones((1, 2))}
    sparse = nd.array(X).tostype("csr")
    rows = nd.array(X).tostype("row_sparse")
    listed = [nd.array(X, dtype="float16"), sparse, rows]
    named = _saved(lambda path: nd.save(path, several))
    packed = io.BytesIO()
    np.savez_compressed(packed, x=X, y=np.ones(3), z=X > 0)
    plain = io.BytesIO()
    np.save(plain, X)
    net = _net()

    def arrays(load: Callable[[str], Any]) -> Callable[[Path], Any]:
        def read(folder: Path) -> None:
            found = load(str(folder / "file"))
            items = found.values() if isinstance(found, dict) else found
            for one in items if isinstance(items, list) else list(items):
                one.asnumpy()

        return read

    def one(load: Callable[[str], Any]) -> Callable[[Path], Any]:
        return lambda folder: load(str(folder / "file"))

    def checkpoint(folder: Path) -> None:
        mx.model.load_checkpoint(str(folder / "net"), 0)

    export = {
        "net-symbol.json": (EXCHANGE / "lenet-symbol.json").read_bytes(),
        "net-0000.params": (EXCHANGE / "lenet-0000.params").read_bytes(),
    }
    structure = _all_or_none(lambda net, path: net.load(path), "net")
    saved = _saved_block(net)
    zipped = {"file": member_changed}
    return {
        "nd.load": Reader({"file": named}, arrays(nd.load)),
        "nd.load of a list": Reader(
            {"file": _saved(lambda path: nd.save(path, listed))}, arrays(nd.load)
        ),
        "npx.load of .npz": Reader(
            {"file": _saved(lambda path: npx.savez(path, x=nd.array(X), y=nd.ones(3)))},
            arrays(npx.load),
            zipped,
        ),
        "npx.load of packed .npz": Reader(
            {"file": packed.getvalue()}, arrays(npx.load), zipped
        ),
        "npx.load of .npy": Reader({"file": plain.getvalue()}, one(npx.load)),
        "npx.load": Reader({"file": named}, arrays(npx.load)),
        "numpy_files": Reader({"file": plain.getvalue()}, one(numpy_files.load)),
        "load_parameters": Reader(
            {"file": _saved(net.save_parameters)},
            _all_or_none(lambda net, path: net.load_parameters(path), "file"),
        ),
        "ParameterDict.load": Reader(
            {"file": _saved(lambda path: net.collect_params().save(path))},
            _all_or_none(lambda net, path: net.collect_params().load(path), "file"),
        ),
        "Block.load": Reader(saved, structure, {"net-model.json": json_changed}),
        "load_checkpoint": Reader(
            export, checkpoint, {"net-symbol.json": json_changed}
        ),
        "SymbolBlock.imports": _block("lenet"),
        "load_states of sgd": _states("sgd", momentum=0.9, scheduled=True),
        "load_states of adam": _states("adam"),
        "kvstore states": _store(),
        "recordio": _records(),
        "imread of .png": _image(".png"),
        "imread of .jpg": _image(".jpg"),
        "Record.load": _run_file(),
        **{f"symbol.load {i}": reader for i, reader in enumerate(_symbols())},
        **{f"profiler.load {i}": reader for i, reader in enumerate(_traces())},
        **_texts(),
        **_machines(),
    }


def _saved_block(net: Any) -> dict[str, bytes]:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        net.save(f"{folder}/net")
        return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


def probe(
    folder: Path, seed: int, each: int = 10**9, seconds: float = 1e9, only: str = ""
) -> Iterator[Fault]:
    """Damage the files of every reader `each` times, or for so many seconds in all."""
    every = {name: r for name, r in readers().items() if only in name}
    until = time.monotonic() + seconds
    for reader in every.values():
        for file, content in reader.files.items():
            (folder / file).write_bytes(content)
        reader.read(folder)  # a sound file is read
    for turn in range(each):
        for name, reader in every.items():
            if time.monotonic() > until:
                return
            draw = random.Random(f"{seed} {turn} {name}")
            yield from _one(folder, name, reader, draw)


def _one(
    folder: Path, name: str, reader: Reader, draw: random.Random
) -> Iterator[Fault]:
    """One damaged file, read."""
    for file, content in reader.files.items():
        (folder / file).write_bytes(content)
    damaged = draw.choice([file for file in reader.files if file != "sound"])
    mutate = reader.damage.get(damaged, changed)
    (folder / damaged).write_bytes(mutate(reader.files[damaged], draw))
    begun = time.monotonic()
    try:
        reader.read(folder)
        nd.waitall()
    except Exception as reason:
        if not ours(reason):
            yield Fault.of(f"{name}: {damaged}", reason)
            (folder / f"fault-{name}-{damaged}".replace(" ", "_")).write_bytes(
                (folder / damaged).read_bytes()
            )
    took = time.monotonic() - begun
    if took > 5:
        yield Fault(f"{name}: {damaged}", f"took {took:.0f} seconds")
