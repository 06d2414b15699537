# Written by `python -m minimx.nd.stubs` from the data sheets in minimx/ops.
from collections.abc import Sequence
from typing import Any

from minimx.nd.array import NDArray

def det(A: NDArray, *, out: Any = None, name: str | None = None) -> NDArray: ...
def extractdiag(
    A: NDArray, offset: int = 0, *, out: Any = None, name: str | None = None
) -> NDArray: ...
def extracttrian(
    A: NDArray,
    offset: int = 0,
    lower: bool = True,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def gelqf(A: NDArray, *, out: Any = None, name: str | None = None) -> Any: ...
def gemm(
    A: NDArray,
    B: NDArray,
    C: NDArray,
    transpose_a: bool = False,
    transpose_b: bool = False,
    alpha: float = 1.0,
    beta: float = 1.0,
    axis: int = -2,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def gemm2(
    A: NDArray,
    B: NDArray,
    transpose_a: bool = False,
    transpose_b: bool = False,
    alpha: float = 1.0,
    axis: int = -2,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def inverse(A: NDArray, *, out: Any = None, name: str | None = None) -> NDArray: ...
def inverse_or_zeros(
    A: NDArray, *, out: Any = None, name: str | None = None
) -> NDArray: ...
def makediag(
    A: NDArray, offset: int = 0, *, out: Any = None, name: str | None = None
) -> NDArray: ...
def maketrian(
    A: NDArray,
    offset: int = 0,
    lower: bool = True,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def potrf(A: NDArray, *, out: Any = None, name: str | None = None) -> NDArray: ...
def potri(A: NDArray, *, out: Any = None, name: str | None = None) -> NDArray: ...
def slogdet(A: NDArray, *, out: Any = None, name: str | None = None) -> Any: ...
def sumlogdiag(A: NDArray, *, out: Any = None, name: str | None = None) -> NDArray: ...
def syevd(A: NDArray, *, out: Any = None, name: str | None = None) -> Any: ...
def syrk(
    A: NDArray,
    transpose: bool = False,
    alpha: float = 1.0,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def trmm(
    A: NDArray,
    B: NDArray,
    transpose: bool = False,
    rightside: bool = False,
    lower: bool = True,
    alpha: float = 1.0,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def trsm(
    A: NDArray,
    B: NDArray,
    transpose: bool = False,
    rightside: bool = False,
    lower: bool = True,
    alpha: float = 1.0,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
