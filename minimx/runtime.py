"""`mx.runtime`: which of the features that MXNet is compiled with are here.

MXNet asks its library how it was compiled; here the answer is what an import
finds. Names that belong to C++ (TensorRT, TVM, …) are known and off.
`operator_tuning` tells what was measured of this machine, `onednn_primitives` what
oneDNN prepared and how often that was found again.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import ClassVar

from minimx.core.drivers import num_gpus
from minimx.core.errors import MXNetError, did_you_mean
from minimx.fast.onednn.library import counts as onednn_primitives
from minimx.fast.onednn.library import library
from minimx.fast.tuning import report as operator_tuning

__all__ = [
    "Feature",
    "Features",
    "feature_list",
    "onednn_primitives",
    "operator_tuning",
]

_OFF = """
    CUDNN NCCL TENSORRT CUTENSOR CPU_SSE CPU_SSE2 CPU_SSE3 CPU_SSE4_1 CPU_SSE4_2
    CPU_SSE4A CPU_AVX CPU_AVX2 SSE JEMALLOC BLAS_ATLAS BLAS_MKL BLAS_APPLE OPENCV
    CAFFE CXX14 SIGNAL_HANDLER DEBUG TVM_OP DIST_KVSTORE PROFILER
"""


class Feature:
    """The name of a feature, and whether it is there."""

    def __init__(self, name: str, enabled: bool) -> None:
        self.name = name
        self.enabled = enabled

    def __repr__(self) -> str:
        return f"{'✔' if self.enabled else '✖'} {self.name}"


def feature_list() -> list[Feature]:
    """Every feature that MXNet knows by name."""
    cuda = find_spec("numba_cuda") is not None and num_gpus() > 0
    found = dict.fromkeys(_OFF.split(), False) | {
        "CUDA": cuda,
        "CUDA_RTC": cuda,
        "OPENMP": True,  # numba's threads
        "F16C": True,  # float16 arrays
        "BLAS_OPEN": True,  # NumPy's
        "LAPACK": True,  # NumPy's
        "MKLDNN": bool(library()),
        "INT64_TENSOR_SIZE": True,
    }
    return [Feature(name, on) for name, on in sorted(found.items())]


class Features(dict[str, Feature]):
    """All features by name; there is one such dictionary.

    >>> Features().is_enabled("LAPACK")
    True
    """

    instance: ClassVar[Features | None] = None

    def __new__(cls) -> Features:
        """The one dictionary, filled when it is first asked for."""
        if cls.instance is None:
            cls.instance = super().__new__(cls)
            cls.instance.update({f.name: f for f in feature_list()})
        return cls.instance

    def __init__(self) -> None:
        """Nothing is left to do: `__new__` filled it."""

    def __repr__(self) -> str:
        return str(list(self.values()))

    def is_enabled(self, feature_name: str) -> bool:
        """Whether a feature is there; raises MXNetError for an unknown name."""
        found = self.get(feature_name.upper())
        if found is None:
            hint = did_you_mean(feature_name, self)
            raise MXNetError(
                f"{feature_name!r} is not a feature: {', '.join(self)}.{hint}"
            )
        return found.enabled
