"""Convolution by Fourier transform: windows become products of single numbers.

Put data X, weight W and output Y on planes of one size, large enough that nothing wraps
around: data behind its padding, the taps of a window `dilate` apart, outputs `stride`
apart, zeros between. Let x, w, y be their transforms. Then, with sums over what is not
named on the left (channels, filters, images),

    forward            y = conj(w) x        one product for each frequency, instead of
    gradient of data   x = w y              one for each tap of a window
    gradient of weight w = conj(y) x

and the result is read off the plane of what comes back. A plane of real numbers needs
the frequencies of one half only. How long the windows are does not matter, so it pays
for long ones. Every number of a plane is rounded with all others, so small numbers
beside large ones lose digits.

The transforms are NumPy's (pocketfft), shared by Python threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from minimx.core.kernels import threads
from minimx.core.kernels.convolution import DATA, FORWARD, Geometry
from minimx.core.kernels.native import halves, load, store
from minimx.core.kernels.parts import dealt
from minimx.fast.convolution.transforms import Spectrum

#: Frequencies to work on at a time; their sums stay in the nearest cache.
STRETCH = 512


@threads.jit(parallel=True)
def mix(part: Any, left: Any, right: Any, out: Any, turn: bool) -> None:
    """out[i, j] = sum over k of conj(left[i, k]) right[k, j], at each frequency.

    left (I, K, E), right (K, J, E), out (I, J, E), complex, in any layout
    turn: the conjugate of left, else left itself
    """
    for pair in dealt(out.shape[0] * out.shape[1], part):
        i, j = pair // out.shape[1], pair % out.shape[1]
        for begin in range(0, out.shape[2], STRETCH):
            total = out[i, j, begin : begin + STRETCH]
            total[:] = 0
            for k in range(left.shape[1]):
                _multiply(left[i, k, begin:], right[k, j, begin:], total, turn)


@threads.jit(inner=True)
def _multiply(left: Any, right: Any, total: Any, turn: bool) -> None:
    """Add the products; each number is its real part, then its imaginary part."""
    a, b, t = halves(left), halves(right), halves(total)
    for e in range(0, 2 * total.size, 2):
        x, y, u, v = load(a, e), load(a, e + 1), load(b, e), load(b, e + 1)
        y = -y if turn else y
        store(t, e, load(t, e) + (x * u - y * v))
        store(t, e + 1, load(t, e + 1) + (x * v + y * u))


class Planes:
    """The workspace as planes and spectra, and the ways in and out of them."""

    def __init__(self, scratch: Any, at: Geometry, plan: Spectrum) -> None:
        self.at, self.plan = at, plan
        self.complex = np.result_type(scratch.dtype, np.complex64)
        reals = plan.most * plan.height * plan.width
        self.real, self._free = scratch[:reals], scratch[reals:]
        down = slice(at.pad_h, at.pad_h + at.height)
        self.image = down, slice(at.pad_w, at.pad_w + at.width)
        self.taps = _comb(at.kernel_h, at.dilate_h), _comb(at.kernel_w, at.dilate_w)
        self.stops = _comb(at.out_h, at.stride_h), _comb(at.out_w, at.stride_w)

    def spectrum(self, *lead: int) -> Any:
        """Room for the spectra of planes, (*lead, height, half of width)."""
        shape = *lead, self.plan.height, self.plan.width // 2 + 1
        size = 2 * int(np.prod(shape))
        taken, self._free = self._free[:size], self._free[size:]
        return taken.view(self.complex).reshape(shape)

    def into(self, array: Any, places: Any) -> Any:
        """The spectra of an array (A, B, H, W), put on planes at `places`."""
        found = self.spectrum(*array.shape[:2])
        lines = self._lines(array)

        def some(part: slice) -> None:
            line, spectra = lines[part], found[part]
            line[...] = 0
            line[..., places[1]] = array[part]
            spectra[...] = 0
            np.fft.rfft(line, axis=-1, out=spectra[:, :, places[0]])
            np.fft.fft(spectra, axis=-2, out=spectra)

        _shared(some, array.shape[0], most(self.at))
        return found

    def back(self, spectra: Any, places: Any, array: Any, bias: Any = None) -> None:
        """What the planes of spectra hold at `places`, as array (A, B, H, W)."""
        lines = self._lines(array)

        def some(part: slice) -> None:
            np.fft.ifft(spectra[part], axis=-2, out=spectra[part])
            rows, width = spectra[part][:, :, places[0]], self.plan.width
            np.fft.irfft(rows, width, axis=-1, out=lines[part])
            array[part] = lines[part][..., places[1]]
            if bias is not None:
                array[part] += bias

        _shared(some, spectra.shape[0], most(self.at))

    def _lines(self, array: Any) -> Any:
        """Room for those rows of the planes that hold an array (A, B, H, W)."""
        shape = *array.shape[:3], self.plan.width
        return self.real[: int(np.prod(shape))].reshape(shape)


def run(direction: str, at: Geometry, plan: Spectrum) -> Callable[..., None]:
    """`kernel(left, right, target, bias or None, scratch)` for one direction.

    forward: weight, data, out; data gradient: weight, dout, ddata; weight gradient:
    dout, data, dweight. scratch: real numbers, as many as the plan says.
    """

    def kernel(left: Any, right: Any, target: Any, bias: Any, scratch: Any) -> None:
        planes = Planes(scratch, at, plan)
        if direction == FORWARD:
            ends = planes.taps, planes.image, planes.stops
        elif direction == DATA:
            ends = planes.taps, planes.stops, planes.image
        else:
            ends = planes.stops, planes.image, planes.taps
        a, b = planes.into(left, ends[0]), planes.into(right, ends[1])
        found = planes.spectrum(*target.shape[:2])
        for first, second, out in _groups(direction, at.groups, a, b, found):
            mix.sharing(most(at), first, second, out, direction != DATA)
        if bias is not None:
            bias = bias[:, None, None]
        planes.back(found, ends[2], target, bias)

    return kernel


def _groups(
    direction: str, groups: int, left: Any, right: Any, out: Any
) -> Iterator[tuple[Any, Any, Any]]:
    """For each group, (i, k), (k, j) and (i, j) spectra of `mix`."""
    a, b, c = (x.reshape(*x.shape[:2], -1) for x in (left, right, out))
    for g in range(groups):
        if direction == FORWARD:  # (f, c) (c, n) -> (f, n)
            filters = _part(a.shape[0], g, groups)
            channels = _part(b.shape[1], g, groups)
            yield (
                a[filters],
                b[:, channels].swapaxes(0, 1),
                c[:, filters].swapaxes(0, 1),
            )
        elif direction == DATA:  # (c, f) (f, n) -> (c, n)
            filters = _part(a.shape[0], g, groups)
            channels = _part(c.shape[1], g, groups)
            heads = b[:, filters].swapaxes(0, 1)
            yield a[filters].swapaxes(0, 1), heads, c[:, channels].swapaxes(0, 1)
        else:  # (f, n) (n, c) -> (f, c)
            filters = _part(a.shape[1], g, groups)
            channels = _part(b.shape[1], g, groups)
            yield a[:, filters].swapaxes(0, 1), b[:, channels], c[filters]


def _part(length: int, g: int, groups: int) -> slice:
    return slice(g * length // groups, (g + 1) * length // groups)


def _comb(count: int, step: int) -> slice:
    return slice(0, (count - 1) * step + 1, step)


def most(at: Geometry) -> int:
    """How many threads a transform of this much work may use."""
    return threads.transforming() if threads.parts(at.products) > 1 else 1


def _shared(job: Callable[[slice], None], length: int, count: int) -> None:
    """Run `job` on slices of `length`, one for each of `count` threads."""
    count = min(count, length)
    if count < 2:
        return job(slice(0, length))
    parts = [_part(length, k, count) for k in range(count)]
    with ThreadPoolExecutor(count) as pool:
        list(pool.map(job, parts))
    return None
