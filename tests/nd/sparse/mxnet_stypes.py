"""In which storage type MXNet 1.9.1 gives its results, as it answered when asked.

r: row_sparse, c: csr, d: default, -: not said.
"""

from __future__ import annotations

from typing import Any


def _rows(text: str) -> list[tuple[Any, ...]]:
    return [tuple(_word(word) for word in row.split("/")) for row in text.split()]


def _word(word: str) -> Any:
    if word == "-":
        return ""
    try:
        return float(word) if "." in word else int(word)
    except ValueError:
        return word


#: name, input, output
UNARY = _rows(
    """
    abs/r/r abs/c/c arccos/r/d arccos/c/d arccosh/r/d arccosh/c/d arcsin/r/r
    arcsin/c/c arcsinh/r/r arcsinh/c/c arctan/r/r arctan/c/c arctanh/r/r arctanh/c/c
    cbrt/r/r cbrt/c/c ceil/r/r ceil/c/c cos/r/d cos/c/d cosh/r/d cosh/c/d degrees/r/r
    degrees/c/c erf/r/d erf/c/d exp/r/d exp/c/d expm1/r/r expm1/c/c fix/r/r fix/c/c
    floor/r/r floor/c/c gammaln/r/d gammaln/c/d hard_sigmoid/r/d hard_sigmoid/c/d
    log10/r/d log10/c/d log1p/r/r log1p/c/c logical_not/r/d logical_not/c/d
    make_loss/r/r make_loss/c/c negative/r/r negative/c/c ones_like/r/d ones_like/c/d
    radians/r/r radians/c/c reciprocal/r/d reciprocal/c/d relu/r/r relu/c/c rint/r/r
    rint/c/c round/r/r round/c/c rsqrt/r/d rsqrt/c/d sigmoid/r/d sigmoid/c/d sign/r/r
    sign/c/c sin/r/r sin/c/c sinh/r/r sinh/c/c softmax/r/d softmax/c/d softsign/r/d
    softsign/c/d sqrt/r/r sqrt/c/c square/r/r square/c/c stop_gradient/r/r
    stop_gradient/c/c tan/r/r tan/c/c tanh/r/r tanh/c/c trunc/r/r trunc/c/c
    zeros_like/r/r zeros_like/c/c
    """
)

