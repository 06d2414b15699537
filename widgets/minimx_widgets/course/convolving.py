"""The plumbing of the case on convolutions: one algorithm at a time, and its checks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from minimx import nd
from minimx.core.dtypes import FLOAT32
from minimx.core.errors import MXNetError
from minimx.core.kernels.convolution import DATA, FORWARD, WEIGHT, Algorithm
from minimx.core.knobs import knobs
from minimx.core.operators.conv import Convolution
from minimx.core.ops.spec import Spec
from minimx.fast.convolution import tuner
from minimx.fast.convolution.algorithms import NAMES, algorithms
from minimx.fast.convolution.choosing import (
    DISABLED,
    EXACT,
    Candidate,
    Rules,
    candidates,
    decided,
)
from minimx.fast.convolution.estimate import features
from minimx.fast.convolution.transforms import tiling
from minimx_widgets.course.parts.checks import Feedback, check

#: Images, channels and edge of the layer that is looked at.
LAYER = (16, 64, 28)
#: Those of the free exercise.
LAYERS = (LAYER, (16, 128, 14), (8, 32, 56))
#: What the free exercise allows: MiB of workspace, and a share of the usual time.
MIB, SHARE = 8, 0.8
#: oneDNN's is left out: what it can do depends on who installed it.
OWN = ("direct", "im2col", "mec", "winograd2", "winograd4", "fft")

SENTENCE = (
    "Winograd's transform computes sums of inputs once and uses them for several "
    "outputs, which saves multiplications; but its larger tiles multiply by larger "
    "numbers and subtract afterwards, which loses digits."
)
HINTS = (
    "Begin with what must not happen. Which of the six algorithms has an error bound "
    "above 100? It must not compute the weight's gradient; one knob lists the numbers "
    "that this direction may not use, and no other direction.",
    "Mode 1 is careful: on a simulated GPU it never takes F(4×4, 3×3). Mode 2 does, "
    "but forgets the limit of workspace, so that you must look after it yourself.",
    "Ask for determinism. Then print the bill direction by direction, with "
    "<code>convolving.bill(settings, workspace)</code>: which algorithm needs more "
    "than 8 MiB? Disable its number, too.",
)


def layer(images: int, channels: int, edge: int, kernel: int = 3) -> Convolution:
    """A layer that keeps its images, as `nd.Convolution` makes it."""
    return Convolution.of(
        kernel=(kernel, kernel),
        pad=(kernel // 2,) * 2,
        num_filter=channels,
        no_bias=True,
    )


def spec(images: int, channels: int, edge: int) -> Spec:
    """What goes into it."""
    return Spec.of((images, channels, edge, edge), FLOAT32)


def offered(size: tuple[int, int, int], kernel: int = 3) -> dict[str, Algorithm]:
    """The algorithms for the forward direction of a layer, by name."""
    at = layer(*size, kernel).geometry(spec(*size))
    return {one.name: one for one in algorithms(FORWARD, at, 4) if one.name in OWN}


def multiplications(
    name: str, size: tuple[int, int, int] = LAYER, kernel: int = 3
) -> int:
    """How many an algorithm takes, besides its transforms."""
    at = layer(*size, kernel).geometry(spec(*size))
    return round(features(offered(size, kernel)[name], at)[0])


@contextmanager
def only(name: str) -> Iterator[None]:
    """No algorithm is left but one, in the forward direction."""
    others = [number for number, other in enumerate(NAMES) if other != name]
    with knobs(**{DISABLED[FORWARD]: ",".join(map(str, others))}):
        yield


def error(name: str, dtype: str = "float32", seed: int = 0) -> float:
    """The largest error of one algorithm on LAYER, in units of the largest output.

    Random images and weights, rounded to the type; float64 says what is right.
    """
    images, channels, edge = LAYER
    rng = np.random.default_rng(seed)
    arrays = [
        rng.standard_normal(shape).astype(dtype)
        for shape in ((images, channels, edge, edge), (channels, channels, 3, 3))
    ]
    settings = layer(*LAYER).settings

    def computed(by: str, kind: str) -> Any:
        with only(by):
            data, weight = (nd.array(array, dtype=kind) for array in arrays)
            out = nd.Convolution(data, weight, **settings).asnumpy()
            return out.astype(np.float64)

    right = computed("mec", "float64")
    return float(np.abs(computed(name, dtype) - right).max() / np.abs(right).max())


def question(
    direction: str, size: tuple[int, int, int] = LAYER, *, workspace: int = 1024
) -> tuple[Rules, tuple[Candidate, ...]]:
    """The rules that a simulated GPU goes by, and what they leave of the candidates."""
    conv = Convolution.of(**{**layer(*size).settings, "workspace": workspace})
    rules, at, _ = conv.for_device("gpu").question(direction, spec(*size))
    return rules, candidates(direction, at, 4, rules)


def measured(direction: str = FORWARD) -> tuple[Candidate, ...]:
    """The candidates for LAYER with their times on this machine."""
    conv = Convolution.of(**{**layer(*LAYER).settings, "cudnn_tune": "fastest"})
    found: tuple[Candidate, ...] = conv.choice(direction, spec(*LAYER))
    return found


# -- the faded exercise ----------------------------------------------------------------

_SIZES = ((16, 64, 28), (1, 8, 12), (3, 5, 7), (2, 16, 13))


@check
def check_count(attempt: Callable[..., int]) -> Feedback:
    """`attempt(images, channels, edge, m)`: multiplications of F(m×m, 3×3)."""
    for size in _SIZES:
        at = layer(*size).geometry(spec(*size))
        for m in (2, 4):
            tile = tiling(at, m, 4)
            images, channels, edge = size
            tiles = images * tile.rows * tile.cols
            wanted = tiles * tile.points * channels * channels
            seen = attempt(*size, m)
            if seen != wanted:
                return Feedback(
                    False,
                    f"F({m}×{m}, 3×3) on {images} × {channels} × {edge} × {edge} takes "
                    f"{_shown(seen)} multiplications",
                    f"{wanted:,}",
                    _missed(seen, wanted, size, m),
                )
    return Feedback(
        True, f"{len(_SIZES)} layers, two sizes of tiles, edges that do not divide"
    )


def _shown(seen: object) -> str:
    return f"{seen:,}" if isinstance(seen, int | float) else repr(seen)


def _missed(seen: Any, wanted: int, size: tuple[int, int, int], m: int) -> str:
    """Which idea is behind a wrong count."""
    images, channels, edge = size
    if not isinstance(seen, int | float) or seen <= 0:
        return "what is counted: a whole number, tiles times points times products"
    floors = images * (edge // m) ** 2 * (m + 2) ** 2 * channels**2
    if seen == floors:
        return "the last tile of a row: an edge of 7 needs 4 tiles of 2, not 3"
    if seen * (m + 2) ** 2 == wanted * m**2:
        return "a tile: its m × m outputs need (m + 2) × (m + 2) points"
    if seen * channels == wanted:
        return "channels: every filter sums over all of them, so they count twice"
    if seen * images == wanted:
        return "the images: each of them is tiled"
    return "points of a tile, tiles of an image, images, filters, channels: all counted"


# -- the free exercise -----------------------------------------------------------------


@dataclass(frozen=True)
class Item:
    """Who computes a direction of a layer, in modelled seconds."""

    direction: str
    algorithm: Algorithm
    seconds: float


def bill(settings: Mapping[str, Any], workspace: int = 1024) -> list[Item]:
    """What a simulated GPU chooses for LAYERS under these settings of knobs."""
    found = []
    with knobs(MXNET_ONEDNN_ENABLED=0), knobs(**settings):
        for size in LAYERS:
            for direction in (FORWARD, DATA, WEIGHT):
                one = decided(question(direction, size, workspace=workspace)[1])
                found.append(Item(direction, one.algorithm, one.guess))
    return found


def usual() -> float:
    """The seconds of LAYERS under the default settings, deterministic."""
    items = bill({"MXNET_ENFORCE_DETERMINISM": 1})
    return sum(item.seconds for item in items)


@check
def check_settings(settings: Mapping[str, Any], workspace: int = 1024) -> Feedback:
    """Whether settings keep to the four conditions of the free exercise."""
    try:
        items = bill(settings, workspace)
    except MXNetError as refused:
        return Feedback(
            False, str(refused), "an algorithm for every direction", "what you disabled"
        )
    for item in items:
        one = item.algorithm
        if item.direction == WEIGHT and one.error > EXACT:
            return Feedback(
                False,
                f"{one.name} computes a gradient of the weight: its error bound is "
                f"{one.error:,.0f} × that of the plain sum",
                f"at most {EXACT:.0f} × there",
                "the list of numbers that one direction must not use",
            )
        if not one.deterministic:
            return Feedback(
                False,
                f"{one.name} computes a gradient of the weight: its last bits depend "
                f"on the number of threads",
                "the same bits with any number of threads",
                "the knob that allows deterministic algorithms only",
            )
        if one.workspace > MIB << 20:
            return Feedback(
                False,
                f"{one.name} takes {one.workspace / 2**20:.1f} MiB of workspace "
                f"({item.direction})",
                f"at most {MIB} MiB",
                "which mode keeps to `workspace`, and how to do without it",
            )
    share = sum(item.seconds for item in items) / usual()
    if share > SHARE:
        return Feedback(
            False,
            f"{share:.0%} of the usual time",
            f"at most {SHARE:.0%}",
            "which algorithm is the fastest, and which directions may have it",
        )
    return Feedback(
        True,
        f"{share:.0%} of the usual time, at most "
        f"{max(i.algorithm.workspace for i in items) / 2**20:.1f} MiB, digits kept",
    )


def forget() -> None:
    """Let the tuner forget its times."""
    tuner.forget()
