"""CUDA graphs and second streams: the same numbers, by other launches.

On a device this is CUDA's own doing. In numba's simulator `playing` stands in for the
driver's library, with CUDA's rules.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx.core import storage
from minimx.core.drivers import copies, driver_for, working
from minimx.core.errors import DeviceError
from minimx.cuda import launches, toolkit
from minimx.cuda.driver import current_stream
from minimx.cuda.kernels import native, pointwise, scratch
from minimx.cuda.kernels import recording as module
from minimx.cuda.kernels.recording import (
    Recorded,
    Recording,
    Refused,
    not_recorded,
    recording,
    together,
)

GPU = mx.gpu(0)
nn = mx.gluon.nn


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The driver's library as it is played in the simulator; None on a real device."""
    found = None
    if toolkit.simulated():
        from tests.cuda.kernels import playing

        found = playing.install(monkeypatch)
    with mx.knobs(MXNET_ENGINE_TYPE="NaiveEngine"):
        yield found
        mx.nd.waitall()


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many kernels each launch of a graph has had."""
    seen: list[int] = []
    launch = Recording.launch

    def spy(self: Recording) -> None:
        seen.append(self.nodes)
        launch(self)

    monkeypatch.setattr(Recording, "launch", spy)
    return seen


def array(values: Any) -> Any:
    """Of numba, on the device; the pool's block must be kept by the caller."""
    numbers = np.asarray(values, np.float32)
    block = storage.pool_for(GPU).alloc(numbers.nbytes)
    view: Any = block.data.shaped(numbers.shape, numbers.dtype)  # type: ignore[attr-defined]
    copies.send(numbers, view)
    return view, block


def filled(number: float) -> Callable[[Any], None]:
    """A kernel that writes one number everywhere."""
    return pointwise.filler(np.float32(number))


# -- what the driver does --------------------------------------------------------------


def test_what_is_recorded_happens_when_it_is_launched(library: Any) -> None:
    with working(GPU):
        x, block = array([1, 2, 3])
        filled(5.0)(x)
        filled(6.0)(x)  # compiled, and loaded
        filled(1.0)(x)
        with recording() as graph:
            filled(5.0)(x)
            filled(6.0)(x)
        assert graph.nodes == 2
        assert copies.fetch(x).tolist() == [1, 1, 1]
        for _ in range(2):
            filled(7.0)(x)
            graph.launch()
            assert copies.fetch(x).tolist() == [6, 6, 6]
        del graph
    block.free()


@pytest.mark.parametrize("spoil", ["memory", "waiting", "a step aside", "an error"])
def test_what_cannot_be_recorded_is_an_error_and_the_stream_goes_on(
    library: Any, spoil: str
) -> None:
    with working(GPU):
        x, block = array([1, 2])
        filled(2.0)(x)
        copies.send(np.array([1, 2], np.float32), x)

        def work() -> None:
            filled(2.0)(x)
            if spoil == "memory":
                driver_for(GPU).alloc(1 << 20)
            elif spoil == "waiting":
                copies.fetch(x)
            elif spoil == "a step aside":  # that never comes back
                driver: Any = native.driver()
                beside = module._stream(driver, "beside")
                module._follow(driver, beside, current_stream())
                pointwise._fill[1, 2, beside](x, 2, np.float32(4))
            else:
                raise ZeroDivisionError

        # numba and its successors have error classes of their own, of these names.
        with pytest.raises(Exception) as raised, recording():  # noqa: PT011
            work()
        wanted = {"an error": "ZeroDivisionError", "a step aside": "DeviceError"}
        names = wanted.get(spoil, "CudaAPIError CUDAError").split()
        assert type(raised.value).__name__ in names
        assert copies.fetch(x).tolist() == [1, 2]
        with recording() as graph:
            filled(3.0)(x)
        graph.launch()
        assert copies.fetch(x).tolist() == [3, 3]
    block.free()


def test_two_pieces_side_by_side_come_between_what_was_before_and_after(
    library: Any,
) -> None:
    with working(GPU):
        (x, one), (y, two) = array([1, 2]), array([3, 4])

        def both() -> None:
            filled(4.0)(x)
            together(lambda: filled(5.0)(x), lambda: filled(6.0)(y))

        both()
        assert copies.fetch(x).tolist() + copies.fetch(y).tolist() == [5, 5, 6, 6]
        filled(0.0)(y)
        with recording() as graph:
            both()
        assert graph.nodes == 3
        graph.launch()
        assert copies.fetch(x).tolist() + copies.fetch(y).tolist() == [5, 5, 6, 6]
        if library:
            assert len(library.streams) >= 3
    one.free()
    two.free()


def test_the_driver_says_what_is_wrong(library: Any) -> None:
    driver: Any = native.driver()
    with working(GPU):
        with pytest.raises(DeviceError, match="cuStreamBeginCapture_v2: CUDA reports"):
            driver.call("cuStreamBeginCapture_v2", None, 1)  # stream 0
        with pytest.raises(DeviceError, match="a pool of its own"), recording():
            not_recorded("It has a pool of its own")
        not_recorded("It has a pool of its own")  # all right otherwise


