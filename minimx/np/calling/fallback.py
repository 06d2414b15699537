"""Functions that official NumPy computes for `mx.np`, on copies in the host's memory.

A call waits for its arrays, copies them, lets NumPy work and copies the result back to
the device. No gradient flows through it: inside `record()` an array that leads to a
variable is refused. MXNet has the same list for the same reason: these functions are
rarely on the path of a computation that must be fast.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as onp

from minimx.np.calling.dispatch import by_numpy
from minimx.np.multiarray import ndarray

#: What each function does.
_SENTENCES = """
allclose: Whether all elements are equal, up to a tolerance: a plain bool.
apply_along_axis: A function of vectors, applied to every vector along an axis.
apply_over_axes: A function of an array and an axis, for several axes.
argpartition: Where the elements stand that `partition` would give.
array_equal: Whether shapes and all elements are equal: a plain bool.
array_equiv: Whether two arrays are equal once they are stretched to one shape.
choose: At each place the element of the array whose number stands there.
compress: The slices along an axis whose condition holds.
corrcoef: Correlations of the rows of a matrix: between -1 and 1.
correlate: The products of a vector with another one at every distance, summed.
cov: The covariances of the rows of a matrix.
digitize: In which interval each element lies, by the borders between them.
extract: The elements where a condition holds, in one axis.
float_power: Powers, computed in float64 whatever the types.
frexp: Fraction and exponent: x = fraction * 2**exponent.
histogram2d: How many points lie in each cell of a grid, and its borders.
histogram_bin_edges: Where a histogram's intervals begin; where the last ends.
histogramdd: As histogram2d, for points with any number of coordinates.
i0: The modified Bessel function of the first kind, of order 0.
interp: A line through points, read at other places.
intersect1d: The elements that two arrays have in common, in ascending order.
isclose: Where two arrays are equal, up to a tolerance.
isin: Which elements of an array are in another one.
ix_: Vectors of indices as an open grid, to choose rows and columns at once.
lexsort: The order by the last key; where it is equal by the one before it.
min_scalar_type: The smallest element type that holds a number.
nancumprod: The product so far; what is no number counts as 1.
nancumsum: The sum so far; what is no number counts as 0.
nanmedian: The number in the middle of those that are numbers.
nanpercentile: Percentiles of the elements that are numbers.
nanquantile: Quantiles of the elements that are numbers.
packbits: Eight elements, 0 or not, as the bits of one byte.
partition: The elements with the kth at its place, smaller ones before it.
piecewise: At each place the function, or number, whose condition holds there.
poly: Coefficients of the polynomial with these roots, highest power first.
polyadd: The sum of two polynomials, given by coefficients.
polydiv: Quotient and rest of two polynomials, given by coefficients.
polyfit: The coefficients of the polynomial that lies closest to points.
polyint: The integral of a polynomial, given by coefficients.
polymul: The product of two polynomials, given by coefficients.
polysub: The difference of two polynomials, given by coefficients.
promote_types: The smallest element type that holds the numbers of two.
result_type: The element type that NumPy's operators would give.
roots: Where a polynomial is 0, given by coefficients.
select: At each place the element of the first whose condition holds there.
setdiff1d: The elements of one array that are not in another, ascending.
setxor1d: The elements that are in one of two arrays only, ascending.
spacing: How far away the next number is that the element type can hold.
trim_zeros: A vector without the zeros at its beginning and its end.
union1d: The elements that are in one of two arrays or in both, ascending.
unpackbits: The eight bits of every byte as elements.
unwrap: Angles without jumps: whole turns are added to keep them close.
vander: The powers of each element of a vector, as the rows of a matrix.
"""
NAMES = dict(line.split(": ", 1) for line in _SENTENCES.strip().splitlines())


#: What not every version of NumPy tells of its functions in C.
_PARAMETERS: dict[str, Callable[..., None]] = {
    "float_power": lambda x1, x2: None,
    "frexp": lambda x: None,
    "lexsort": lambda keys, axis=-1: None,
    "min_scalar_type": lambda a: None,
    "packbits": lambda a, axis=None, bitorder="big": None,
    "promote_types": lambda type1, type2: None,
    "result_type": lambda *arrays_and_dtypes: None,
    "spacing": lambda x: None,
    "unpackbits": lambda a, axis=None, count=None, bitorder="big": None,
}
#: What comes back where it is not one array.
_RETURNS = {
    "allclose": "bool", "array_equal": "bool", "array_equiv": "bool",
    "frexp": "tuple[ndarray, ndarray]", "polydiv": "tuple[ndarray, ndarray]",
    "histogram2d": "tuple[ndarray, ndarray, ndarray]",
    "histogramdd": "tuple[ndarray, tuple[ndarray, ...]]", "intersect1d": "Any",
    "ix_": "tuple[ndarray, ...]", "min_scalar_type": "dtype", "polyfit": "Any",
    "promote_types": "dtype", "result_type": "dtype",
}  # fmt: skip
_NOTE = """\
Computed by NumPy on copies: it waits for its arrays, and has no gradient. Arguments are
NumPy's."""


