"""Views with nothing to show, and with more than fits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import minimx as mx
import minimx_widgets as views
from minimx.commands.bench.result import Cell, Result
from minimx.commands.bench.run import Plan
from minimx.core import autograd
from minimx.core.dtypes import POWERS
from minimx.core.record import TABLES, Record, dtype_of
from minimx.core.record.tables import Contents
from minimx.gluon import nn
from minimx.kvstore.simulation import Layer, Workload
from minimx.tools.tape_watch import Watch
from minimx_widgets.lab.turns import Turns
from minimx_widgets.scheduler.program import Program, op
from minimx_widgets.training.comparing import Comparison, Side
from minimx_widgets.training.meter import Facts
from minimx_widgets.training.predictions import Probe
from minimx_widgets.training.training import Settings
from tests.widgets.image_data import pictures
from tests.widgets.sights import images, ready
from tests.widgets.views.test_bench_curves import MACHINE

LONG = "a_rather_long_name_that_nobody_would_type_but_a_generator_of_networks_would"
LANES, DEVICES, OPERATIONS = 500, 64, 3000
TERABYTE = 10**12
MIB = 2.0**20


def network(layers: int = 1, prefix: str = "net_") -> Any:
    """Dense layers, one after the other."""
    net = nn.HybridSequential(prefix=prefix)
    with net.name_scope():
        for _ in range(layers):
            net.add(nn.Dense(8, activation="relu", in_units=8))
    net.initialize()
    return net


def record() -> Record:
    """Long names, 500 lanes of 64 devices, a terabyte, turned knobs, 200 layers."""
    texts = ["", "other", "forward", "backward", "update", "RAW", "float32", "alloc"]
    texts += ["activation", "parameter", "gradient", "weight", "loss", "accuracy"]
    texts += ["MXNET_HOME", LONG, f"{LONG}_{LONG}", "restart", "free", "communication"]
    texts += [f"{LONG}_{k}" for k in range(200)]
    texts += [f"{LONG}/stage{k // 10}/{LONG}_{k}" for k in range(200, 400)]
    texts += [f"gpu({k})" for k in range(DEVICES)]
    texts += [f"gpu({k % DEVICES})/{k // DEVICES}" for k in range(LANES)]
    texts += ["host", *(f"{k}" for k in range(200) if f"{k}" not in texts)]
    at = {text: i for i, text in enumerate(texts)}
    tables = {name: np.zeros(0, dtype_of(name)) for name in TABLES}
    n = np.arange(OPERATIONS)
    ops = tables["ops"] = np.zeros(OPERATIONS, dtype_of("ops"))
    ops["op"] = n + 1
    ops["name"] = at[f"{LONG}_0"] + n % 200
    layers = np.array(
        [at[f"{LONG}/stage{k // 10}/{LONG}_{k}"] for k in range(200, 400)]
    )
    ops["layer"] = layers[n % 200]
    ops["phase"] = np.array([at["forward"], at["backward"], at["update"]])[
        n * 3 // 500 % 3
    ]
    ops["device"] = at["gpu(0)"] + n % DEVICES
    ops["worker"] = at["gpu(0)/0"] + n % LANES
    ops["t_start"] = 10_000 + 40_000 * n
    ops["t_push"], ops["t_ready"] = ops["t_start"] - 5000, ops["t_start"] - 2000
    ops["t_end"] = ops["t_start"] + 30_000
    ops["flops"], ops["nbytes"] = TERABYTE * n, TERABYTE
    ops["dtype"] = at["float32"]
    deps = tables["deps"] = np.zeros(OPERATIONS - 1, dtype_of("deps"))
    deps["src"], deps["dst"], deps["kind"] = ops["op"][:-1], ops["op"][1:], at["RAW"]
    mem = tables["mem"] = np.zeros(400, dtype_of("mem"))
    m = np.arange(400)
    mem["t"], mem["op"] = ops["t_start"][7 * m], ops["op"][7 * m]
    mem["event"] = np.where(m < 300, at["alloc"], at["free"])
    mem["block"] = np.where(m < 300, m + 1, m - 299)
    mem["device"] = at["gpu(0)"] + np.where(m < 300, m, m - 300) % DEVICES
    mem["requested"] = mem["rounded"] = TERABYTE
    mem["address"] = TERABYTE * (mem["block"] // DEVICES)
    mem["name"], mem["layer"] = ops["name"][7 * m], ops["layer"][7 * m]
    mem["phase"], mem["category"] = ops["phase"][7 * m], at["activation"] + m % 3
    turned = tables["knobs"] = np.zeros(40, dtype_of("knobs"))
    turned["t"] = ops["t_start"][:: OPERATIONS // 40][:40]
    turned["name"], turned["scope"] = at["MXNET_HOME"], at["restart"]
    turned["old"], turned["new"] = at[LONG], at[f"{LONG}_{LONG}"]
    comm = tables["comm"] = np.zeros(512, dtype_of("comm"))
    c = np.arange(512)
    comm["t0"], comm["t1"] = ops["t_start"][-512 + c], ops["t_end"][-512 + c] + 90_000
    comm["key"] = np.array([at[f"{k}"] for k in range(200)])[c % 200]
    comm["src"] = np.where(c % 2, at["host"], at["gpu(0)"] + c // 2 % DEVICES)
    comm["dst"] = np.where(c % 2, at["gpu(0)"] + c // 2 % DEVICES, at["host"])
    comm["nbytes"], comm["phase"] = TERABYTE, at["update"]
    metrics = tables["metrics"] = np.zeros(60, dtype_of("metrics"))
    metrics["t"] = ops["t_start"][:: OPERATIONS // 60][:60]
    metrics["step"] = np.arange(60) * TERABYTE + 1
    metrics["name"], metrics["value"] = at["loss"], 10.0 ** np.linspace(-30, 30, 60)
    _tensors(tables, at, layers)
    conditions: dict[str, Any] = {"knobs": {}, "seed": 0, "clock": "wall", "cores": 0}
    conditions |= {"devices": {f"gpu({k})": TERABYTE for k in range(DEVICES)}}
    conditions |= {"t_start": 0, "t_stop": int(ops["t_end"].max())}
    return Record.of(Contents(tables, texts, dict.fromkeys(TABLES, 0), conditions))


def _tensors(tables: dict[str, Any], at: dict[str, int], layers: Any) -> None:
    """Numbers of 200 layers, in two looks."""
    looks = np.arange(400)
    tensors = tables["tensors"] = np.zeros(400, dtype_of("tensors"))
    tensors["look"], tensors["t"] = looks, 10_000 + 1000 * looks
    tensors["step"] = 1 + TERABYTE * (looks // 200)
    tensors["kind"], tensors["layer"] = at["gradient"], layers[looks % 200]
    tensors["name"] = at[f"{LONG}_0"] + looks % 200
    tensors["dtype"] = tensors["used"] = at["float32"]
    tensors["scale"], tensors["size"] = 2.0**24, TERABYTE
    tensors["infinite"] = looks % 7 == 0
    tensors["squares"] = 1e30
    powers = tables["exponents"] = np.zeros(400 * 5, dtype_of("exponents"))
    powers["look"] = np.repeat(looks, 5)
    powers["power"] = np.tile([-40, -24, -3, 5, 20], 400)
    assert POWERS[0] <= -40
    powers["count"] = TERABYTE // 5
    scaling = tables["scaling"] = np.zeros(30, dtype_of("scaling"))
    scaling["t"], scaling["step"] = 10_000 + 1000 * np.arange(30), np.arange(30) + 1
    scaling["scale"], scaling["skipped"] = 2.0**120, np.arange(30) % 3 == 0
    scaling["tensor"], scaling["layer"] = at[f"{LONG}_3"], layers[3]
    scaling["many"] = TERABYTE


def looked(classes: int = 4, names: tuple[str, ...] = ()) -> views.DataView:
    """Images and what a network says of them."""
    data = images(classes, count=2 * classes)
    return views.DataView(ready(data, classes), data, names=names, parts="all")


def turned() -> Turns:
    """Turns of knobs with long values; figures of a terabyte and of a day."""
    turns = Turns()
    low = {
        "peak": 1.0 * TERABYTE,
        "planned": 3.0 * TERABYTE,
        "ms": 8.64e7,
        "loss": 1e30,
    }
    more = {"reserved": 64.0 * TERABYTE, "pushes": 1e9, "driver_calls": 1e9}
    step = 0
    for turn in range(40):
        for _ in range(12):
            step += 10**9
            turns.stepped(step, Facts(**{**low, **more}))
        turns.turned("MXNET_EXEC_ENABLE_INPLACE", "0", "1")
        turns.note(
            "MXNET_EXEC_ENABLE_INPLACE", f"bound again, as {LONG} and {LONG} did"
        )
        turns.turned("MXNET_HOME", f"/{LONG}/{turn}", f"/{LONG}/{LONG}/{turn + 1}")
        turns.note("MXNET_HOME", f"read when {LONG} is looked up in {LONG} again")
    return turns


def taped(net: Any) -> views.TapeStepper:
    """The tape of a forward and a backward pass."""
    x = mx.nd.ones((4, 8))
    with Watch() as watch:
        with autograd.record():
            loss = net(x).sum()
        loss.backward()
    return views.TapeStepper(watch)


def deep() -> Any:
    """40 layers whose names have 80 letters."""
    net = network(40, prefix=f"{LONG}_")
    net(mx.nd.ones((4, 8)))
    return net


def measured() -> views.BenchCurves:
    """Networks with long names, a billion images a second."""
    plan = Plan("score", ("vgg16",), (1, 1 << 20), ctx="gpu")
    cells = [
        Cell(f"{LONG}_{k}", batch, "ok", 1e9 * batch, (1e-9,), TERABYTE)
        for k in range(30)
        for batch in (1, 64, 4096, 1 << 20)
    ]
    cells += [Cell(f"{LONG}_0", 1 << 22, "oom", note=f"{LONG} {LONG} {LONG}")]
    return views.BenchCurves(Result(MACHINE, plan.settings, cells))


def compared() -> views.SideBySide:
    """A comparison that has not begun, of sides with long names."""
    mine = Settings(network="mlp", data=pictures(), batch_size=32)
    return views.SideBySide(
        Comparison(Side("A", f"{LONG} on", mine), Side("B", f"{LONG} off", mine))
    )


def busy() -> views.SchedulerStepper:
    """60 operations with long names, on eight workers."""
    made = [
        op(f"{LONG}_{k}", reads=f"{LONG}_v{k}", writes=f"{LONG}_v{k + 1}", cost=10**6)
        for k in range(30)
    ]
    made += [op(f"{LONG}_w{k}", writes=f"{LONG}_x{k}", cost=3) for k in range(30)]
    return views.SchedulerStepper(Program.of(*made), workers=8)


def switches() -> views.FiveSwitches:
    """Each switch has a turn with a long note."""
    return views.FiveSwitches(lambda name, text: None, turns=turned())


Make = Callable[[], Any]
OF_RECORDS = (
    *("TrainingMonitor", "MemoryTimeline", "PoolMap", "EngineTimeline", "DeviceView"),
    *("Overview", "NumericsMonitor"),
)


def _of(name: str, make: Callable[[], Record]) -> Make:
    return lambda: getattr(views, name)(make())


def _measured(of: Record) -> views.KVStoreView:
    """What a record holds of communication."""
    view = views.KVStoreView(record=of)
    view.choose(source="measured")
    return view


#: Views without anything to show.
EMPTY: dict[str, Make] = {
    **{name: _of(name, Record) for name in OF_RECORDS},
    "KVStoreView": lambda: views.KVStoreView(record=Record()),
    "KVStoreView, measured": lambda: _measured(Record()),
    "DataView": lambda: views.DataView(Probe()),
    "ABCompare": lambda: views.ABCompare(Record(), Record()),
    "SideBySide": compared,
    "BeforeAfter": views.BeforeAfter,
    "FiveSwitches": lambda: views.FiveSwitches(lambda name, text: None),
    "KnobPanel": lambda: views.KnobPanel(only=()),
    "TapeStepper": lambda: views.TapeStepper(Watch()),
    "GraphPassDiff": lambda: views.GraphPassDiff(nn.Identity(), data=(4, 8)),
    "MemoryPlan": lambda: views.MemoryPlan(nn.Identity(), data=(4, 8)),
    "MirrorExplorer": lambda: views.MirrorExplorer(nn.Identity(), data=(4, 8)),
    "BenchCurves": lambda: views.BenchCurves(
        Result(MACHINE, Plan("score", ("vgg16",), (1,)).settings,
               [Cell("vgg16", 1, "oom", note="full")])
    ),
}  # fmt: skip

#: Views with more than fits.
MUCH: dict[str, Make] = {
    **{name: _of(name, record) for name in OF_RECORDS},
    "KVStoreView": lambda: views.KVStoreView(record=record()),
    "KVStoreView, modelled": lambda: views.KVStoreView(
        Workload(
            tuple(Layer(f"{LONG}_{k}", TERABYTE, 9.0, 9.0, rows=4) for k in range(60))
        ),
        store="ring", cluster="cloud", workers=4096,
    ),
    "DataView": lambda: looked(30, tuple(f"{LONG} {k}" for k in range(30))),
    "ABCompare": lambda: views.ABCompare(
        record(), record(), names=(f"{LONG} A", f"{LONG} B")
    ),
    "BeforeAfter": lambda: views.BeforeAfter(turned()),
    "FiveSwitches": switches,
    "TapeStepper": lambda: taped(deep()),
    "ConvChooser": lambda: views.ConvChooser(
        _convolutions(), data=(4, 3, 32, 32)
    ),
    "GraphPassDiff": lambda: views.GraphPassDiff(deep(), data=(4, 8)),
    "MemoryPlan": lambda: views.MemoryPlan(deep(), data=(4, 8)),
    "MirrorExplorer": lambda: views.MirrorExplorer(deep(), data=(4, 8)),
    "SchedulerStepper": busy,
    "BenchCurves": measured,
}  # fmt: skip


def _convolutions() -> Any:
    net = nn.HybridSequential(prefix=f"{LONG}_")
    with net.name_scope():
        for _ in range(30):
            net.add(nn.Conv2D(4, 3, padding=1))
    net.initialize()
    net(mx.nd.ones((1, 3, 32, 32)))
    return net