# -- launches with scratch memory ------------------------------------------------------


def test_scratch_memory_stays_with_the_recording(library: Any) -> None:
    with working(GPU):
        x, block = array([1, 2])
        before = storage.stats(GPU).n_live

        def work() -> None:
            with scratch.allocated((2, np.float32)) as (part,):
                filled(8.0)(part)
                copies.copyto(x, part)

        recorded = Recorded([work, work], "here")
        assert (recorded.addresses, recorded.nodes) == ("here", 4)
        assert recorded.nbytes > 0
        assert copies.fetch(x).tolist() == [8, 8]  # it ran, too
        filled(0.0)(x)
        recorded.launch()
        assert copies.fetch(x).tolist() == [8, 8]
    assert storage.stats(GPU).n_live == before + 1
    del recorded
    assert storage.stats(GPU).n_live == before
    block.free()


def test_each_of_two_streams_has_scratch_memory_of_its_own(library: Any) -> None:
    with working(GPU):
        before = storage.stats(GPU).n_live

        def work() -> None:
            with scratch.allocated((2, np.float32)) as (part,):
                filled(1.0)(part)

        together(work, work)
        work()
        assert storage.stats(GPU).n_live == before + 2


def test_what_is_refused_has_run_once_and_is_named(library: Any) -> None:
    with working(GPU):
        x, block = array([0, 0])
        ran: list[str] = []

        def visit() -> None:
            ran.append("visit")
            copies.fetch(x)

        before = storage.stats(GPU).n_live
        with pytest.raises(Refused) as refused:
            Recorded([lambda: filled(9.0)(x), visit], ())
        assert refused.value.number == 1
        assert refused.value.__cause__ is not None
        assert copies.fetch(x).tolist() == [9, 9]
        with pytest.raises(ZeroDivisionError):  # an error of its own stays what it is
            Recorded([lambda: 1 / 0], ())  # type: ignore[list-item]
        assert storage.stats(GPU).n_live == before
    block.free()


# -- graphs ----------------------------------------------------------------------------


def training(net: Callable[[], Any], steps: int = 4, **knobs: Any) -> list[bytes]:
    """What a small training computes, to the bit."""
    mx.random.seed(3)
    rng = np.random.default_rng(3)
    found = []
    with mx.knobs(**knobs):
        block = net()
        block.initialize(mx.init.Xavier(), ctx=GPU)
        block.hybridize(static_alloc=True, static_shape=True)
        trainer = mx.gluon.Trainer(block.collect_params(), "sgd", {"momentum": 0.9})
        for _ in range(steps):
            x = mx.nd.array(rng.normal(size=(2, 2, 4, 4)), ctx=GPU)
            with mx.autograd.record():
                loss = (block(x) ** 2).sum()
            loss.backward()
            trainer.step(2)
            found.append(loss.asnumpy().tobytes())
        found += [p.data().asnumpy().tobytes() for p in block.collect_params().values()]
    return found


def convolutions() -> Any:
    net = nn.HybridSequential()
    net.add(nn.Conv2D(2, 3, activation="tanh", in_channels=2))
    net.add(nn.Conv2D(3, 1, activation="tanh", in_channels=2))
    net.add(nn.BatchNorm(in_channels=3), nn.Flatten(), nn.Dense(3, in_units=12))
    return net


@pytest.mark.parametrize("streams", [1, 2])
def test_a_training_is_the_same_to_the_bit_when_it_is_replayed(
    library: Any, launched: list[int], streams: int
) -> None:
    plain = training(convolutions)
    assert not launched
    setting = {"MXNET_GPU_WORKER_NSTREAMS": streams, "MXNET_ENABLE_CUDA_GRAPHS": 1}
    assert training(convolutions, **setting) == plain
    # Two runs of each half come first, one to warm up and one to record; after that
    # most kernels of a step go in few launches.
    assert len(launched) >= 2 * 2
    assert max(launched) > 3
    if library:
        assert library.calls.count("cuGraphLaunch") == len(launched)
        forks = library.calls.count("cuStreamWaitEvent")
        assert (forks > 0) == (streams > 1)


def test_two_streams_without_graphs_give_the_same_to_the_bit(library: Any) -> None:
    plain = training(convolutions, 2)
    assert training(convolutions, 2, MXNET_GPU_WORKER_NSTREAMS=2) == plain
    if library:
        assert "cuStreamWaitEvent" in library.calls


def test_nothing_of_a_recording_is_left_when_its_graph_goes(
    library: Any, launched: list[int]
) -> None:
    gc.collect()
    before = storage.stats(GPU).n_live
    training(convolutions, 4, MXNET_ENABLE_CUDA_GRAPHS=1)
    gc.collect()
    assert launched
    assert storage.stats(GPU).n_live <= before
    if library:
        assert not library.ready
        assert not library._graphs


