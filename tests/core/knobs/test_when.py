"""A knob acts when its card says, and not on what must be made anew."""

from __future__ import annotations

import pytest

from minimx import gluon, nd, sym
from minimx.core import autograd, engine
from minimx.core.device import cpu, gpu
from minimx.core.kernels import threads
from minimx.core.knobs import knobs
from minimx.core.record import Record
from minimx.fast import tuning
from minimx.gluon import Parameter, Trainer, nn


def words(name: str) -> str:
    """What the card says about when a knob acts."""
    return str(dict(knobs.describe(name).rows())["acts"])


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("MXNET_UPDATE_ON_KVSTORE", "a Trainer or Module"),
        ("MXNET_MP_WORKER_NTHREADS", "a DataLoader"),
        ("MXNET_MP_OPENCV_NUM_THREADS", "a DataLoader"),
        ("MINIMX_RECORD_CAPACITY", "a Record"),
    ],
)
def test_the_card_names_what_must_be_made_anew(name: str, made: str) -> None:
    assert words(name) == f"when {made} is made; one that exists stays as it is"
    assert made in repr(knobs.describe(name)).replace("\n" + " " * 24, " ")


def test_the_card_of_a_graphs_knob_says_what_binds_again() -> None:
    said = words("MXNET_EXEC_ENABLE_INPLACE")
    assert "a hybridized block binds again by itself" in said
    assert "an executor that is bound stays as it is" in said


def test_a_trainer_keeps_where_its_optimizer_runs() -> None:
    weight = Parameter("w", shape=(3,), init="ones")
    weight.initialize(ctx=[cpu(0), gpu(0)])

    def updates(trainer: Trainer) -> int:
        with autograd.record():
            losses = [(w * w).sum() for w in weight.list_data()]
        autograd.backward(losses)
        engine.wait_all()
        with Record() as record:
            trainer.step(1)
            engine.wait_all()
        return sum("update" in name for name in record.texts(record.ops()["name"]))

    old = Trainer([weight], "sgd")
    assert updates(old) == 1
    with knobs(MXNET_UPDATE_ON_KVSTORE=0):
        assert updates(old) == 1
        assert updates(Trainer([weight], "sgd")) == 2


def pushed(work: object) -> int:
    nd.waitall()
    with Record() as record:
        assert callable(work)
        work()
        nd.waitall()
    return len(record.pushes())


def test_a_block_binds_again_and_an_executor_does_not() -> None:
    net = nn.HybridSequential()
    net.add(nn.Dense(4, activation="relu"), nn.Dense(4, activation="tanh"))
    net.initialize()
    net.hybridize()
    x = nd.ones((2, 3))
    data = sym.var("data")
    bound = sym.tanh(sym.relu(sym.exp(data))).bind(cpu(), {"data": x})
    for run in (lambda: net(x), bound.forward):
        run()
    joined = pushed(lambda: net(x)), pushed(bound.forward)
    with knobs(MXNET_EXEC_BULK_EXEC_INFERENCE=0):
        alone = pushed(lambda: net(x)), pushed(bound.forward)
        anew = sym.tanh(sym.relu(sym.exp(data))).bind(cpu(), {"data": x})
        assert pushed(anew.forward) > joined[1]
    assert alone[0] > joined[0]
    assert alone[1] == joined[1]
    assert pushed(lambda: net(x)) == joined[0]


def test_the_workers_of_a_loader_keep_what_they_were_made_with() -> None:
    data = gluon.data.SimpleDataset([0, 1]).transform(_threads_of_the_engine)
    loader = gluon.data.DataLoader(data, 1, num_workers=1)
    first = [int(x.asscalar()) for x in loader]
    with knobs(MXNET_MP_WORKER_NTHREADS=3):
        assert [int(x.asscalar()) for x in loader] == first
        anew = gluon.data.DataLoader(data, 1, num_workers=1)
        assert [int(x.asscalar()) for x in anew] == [3, 3]
    assert first == [1, 1]


def _threads_of_the_engine(item: int) -> int:
    return int(knobs.get("MXNET_CPU_WORKER_NTHREADS"))


def test_the_preset_for_errors_names_ten_callers() -> None:
    def fail() -> None:
        raise ValueError("on purpose")

    def called(depth: int) -> None:
        if depth:
            called(depth - 1)
        else:
            engine.push(fail, cpu(), [], [engine.Var()], "fail")

    preset = knobs.presets["debug errors"].values
    with knobs(**preset), pytest.raises(ValueError, match="on purpose") as caught:
        called(20)
    (note,) = caught.value.__notes__
    assert note.count("pushed at") == 1
    assert note.count("called at") == 10
    naive = {"MXNET_ENGINE_TYPE": "NaiveEngine"}
    with knobs(**naive), pytest.raises(ValueError, match="on purpose") as caught:
        called(20)
    assert not hasattr(caught.value, "__notes__")


def test_without_operator_tuning_one_size_decides() -> None:
    loop_size, fixed = 150_000, knobs.declared["MXNET_CPU_PARALLEL_SIZE"].default
    assert isinstance(fixed, int) and loop_size < fixed
    preset = knobs.presets["no operator tuning"].values
    with knobs(OMP_NUM_THREADS=2, MXNET_CPU_PARALLEL_SIZE=None, **preset):
        tuning.forget()
        for size in (loop_size, fixed, 2 * fixed):
            nd.tanh(nd.ones((size,))).wait_to_read()
        assert len(tuning.report()) == 0  # nothing was measured
        assert (threads.parts(loop_size), threads.parts(2 * fixed)) == (1, 2)
    assert "MXNET_CPU_PARALLEL_SIZE" in knobs.presets["no operator tuning"].meaning