def _signature(name: str) -> inspect.Signature:
    """The parameters of NumPy's function, without its own types."""
    given = inspect.signature(_PARAMETERS.get(name) or getattr(onp, name))
    parameters = []
    for parameter in given.parameters.values():
        plain = parameter.replace(annotation=parameter.empty)
        if plain.name == "keepdims":  # NumPy's default is a sign of its own
            plain = plain.replace(default=False)
        parameters.append(plain)
    return inspect.Signature(
        parameters, return_annotation=_RETURNS.get(name, "ndarray")
    )


#: Arguments that NumPy 1, which MXNet asks, takes in double precision: their places.
_DOUBLE = {
    "histogram2d": {"x": 0, "y": 1},
    "nanpercentile": {"q": 1},
    "nanquantile": {"q": 1},
}


def _in_double(name: str, official: Callable[..., Any]) -> Callable[..., Any]:
    """A function of NumPy with those arguments converted."""

    def function(*args: Any, **kwargs: Any) -> Any:
        given = list(args)
        for word, place in _DOUBLE[name].items():
            if word in kwargs:
                kwargs[word] = onp.asarray(kwargs[word], onp.float64)
            elif place < len(given):
                given[place] = onp.asarray(given[place], onp.float64)
        return official(*given, **kwargs)

    return function


def _fallback(name: str, sentence: str) -> Callable[..., Any]:
    official = getattr(onp, name)
    if name in _DOUBLE:
        official = _in_double(name, official)

    def function(*args: Any, **kwargs: Any) -> Any:
        return by_numpy(official, args, kwargs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{sentence}\n\n{_NOTE}\n"
    function.__module__ = __name__
    function.__signature__ = _signature(name)  # type: ignore[attr-defined]
    return function


FUNCTIONS: dict[str, Callable[..., Any]] = {
    name: _fallback(name, sentence) for name, sentence in NAMES.items()
}


def in1d(
    ar1: Any, ar2: Any, assume_unique: bool = False, invert: bool = False
) -> ndarray:
    """Which elements of the flat ar1 are in ar2; `isin` keeps the shape.

    Computed by NumPy on copies: it waits for its arrays, and has no gradient.
    """
    words = {"assume_unique": assume_unique, "invert": invert}
    return FUNCTIONS["isin"](ar1.reshape(-1), ar2, **words)


def msort(a: Any) -> ndarray:
    """The elements in order along the first axis.

    Computed by NumPy on copies: it waits for its arrays, and has no gradient.
    """
    return by_numpy(onp.sort, (a, 0), {})


# Names that NumPy itself has given up since.
FUNCTIONS |= {"in1d": in1d, "msort": msort}
globals().update(FUNCTIONS)

__all__ = sorted(FUNCTIONS)
