"""Registered policies in the running system: chosen by name, and given up."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx import autograd, gluon, nd
from minimx.core import engine, storage
from minimx.core.device import cpu, gpu
from minimx.core.errors import ArgumentError, KnobError
from minimx.core.knobs import knobs
from minimx.kvstore.topology import trees_for
from minimx.policies import PolicyError, PolicyWarning, trees, watching
from minimx.policies.planners import PLANNERS
from minimx.policies.pools import POOLS
from minimx.policies.registry import KINDS, unregister
from minimx.policies.scalers import SCALERS
from minimx.policies.schedulers import SCHEDULERS
from minimx.policies.trees import TREES
from tests.policies.examples import MODULES, example_of

POOL = "MXNET_CPU_MEM_POOL_TYPE"
ENGINE = "MXNET_ENGINE_TYPE"
#: Requests of so many bytes are what the policies below fail at.
FATAL = 4 * 7919


class Pages:
    def size(self, nbytes: int, idle: Any) -> int:
        return -(-nbytes // 8192) * 8192


class FailsLater:
    def size(self, nbytes: int, idle: Any) -> int:
        return 1 if nbytes == FATAL else nbytes


class NewestFirst:
    def pick(self, ready: Sequence[Any]) -> int:
        if ready[-1].name == "fatal":
            raise ValueError("I cannot decide")
        return len(ready) - 1


class Apart:
    def assign(self, results: Sequence[Any]) -> list[int]:
        return list(range(len(results)))


class Mean:
    """Right in checks, wrong for the graph below, which has three results."""

    def assign(self, results: Sequence[Any]) -> list[int]:
        return list(range(len(results))) if len(results) > 8 else [0] * len(results)


def trained() -> list[float]:
    """The losses of a few steps; what allocates and schedules must not change them."""
    mx.random.seed(3)
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(16, activation="tanh"), gluon.nn.Dense(4))
    net.initialize()
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    found = []
    for _ in range(3):
        with autograd.record():
            loss = (net(nd.array(np.arange(24.0).reshape(3, 8) / 24)) ** 2).mean()
        loss.backward()
        trainer.step(1)
        found.append(float(loss.asscalar()))
    return found


# -- names -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("module", "register"),
    [
        *zip(
            MODULES,
            (
                mx.storage.register_pool,
                mx.engine.register,
                mx.policies.register_planner,
                mx.kvstore.register_tree,
                mx.amp.register_scaler,
            ),
            strict=True,
        )
    ],
    ids=lambda one: one.__name__,
)
def test_a_call_or_a_decorator_registers_and_unregister_forgets(
    module: Any, register: Any
) -> None:
    policy = example_of(module)
    kind = next(one for one in KINDS if hasattr(policy, one.method))
    chosen = {knob: knobs.declared[knob].choices for knob in kind.knobs}
    assert register(policy) is policy
    assert register("Second")(policy) is policy
    assert register("Third", policy) is policy
    assert set(kind.entries) == {policy.__name__, "Second", "Third"}
    for knob in kind.knobs:
        assert knobs.declared[knob].choices == (*chosen[knob], *kind.entries)
        with knobs(**{knob: "Third"}):
            assert knobs.get(knob) == "Third"
    unregister("Third")
    unregister(policy)
    assert not kind.entries
    assert {knob: knobs.declared[knob].choices for knob in kind.knobs} == chosen
    for knob in kind.knobs:
        with pytest.raises(KnobError, match="choose"):
            knobs.set(**{knob: "Third"})
    with pytest.raises(ArgumentError, match="not registered"):
        unregister("Third")


def test_names_that_are_taken_and_classes_that_are_none_are_refused() -> None:
    with pytest.raises(ArgumentError, match="'Naive' is a pool of minimx"):
        mx.storage.register_pool("Naive", Pages)
    with pytest.raises(ArgumentError, match="no name"):
        mx.storage.register_pool("my pool", Pages)
    with pytest.raises(ArgumentError, match=r"is a pool; a scheduler has pick\(\)"):
        mx.engine.register(Pages)
    with pytest.raises(ArgumentError, match="has none of the methods"):
        mx.storage.register_pool("Text", str)
    with pytest.raises(ArgumentError, match="the class itself"):
        mx.storage.register_pool("Pages", Pages())
    assert not any(kind.entries for kind in KINDS)


def test_a_refused_policy_leaves_everything_as_it_was() -> None:
    class Tiny:
        def size(self, nbytes: int, idle: Any) -> int:
            return 1

    before = knobs.snapshot(), storage.stats(cpu()).pool
    with pytest.raises(PolicyError) as lesson:
        mx.storage.register_pool(Tiny)
    assert lesson.value.__notes__ == [
        "Nothing was registered; the runtime is as it was."
    ]
    assert (knobs.snapshot(), storage.stats(cpu()).pool) == before
    assert knobs.declared[POOL].choices == ("Naive", "Round", "Unpooled")


def test_registered_again_the_new_class_decides_at_once() -> None:
    mx.storage.register_pool("Mine", Pages)
    with knobs(**{POOL: "Mine"}):

        class Exact:
            def size(self, nbytes: int, idle: Any) -> int:
                return nbytes

        mx.storage.register_pool("Mine", Exact)
        assert knobs.get(POOL) == "Mine"
        block = storage.pool_for(cpu()).alloc(5000)
        assert block.size == 5000
        block.free()


def test_an_unregistered_policy_decides_no_more() -> None:
    mx.storage.register_pool(Pages)
    with knobs(**{POOL: "Pages"}):
        assert storage.stats(cpu()).pool == "Pages"
        unregister(Pages)
        assert (knobs.get(POOL), storage.stats(cpu()).pool) == ("Naive", "Naive")


def planned(name: str) -> str:
    with knobs(MINIMX_MEMORY_PLANNER=name, MXNET_USE_FUSION=False):
        return bound()


def bound() -> str:
    """How much memory the plan of a small graph takes."""
    x = mx.sym.var("x")
    for _ in range(4):
        x = mx.sym.softmax(mx.sym.reverse(x, axis=0))
    net = x.simple_bind(mx.cpu(), "null", x=(256, 1024))
    return str(net.debug_str().splitlines()[-2])


def all_trees() -> object:
    return trees_for([cpu(k) for k in range(4)])


@pytest.mark.parametrize(
    ("register", "policy", "knob", "look"),
    [
        (mx.storage.register_pool, Pages, POOL, lambda: storage.stats(cpu()).pool),
        (mx.engine.register, NewestFirst, ENGINE, lambda: trained()),
        (
            mx.policies.register_planner,
            Apart,
            "MINIMX_MEMORY_PLANNER",
            lambda: bound(),
        ),
        (
            mx.kvstore.register_tree,
            trees.Direct,
            "MINIMX_KVSTORE_TREE",
            lambda: all_trees(),
        ),
    ],
    ids=["pool", "engine", "planner", "tree"],
)
def test_a_block_that_puts_a_gone_name_back_gets_the_built_in_and_a_warning(
    register: Any, policy: type, knob: str, look: Any
) -> None:
    usual = look()
    register("Gone", policy)
    knobs.set(**{knob: "Gone"})
    try:
        with pytest.warns(PolicyWarning, match="'Gone' is no .* decides in its place"):
            with knobs(**{knob: None}):
                unregister("Gone")
            assert knobs.get(knob) == "Gone"
            assert look() == usual
    finally:
        knobs.reset(knob)


# -- in the running system -------------------------------------------------------------


def test_a_pool_of_ones_own_serves_arrays_of_cpu_and_gpu() -> None:
    wanted = trained()
    mx.storage.register_pool(Pages)
    with knobs(MXNET_CPU_MEM_POOL_TYPE="Pages", MXNET_GPU_MEM_POOL_TYPE="Pages"):
        assert trained() == wanted
        x = nd.ones((3000,), ctx=gpu())
        x.wait_to_read()
        assert storage.stats(gpu()).pool == "Pages"
        assert storage.stats(gpu()).live_rounded % 8192 == 0
        del x


def test_a_pool_that_fails_later_is_replaced_and_nothing_is_lost() -> None:
    mx.storage.register_pool(FailsLater)
    entry = POOLS.entries["FailsLater"]
    kept = nd.arange(1000)
    with knobs(**{POOL: "FailsLater"}):
        before = nd.arange(1000)
        with pytest.warns(PolicyWarning, match="FailsLater, registered as") as seen:
            fatal = nd.ones((FATAL // 4,))
            assert fatal.sum().asscalar() == FATAL // 4
            entry.wait()
        text = str(seen[0].message)
        assert (
            f"size({FATAL}" in text and "gives 1" in text and "Naive took over" in text
        )
        assert seen[0].filename == __file__
        assert (knobs.get(POOL), storage.stats(cpu()).pool) == ("Naive", "Naive")
        assert not POOLS.entries
        assert (before == kept).asnumpy().all()
    pool = storage.pool_for(cpu())
    in_use = sum(block.size for block in pool.in_use())
    idle = sum(size * count for size, count in pool.idle().items())
    assert pool.held == in_use + idle


def test_a_scheduler_of_ones_own_picks_and_results_stay() -> None:
    wanted = trained()
    mx.engine.register(NewestFirst)
    with knobs(**{ENGINE: "NewestFirst"}):
        assert engine.engine_type() == "NewestFirst"
        assert trained() == wanted
        order, first = [], threading.Event()
        engine.push(first.wait, cpu(), (), [engine.Var()], "first")
        for number in range(4):
            run = lambda number=number: order.append(number)  # noqa: E731
            engine.push(run, cpu(), (), [engine.Var()], f"op{number}")
        first.set()
        engine.wait_all()
        assert sorted(order) == [0, 1, 2, 3]
        assert order[-1] < 3  # the newest of them did not come last


def test_a_scheduler_of_ones_own_decides_in_virtual_time() -> None:
    mx.engine.register(NewestFirst)
    order: list[int] = []
    with knobs(MXNET_ENGINE_TYPE="NewestFirst", MINIMX_CLOCK="virtual"):
        from minimx.core.ops.spec import Cost

        work = Cost(10**9, 1)
        engine.push(lambda: None, cpu(), (), [engine.Var()], "first", cost=work)
        for number in range(4):
            run = lambda number=number: order.append(number)  # noqa: E731
            engine.push(run, cpu(), (), [engine.Var()], f"op{number}")
        engine.wait_all()
    assert order == [3, 2, 1, 0]


class LoopsLater:
    """Picks the first, and for an operation named "fatal" never comes to an end."""

    def pick(self, ready: Any) -> int:
        while any(one.name == "fatal" for one in ready):
            sum(range(1000))
        return 0


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (NewestFirst, "ValueError: I cannot decide"),
        (LoopsLater, "no answer after 0.3 s"),
    ],
)
def test_a_scheduler_that_fails_or_loops_later_is_replaced_and_all_operations_run(
    policy: type, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "LIMIT", 0.3)
    mx.engine.register(policy)
    entry = SCHEDULERS.entries[policy.__name__]
    done: list[int] = []
    with knobs(**{ENGINE: policy.__name__}):
        with pytest.warns(PolicyWarning, match=words):
            for number in range(20):
                run = lambda number=number: done.append(number)  # noqa: E731
                name = "fatal" if number == 11 else "fine"
                engine.push(run, cpu(), (), [engine.Var()], name)
            engine.wait_all()
            entry.wait()
        assert sorted(done) == list(range(20))
        assert engine.engine_type() == "ThreadedEnginePerDevice"
    assert trained()


def test_a_planner_of_ones_own_plans_graphs() -> None:
    wanted = trained()
    mx.policies.register_planner(Apart)
    assert planned("sharing") == planned("by_size") == "Total 2 MB allocated"
    assert planned("Apart") == "Total 4 MB allocated"
    with knobs(MINIMX_MEMORY_PLANNER="Apart"):
        assert trained() == wanted


def test_a_planner_that_fails_for_a_graph_is_replaced() -> None:
    mx.policies.register_planner(Mean)
    entry = PLANNERS.entries["Mean"]
    # Compiled while warnings are looked at, a kernel would put the filters back.
    bound()
    nd.waitall()
    # A second plan of the same graph may find the name gone already, and says so.
    with pytest.warns(PolicyWarning, match="sharing (took over|decides)") as seen:
        assert planned("Mean") == "Total 2 MB allocated"
        entry.wait()
    assert any("sharing took over" in str(each.message) for each in seen)
    assert knobs.get("MINIMX_MEMORY_PLANNER") == "sharing"


def test_a_loss_scaler_of_ones_own_scales() -> None:
    class Eighth:
        def scale(self, scale: float, good: int, overflow: bool) -> float:
            if scale == 3.0:
                raise OverflowError("three")
            return scale / 8 if overflow else scale

    mx.amp.register_scaler(Eighth)
    scaler = mx.amp.LossScaler(policy="Eighth")
    scaler.update(True)
    scaler.update(False)
    assert scaler.loss_scale == 2**13
    entry = SCALERS.entries["Eighth"]
    failing = mx.amp.LossScaler(init_scale=3.0, policy="Eighth")
    with pytest.warns(PolicyWarning, match="doubling took over"):
        failing.update(True)
        entry.wait()
    assert failing.next_loss_scale == 1.5
    with pytest.raises(ArgumentError, match="no loss scaler is called 'Eighth'"):
        mx.amp.LossScaler(policy="Eighth")


def test_a_trainer_takes_a_loss_scaler_by_its_name() -> None:
    @mx.amp.register_scaler("Steady")
    class Steady:
        def scale(self, scale: float, good: int, overflow: bool) -> float:
            return scale / 2 if overflow else scale

    net = gluon.nn.Dense(1, in_units=1)
    net.initialize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", update_on_kvstore=False)
    mx.amp.init()
    try:
        mx.amp.init_trainer(trainer, "Steady")
    finally:
        mx.amp.shutdown()
    assert trainer._amp_loss_scaler.loss_scale == 2**16


def test_a_tree_knob_moves_the_trees_and_fails_over() -> None:
    devices = [cpu(k) for k in range(4)]
    usual = trees_for(devices)

    @mx.kvstore.register_tree("Line")
    class Line:
        """From neighbour to neighbour, where all are joined; else to the root."""

        def parents(self, links: Any, root: int) -> list[int]:
            count = len(links)
            if count == 3:
                return [root] * 2
            whole = all(
                links[a][b] for a in range(count) for b in range(count) if a != b
            )
            found = [root] * count
            for k in range(count):
                if k != root and whole:
                    found[k] = (k + 1) % count
                elif k != root and not links[k][root]:
                    found[k] = max(
                        (j for j in range(count) if links[j][root]),
                        key=lambda j: links[k][j],  # noqa: B023
                    )
            return found

    with knobs(MINIMX_KVSTORE_TREE="Line"):
        assert str(trees_for(devices)[0]) == "0 / 0 3 / 3 2 / 2 1"
        entry = TREES.entries["Line"]
        with pytest.warns(PolicyWarning, match="mxnet took over"):
            assert len(trees_for(devices[:3])) == 3
            entry.wait()
        assert trees_for(devices) == usual
    values = [nd.array([1.0, 2.0], ctx=device) for device in devices]
    with knobs(MINIMX_KVSTORE_TREE="direct", MXNET_KVSTORE_USETREE=True):
        store = mx.kv.create("device")
        store.init("w", nd.zeros(2))
        store.push("w", values)
        out = nd.zeros(2)
        store.pull("w", out=out)
    assert out.asnumpy().tolist() == [4.0, 8.0]
