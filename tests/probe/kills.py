"""Processes that are killed while they save: the file is the old one or the new one.

For each saver a child is forked that kills itself (SIGKILL) at one of the lines that
run while it saves. Then the file is read; and the next one that saves leaves nothing
else in the folder.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import minimx as mx
from minimx import gluon, nd, npx
from minimx.commands.bench import result
from tests.probe.faults import Fault

#: save(folder, number): two numbers give two contents. read(folder): what is there.
Saver = tuple[Callable[[Path, int], Any], Callable[[Path], Any]]


def _numbers(arrays: Any) -> Any:
    items = arrays.values() if isinstance(arrays, dict) else arrays
    return [one.asnumpy().tolist() for one in items]


def savers() -> dict[str, Saver]:
    """Every function that writes a file which a program may want to keep."""
    values = [nd.full((200,), n) for n in (1, 2)]
    nets, trainers, stores = [], [], []
    for n in (1, 2):
        net = gluon.nn.HybridSequential(prefix="net_")
        with net.name_scope():
            net.add(gluon.nn.Dense(3, in_units=4))
        net.initialize(mx.init.Constant(n))
        net.hybridize()
        x = nd.ones((2, 4))
        trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": n / 8})
        store = mx.kv.create("local")
        store.init("w", nd.ones((3,)))
        store.set_optimizer(mx.optimizer.Adam())
        for _ in range(n):
            with mx.autograd.record():
                loss = net(x).sum()
            loss.backward()
            trainer.step(1)
            store.push("w", nd.ones((3,)))
        nets.append(net)
        trainers.append(trainer)
        stores.append(store)
    symbols = [mx.sym.var("a"), mx.sym.var("b") + 1]
    records = []
    for n in (1, 2):
        with mx.Record() as record:
            for _ in range(n):
                nd.ones((2,)).asnumpy()
        records.append(record)
    results = [result.Result({"n": n}, {}, []) for n in (1, 2)]
    fresh = gluon.Trainer(nets[0].collect_params(), "adam")

    def states(folder: Path) -> Any:
        fresh.load_states(folder / "x")
        return fresh.learning_rate

    def stored(folder: Path) -> Any:
        store = mx.kv.create("local")
        store.init("w", nd.ones((3,)))
        store.set_optimizer(mx.optimizer.Adam())
        store.load_optimizer_states(folder / "x")
        return store._updater.optimizer.num_update

    def parameters(folder: Path) -> Any:
        return _numbers(nd.load(str(folder / "x")))

    def exported(folder: Path) -> Any:
        mx.sym.load(str(folder / "x-symbol.json"))
        return _numbers(nd.load(str(folder / "x-0000.params")))

    def whole(folder: Path) -> Any:
        json.loads((folder / "x-model.json").read_text())
        return _numbers(nd.load(str(folder / "x-model.params")))

    def at(folder: Path) -> str:
        return str(folder / "x")

    return {
        "nd.save": (lambda f, n: nd.save(at(f), [values[n]]), parameters),
        "npx.save": (lambda f, n: npx.save(at(f), [values[n]]), parameters),
        "npx.savez": (
            lambda f, n: npx.savez(at(f), values[n]),
            lambda f: _numbers(npx.load(at(f) + ".npz")),
        ),
        "save_parameters": (lambda f, n: nets[n].save_parameters(at(f)), parameters),
        "ParameterDict.save": (
            lambda f, n: nets[n].collect_params().save(at(f)),
            parameters,
        ),
        "Block.save": (lambda f, n: nets[n].save(at(f)), whole),
        "export": (lambda f, n: nets[n].export(at(f)), exported),
        "Symbol.save": (
            lambda f, n: symbols[n].save(at(f)),
            lambda f: mx.sym.load(at(f)).list_outputs(),
        ),
        "save_checkpoint": (
            lambda f, n: mx.model.save_checkpoint(
                at(f), 0, symbols[n], {"w": values[n]}, {}
            ),
            exported,
        ),
        "save_states": (lambda f, n: trainers[n].save_states(at(f)), states),
        "save_optimizer_states": (
            lambda f, n: stores[n].save_optimizer_states(at(f), True),
            stored,
        ),
        "Record.save": (
            lambda f, n: records[n].save(at(f)),
            lambda f: len(mx.Record.load(f / "x").ops()["op"]),
        ),
        "bench.result": (
            lambda f, n: result.save(at(f), results[n]),
            lambda f: result.load(at(f)).machine,
        ),
    }


def lines(run: Callable[[], Any], at: int = -1) -> int:
    """Run, and die at the line of minimx with this number; how many lines ran."""
    count = 0

    def line(frame: Any, event: str, _: Any) -> Any:
        nonlocal count
        if event == "line":
            count += 1
            if count == at:
                os.kill(os.getpid(), signal.SIGKILL)
        return line

    def call(frame: Any, event: str, _: Any) -> Any:
        name = frame.f_code.co_filename
        known = "/minimx/" in name or name.endswith(("pathlib.py", "zipfile.py"))
        return line if known else None

    sys.settrace(call)
    try:
        run()
    finally:
        sys.settrace(None)
    return count


def _killed(run: Callable[[], Any], at: int) -> bool:
    """Whether a child that does this died at that line."""
    child = os.fork()
    if not child:
        try:
            lines(run, at)
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def probe(seed: int, each: int = 10**9, seconds: float = 1e9) -> Iterator[Fault]:
    """Kill every saver `each` times, or for so many seconds in all.

    To be run with the NaiveEngine, in a process without other threads.
    """
    until = time.monotonic() + seconds
    draw = random.Random(seed)
    every: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as place:
        for name, (save, read) in savers().items():
            folder = Path(place, name)
            folder.mkdir()
            save(folder, 1)
            new = read(folder)
            count = lines(partial(save, folder, 0))
            old, usual = read(folder), set(os.listdir(folder))
            if old == new:
                yield Fault(name, "its two contents are the same")
            every[name] = folder, save, read, (old, new), usual, count
        deaths = 0
        for _ in range(each):
            for name, facts in every.items():
                if time.monotonic() > until:
                    return
                folder, save, read, contents, usual, count = facts
                at = draw.randrange(1, count)
                deaths += _killed(partial(save, folder, 1), at)
                try:
                    found = read(folder)
                    if found not in contents:
                        yield Fault(f"{name}: killed at line {at}", f"it has {found}")
                except Exception as reason:
                    yield Fault.of(f"{name}: killed at line {at}", reason)
                save(folder, 0)
                left = set(os.listdir(folder)) - usual
                if left or read(folder) != contents[0]:
                    yield Fault(f"{name}: killed at line {at}", f"left behind: {left}")
        if deaths < each * len(every) // 2:
            yield Fault("kills", f"only {deaths} processes were killed")
