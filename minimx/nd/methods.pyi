# Written by `python -m minimx.nd.stubs` from the data sheets in minimx/ops.
from collections.abc import Sequence
from typing import Any

from minimx.nd.array import NDArray

class Methods:
    def abs(self, *, out: Any = None, name: str | None = None) -> NDArray: ...
    def arccos(self, *, out: Any = None, name: str | None = None) -> NDArray: ...
    def arccosh(self, *, out: Any = None, name: str | None = None) -> NDArray: ...
    def arcsin(self, *, out: Any = None, name: str | None = None) -> NDArray: ...
    def arcsinh(self, *, out: Any = None, name: str | None = None) -> NDArray: ...
    def arctan(self, *, out: Any = None, name: str | None = None) -> NDArray: ...
    def arctanh(self, *, out: Any = None, name: str | None = None) -> NDArray: ...
    def argmax(
        self,
        axis: int | None = None,
        keepdims: bool = False,
        *,
        out: Any = None,
        name: str | None = None,
    ) -> NDArray: ...
    def argmax_channel(
        self,
        axis: int | None = 1,
        keepdims: bool = False,
        *,
        out: Any = None,
        name: str | None = None,
    ) -> NDArray: ...
    def argmin(
        self,
        axis: int | None = None,
        keepdims: bool = False,
        *,
        out: Any = None,
        name: str | None = None,
    ) -> NDArray: ...
    def argsort(
        self,
        axis: int | None = -1,
        is_ascend: bool = True,
        dtype: str = "float32",
        *,
        out: Any = None,
        name: str | None = None,
    ) -> NDArray: ...
    def broadcast_axes(
        self,
        axis: int | Sequence[int] = (),
        size: int | Sequence[int] = (),
        *,
        out: Any = None,
        name: str | None = None,
    ) -> NDArray: ...
    def broadcast_axis(
        self,
        axis: int | Sequence[int] = (),
        size: int | Sequence[int] = (),
        *,
        out: Any = None,
        name: str | None = None,
    ) -> NDArray: ...
    def broadcast_like(
        self,
        rhs: NDArray,
        lhs_axes: Any = None,
        rhs_axes: Any = None,
        *,
        out: Any = None,
        name: str | None = None,
    ) -> NDArray: ...
    def broadcast_to(
        self,
        shape: int | Sequence[int] = (),
        *,
        out: Any = None,
        name: str | None = None,
    ) -> NDArray: ...
    def cbrt(self, *, out: Any = None, name: str | None = None) -> NDArray: ...
    def ceil(self, *, out: Any = None, name: str | None = None) -> NDArray: ...
    def clip(
        self,
        a_min: float = ...,
        a_max: float = ...,
        *,
        out: Any = None,
        name: str | None = None,
    ) -> NDArray: ...
    def cos(self, *, out: Any = None, name: str | None = None) -> NDArray: ...
    def cosh(self, *, out: Any = None, name: str | None = None) -> NDArray: ...
    def degrees(self, *, out: Any = None, name: str | None = None) -> NDArray: ...
    def depth_to_space(
        self, block_size: int = ..., *, out: Any = None, name: str | None = None
    ) -> NDArray: ...
    def diag(
        self,
        k: int = 0,
        axis1: int = 0,
        axis2: int = 1,
        *,
        out: Any = None,
        name: str | None = None,
    ) -> NDArray: ...
    def dot(
        self,
        rhs: NDArray,
        transpose_a: bool = False,
        transpose_b: bool = False,
        forward_stype: str | None = None,
        *,
        out: Any = None,
        name: str | None = None,
    ) -> NDArray: ...
    def erf(self, *, out: Any = None, name: str | None = None) -> NDArray: ...
    def exp(self, *, out: Any = None, name: str | None = None) -> NDArray: ...
    def expand_dims(
        self, axis: int = ..., *, out: Any = None, name: str | None = None
    ) -> NDArray: ...
    def expm1(self, *, out: Any = None, name: str | None = None) -> NDArray: ...
    def fix(self, *, out: Any = None, name: str | None = None) -> NDArray: ...
    def flatten(self, *, out: Any = None, name: str | None = None) -> NDArray: ...
    def flip(
        self,
        axis: int | Sequence[int] = ...,
        *,
        out: Any = None,
        name: str | None = None,
    ) -> NDArray: ...
    def floor(self, *, out: Any = None, name: str | None = None) -> NDArray: ...
    def gamma(self, *, out: Any = None, name: str | None = None) -> NDArray: ...
    def gammaln(self, *, out: Any = None, name: str | None = None) -> NDArray: ...
    def log(self, *, out: Any = None, name: str | None = None) -> NDArray: ...
    def log10(self, *, out: Any = None, name: str | None = None) -> NDArray: ...
    def log1p(self, *, out: Any = None, name: str | None = None) -> NDArray: ...
    def log2(self, *, out: Any = None, name: str | None = None) -> NDArray: ...
    def log_softmax(
        self,
        axis: int = -1,
        temperature: float | None = None,
        *,
        out: Any = None,
        name: str | None = None,
    ) -> NDArray: ...
    def max(
        self,
        axis: Any = None,
        keepdims: bool = False,
        exclude: bool = False,
        *,
        out: Any = None,
        name: str | None = None,
    ) -> NDArray: ...
    def mean(
        self,
        axis: Any = None,
        keepdims: bool = False,
        exclude: bool = False,
        *,
        out: Any = None,
        name: str | None = None,
    ) -> NDArray: ...
    def min(
        self,
        axis: Any = None,
        keepdims: bool = False,
        exclude: bool = False,
        *,
        out: Any = None,
        name: str | None = None,
    ) -> NDArray: ...
    def nanprod(
        self,
        axis: Any = None,
        keepdims: bool = False,
        exclude: bool = False,
        *,
        out: Any = None,
        name: str | None = None,
    ) -> NDArray: ...
    def nansum(
        self,
        axis: Any = None,
        keepdims: bool = False,
        exclude: bool = False,
        *,
        out: Any = None,
        name: str | None = None,
    ) -> NDArray: ...
    def norm(
        self,
        ord: int = 2,
        axis: Any = None,
        out_dtype: str | None = None,
        keepdims: bool = False,
        *,
        out: Any = None,
        name: str | None = None,
    ) -> NDArray: ...
    def one_hot(
        self,
        depth: int = ...,
        on_value: float = 1.0,
        off_value: float = 0.0,
        dtype: str = "float32",
        *,
        out: Any = None,
        name: str | None = None,
    ) -> NDArray: ...
    def ones_like(self, *, out: Any = None, name: str | None = None) -> NDArray: ...
    def pad(
        self,
        mode: str = ...,
        pad_width: int | Sequence[int] = ...,
        constant_value: float = 0.0,
        *,
        out: Any = None,
        name: str | None = None,
    ) -> NDArray: ...
    def pick(
        self,
        index: NDArray,
        axis: int = -1,
        keepdims: bool = False,
        mode: str = "clip",
        *,
        out: Any = None,
        name: str | None = None,
    ) -> NDArray: ...
    def prod(
        self,
        axis: Any = None,
        keepdims: bool = False,
        exclude: bool = False,
        *,
        out: Any = None,
        name: str | None = None,
    ) -> NDArray: ...
    def radians(self, *, out: Any = None, name: str | None = None) -> NDArray: ...
    def rcbrt(self, *, out: Any = None, name: str | None = None) -> NDArray: ...
    def reciprocal(self, *, out: Any = None, name: str | None = None) -> NDArray: ...
    def relu(self, *, out: Any = None, name: str | None = None) -> NDArray: ...
    def repeat(
        self,
        repeats: int = ...,
        axis: int | None = None,
        *,
        out: Any = None,
        name: str | None = None,
    ) -> NDArray: ...
    def reshape_like(
        self,
        rhs: NDArray,
        lhs_begin: int | None = None,
        lhs_end: int | None = None,
        rhs_begin: int | None = None,
        rhs_end: int | None = None,
        *,
        out: Any = None,
        name: str | None = None,
    ) -> NDArray: ...
    def rint(self, *, out: Any = None, name: str | None = None) -> NDArray: ...
    def round(self, *, out: Any = None, name: str | None = None) -> NDArray: ...
    def rsqrt(self, *, out: Any = None, name: str | None = None) -> NDArray: ...
    def shape_array(self, *, out: Any = None, name: str | None = None) -> NDArray: ...
    def sigmoid(self, *, out: Any = None, name: str | None = None) -> NDArray: ...
    def sign(self, *, out: Any = None, name: str | None = None) -> NDArray: ...
    def sin(self, *, out: Any = None, name: str | None = None) -> NDArray: ...
    def sinh(self, *, out: Any = None, name: str | None = None) -> NDArray: ...
    def size_array(self, *, out: Any = None, name: str | None = None) -> NDArray: ...
    def slice(
        self,
        begin: Any = ...,
        end: Any = ...,
        step: Any = (),
        *,
        out: Any = None,
        name: str | None = None,
    ) -> NDArray: ...
    def slice_axis(
        self,
        axis: int = ...,
        begin: int = ...,
        end: int | None = ...,
        *,
        out: Any = None,
        name: str | None = None,
    ) -> NDArray: ...
    def slice_like(
        self,
        shape_like: NDArray,
        axes: int | Sequence[int] = (),
        *,
        out: Any = None,
        name: str | None = None,
    ) -> NDArray: ...
    def softmax(
        self,
        axis: int = -1,
        temperature: float | None = None,
        *,
        out: Any = None,
        name: str | None = None,
    ) -> NDArray: ...
    def softmin(
        self,
        axis: int = -1,
        temperature: float | None = None,
        *,
        out: Any = None,
        name: str | None = None,
    ) -> NDArray: ...
    def sort(
        self,
        axis: int | None = -1,
        is_ascend: bool = True,
        *,
        out: Any = None,
        name: str | None = None,
    ) -> NDArray: ...
    def space_to_depth(
        self, block_size: int = ..., *, out: Any = None, name: str | None = None
    ) -> NDArray: ...
    def split(
        self,
        num_outputs: int = ...,
        axis: int = 1,
        squeeze_axis: bool = False,
        *,
        out: Any = None,
        name: str | None = None,
    ) -> Any: ...
    def sqrt(self, *, out: Any = None, name: str | None = None) -> NDArray: ...
    def square(self, *, out: Any = None, name: str | None = None) -> NDArray: ...
    def squeeze(
        self, axis: Any = None, *, out: Any = None, name: str | None = None
    ) -> NDArray: ...
    def sum(
        self,
        axis: Any = None,
        keepdims: bool = False,
        exclude: bool = False,
        *,
        out: Any = None,
        name: str | None = None,
    ) -> NDArray: ...
    def swapaxes(
        self, dim1: int = 0, dim2: int = 0, *, out: Any = None, name: str | None = None
    ) -> NDArray: ...
    def take(
        self,
        indices: NDArray,
        axis: int = 0,
        mode: str = "clip",
        *,
        out: Any = None,
        name: str | None = None,
    ) -> NDArray: ...
    def tan(self, *, out: Any = None, name: str | None = None) -> NDArray: ...
    def tanh(self, *, out: Any = None, name: str | None = None) -> NDArray: ...
    def tile(
        self,
        reps: int | Sequence[int] = ...,
        *,
        out: Any = None,
        name: str | None = None,
    ) -> NDArray: ...
    def topk(
        self,
        axis: int | None = -1,
        k: int = 1,
        ret_typ: str = "indices",
        is_ascend: bool = False,
        dtype: str = "float32",
        *,
        out: Any = None,
        name: str | None = None,
    ) -> Any: ...
    def trunc(self, *, out: Any = None, name: str | None = None) -> NDArray: ...
    def zeros_like(self, *, out: Any = None, name: str | None = None) -> NDArray: ...