def predictions(net: Any, inputs: list[Any]) -> list[Any]:
    with mx.knobs(MXNET_ENABLE_CUDA_GRAPHS=1):
        if not net._active:  # once, as it forgets what it knows
            net.hybridize(static_alloc=True, static_shape=True)
        return [net(x).asnumpy().tolist() for x in inputs]


def ones(*layers: Any) -> Any:
    net = nn.HybridSequential()
    net.add(*layers)
    net.initialize(mx.init.One(), ctx=GPU)
    return net


def test_a_weight_that_moves_is_recorded_anew(
    library: Any, launched: list[int]
) -> None:
    net = ones(*[nn.Dense(2, in_units=2, use_bias=False) for _ in range(3)])
    x = mx.nd.ones((1, 2), ctx=GPU)
    assert predictions(net, [x] * 4) == [[[8.0, 8.0]]] * 4
    replays = len(launched)
    assert replays
    weight = net[1].weight
    weight.set_data(mx.nd.zeros((2, 2), ctx=GPU))  # into the same place
    assert predictions(net, [x])[0] == [[0.0, 0.0]]
    weight.initialize(mx.init.Constant(2), ctx=GPU, force_reinit=True)  # elsewhere
    assert predictions(net, [x] * 4) == [[[16.0, 16.0]]] * 4
    assert len(launched) > replays


def test_a_recording_of_other_places_is_not_launched(
    library: Any, launched: list[int]
) -> None:
    def every() -> list[Recorded]:
        return [found for found in gc.get_objects() if isinstance(found, Recorded)]

    net = ones(*[nn.Dense(2, in_units=2, use_bias=False) for _ in range(3)])
    x = mx.nd.ones((1, 2), ctx=GPU)
    others = every()
    predictions(net, [x] * 3)
    (mine,) = [found for found in every() if found not in others]
    mine.addresses = (1, 2, 3)
    del mine, others
    before = len(launched)
    assert predictions(net, [x])[0] == [[8.0, 8.0]]
    assert len(launched) == before  # it was recorded instead
    assert predictions(net, [x])[0] == [[8.0, 8.0]]
    assert len(launched) == before + 1


def test_parts_of_one_array_are_different_places(library: Any) -> None:
    rows = mx.nd.array([[1, 1], [2, 2], [3, 3], [4, 4]], ctx=GPU)
    net = ones(nn.Dense(1, in_units=2), nn.Dense(1, in_units=1))
    found = predictions(net, [rows[k : k + 1] for k in (0, 0, 0, 1, 2, 3, 3, 3)])
    assert [out[0][0] for out in found] == [2.0, 2.0, 2.0, 4.0, 6.0, 8.0, 8.0, 8.0]


def test_hosts_and_random_numbers_stay_outside(
    library: Any, launched: list[int], capsys: pytest.CaptureFixture[str]
) -> None:
    class Mixed(mx.gluon.HybridBlock):
        def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803
            x = F.tanh(F.exp(x))
            noise = F.random.normal(shape=(2, 2)) * 0
            x = F.broadcast_add(x, noise) + 2
            x = F._npi_eigvals(x)
            return F.tanh(F.sqrt(x + 1)) + 1

    net = Mixed()
    x = mx.nd.ones((2, 2), ctx=GPU)
    with mx.knobs(MXNET_CUDA_GRAPHS_VERBOSE=1, MINIMX_CUDA_VERBOSE=0):
        found = predictions(net, [x] * 4)
    assert found == [found[0]] * 4
    told = capsys.readouterr().out
    assert "it draws random numbers" in told
    assert "it visits the host" in told
    assert "kernels in one graph" in told
    assert len(launched) == told.count("replaying") * told.count("kernels in one graph")


def test_an_operator_that_cannot_be_recorded_is_told_and_goes_alone(
    library: Any, launched: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    launches.makers()
    honest = launches._makers["softmax"]

    def peeking(op: Any, *specs: Any) -> Any:
        launch = honest(op, *specs)
        assert launch is not None

        def run(*arrays: Any) -> None:
            copies.fetch(arrays[0])
            launch(*arrays)

        return run

    monkeypatch.setitem(launches._makers, "softmax", peeking)

    class Peeks(mx.gluon.HybridBlock):
        def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803
            x = F.dot(F.dot(x, x), x)
            return F.dot(F.dot(F.softmax(x, axis=0), x), x) + 1

    x = mx.nd.array(np.linspace(0, 1, 49).reshape(7, 7), ctx=GPU)
    plain = Peeks()(x).asnumpy().tolist()
    with pytest.warns(UserWarning, match="softmax.* could not be recorded") as told:
        assert predictions(Peeks(), [x] * 5) == [plain] * 5
    assert len(told) == 1
    assert launched