#: name, input, number, output
SCALAR = _rows(
    """
    _plus_scalar/r/0.0/r _plus_scalar/r/2.0/d _plus_scalar/r/-2.0/d
    _plus_scalar/c/0.0/c _plus_scalar/c/2.0/d _plus_scalar/c/-2.0/d
    _minus_scalar/r/0.0/r _minus_scalar/r/2.0/d _minus_scalar/r/-2.0/d
    _minus_scalar/c/0.0/c _minus_scalar/c/2.0/d _minus_scalar/c/-2.0/d
    _rminus_scalar/r/0.0/d _rminus_scalar/r/2.0/d _rminus_scalar/r/-2.0/d
    _rminus_scalar/c/0.0/d _rminus_scalar/c/2.0/d _rminus_scalar/c/-2.0/d
    _mul_scalar/r/0.0/r _mul_scalar/r/2.0/r _mul_scalar/r/-2.0/r _mul_scalar/c/0.0/c
    _mul_scalar/c/2.0/c _mul_scalar/c/-2.0/c _div_scalar/r/2.0/r
    _div_scalar/r/-2.0/r _div_scalar/c/2.0/c _div_scalar/c/-2.0/c
    _rdiv_scalar/r/0.0/d _rdiv_scalar/r/2.0/d _rdiv_scalar/r/-2.0/d
    _rdiv_scalar/c/0.0/d _rdiv_scalar/c/2.0/d _rdiv_scalar/c/-2.0/d
    _power_scalar/r/0.0/d _power_scalar/r/2.0/d _power_scalar/r/-2.0/d
    _power_scalar/c/0.0/d _power_scalar/c/2.0/d _power_scalar/c/-2.0/d
    _rpower_scalar/r/0.0/d _rpower_scalar/r/2.0/d _rpower_scalar/r/-2.0/d
    _rpower_scalar/c/0.0/d _rpower_scalar/c/2.0/d _rpower_scalar/c/-2.0/d
    _maximum_scalar/r/0.0/d _maximum_scalar/r/2.0/d _maximum_scalar/r/-2.0/d
    _maximum_scalar/c/0.0/d _maximum_scalar/c/2.0/d _maximum_scalar/c/-2.0/d
    _minimum_scalar/r/0.0/d _minimum_scalar/r/2.0/d _minimum_scalar/r/-2.0/d
    _minimum_scalar/c/0.0/d _minimum_scalar/c/2.0/d _minimum_scalar/c/-2.0/d
    _equal_scalar/r/0.0/d _equal_scalar/r/2.0/r _equal_scalar/r/-2.0/r
    _equal_scalar/c/0.0/d _equal_scalar/c/2.0/c _equal_scalar/c/-2.0/c
    _not_equal_scalar/r/0.0/r _not_equal_scalar/r/2.0/d _not_equal_scalar/r/-2.0/d
    _not_equal_scalar/c/0.0/c _not_equal_scalar/c/2.0/d _not_equal_scalar/c/-2.0/d
    _greater_scalar/r/0.0/r _greater_scalar/r/2.0/r _greater_scalar/r/-2.0/d
    _greater_scalar/c/0.0/c _greater_scalar/c/2.0/c _greater_scalar/c/-2.0/d
    _greater_equal_scalar/r/0.0/d _greater_equal_scalar/r/2.0/r
    _greater_equal_scalar/r/-2.0/d _greater_equal_scalar/c/0.0/d
    _greater_equal_scalar/c/2.0/c _greater_equal_scalar/c/-2.0/d
    _lesser_scalar/r/0.0/r _lesser_scalar/r/2.0/d _lesser_scalar/r/-2.0/r
    _lesser_scalar/c/0.0/c _lesser_scalar/c/2.0/d _lesser_scalar/c/-2.0/c
    _lesser_equal_scalar/r/0.0/d _lesser_equal_scalar/r/2.0/d
    _lesser_equal_scalar/r/-2.0/r _lesser_equal_scalar/c/0.0/d
    _lesser_equal_scalar/c/2.0/d _lesser_equal_scalar/c/-2.0/c
    """
)

#: name, lhs, rhs, output
BINARY = _rows(
    """
    elemwise_add/r/r/r elemwise_add/r/c/d elemwise_add/r/d/d elemwise_add/c/r/d
    elemwise_add/c/c/c elemwise_add/c/d/d elemwise_add/d/r/d elemwise_add/d/c/d
    elemwise_sub/r/r/r elemwise_sub/r/c/d elemwise_sub/r/d/d elemwise_sub/c/r/d
    elemwise_sub/c/c/c elemwise_sub/c/d/d elemwise_sub/d/r/d elemwise_sub/d/c/d
    elemwise_mul/r/r/r elemwise_mul/r/c/d elemwise_mul/r/d/r elemwise_mul/c/r/d
    elemwise_mul/c/c/c elemwise_mul/c/d/c elemwise_mul/d/r/r elemwise_mul/d/c/c
    elemwise_div/r/r/d elemwise_div/r/c/d elemwise_div/r/d/d elemwise_div/c/r/d
    elemwise_div/c/c/d elemwise_div/c/d/d elemwise_div/d/r/d elemwise_div/d/c/d
    broadcast_add/r/r/d broadcast_add/r/c/d broadcast_add/r/d/d broadcast_add/c/r/d
    broadcast_add/c/c/d broadcast_add/c/d/d broadcast_add/d/r/d broadcast_add/d/c/d
    broadcast_sub/r/r/d broadcast_sub/r/c/d broadcast_sub/r/d/d broadcast_sub/c/r/d
    broadcast_sub/c/c/d broadcast_sub/c/d/d broadcast_sub/d/r/d broadcast_sub/d/c/d
    broadcast_mul/r/r/d broadcast_mul/r/c/d broadcast_mul/r/d/d broadcast_mul/c/r/d
    broadcast_mul/c/c/d broadcast_mul/c/d/c broadcast_mul/d/r/d broadcast_mul/d/c/d
    broadcast_div/r/r/d broadcast_div/r/c/d broadcast_div/r/d/d broadcast_div/c/r/d
    broadcast_div/c/c/d broadcast_div/d/r/d broadcast_div/d/c/d broadcast_equal/r/r/d
    broadcast_equal/r/c/d broadcast_equal/r/d/d broadcast_equal/c/r/d
    broadcast_equal/c/c/d broadcast_equal/c/d/d broadcast_equal/d/r/d
    broadcast_equal/d/c/d
    """
)

