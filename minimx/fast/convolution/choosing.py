"""Which algorithm computes a convolution: a pure policy.

    found = candidates(direction, at, itemsize, rules)    all of them, best guess first
    decided(found)                                        the one to take

`Rules` says what may be chosen. A candidate that is excluded says why, and by which
knob. Who measured gives the seconds along (`timed`); otherwise the order is a guess, by
a fixed rule or by the model of cost (`minimx.fast.convolution.estimate`).

The guess keeps to algorithms that round about as well as the plain sum (`EXACT`): what
is less exact is for those who measured, asked for the fastest, or excluded everything
else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from minimx.core.errors import OperatorError
from minimx.core.kernels.convolution import (
    DATA,
    FORWARD,
    MODES,
    WEIGHT,
    Algorithm,
    Geometry,
)
from minimx.fast.convolution.algorithms import TINY, known
from minimx.fast.convolution.algorithms import on_cuda as known_on_cuda
from minimx.fast.convolution.estimate import on_cuda, seconds
from minimx.fast.convolution.transforms import TILES

#: The guess takes no algorithm whose bound of errors is so many times the plain one's.
EXACT = 100.0
#: The model departs from the rule to save this share of the time, and these seconds.
GAIN, SAVING = 0.9, 50e-6

#: Fewer stops are few: as many tiles of 2×2 make slow matrix products.
STOPS = 4 * TILES

OFF, LIMITED, FASTEST = MODES
#: The knob that lists the numbers not to be used.
DISABLED = {
    FORWARD: "MXNET_CUDNN_DISABLED_CONV_FWD_ENGINES",
    DATA: "MXNET_CUDNN_DISABLED_CONV_DGRAD_ENGINES",
    WEIGHT: "MXNET_CUDNN_DISABLED_CONV_WGRAD_ENGINES",
}
WORDS = {
    FORWARD: "a convolution",
    DATA: "the data gradient of a convolution",
    WEIGHT: "the weight gradient of a convolution",
}


@dataclass(frozen=True)
class Rules:
    """What may be chosen, and how.

    tune: off, limited_workspace or fastest, as `cudnn_tune` says. limit: bytes of
    workspace. inverted: the limit counts in the modes in which MXNet 1.5 to 1.9 honours
    it. stopwatch: who tunes measures, else the model of cost stands for it. model:
    guess by that model, else by the rule. plain: neither libraries nor transforms nor
    knobs, as `cudnn_off` says.
    threads: how many share the work. narrow: the name of the arrays' type if it has two
    bytes. cuda: on a CUDA device, which has algorithms of its own.
    """

    tune: str = OFF
    limit: int = 1 << 30
    inverted: bool = False
    stopwatch: bool = True
    model: bool = True
    fft: bool = True
    winograd: bool = True
    reduced: bool = True
    onednn: bool = True
    deterministic: bool = False
    disabled: tuple[int, ...] = ()
    plain: bool = False
    threads: int = 1
    narrow: str = ""
    cuda: bool = False

    @property
    def bounded(self) -> bool:
        """Whether the limit of workspace counts."""
        return self.tune != (LIMITED if self.inverted else FASTEST)

    @property
    def measures(self) -> bool:
        """Whether times decide, as soon as there are any."""
        return self.tune != OFF and self.stopwatch

    @property
    def modelled(self) -> bool:
        """Whether the model of cost decides."""
        return self.model or (self.tune != OFF and not self.stopwatch)

    @property
    def careful(self) -> bool:
        """Whether a guess needs a reason to depart from the usual, and its digits."""
        return self.tune != FASTEST or self.stopwatch


@dataclass(frozen=True)
class Candidate:
    """An algorithm, what is against it, and what it takes.

    excluded: why it must not be chosen, or nothing. guess, measured: seconds.
    """

    algorithm: Algorithm
    excluded: str
    guess: float
    measured: float | None = None


def excluded(algorithm: Algorithm, rules: Rules) -> str:
    """Why an algorithm must not be chosen, with the knob's name; or nothing."""
    notes = algorithm.notes
    if algorithm.unfit:
        return algorithm.unfit
    if rules.deterministic and "nd" in notes:
        return "MXNET_ENFORCE_DETERMINISM=1"
    if rules.plain:
        plain = algorithm.way is None or algorithm.name == "im2col"
        return _space(algorithm, rules) if plain else "cudnn_off=True"
    if algorithm.number in rules.disabled:
        numbers = ",".join(map(str, rules.disabled))
        return f"{DISABLED[algorithm.direction]}={numbers}"
    if "fft" in notes and not rules.fft:
        return "MXNET_CUDNN_ALLOW_FFT=0"
    if "w" in notes and not rules.winograd:
        return "MXNET_CUDNN_ALLOW_WINOGRAD=0"
    if "rp" in notes and not rules.reduced:
        return "MXNET_CUDNN_ALLOW_REDUCED_PRECISION_REDUCTION=0"
    if algorithm.name == "onednn" and not rules.onednn:
        return "MXNET_ONEDNN_ENABLED=0"
    return _space(algorithm, rules)


