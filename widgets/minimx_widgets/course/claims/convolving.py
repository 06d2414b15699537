"""What the documents say of choosing a convolution."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from typing import Any

import minimx as mx
from minimx.fast.convolution import choosing
from minimx_widgets.course import convolving
from minimx_widgets.course.claims.claim import (
    TIPS,
    V1,
    V2,
    Decision,
    Numbers,
    claim,
    if_true,
    weighed,
)
from minimx_widgets.units import human_bytes

SMALL = 4  # MiB of workspace
WORSE = 4  # times the error of the plain sum


def _question(
    size: tuple[int, int, int] = convolving.LAYER, space: int = 1024, **turned: Any
) -> Any:
    with mx.knobs(MXNET_ONEDNN_ENABLED=0, **turned):
        return convolving.question("forward", size, workspace=space)


def tests_run() -> Numbers:
    """Whether times are measured on a simulated GPU, without and with its knob."""
    asked = [_question(MINIMX_CPU_AUTOTUNE=on)[0].measures for on in (0, 1)]
    return {"without": asked[0], "with_it": asked[1]}


@claim(
    "conv",
    "“Performance tests are run to pick the convolution algo when value is 1 or 2”",
    V2,
    310,
    "planned",
    tests_run,
)
def tests_are_run(without: bool, with_it: bool) -> Decision:
    """With the default value 1 algorithms should be timed."""
    return (
        weighed([without, with_it], "the device"),
        f"on a simulated GPU they are run with MINIMX_CPU_AUTOTUNE=1 ({with_it}), and "
        f"not without it ({without}): then a model answers, always the same",
    )


def winners(**turned: Any) -> Numbers:
    """What values 1 and 2 take for a layer that may use 4 MiB, and how much it uses."""
    found = {}
    for value in (1, 2):
        knobs = {"MXNET_CUDNN_AUTOTUNE_DEFAULT": value, **turned}
        algorithm = _question(space=SMALL, **knobs)[1][0].algorithm
        found[value] = (algorithm.name, algorithm.workspace)
    return {"taken": found}


def _taken(taken: Mapping[int, tuple[str, int]]) -> tuple[bool, str]:
    """Whether 2 goes above the limit and 1 does not; and what each takes."""
    over = {value: space > SMALL << 20 for value, (_, space) in taken.items()}
    words = ", ".join(
        f"{value} takes {name} ({human_bytes(space)})"
        for value, (name, space) in sorted(taken.items(), reverse=True)
    )
    return over[2] and not over[1], f"with {SMALL} MiB allowed, {words}"


@claim(
    "conv",
    "“Value of 2 chooses the fastest algo whose memory requirements may be larger than "
    "the default workspace threshold”",
    V2,
    312,
    "modelled",
    winners,
)
def fastest_of_all(taken: Mapping[int, tuple[str, int]]) -> Decision:
    """2 should take more than is allowed where that is faster, 1 should not."""
    good, words = _taken(taken)
    return if_true(good), words


def as_in_1x() -> Numbers:
    """The same with the test as it stands in MXNet 1.5 to 1.9."""
    return winners(MINIMX_CUDNN_INVERTED_LIMIT=1)


@claim(
    "conv",
    "“Value of 2 chooses the fastest algo whose memory requirements may be larger than "
    "the default workspace threshold”, in MXNet 1.5 to 1.9",
    V1,
    208,
    "modelled",
    as_in_1x,
)
def fastest_of_all_in_1x(taken: Mapping[int, tuple[str, int]]) -> Decision:
    """2 should take more than is allowed where that is faster, 1 should not."""
    good, words = _taken(taken)
    why = (
        "" if good else ": their test is inverted, the limit holds for 2 and not for 1"
    )
    return if_true(good), f"with MINIMX_CUDNN_INVERTED_LIMIT=1, {words}{why}"


def errors() -> Numbers:
    """By algorithm, the largest error in float32 by that of the plain sum."""
    with mx.knobs(MXNET_ONEDNN_ENABLED=0):
        plain = convolving.error("mec")
        names = {"F(4×4)": "winograd4", "F(2×2)": "winograd2", "the FFT": "fft"}
        found = {words: convolving.error(one) / plain for words, one in names.items()}
    return {"ratios": found}


@claim(
    "conv",
    "“Numerical accuracy may be improved by filtering out configs shown with 'rp', 'w' "
    "or 'fft'”",
    V2,
    327,
    "measured",
    errors,
    tolerance="up to 4 times the error of the plain sum is as exact",
)
def filtered_is_more_exact(ratios: Mapping[str, float]) -> Decision:
    """Each algorithm so marked should be less exact than the plain sum."""
    worse = [name for name, ratio in ratios.items() if ratio > WORSE]
    alike = [name for name in ratios if name not in worse]
    parts = [
        f"{' and '.join(names)} {share}"
        for names, share in (
            (worse, f"had more than {WORSE} times the error of the plain sum"),
            (alike, "had less"),
        )
        if names
    ]
    return weighed([one in worse for one in ratios], "the algorithm"), "; ".join(parts)


def _seconds(names: Collection[str]) -> dict[str, float]:
    """Of the layer by each algorithm: the best of nine, in turns."""
    images, channels, edge = convolving.LAYER
    x = mx.nd.ones((images, channels, edge, edge))
    w = mx.nd.ones((channels, channels, 3, 3))
    settings = convolving.layer(*convolving.LAYER).settings
    best = dict.fromkeys(names, float("inf"))
    with mx.knobs(MXNET_ONEDNN_ENABLED=0):
        for name in [*best] * 9:
            with convolving.only(name):
                mx.nd.waitall()
                start = time.perf_counter()
                mx.nd.Convolution(x, w, **settings).wait_to_read()
                best[name] = min(best[name], time.perf_counter() - start)
    return best


def tuned() -> Numbers:
    """How many times as fast the algorithm is that a stopwatch chose, not the model."""
    model = _question()[1][0].algorithm.name
    with mx.knobs(MXNET_ONEDNN_ENABLED=0):
        watch = choosing.decided(convolving.measured()).algorithm.name
    took = _seconds({model, watch})
    return {"gain": took[model] / took[watch]}


@claim(
    "conv",
    "“export MXNET_CUDNN_AUTOTUNE_DEFAULT=1 … sometimes also helps”",
    TIPS,
    144,
    "measured",
    tuned,
    tolerance="a factor of 2; the slowest algorithm takes 20 times as long, and more",
)
def sometimes_helps(gain: float) -> Decision:
    """What a stopwatch chose should not be much slower than what a model chose."""
    return (
        if_true(gain > 0.5),
        "the algorithm that a stopwatch chose is "
        f"{'no slower' if gain > 0.5 else 'slower'} than that of the model. "
        "“Sometimes” is the word: where the model guesses the winner, there is nothing "
        "to gain",
    )