#: lhs, rhs, transpose_a, transpose_b, forward_stype, output
DOT = _rows(
    """
    r/r/0/0/-/d r/r/0/0/d/d r/r/0/0/c/c r/r/0/0/r/r r/r/0/1/-/d r/r/0/1/d/d
    r/r/0/1/c/c r/r/0/1/r/r r/r/1/0/-/d r/r/1/0/d/d r/r/1/0/c/c r/r/1/0/r/r
    r/r/1/1/-/d r/r/1/1/d/d r/r/1/1/c/c r/r/1/1/r/r r/c/0/0/-/d r/c/0/0/d/d
    r/c/0/0/c/c r/c/0/0/r/r r/c/0/1/-/d r/c/0/1/d/d r/c/0/1/c/c r/c/0/1/r/r
    r/c/1/0/-/d r/c/1/0/d/d r/c/1/0/c/c r/c/1/0/r/r r/c/1/1/-/d r/c/1/1/d/d
    r/c/1/1/c/c r/c/1/1/r/r r/d/0/0/-/d r/d/0/0/d/d r/d/0/0/c/c r/d/0/0/r/r
    r/d/0/1/-/d r/d/0/1/d/d r/d/0/1/c/c r/d/0/1/r/r r/d/1/0/-/d r/d/1/0/d/d
    r/d/1/0/c/c r/d/1/0/r/r r/d/1/1/-/d r/d/1/1/d/d r/d/1/1/c/c r/d/1/1/r/r
    c/r/0/0/-/d c/r/0/0/d/d c/r/0/0/c/c c/r/0/0/r/r c/r/0/1/-/d c/r/0/1/d/d
    c/r/0/1/c/c c/r/0/1/r/r c/r/1/0/-/r c/r/1/0/c/c c/r/1/0/r/r c/r/1/1/-/d
    c/r/1/1/d/d c/r/1/1/c/c c/r/1/1/r/r c/c/0/0/-/d c/c/0/0/d/d c/c/0/0/c/c
    c/c/0/0/r/r c/c/0/1/-/d c/c/0/1/d/d c/c/0/1/c/c c/c/0/1/r/r c/c/1/0/-/d
    c/c/1/0/d/d c/c/1/0/c/c c/c/1/0/r/r c/c/1/1/-/d c/c/1/1/d/d c/c/1/1/c/c
    c/c/1/1/r/r c/d/0/0/-/d c/d/0/0/d/d c/d/0/0/c/c c/d/0/0/r/r c/d/0/1/-/d
    c/d/0/1/d/d c/d/0/1/c/c c/d/0/1/r/r c/d/1/0/-/r c/d/1/0/d/d c/d/1/0/c/c
    c/d/1/0/r/r c/d/1/1/-/d c/d/1/1/d/d c/d/1/1/c/c c/d/1/1/r/r d/r/0/0/-/d
    d/r/0/0/d/d d/r/0/0/c/c d/r/0/0/r/r d/r/0/1/-/d d/r/0/1/d/d d/r/0/1/c/c
    d/r/0/1/r/r d/r/1/0/-/d d/r/1/0/d/d d/r/1/0/c/c d/r/1/0/r/r d/r/1/1/-/d
    d/r/1/1/d/d d/r/1/1/c/c d/r/1/1/r/r d/c/0/0/-/c d/c/0/0/d/d d/c/0/0/c/c
    d/c/0/0/r/r d/c/0/1/-/c d/c/0/1/d/d d/c/0/1/c/c d/c/0/1/r/r d/c/1/0/-/d
    d/c/1/0/d/d d/c/1/0/c/c d/c/1/0/r/r d/c/1/1/-/d d/c/1/1/d/d d/c/1/1/c/c
    d/c/1/1/r/r
    """
)