def _space(algorithm: Algorithm, rules: Rules) -> str:
    if not rules.bounded or algorithm.workspace <= rules.limit:
        return ""
    return (
        f"it needs {algorithm.workspace:,} bytes, "
        f"workspace allows {max(rules.limit, 0):,}"
    )


def candidates(
    direction: str, at: Geometry, itemsize: int, rules: Rules
) -> tuple[Candidate, ...]:
    """All algorithms: those that may be chosen, best guess first, then the others."""
    if rules.cuda:
        found = [
            Candidate(one, excluded(one, rules), on_cuda(one, at))
            for one in known_on_cuda(direction, at, itemsize)
        ]
    else:
        found = [
            Candidate(one, excluded(one, rules), seconds(one, at, itemsize))
            for one in known(direction, at, itemsize, rules.threads, rules.narrow)
        ]

    def by_rule(candidate: Candidate) -> tuple[bool, bool, float]:
        one = candidate.algorithm
        inexact = one.error > EXACT or one.reduced_precision
        return bool(candidate.excluded), inexact, _place(one, at)

    usual = min(found, key=by_rule)

    def by_model(candidate: Candidate) -> tuple[bool, bool, float]:
        place = candidate.guess
        if not rules.careful:
            return bool(candidate.excluded), False, place
        if candidate is usual:
            place = GAIN * place - SAVING
        elif not candidate.algorithm.deterministic:
            place = max(place, *[one.guess for one in found if one.algorithm.lowering])
        return *by_rule(candidate)[:2], place

    return tuple(sorted(found, key=by_model if rules.modelled else by_rule))


def _place(algorithm: Algorithm, at: Geometry) -> float:
    """A fixed rule: a library, Winograd for many channels, then what copies least.

    The fewer bytes are copied the better, which makes it mec, except where the gradient
    of a few channels (of an image, say) is taken through a strided window: there its
    many small products cost more than the copies. So they do where there are few stops
    and many channels, in all or in an image: each product fetches the weight, and
    Winograd's is larger still.
    """
    channels = at.channels // at.groups
    few = (
        algorithm.direction != FORWARD
        and at.stride_h > 1
        and channels * at.kernel_w < 64
    )
    stops = at.out_h * at.out_w
    small = at.images * stops < STOPS or stops <= TINY
    many = min(channels, at.filters // at.groups) >= 32
    few = few or (many and small)
    order = ["onednn"] * algorithm.deterministic + ["winograd2"] * (many and not small)
    order += ["im2col" if few else "mec", "mec" if few else "im2col", "lean"]
    order += ["onednn", "winograd2", "sliced", "fft"]
    if min(channels, at.filters // at.groups) >= 8:
        order = ["implicit", *order]
    return (*order, "direct", "winograd4", "implicit").index(algorithm.name)


def timed(
    found: Iterable[Candidate], times: Mapping[int, float]
) -> tuple[Candidate, ...]:
    """The candidates with what was measured, by number."""
    return tuple(
        replace(one, measured=times.get(one.algorithm.number)) for one in found
    )


def decided(found: Iterable[Candidate]) -> Candidate:
    """The fastest of those that were measured, else the first that may be chosen.

    Raises `OperatorError` if nothing is left, saying what excluded each.
    """
    every = tuple(found)
    left = [one for one in every if not one.excluded]
    measured = [one for one in left if one.measured is not None]
    if measured:
        return min(measured, key=lambda one: one.measured or 0.0)
    if left:
        return left[0]
    names = "; ".join(
        f"{one.algorithm.name} ({one.algorithm.number}): {one.excluded}"
        for one in sorted(every, key=lambda one: one.algorithm.number)
    )
    raise OperatorError(
        f"no algorithm is left for {WORDS[every[0].algorithm.direction]}. {names}. "
        "Take one of these back."
    )


def table(found: Iterable[Candidate], *, every: bool = True) -> str:
    """The candidates as text, a line each, with a star at the chosen one.

    Milliseconds that were not measured but guessed have a ≈.
    """
    found = tuple(found)
    chosen = decided(found)
    lines = []
    for index, one in enumerate(found):
        if not (every or one is chosen):
            continue
        algorithm = one.algorithm
        words = f"{'*' if one is chosen else ' '} {index}: {algorithm.name:10}"
        words += f" algo {algorithm.number}, {algorithm.workspace:>13,} bytes"
        words += f" [{','.join(algorithm.notes)}]"
        if one.measured is not None:
            words += f" {1e3 * one.measured:.3f} ms"
        elif not algorithm.unfit:
            words += f" ≈ {1e3 * one.guess:.3f} ms"
        lines.append(words + (f" excluded: {one.excluded}" if one.excluded else ""))
    return "\n".join(lines)
