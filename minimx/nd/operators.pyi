# Written by `python -m minimx.nd.stubs` from the data sheets in minimx/ops.
from collections.abc import Sequence
from typing import Any

from minimx.nd.array import NDArray

def Activation(
    data: NDArray, act_type: str = ..., *, out: Any = None, name: str | None = None
) -> NDArray: ...
def BatchNorm(
    data: NDArray,
    gamma: NDArray,
    beta: NDArray,
    moving_mean: NDArray,
    moving_var: NDArray,
    eps: float = 0.001,
    momentum: float = 0.9,
    fix_gamma: bool = True,
    use_global_stats: bool = False,
    output_mean_var: bool = False,
    axis: int = 1,
    cudnn_off: bool = False,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def BlockGrad(
    data: NDArray, *, out: Any = None, name: str | None = None
) -> NDArray: ...
def Cast(
    data: NDArray, dtype: str = ..., *, out: Any = None, name: str | None = None
) -> NDArray: ...
def Concat(
    *data: NDArray, dim: int = 1, out: Any = None, name: str | None = None
) -> NDArray: ...
def Convolution(
    data: NDArray | None = None,
    weight: NDArray | None = None,
    bias: NDArray | None = None,
    kernel: int | Sequence[int] = ...,
    stride: int | Sequence[int] = (),
    dilate: int | Sequence[int] = (),
    pad: int | Sequence[int] = (),
    num_filter: int = ...,
    num_group: int = 1,
    workspace: int = 1024,
    no_bias: bool = False,
    cudnn_tune: str | None = None,
    cudnn_off: bool = False,
    layout: str | None = None,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def Convolution_v1(
    data: NDArray | None = None,
    weight: NDArray | None = None,
    bias: NDArray | None = None,
    kernel: int | Sequence[int] = ...,
    stride: int | Sequence[int] = (),
    dilate: int | Sequence[int] = (),
    pad: int | Sequence[int] = (),
    num_filter: int = ...,
    num_group: int = 1,
    workspace: int = 1024,
    no_bias: bool = False,
    cudnn_tune: str | None = None,
    cudnn_off: bool = False,
    layout: str | None = None,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def Deconvolution(
    data: NDArray | None = None,
    weight: NDArray | None = None,
    bias: NDArray | None = None,
    kernel: int | Sequence[int] = ...,
    stride: int | Sequence[int] = (),
    dilate: int | Sequence[int] = (),
    pad: int | Sequence[int] = (),
    adj: int | Sequence[int] = (),
    target_shape: int | Sequence[int] = (),
    num_filter: int = ...,
    num_group: int = 1,
    workspace: int = 512,
    no_bias: bool = True,
    cudnn_tune: str | None = None,
    cudnn_off: bool = False,
    layout: str | None = None,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def Dropout(
    data: NDArray,
    p: float = 0.5,
    mode: str = "training",
    axes: int | Sequence[int] = (),
    cudnn_off: bool = False,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def ElementWiseSum(
    *data: NDArray, out: Any = None, name: str | None = None
) -> NDArray: ...
def Embedding(
    data: NDArray,
    weight: NDArray,
    input_dim: int = ...,
    output_dim: int = ...,
    dtype: str = "float32",
    sparse_grad: bool = False,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def Flatten(data: NDArray, *, out: Any = None, name: str | None = None) -> NDArray: ...
def FullyConnected(
    data: NDArray | None = None,
    weight: NDArray | None = None,
    bias: NDArray | None = None,
    num_hidden: int = ...,
    no_bias: bool = False,
    flatten: bool = True,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def L2Normalization(
    data: NDArray,
    eps: float = 1e-10,
    mode: str = "instance",
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def LayerNorm(
    data: NDArray,
    gamma: NDArray,
    beta: NDArray,
    axis: int = -1,
    eps: float = 1e-05,
    output_mean_var: bool = False,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def LeakyReLU(
    data: NDArray | None = None,
    gamma: NDArray | None = None,
    act_type: str = "leaky",
    slope: float = 0.25,
    lower_bound: float = 0.125,
    upper_bound: float = 0.334,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def LinearRegressionOutput(
    data: NDArray,
    label: NDArray,
    grad_scale: float = 1.0,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def LogisticRegressionOutput(
    data: NDArray,
    label: NDArray,
    grad_scale: float = 1.0,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def MAERegressionOutput(
    data: NDArray,
    label: NDArray,
    grad_scale: float = 1.0,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def MakeLoss(data: NDArray, *, out: Any = None, name: str | None = None) -> NDArray: ...
def Pad(
    data: NDArray,
    mode: str = ...,
    pad_width: int | Sequence[int] = ...,
    constant_value: float = 0.0,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def Pooling(
    data: NDArray,
    kernel: int | Sequence[int] = (),
    pool_type: str = "max",
    global_pool: bool = False,
    cudnn_off: bool = False,
    pooling_convention: str = "valid",
    stride: int | Sequence[int] = (),
    pad: int | Sequence[int] = (),
    p_value: int | None = None,
    count_include_pad: bool | None = None,
    layout: str | None = None,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def Pooling_v1(
    data: NDArray,
    kernel: int | Sequence[int] = (),
    pool_type: str = "max",
    global_pool: bool = False,
    cudnn_off: bool = False,
    pooling_convention: str = "valid",
    stride: int | Sequence[int] = (),
    pad: int | Sequence[int] = (),
    p_value: int | None = None,
    count_include_pad: bool | None = None,
    layout: str | None = None,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def RNN(
    data: NDArray | None = None,
    parameters: NDArray | None = None,
    state: NDArray | None = None,
    state_cell: NDArray | None = None,
    sequence_length: NDArray | None = None,
    state_size: int = ...,
    num_layers: int = ...,
    bidirectional: bool = False,
    mode: str = "",
    p: float = 0.0,
    state_outputs: bool = False,
    projection_size: int | None = None,
    lstm_state_clip_min: float | None = None,
    lstm_state_clip_max: float | None = None,
    lstm_state_clip_nan: bool = False,
    use_sequence_length: bool = False,
    *,
    out: Any = None,
    name: str | None = None,
) -> Any: ...
def Reshape(
    data: NDArray,
    shape: int | Sequence[int] = (),
    reverse: bool = False,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def SequenceLast(
    data: NDArray | None = None,
    sequence_length: NDArray | None = None,
    use_sequence_length: bool = False,
    axis: int = 0,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def SequenceMask(
    data: NDArray | None = None,
    sequence_length: NDArray | None = None,
    use_sequence_length: bool = False,
    value: float = 0.0,
    axis: int = 0,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def SequenceReverse(
    data: NDArray | None = None,
    sequence_length: NDArray | None = None,
    use_sequence_length: bool = False,
    axis: int = 0,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def SliceChannel(
    data: NDArray,
    num_outputs: int = ...,
    axis: int = 1,
    squeeze_axis: bool = False,
    *,
    out: Any = None,
    name: str | None = None,
) -> Any: ...
def Softmax(
    data: NDArray,
    label: NDArray,
    grad_scale: float = 1.0,
    ignore_label: float = -1.0,
    multi_output: bool = False,
    use_ignore: bool = False,
    preserve_shape: bool = False,
    normalization: str = "null",
    out_grad: bool = False,
    smooth_alpha: float = 0.0,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def SoftmaxOutput(
    data: NDArray,
    label: NDArray,
    grad_scale: float = 1.0,
    ignore_label: float = -1.0,
    multi_output: bool = False,
    use_ignore: bool = False,
    preserve_shape: bool = False,
    normalization: str = "null",
    out_grad: bool = False,
    smooth_alpha: float = 0.0,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def SwapAxes(
    data: NDArray,
    dim1: int = 0,
    dim2: int = 0,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def SwapAxis(
    data: NDArray,
    dim1: int = 0,
    dim2: int = 0,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def abs(data: NDArray, *, out: Any = None, name: str | None = None) -> NDArray: ...
def adam_update(
    weight: NDArray,
    grad: NDArray,
    mean: NDArray,
    var: NDArray,
    lr: float = ...,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-08,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def add_n(*data: NDArray, out: Any = None, name: str | None = None) -> NDArray: ...
def all_finite(
    data: NDArray, init_output: bool = True, *, out: Any = None, name: str | None = None
) -> NDArray: ...
def amp_cast(
    data: NDArray, dtype: str = ..., *, out: Any = None, name: str | None = None
) -> NDArray: ...
def amp_multicast(
    *data: NDArray,
    num_outputs: int = ...,
    cast_narrow: bool = False,
    out: Any = None,
    name: str | None = None,
) -> Any: ...
def arccos(data: NDArray, *, out: Any = None, name: str | None = None) -> NDArray: ...
def arccosh(data: NDArray, *, out: Any = None, name: str | None = None) -> NDArray: ...
def arcsin(data: NDArray, *, out: Any = None, name: str | None = None) -> NDArray: ...
def arcsinh(data: NDArray, *, out: Any = None, name: str | None = None) -> NDArray: ...
def arctan(data: NDArray, *, out: Any = None, name: str | None = None) -> NDArray: ...
def arctanh(data: NDArray, *, out: Any = None, name: str | None = None) -> NDArray: ...
def argmax(
    data: NDArray,
    axis: int | None = None,
    keepdims: bool = False,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def argmax_channel(
    data: NDArray,
    axis: int | None = 1,
    keepdims: bool = False,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def argmin(
    data: NDArray,
    axis: int | None = None,
    keepdims: bool = False,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def argsort(
    data: NDArray,
    axis: int | None = -1,
    is_ascend: bool = True,
    dtype: str = "float32",
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def batch_dot(
    lhs: NDArray,
    rhs: NDArray,
    transpose_a: bool = False,
    transpose_b: bool = False,
    forward_stype: str | None = None,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def batch_take(
    a: NDArray, indices: NDArray, *, out: Any = None, name: str | None = None
) -> NDArray: ...
def broadcast_add(
    lhs: NDArray, rhs: NDArray, *, out: Any = None, name: str | None = None
) -> NDArray: ...
def broadcast_axes(
    data: NDArray,
    axis: int | Sequence[int] = (),
    size: int | Sequence[int] = (),
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def broadcast_axis(
    data: NDArray,
    axis: int | Sequence[int] = (),
    size: int | Sequence[int] = (),
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def broadcast_div(
    lhs: NDArray, rhs: NDArray, *, out: Any = None, name: str | None = None
) -> NDArray: ...
def broadcast_equal(
    lhs: NDArray, rhs: NDArray, *, out: Any = None, name: str | None = None
) -> NDArray: ...
def broadcast_greater(
    lhs: NDArray, rhs: NDArray, *, out: Any = None, name: str | None = None
) -> NDArray: ...
def broadcast_greater_equal(
    lhs: NDArray, rhs: NDArray, *, out: Any = None, name: str | None = None
) -> NDArray: ...
def broadcast_hypot(
    lhs: NDArray, rhs: NDArray, *, out: Any = None, name: str | None = None
) -> NDArray: ...
def broadcast_lesser(
    lhs: NDArray, rhs: NDArray, *, out: Any = None, name: str | None = None
) -> NDArray: ...
def broadcast_lesser_equal(
    lhs: NDArray, rhs: NDArray, *, out: Any = None, name: str | None = None
) -> NDArray: ...
def broadcast_like(
    lhs: NDArray,
    rhs: NDArray,
    lhs_axes: Any = None,
    rhs_axes: Any = None,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def broadcast_logical_and(
    lhs: NDArray, rhs: NDArray, *, out: Any = None, name: str | None = None
) -> NDArray: ...
def broadcast_logical_or(
    lhs: NDArray, rhs: NDArray, *, out: Any = None, name: str | None = None
) -> NDArray: ...
def broadcast_logical_xor(
    lhs: NDArray, rhs: NDArray, *, out: Any = None, name: str | None = None
) -> NDArray: ...
def broadcast_maximum(
    lhs: NDArray, rhs: NDArray, *, out: Any = None, name: str | None = None
) -> NDArray: ...
def broadcast_minimum(
    lhs: NDArray, rhs: NDArray, *, out: Any = None, name: str | None = None
) -> NDArray: ...
def broadcast_minus(
    lhs: NDArray, rhs: NDArray, *, out: Any = None, name: str | None = None
) -> NDArray: ...
def broadcast_mod(
    lhs: NDArray, rhs: NDArray, *, out: Any = None, name: str | None = None
) -> NDArray: ...
def broadcast_mul(
    lhs: NDArray, rhs: NDArray, *, out: Any = None, name: str | None = None
) -> NDArray: ...
def broadcast_not_equal(
    lhs: NDArray, rhs: NDArray, *, out: Any = None, name: str | None = None
) -> NDArray: ...
def broadcast_plus(
    lhs: NDArray, rhs: NDArray, *, out: Any = None, name: str | None = None
) -> NDArray: ...
def broadcast_power(
    lhs: NDArray, rhs: NDArray, *, out: Any = None, name: str | None = None
) -> NDArray: ...
def broadcast_sub(
    lhs: NDArray, rhs: NDArray, *, out: Any = None, name: str | None = None
) -> NDArray: ...
def broadcast_to(
    data: NDArray,
    shape: int | Sequence[int] = (),
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def cast(
    data: NDArray, dtype: str = ..., *, out: Any = None, name: str | None = None
) -> NDArray: ...
def cbrt(data: NDArray, *, out: Any = None, name: str | None = None) -> NDArray: ...
def ceil(data: NDArray, *, out: Any = None, name: str | None = None) -> NDArray: ...
def choose_element_0index(
    data: NDArray,
    index: NDArray,
    axis: int = -1,
    keepdims: bool = False,
    mode: str = "clip",
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def clip(
    data: NDArray,
    a_min: float = ...,
    a_max: float = ...,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def concat(
    *data: NDArray, dim: int = 1, out: Any = None, name: str | None = None
) -> NDArray: ...
def cos(data: NDArray, *, out: Any = None, name: str | None = None) -> NDArray: ...
def cosh(data: NDArray, *, out: Any = None, name: str | None = None) -> NDArray: ...
def crop(
    data: NDArray,
    begin: Any = ...,
    end: Any = ...,
    step: Any = (),
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def cumsum(
    a: NDArray,
    axis: int | None = None,
    dtype: str | None = None,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def degrees(data: NDArray, *, out: Any = None, name: str | None = None) -> NDArray: ...
def depth_to_space(
    data: NDArray, block_size: int = ..., *, out: Any = None, name: str | None = None
) -> NDArray: ...
def diag(
    data: NDArray,
    k: int = 0,
    axis1: int = 0,
    axis2: int = 1,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def digamma(data: NDArray, *, out: Any = None, name: str | None = None) -> NDArray: ...
def dot(
    lhs: NDArray,
    rhs: NDArray,
    transpose_a: bool = False,
    transpose_b: bool = False,
    forward_stype: str | None = None,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def element_wise_sum(
    *data: NDArray, out: Any = None, name: str | None = None
) -> NDArray: ...
def elemwise_add(
    lhs: NDArray, rhs: NDArray, *, out: Any = None, name: str | None = None
) -> NDArray: ...
def elemwise_div(
    lhs: NDArray, rhs: NDArray, *, out: Any = None, name: str | None = None
) -> NDArray: ...
def elemwise_mul(
    lhs: NDArray, rhs: NDArray, *, out: Any = None, name: str | None = None
) -> NDArray: ...
def elemwise_sub(
    lhs: NDArray, rhs: NDArray, *, out: Any = None, name: str | None = None
) -> NDArray: ...
def erf(data: NDArray, *, out: Any = None, name: str | None = None) -> NDArray: ...
def erfinv(data: NDArray, *, out: Any = None, name: str | None = None) -> NDArray: ...
def exp(data: NDArray, *, out: Any = None, name: str | None = None) -> NDArray: ...
def expand_dims(
    data: NDArray, axis: int = ..., *, out: Any = None, name: str | None = None
) -> NDArray: ...
def expm1(data: NDArray, *, out: Any = None, name: str | None = None) -> NDArray: ...
def fill_element_0index(
    lhs: NDArray,
    mhs: NDArray,
    rhs: NDArray,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def fix(data: NDArray, *, out: Any = None, name: str | None = None) -> NDArray: ...
def flatten(data: NDArray, *, out: Any = None, name: str | None = None) -> NDArray: ...
def flip(
    data: NDArray,
    axis: int | Sequence[int] = ...,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def floor(data: NDArray, *, out: Any = None, name: str | None = None) -> NDArray: ...
def gamma(data: NDArray, *, out: Any = None, name: str | None = None) -> NDArray: ...
def gammaln(data: NDArray, *, out: Any = None, name: str | None = None) -> NDArray: ...
def gather_nd(
    data: NDArray, indices: NDArray, *, out: Any = None, name: str | None = None
) -> NDArray: ...
def hard_sigmoid(
    data: NDArray,
    alpha: float = 0.2,
    beta: float = 0.5,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def identity(data: NDArray, *, out: Any = None, name: str | None = None) -> NDArray: ...
def isfinite(data: NDArray, *, out: Any = None, name: str | None = None) -> NDArray: ...
def isinf(data: NDArray, *, out: Any = None, name: str | None = None) -> NDArray: ...
def isnan(data: NDArray, *, out: Any = None, name: str | None = None) -> NDArray: ...
def khatri_rao(*data: NDArray, out: Any = None, name: str | None = None) -> NDArray: ...
def linalg_det(A: NDArray, *, out: Any = None, name: str | None = None) -> NDArray: ...
def linalg_extractdiag(
    A: NDArray, offset: int = 0, *, out: Any = None, name: str | None = None
) -> NDArray: ...
def linalg_extracttrian(
    A: NDArray,
    offset: int = 0,
    lower: bool = True,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def linalg_gelqf(A: NDArray, *, out: Any = None, name: str | None = None) -> Any: ...
def linalg_gemm(
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
def linalg_gemm2(
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
def linalg_inverse(
    A: NDArray, *, out: Any = None, name: str | None = None
) -> NDArray: ...
def linalg_makediag(
    A: NDArray, offset: int = 0, *, out: Any = None, name: str | None = None
) -> NDArray: ...
def linalg_maketrian(
    A: NDArray,
    offset: int = 0,
    lower: bool = True,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def linalg_potrf(
    A: NDArray, *, out: Any = None, name: str | None = None
) -> NDArray: ...
def linalg_potri(
    A: NDArray, *, out: Any = None, name: str | None = None
) -> NDArray: ...
def linalg_slogdet(A: NDArray, *, out: Any = None, name: str | None = None) -> Any: ...
def linalg_sumlogdiag(
    A: NDArray, *, out: Any = None, name: str | None = None
) -> NDArray: ...
def linalg_syevd(A: NDArray, *, out: Any = None, name: str | None = None) -> Any: ...
def linalg_syrk(
    A: NDArray,
    transpose: bool = False,
    alpha: float = 1.0,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def linalg_trmm(
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
def linalg_trsm(
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
def log(data: NDArray, *, out: Any = None, name: str | None = None) -> NDArray: ...
def log10(data: NDArray, *, out: Any = None, name: str | None = None) -> NDArray: ...
def log1p(data: NDArray, *, out: Any = None, name: str | None = None) -> NDArray: ...
def log2(data: NDArray, *, out: Any = None, name: str | None = None) -> NDArray: ...
def log_softmax(
    data: NDArray,
    axis: int = -1,
    temperature: float | None = None,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def logical_not(
    data: NDArray, *, out: Any = None, name: str | None = None
) -> NDArray: ...
def make_loss(
    data: NDArray, *, out: Any = None, name: str | None = None
) -> NDArray: ...
def max(
    data: NDArray,
    axis: Any = None,
    keepdims: bool = False,
    exclude: bool = False,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def max_axis(
    data: NDArray,
    axis: Any = None,
    keepdims: bool = False,
    exclude: bool = False,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def mean(
    data: NDArray,
    axis: Any = None,
    keepdims: bool = False,
    exclude: bool = False,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def min(
    data: NDArray,
    axis: Any = None,
    keepdims: bool = False,
    exclude: bool = False,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def min_axis(
    data: NDArray,
    axis: Any = None,
    keepdims: bool = False,
    exclude: bool = False,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def moments(
    data: NDArray,
    axes: Any = None,
    keepdims: bool = False,
    *,
    out: Any = None,
    name: str | None = None,
) -> Any: ...
def mp_sgd_mom_update(
    weight: NDArray,
    grad: NDArray,
    mom: NDArray,
    weight32: NDArray,
    lr: float = ...,
    momentum: float = 0.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def mp_sgd_update(
    weight: NDArray,
    grad: NDArray,
    weight32: NDArray,
    lr: float = ...,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def multi_all_finite(
    *data: NDArray,
    num_arrays: int = 1,
    init_output: bool = True,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def multi_lars(
    lrs: NDArray,
    weights_sum_sq: NDArray,
    grads_sum_sq: NDArray,
    wds: NDArray,
    eta: float = ...,
    eps: float = ...,
    rescale_grad: float = 1.0,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def multi_mp_sgd_mom_update(
    *data: NDArray,
    lrs: Any = ...,
    wds: Any = ...,
    momentum: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    num_weights: int = 1,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def multi_mp_sgd_update(
    *data: NDArray,
    lrs: Any = ...,
    wds: Any = ...,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    num_weights: int = 1,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def multi_sgd_mom_update(
    *data: NDArray,
    lrs: Any = ...,
    wds: Any = ...,
    momentum: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    num_weights: int = 1,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def multi_sgd_update(
    *data: NDArray,
    lrs: Any = ...,
    wds: Any = ...,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    num_weights: int = 1,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def multi_sum_sq(
    *data: NDArray, num_arrays: int = 1, out: Any = None, name: str | None = None
) -> NDArray: ...
def multinomial(
    data: NDArray,
    shape: int | Sequence[int] = (),
    get_prob: bool = False,
    dtype: str = "int32",
    *,
    out: Any = None,
    name: str | None = None,
) -> Any: ...
def nag_mom_update(
    weight: NDArray,
    grad: NDArray,
    mom: NDArray,
    lr: float = ...,
    momentum: float = 0.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def nanprod(
    data: NDArray,
    axis: Any = None,
    keepdims: bool = False,
    exclude: bool = False,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def nansum(
    data: NDArray,
    axis: Any = None,
    keepdims: bool = False,
    exclude: bool = False,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def negative(data: NDArray, *, out: Any = None, name: str | None = None) -> NDArray: ...
def norm(
    data: NDArray,
    ord: int = 2,
    axis: Any = None,
    out_dtype: str | None = None,
    keepdims: bool = False,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def normal(
    loc: float = 0.0,
    scale: float = 1.0,
    shape: int | Sequence[int] = (1,),
    dtype: str = "float32",
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def one_hot(
    indices: NDArray,
    depth: int = ...,
    on_value: float = 1.0,
    off_value: float = 0.0,
    dtype: str = "float32",
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def ones_like(
    data: NDArray, *, out: Any = None, name: str | None = None
) -> NDArray: ...
def pad(
    data: NDArray,
    mode: str = ...,
    pad_width: int | Sequence[int] = ...,
    constant_value: float = 0.0,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def pick(
    data: NDArray,
    index: NDArray,
    axis: int = -1,
    keepdims: bool = False,
    mode: str = "clip",
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def prod(
    data: NDArray,
    axis: Any = None,
    keepdims: bool = False,
    exclude: bool = False,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def radians(data: NDArray, *, out: Any = None, name: str | None = None) -> NDArray: ...
def random_exponential(
    lam: float = 1.0,
    shape: int | Sequence[int] = (1,),
    dtype: str = "float32",
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def random_gamma(
    alpha: float = 1.0,
    beta: float = 1.0,
    shape: int | Sequence[int] = (1,),
    dtype: str = "float32",
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def random_generalized_negative_binomial(
    mu: float = 1.0,
    alpha: float = 1.0,
    shape: int | Sequence[int] = (1,),
    dtype: str = "float32",
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def random_negative_binomial(
    k: int = 1,
    p: float = 1.0,
    shape: int | Sequence[int] = (1,),
    dtype: str = "float32",
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def random_normal(
    loc: float = 0.0,
    scale: float = 1.0,
    shape: int | Sequence[int] = (1,),
    dtype: str = "float32",
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def random_poisson(
    lam: float = 1.0,
    shape: int | Sequence[int] = (1,),
    dtype: str = "float32",
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def random_randint(
    low: int = ...,
    high: int = ...,
    shape: int | Sequence[int] = (1,),
    dtype: str = "int32",
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def random_shuffle(
    data: NDArray, *, out: Any = None, name: str | None = None
) -> NDArray: ...
def random_uniform(
    low: float = 0.0,
    high: float = 1.0,
    shape: int | Sequence[int] = (1,),
    dtype: str = "float32",
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def ravel_multi_index(
    data: NDArray,
    shape: int | Sequence[int] = ...,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def rcbrt(data: NDArray, *, out: Any = None, name: str | None = None) -> NDArray: ...
def reciprocal(
    data: NDArray, *, out: Any = None, name: str | None = None
) -> NDArray: ...
def relu(data: NDArray, *, out: Any = None, name: str | None = None) -> NDArray: ...
def repeat(
    data: NDArray,
    repeats: int = ...,
    axis: int | None = None,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def reset_arrays(
    *data: NDArray, num_arrays: int = 1, out: Any = None, name: str | None = None
) -> Any: ...
def reshape(
    data: NDArray,
    shape: int | Sequence[int] = (),
    reverse: bool = False,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def reshape_like(
    lhs: NDArray,
    rhs: NDArray,
    lhs_begin: int | None = None,
    lhs_end: int | None = None,
    rhs_begin: int | None = None,
    rhs_end: int | None = None,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def reverse(
    data: NDArray,
    axis: int | Sequence[int] = ...,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def rint(data: NDArray, *, out: Any = None, name: str | None = None) -> NDArray: ...
def rmsprop_update(
    weight: NDArray,
    grad: NDArray,
    n: NDArray,
    lr: float = ...,
    gamma1: float = 0.95,
    epsilon: float = 1e-08,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    clip_weights: float = -1.0,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def rmspropalex_update(
    weight: NDArray,
    grad: NDArray,
    n: NDArray,
    g: NDArray,
    delta: NDArray,
    lr: float = ...,
    gamma1: float = 0.95,
    gamma2: float = 0.9,
    epsilon: float = 1e-08,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    clip_weights: float = -1.0,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def round(data: NDArray, *, out: Any = None, name: str | None = None) -> NDArray: ...
def rsqrt(data: NDArray, *, out: Any = None, name: str | None = None) -> NDArray: ...
def sample_exponential(
    lam: NDArray,
    shape: int | Sequence[int] = (),
    dtype: str = "float32",
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def sample_gamma(
    alpha: NDArray,
    beta: NDArray,
    shape: int | Sequence[int] = (),
    dtype: str = "float32",
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def sample_multinomial(
    data: NDArray,
    shape: int | Sequence[int] = (),
    get_prob: bool = False,
    dtype: str = "int32",
    *,
    out: Any = None,
    name: str | None = None,
) -> Any: ...
def sample_normal(
    mu: NDArray,
    sigma: NDArray,
    shape: int | Sequence[int] = (),
    dtype: str = "float32",
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def sample_poisson(
    lam: NDArray,
    shape: int | Sequence[int] = (),
    dtype: str = "float32",
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def sample_uniform(
    low: NDArray,
    high: NDArray,
    shape: int | Sequence[int] = (),
    dtype: str = "float32",
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def scatter_nd(
    data: NDArray,
    indices: NDArray,
    shape: int | Sequence[int] = ...,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def sgd_mom_update(
    weight: NDArray,
    grad: NDArray,
    mom: NDArray,
    lr: float = ...,
    momentum: float = 0.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def sgd_update(
    weight: NDArray,
    grad: NDArray,
    lr: float = ...,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def shape_array(
    data: NDArray, *, out: Any = None, name: str | None = None
) -> NDArray: ...
def shuffle(data: NDArray, *, out: Any = None, name: str | None = None) -> NDArray: ...
def sigmoid(data: NDArray, *, out: Any = None, name: str | None = None) -> NDArray: ...
def sign(data: NDArray, *, out: Any = None, name: str | None = None) -> NDArray: ...
def signsgd_update(
    weight: NDArray,
    grad: NDArray,
    lr: float = ...,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def signum_update(
    weight: NDArray,
    grad: NDArray,
    mom: NDArray,
    lr: float = ...,
    momentum: float = 0.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    wd_lh: float = 0.0,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def sin(data: NDArray, *, out: Any = None, name: str | None = None) -> NDArray: ...
def sinh(data: NDArray, *, out: Any = None, name: str | None = None) -> NDArray: ...
def size_array(
    data: NDArray, *, out: Any = None, name: str | None = None
) -> NDArray: ...
def slice(
    data: NDArray,
    begin: Any = ...,
    end: Any = ...,
    step: Any = (),
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def slice_axis(
    data: NDArray,
    axis: int = ...,
    begin: int = ...,
    end: int | None = ...,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def slice_like(
    data: NDArray,
    shape_like: NDArray,
    axes: int | Sequence[int] = (),
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def smooth_l1(
    data: NDArray, scalar: float = 1.0, *, out: Any = None, name: str | None = None
) -> NDArray: ...
def softmax(
    data: NDArray,
    axis: int = -1,
    temperature: float | None = None,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def softmax_cross_entropy(
    data: NDArray, label: NDArray, *, out: Any = None, name: str | None = None
) -> NDArray: ...
def softmin(
    data: NDArray,
    axis: int = -1,
    temperature: float | None = None,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def softrelu(data: NDArray, *, out: Any = None, name: str | None = None) -> NDArray: ...
def softsign(data: NDArray, *, out: Any = None, name: str | None = None) -> NDArray: ...
def sort(
    data: NDArray,
    axis: int | None = -1,
    is_ascend: bool = True,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def space_to_depth(
    data: NDArray, block_size: int = ..., *, out: Any = None, name: str | None = None
) -> NDArray: ...
def split(
    data: NDArray,
    num_outputs: int = ...,
    axis: int = 1,
    squeeze_axis: bool = False,
    *,
    out: Any = None,
    name: str | None = None,
) -> Any: ...
def sqrt(data: NDArray, *, out: Any = None, name: str | None = None) -> NDArray: ...
def square(data: NDArray, *, out: Any = None, name: str | None = None) -> NDArray: ...
def squeeze(
    data: NDArray, axis: Any = None, *, out: Any = None, name: str | None = None
) -> NDArray: ...
def stack(
    *data: NDArray, axis: int = 0, out: Any = None, name: str | None = None
) -> NDArray: ...
def stop_gradient(
    data: NDArray, *, out: Any = None, name: str | None = None
) -> NDArray: ...
def sum(
    data: NDArray,
    axis: Any = None,
    keepdims: bool = False,
    exclude: bool = False,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def sum_axis(
    data: NDArray,
    axis: Any = None,
    keepdims: bool = False,
    exclude: bool = False,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def swapaxes(
    data: NDArray,
    dim1: int = 0,
    dim2: int = 0,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def take(
    a: NDArray,
    indices: NDArray,
    axis: int = 0,
    mode: str = "clip",
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def tan(data: NDArray, *, out: Any = None, name: str | None = None) -> NDArray: ...
def tanh(data: NDArray, *, out: Any = None, name: str | None = None) -> NDArray: ...
def tile(
    data: NDArray,
    reps: int | Sequence[int] = ...,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def topk(
    data: NDArray,
    axis: int | None = -1,
    k: int = 1,
    ret_typ: str = "indices",
    is_ascend: bool = False,
    dtype: str = "float32",
    *,
    out: Any = None,
    name: str | None = None,
) -> Any: ...
def transpose(
    data: NDArray,
    axes: int | Sequence[int] = (),
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def trigamma(data: NDArray, *, out: Any = None, name: str | None = None) -> NDArray: ...
def trunc(data: NDArray, *, out: Any = None, name: str | None = None) -> NDArray: ...
def uniform(
    low: float = 0.0,
    high: float = 1.0,
    shape: int | Sequence[int] = (1,),
    dtype: str = "float32",
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def unravel_index(
    data: NDArray,
    shape: int | Sequence[int] = ...,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def where(
    condition: NDArray,
    x: NDArray,
    y: NDArray,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray: ...
def zeros_like(
    data: NDArray, *, out: Any = None, name: str | None = None
) -> NDArray: ...
