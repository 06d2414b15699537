"""Which operators compute in which type under mixed precision.

    target       in two-byte numbers: what spends its time multiplying matrices
    single       in float32: sums over many elements, and what leaves float16's range
    widest       in the widest type among the inputs
    conditional  in float32 where a setting asks for a function of wide range
    either       in the type that comes: everything else

The groups are MXNet's; the names are those of data sheets, aliases included.
"""

from __future__ import annotations

from typing import Any, Final

from minimx.errors import ArgumentError
from minimx.ops.registry import ALIASES, REGISTRY

TARGETS: Final = ("float16", "bfloat16")

TARGET: Final[dict[str, tuple[str, ...]]] = {
    "float16": (
        *("Convolution", "Deconvolution", "FullyConnected", "RNN"),
        *("_npi_matmul", "_npi_einsum", "_np_dot", "_npi_tensordot"),
        "_npi_tensordot_int_axes",
    ),
    "bfloat16": ("Convolution", "Deconvolution", "FullyConnected"),
}

# fmt: off
SINGLE: Final = (
    # steep, or steep near zero
    "arccos", "arcsin", "arctanh", "cosh", "erfinv", "exp", "expm1", "gamma", "gammaln",
    "log", "log10", "log1p", "log2", "rcbrt", "reciprocal", "rsqrt", "sinh", "square",
    "tan", "_rdiv_scalar", "_power_scalar", "_rpower_scalar", "broadcast_power",
    "broadcast_hypot", "_hypot_scalar", "_npi_exp2", "_npi_power", "_npi_power_scalar",
    "_npi_rpower_scalar", "_npi_hypot", "_npi_hypot_scalar", "_npi_logaddexp",
    "_npi_rtrue_divide_scalar",
    # sums of many
    "sum", "nansum", "prod", "nanprod", "mean", "norm", "moments", "_square_sum",
    "_np_sum", "_np_prod", "_npi_mean", "_npi_std", "_npi_var", "_npi_average",
    "_npi_norm", "cumsum", "_npi_cumprod", "khatri_rao",
    "softmax", "log_softmax", "softmin", "SoftmaxActivation", "softmax_cross_entropy",
    "LayerNorm", "GroupNorm", "InstanceNorm", "L2Normalization", "LRN",
    "_contrib_SyncBatchNorm",
    # losses
    "SoftmaxOutput", "LinearRegressionOutput", "LogisticRegressionOutput",
    "MAERegressionOutput", "SVMOutput", "MakeLoss", "make_loss", "CTCLoss", "smooth_l1",
    "IdentityAttachKLSparseReg",
    # order, decompositions, and what its author wrote for float32
    "argsort", "topk", "Custom", "_linalg_sumlogdiag", "_linalg_gelqf", "_linalg_gemm",
    "_linalg_gemm2", "_linalg_potrf", "_linalg_potri", "_linalg_syevd", "_linalg_syrk",
    "_linalg_trmm", "_linalg_trsm", "_linalg_makediag", "_linalg_extractdiag",
    "_linalg_maketrian", "_linalg_extracttrian", "_linalg_inverse", "_linalg_det",
    "_linalg_slogdet", "_contrib_MultiBoxDetection", "_contrib_MultiBoxPrior",
    "_contrib_MultiBoxTarget", "_contrib_hawkesll", "_contrib_count_sketch",
    "_contrib_fft", "_contrib_DeformableConvolution",
)

WIDEST: Final = (
    "elemwise_add", "elemwise_sub", "elemwise_mul", "elemwise_div", "add_n",
    "_scatter_elemwise_div", "broadcast_add", "broadcast_sub", "broadcast_mul",
    "broadcast_div", "broadcast_mod", "broadcast_maximum", "broadcast_minimum",
    "broadcast_equal", "broadcast_not_equal", "broadcast_greater",
    "broadcast_greater_equal", "broadcast_lesser", "broadcast_lesser_equal",
    "broadcast_logical_and", "broadcast_logical_or", "broadcast_logical_xor",
    "Concat", "stack", "Correlation", "dot", "batch_dot", "where",
    "_npi_concatenate", "_npi_vstack", "_npi_hstack", "_npi_dstack",
    "_npi_column_stack", "_npi_where",
    "_contrib_MultiProposal", "_contrib_PSROIPooling", "_contrib_Proposal",
    "_contrib_ROIAlign", "_contrib_box_iou", "_contrib_box_nms",
    "_contrib_interleaved_matmul_encdec_qk",
    "_contrib_interleaved_matmul_encdec_valatt",
    "_contrib_interleaved_matmul_selfatt_qk",
    "_contrib_interleaved_matmul_selfatt_valatt",
    "_random_pdf_gamma", "_random_pdf_exponential", "_random_pdf_uniform",
    "_random_pdf_negative_binomial", "_random_pdf_generalized_negative_binomial",
    "_random_pdf_dirichlet", "_random_pdf_normal", "_random_pdf_poisson",
)
# fmt: on

#: (operator, setting, values with which it computes in float32)
CONDITIONAL: Final = (
    ("Activation", "act_type", ["softrelu"]),
    ("LeakyReLU", "act_type", ["elu", "selu"]),
)

#: Operators that are a loss and its gradient at once; they scale it themselves.
LOSS_OUTPUTS: Final = (
    "SoftmaxOutput",
    "LinearRegressionOutput",
    "LogisticRegressionOutput",
    "MAERegressionOutput",
)


def checked_target(target_dtype: Any) -> str:
    """The name of a two-byte type. Raises `ArgumentError` for another one."""
    name = getattr(target_dtype, "__name__", None) or str(target_dtype)
    if name not in TARGETS:
        raise ArgumentError(
            f"amp: target_dtype={target_dtype!r}; there are {' and '.join(TARGETS)}."
        )
    return name


def list_lp16_ops(target_dtype: Any = "float16") -> list[str]:
    """The operators that compute in `target_dtype`."""
    return list(TARGET[checked_target(target_dtype)])


def list_fp32_ops(target_dtype: Any = "float16") -> list[str]:
    """The operators that compute in float32."""
    target = checked_target(target_dtype)
    freed = set(TARGET["float16"]) - set(TARGET[target])
    return [*SINGLE, *sorted(freed)]


def list_lp16_fp32_ops(target_dtype: Any = "float16") -> list[str]:
    """The operators that compute in the type that comes."""
    placed = {*list_lp16_ops(target_dtype), *list_fp32_ops(target_dtype), *WIDEST}
    placed |= {ALIASES.get(name, name) for name in placed}
    placed |= {name for name, _, _ in CONDITIONAL}
    return sorted(set(REGISTRY) - placed)


def list_conditional_fp32_ops(
    target_dtype: Any = "float16",
) -> list[tuple[str, str, list[str]]]:
    """(operator, setting, values) with which it computes in float32."""
    checked_target(target_dtype)
    return [(name, setting, list(values)) for name, setting, values in CONDITIONAL]


def list_widest_type_cast(target_dtype: Any = "float16") -> list[str]:
    """The operators that compute in the widest type among their inputs."""
    checked_target(target_dtype)
    return list(WIDEST)


def list_loss_output_functions(target_dtype: Any = "float16") -> list[str]:
    """The operators that are a loss and its gradient at once."""
    checked_target(target_dtype)
    return list(LOSS_OUTPUTS)


def list_lp16_use_fp32_params(target_dtype: Any = "float16") -> list[str] | None:
    """For bfloat16, the operators whose parameters stay in float32; else None."""
    return ["BatchNorm"] if checked_target(target_dtype) == "bfloat16" else None
