"""The knobs that choose a convolution's algorithm are alive: by hand, Gluon, graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import minimx as mx
from minimx import nd
from minimx.core import autograd
from minimx.core.errors import OperatorError
from minimx.core.kernels import threads
from minimx.core.knobs import knobs
from minimx.core.operators.conv import Convolution
from minimx.core.ops import registry
from minimx.fast.convolution import tuner
from minimx.fast.convolution.algorithms import NAMES
from minimx.fast.convolution.choosing import decided
from minimx.fast.onednn import convolution as onednn
from minimx.gluon import nn
from tests.core.knobs.proofs import defaults, proves, turned

__all__ = ["defaults"]

#: Channels enough for Winograd's transform to pay.
WIDE = 128
Roads = Callable[..., list[list[str]]]


def by_hand(device: Any, dtype: str, **settings: Any) -> None:
    """An operator, forward and backward."""
    images = nd.ones((4, WIDE, 14, 14), ctx=device, dtype=dtype)
    weight = nd.ones((WIDE, WIDE, *settings["kernel"]), ctx=device, dtype=dtype)
    for array in (images, weight):
        array.attach_grad()
    with autograd.record():
        out = nd.Convolution(images, weight, num_filter=WIDE, no_bias=True, **settings)
    out.backward()
    weight.grad.wait_to_read()
    images.grad.wait_to_read()


def hybrid(device: Any, dtype: str, **settings: Any) -> None:
    """A layer of Gluon, as a graph."""
    kernel, pad = settings.pop("kernel"), settings.pop("pad")
    layer = nn.Conv2D(WIDE, kernel, padding=pad, use_bias=False, in_channels=WIDE)
    layer.initialize(ctx=device)
    layer.cast(dtype)
    layer.hybridize(static_alloc=True)
    images = nd.ones((4, WIDE, 14, 14), ctx=device, dtype=dtype)
    images.attach_grad()
    with autograd.record():
        out = layer(images)
    out.backward()
    images.grad.wait_to_read()
    nd.waitall()


def executor(device: Any, dtype: str, **settings: Any) -> None:
    """A symbol, bound."""
    data = mx.sym.var("data", dtype=dtype)
    settings = {"num_filter": WIDE, "no_bias": True, **settings}
    net = mx.sym.Convolution(data, name="conv", **settings)
    kinds = {"data": dtype, "conv_weight": dtype}
    bound = net.simple_bind(device, data=(4, WIDE, 14, 14), type_dict=kinds)
    bound.forward(is_train=True)
    bound.backward([nd.ones(bound.outputs[0].shape, ctx=device, dtype=dtype)])
    nd.waitall()


@pytest.fixture
def chosen(capsys: pytest.CaptureFixture[str]) -> Iterator[Roads]:
    """The names of the algorithms (forward, data, weight), by each road."""

    def ask(device: Any = None, dtype: str = "float32", **settings: Any) -> Any:
        settings = {"kernel": (3, 3), "pad": (1, 1), **settings}
        found = []
        roads = (by_hand, hybrid, executor)
        for road in roads if set(settings) == {"kernel", "pad"} else roads[::2]:
            with knobs(MXNET_CUDNN_ALGO_VERBOSE_LEVEL=1):
                capsys.readouterr()
                road(device or mx.cpu(), dtype, **settings)
                lines = capsys.readouterr().out.splitlines()
            pairs = zip(lines[::2], lines[1::2], strict=True)
            by_direction = {
                head.split("convolution")[0].strip(): line.split()[2]
                for head, line in pairs
                if line.startswith("*")
            }
            found.append([by_direction[key] for key in WORDS])
        return found

    tuner.forget()
    yield ask
    tuner.forget()


def depthwise(kind: str = "gpu") -> str:
    """Who convolves every channel by itself: no product for a matrix to be part of."""
    conv = Convolution.of(kernel=(3, 3), stride=(2, 2), num_filter=128, num_group=128)
    spec = nd.ones((1, 128, 14, 14)).spec
    return decided(conv.for_device(kind).choice("forward", spec)).algorithm.name


WORDS = ("a", "the data gradient of a", "the weight gradient of a")


def same(names: list[list[str]]) -> list[str]:
    """What all roads agree on."""
    assert all(road == names[0] for road in names)
    return names[0]


@proves("MXNET_CUDNN_ALLOW_WINOGRAD")
def test_winograd_is_allowed_or_not(chosen: Roads) -> None:
    before, during = turned(lambda: same(chosen()), MXNET_CUDNN_ALLOW_WINOGRAD=0)
    assert before[0] == "winograd2"
    assert not any("winograd" in name for name in during)


@proves("MXNET_CUDNN_ALLOW_FFT")
def test_fft_is_allowed_or_not(chosen: Roads) -> None:
    """On a simulated GPU, which takes what the model of cost calls the fastest."""

    def observe() -> list[str]:
        return same(chosen(mx.gpu(0), kernel=(11, 11), pad=(5, 5)))

    with knobs(MXNET_CUDNN_AUTOTUNE_DEFAULT=2):
        before, during = turned(observe, MXNET_CUDNN_ALLOW_FFT=0)
    assert before[0] == "fft"
    assert "fft" not in during


class StandIn:
    """What oneDNN would offer; it computes nothing."""

    nbytes, reads, writes = 64, (1, 33, 41), (17,)

    def run(self, arrays: dict[int, Any], workspace: Any) -> None:
        arrays[17][...] = 1


@proves("MXNET_ONEDNN_ENABLED")
def test_onednn_is_allowed_or_not(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in = StandIn()
    monkeypatch.setattr(onednn, "offered", lambda *_: stand_in)
    settings: Any = {"kernel": (3, 3), "num_filter": 8, "no_bias": True}

    def observe() -> bool:
        registry.forget_plans()  # whoever is installed while a program runs
        out = nd.Convolution(nd.zeros((2, 8, 9, 9)), nd.ones((8, 8, 3, 3)), **settings)
        return bool((out.asnumpy() == 1).all())

    with knobs(MXNET_CUDNN_HEUR_MODE=0):
        assert turned(observe, MXNET_ONEDNN_ENABLED=0) == (True, False)
    registry.forget_plans()


@pytest.mark.parametrize("place", range(3))
@proves(
    "MXNET_CUDNN_DISABLED_CONV_FWD_ENGINES",
    "MXNET_CUDNN_DISABLED_CONV_DGRAD_ENGINES",
    "MXNET_CUDNN_DISABLED_CONV_WGRAD_ENGINES",
)
def test_the_winner_can_be_disabled(chosen: Roads, place: int) -> None:
    word = ("FWD", "DGRAD", "WGRAD")[place]
    usual = same(chosen())
    number = NAMES.index(usual[place])
    name = f"MXNET_CUDNN_DISABLED_CONV_{word}_ENGINES"
    before, during = turned(lambda: same(chosen()), **{name: str(number)})
    assert before == usual
    assert [a != b for a, b in zip(before, during, strict=True)] == [
        k == place for k in range(3)
    ]


@proves("MXNET_CUDNN_HEUR_MODE")
def test_the_rule_and_the_model_differ_on_an_unusual_shape(chosen: Roads) -> None:
    before, during = turned(lambda: depthwise("cpu"), MXNET_CUDNN_HEUR_MODE=0)
    assert during == "mec"
    assert before == "direct"


@pytest.mark.parametrize("clock", ["wall", "virtual"])
@proves("MXNET_CUDNN_AUTOTUNE_DEFAULT", "MINIMX_CPU_AUTOTUNE")
def test_on_simulated_gpus_the_model_stands_for_the_stopwatch(
    chosen: Roads, monkeypatch: pytest.MonkeyPatch, clock: str
) -> None:
    monkeypatch.setattr(tuner, "measure", None)  # nobody measures

    def observe(**settings: Any) -> list[str]:
        return same(chosen(mx.gpu(0), **settings))

    with knobs(MINIMX_CLOCK=clock):
        before, during = turned(observe, MXNET_CUDNN_AUTOTUNE_DEFAULT=2)
        assert before == same(chosen(mx.cpu()))  # and so the same bits
        assert during[0] == "winograd4"
        # The limit of 1 MiB holds for 1 and not for 2.
        tight, free = turned(
            lambda: observe(workspace=1), MXNET_CUDNN_AUTOTUNE_DEFAULT=2
        )
        assert (tight[0], free[0]) == ("direct", "winograd4")
        # 0 asks the heuristic, which may be the fixed rule.
        with knobs(MXNET_CUDNN_HEUR_MODE=0):
            before, during = turned(depthwise, MXNET_CUDNN_AUTOTUNE_DEFAULT=0)
        assert (before, during) == ("direct", "mec")


@proves("MXNET_CUDNN_AUTOTUNE_DEFAULT", "MINIMX_CPU_AUTOTUNE")
def test_devices_measure_when_asked(
    chosen: Roads, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[str] = []

    def measure(algorithm: Any, *rest: Any) -> float:
        counted.append(algorithm.name)
        return {"im2col": 0.1, "fft": 0.05}.get(algorithm.name, 0.2)

    monkeypatch.setattr(tuner, "measure", measure)

    def observe(device: Any, **settings: Any) -> tuple[bool, list[str]]:
        tuner.forget()
        counted.clear()
        names = same(chosen(device, **settings))
        return bool(counted), names

    small = {"workspace": 1}
    for device in (mx.cpu(), mx.gpu(0)):
        before, during = turned(lambda: observe(device), MINIMX_CPU_AUTOTUNE=1)  # noqa: B023
        assert (before[0], during) == (False, (True, ["fft"] * 3))
    with knobs(MINIMX_CPU_AUTOTUNE=1):
        before, during = turned(
            lambda: observe(mx.gpu(0)), MXNET_CUDNN_AUTOTUNE_DEFAULT=0
        )
        assert before == (True, ["fft"] * 3)
        assert during[0] is False
        assert during[1][0] == "winograd2"
        # The limit of 1 MiB holds for 1 and not for 2; a layer's own word wins.
        tight, free = turned(
            lambda: observe(mx.gpu(0), **small), MXNET_CUDNN_AUTOTUNE_DEFAULT=2
        )
    assert "fft" not in tight[1]
    assert free == (True, ["fft"] * 3)
    assert observe(mx.cpu(), cudnn_tune="fastest", **small) == free
    assert observe(mx.gpu(0), cudnn_tune="limited_workspace", **small) == tight
    assert observe(mx.gpu(0), cudnn_tune="off")[0] is False
    assert observe(mx.gpu(0), cudnn_off=True)[0] is False


@proves("MINIMX_CUDNN_INVERTED_LIMIT")
def test_the_limit_as_mxnet_1_tests_it(
    chosen: Roads, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = {"fft": 0.05, "direct": 0.1}
    monkeypatch.setattr(tuner, "measure", lambda one, *_: times.get(one.name, 0.2))

    def observe() -> tuple[str, str]:
        one = chosen(mx.gpu(0), workspace=1, cudnn_tune="limited_workspace")
        two = chosen(mx.gpu(0), workspace=1, cudnn_tune="fastest")
        return same(one)[0], same(two)[0]

    before, during = turned(observe, MINIMX_CUDNN_INVERTED_LIMIT=1)
    assert before == ("direct", "fft")
    assert during == ("fft", "direct")


@proves("MXNET_CUDNN_ALLOW_REDUCED_PRECISION_REDUCTION")
def test_sums_of_reduced_precision_are_allowed_or_not(
    chosen: Roads, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tuner, "measure", lambda one, *_: 1 + abs(one.number - 8))

    def observe() -> list[str]:
        with knobs(MINIMX_CPU_AUTOTUNE=1):
            return same(chosen(mx.gpu(0), dtype="float16"))

    knob = "MXNET_CUDNN_ALLOW_REDUCED_PRECISION_REDUCTION"
    before, during = turned(observe, **{knob: 0})
    assert before == ["sliced"] * 3
    assert during == ["fft"] * 3


@proves("MXNET_CUDNN_ALGO_VERBOSE_LEVEL")
def test_the_table_is_printed_once_for_each_shape(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def observe() -> tuple[int, int]:
        capsys.readouterr()
        for _ in range(3):
            by_hand(mx.cpu(), "float32", kernel=(3, 3), pad=(1, 1))
        lines = capsys.readouterr().out.splitlines()
        return len(lines), sum(line.startswith("*") for line in lines)

    before, during = turned(observe, MXNET_CUDNN_ALGO_VERBOSE_LEVEL=2)
    assert before == (0, 0)
    assert during[0] > 3 * 6
    assert during[1] == 3
    assert turned(observe, MXNET_CUDNN_ALGO_VERBOSE_LEVEL=1)[1] == (6, 3)


@proves("MXNET_CUDNN_ALGO_VERBOSE_LEVEL")
def test_a_convolution_of_a_simulated_gpu_is_printed_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for road in (by_hand, hybrid, executor):
        for level in (1, 2):
            with knobs(MXNET_CUDNN_ALGO_VERBOSE_LEVEL=level):
                capsys.readouterr()
                road(mx.gpu(), "float32", kernel=(3, 3), pad=(1, 1))
                lines = capsys.readouterr().out.splitlines()
            heads = [line for line in lines if "convolution" in line]
            assert len(heads) == len(set(heads)) == 3
            assert all(line.endswith("guessed, limited") for line in heads)
            assert sum(line.startswith("*") for line in lines) == 3


@proves("MXNET_CPU_NNPACK_NTHREADS")
def test_transforms_share_as_many_threads_as_nnpack(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    used: list[int] = []
    sharing = threads.Parallel.sharing

    def watched(self: Any, most: int, *args: Any) -> Any:
        used.append(min(most, threads.count()))
        return sharing(self, most, *args)

    monkeypatch.setattr(threads.Parallel, "sharing", watched)

    def observe() -> tuple[set[int], bytes]:
        used.clear()
        images, weight = nd.ones((4, WIDE, 14, 14)), nd.ones((WIDE, WIDE, 3, 3))
        settings: Any = {"kernel": (3, 3), "num_filter": WIDE, "no_bias": True}
        out = nd.Convolution(images, weight, **settings).asnumpy()
        return set(used), out.tobytes()

    with knobs(OMP_NUM_THREADS=2):
        before, during = turned(observe, MXNET_CPU_NNPACK_NTHREADS=1)
    assert before[0] == {2}
    assert during[0] == {1}
    assert before[1] == during[1]


def test_nothing_left_is_an_error_that_leaves_all_as_it_was() -> None:
    images, weight = nd.ones((2, 3, 8, 8)), nd.ones((4, 3, 3, 3))
    settings: dict[str, Any] = {"kernel": (3, 3), "num_filter": 4, "no_bias": True}
    before = nd.Convolution(images, weight, **settings).asnumpy()
    with knobs(MXNET_CUDNN_DISABLED_CONV_FWD_ENGINES="0,1,2,3,4,5,6,7,8"):
        with pytest.raises(OperatorError, match=r"mec \(2\): MXNET_CUDNN_DISABLED"):
            nd.Convolution(images, weight, **settings)
        out = nd.Convolution(images, weight, cudnn_off=True, **settings)
        assert out.shape == (2, 4, 6, 6)
    weight.attach_grad()
    with knobs(
        MXNET_CUDNN_DISABLED_CONV_WGRAD_ENGINES="0,1,2,4,5,6,7,8",
        MXNET_ENFORCE_DETERMINISM=1,
    ):
        with autograd.record():
            out = nd.Convolution(images, weight, **settings)
        with pytest.raises(OperatorError, match=r"lean \(3\): MXNET_ENFORCE_DET"):
            out.backward()
    again = nd.Convolution(images, weight, **settings).asnumpy()
    assert (again == before).all()


def test_a_word_that_cudnn_tune_does_not_know() -> None:
    with pytest.raises(OperatorError, match="Did you mean fastest"):
        nd.Convolution(
            nd.ones((1, 1, 4, 4)), nd.ones((1, 1, 3, 3)), kernel=(3, 3), num_filter=1,
            no_bias=True, cudnn_tune="fastes",
        )  # fmt: skip
