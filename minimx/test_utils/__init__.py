"""`mx.test_utils`: what tests are written with.

Reading order: `tolerance.py` and `compare.py` (are two arrays equal?), `arrays.py` and
`sparse.py` (random inputs), `reference.py` (answers from NumPy), `statistics.py` (are
these numbers random?), `symbolic.py`, `gradients.py` and `consistency.py` (is a symbol
what it should be?), `surroundings.py` and `defaults.py` (where a test runs),
`data.py` (files).

Tests that star-import this module count on a few of Python's own modules as well, which
they find in MXNet's.
"""

from __future__ import annotations

import json
import logging
import os
import platform
import sys
import time
from collections import OrderedDict
from typing import Any

import numpy as np
import numpy.random as rnd
import numpy.testing as npt

from minimx.core.arrays.array import NDArray
from minimx.core.arrays.creation import array
from minimx.core.device import Context, current_context
from minimx.test_utils.arrays import (
    create_2d_tensor,
    create_vector,
    get_identity_mat,
    get_identity_mat_batch,
    rand_coord_2d,
    rand_ndarray,
    rand_shape_2d,
    rand_shape_3d,
    rand_shape_nd,
    random_arrays,
    random_sample,
    random_uniform_arrays,
)
from minimx.test_utils.compare import (
    almost_equal,
    assert_allclose,
    assert_almost_equal,
    assert_almost_equal_ignore_nan,
    assert_almost_equal_with_err,
    assert_exception,
    compare_ndarray_tuple,
    same,
    same_array,
)
from minimx.test_utils.consistency import (
    check_consistency,
    check_gluon_hybridize_consistency,
    compare_optimizer,
    same_symbol_structure,
)
from minimx.test_utils.data import (
    DummyIter,
    download,
    download_model,
    get_bz2_data,
    get_cifar10,
    get_mnist,
    get_mnist_iterator,
    get_mnist_ubyte,
    get_zip_data,
)
from minimx.test_utils.defaults import (
    default_context,
    default_device,
    default_dtype,
    has_tvm_ops,
    is_op_runnable,
    list_gpus,
    set_default_context,
    set_default_device,
)
from minimx.test_utils.gradients import check_numeric_gradient, numeric_grad
from minimx.test_utils.reference import (
    assign_each,
    assign_each2,
    collapse_sum_like,
    new_matrix_with_real_eigvals_2d,
    new_matrix_with_real_eigvals_nd,
    new_orthonormal_matrix_2d,
    new_sym_matrix_with_real_eigvals_2d,
    new_sym_matrix_with_real_eigvals_nd,
    np_reduce,
)
from minimx.test_utils.sparse import (
    create_sparse_array,
    create_sparse_array_zd,
    rand_sparse_ndarray,
)
from minimx.test_utils.speed import check_speed
from minimx.test_utils.statistics import (
    chi_square_check,
    gen_buckets_probs_with_ppf,
    mean_check,
    var_check,
    verify_generator,
)
from minimx.test_utils.surroundings import (
    discard_stderr,
    environment,
    is_aarch64_run,
    is_cd_run,
    retry,
)
from minimx.test_utils.symbolic import (
    check_symbolic_backward,
    check_symbolic_forward,
    simple_forward,
)
from minimx.test_utils.tolerance import (
    default_atols,
    default_numeric_eps,
    default_rtols,
    effective_dtype,
    get_atol,
    get_etol,
    get_rtol,
    get_tolerance,
    get_tols,
)
from minimx.util import use_np

__all__ = [
    "Context", "DummyIter", "NDArray", "OrderedDict", "almost_equal", "array",
    "assert_allclose", "assert_almost_equal", "assert_almost_equal_ignore_nan",
    "assert_almost_equal_with_err", "assert_exception", "assign_each", "assign_each2",
    "check_consistency", "check_gluon_hybridize_consistency", "check_numeric_gradient",
    "check_speed", "check_symbolic_backward", "check_symbolic_forward",
    "chi_square_check", "collapse_sum_like", "compare_ndarray_tuple",
    "compare_optimizer", "create_2d_tensor", "create_sparse_array",
    "create_sparse_array_zd", "create_vector", "current_context", "default_atols",
    "default_context", "default_device", "default_dtype", "default_numeric_eps",
    "default_rtols", "discard_stderr", "download", "download_model", "effective_dtype",
    "environment", "gen_buckets_probs_with_ppf", "get_atol", "get_etol",
    "get_identity_mat", "get_identity_mat_batch", "get_mnist", "get_mnist_iterator",
    "get_zip_data", "get_mnist_ubyte", "get_cifar10", "get_bz2_data", "get_rtol",
    "get_tolerance", "get_tols", "has_tvm_ops", "is_aarch64_run", "is_cd_run",
    "is_op_runnable", "json", "list_gpus", "logging", "mean_check", "mx",
    "new_matrix_with_real_eigvals_2d", "new_matrix_with_real_eigvals_nd",
    "new_orthonormal_matrix_2d", "new_sym_matrix_with_real_eigvals_2d",
    "new_sym_matrix_with_real_eigvals_nd", "np", "np_reduce", "npt", "numeric_grad",
    "os", "platform", "rand_coord_2d", "rand_ndarray", "rand_shape_2d", "rand_shape_3d",
    "rand_shape_nd", "rand_sparse_ndarray", "random_arrays", "random_sample",
    "random_uniform_arrays", "retry", "rnd", "same", "same_array",
    "same_symbol_structure", "set_default_context", "set_default_device",
    "simple_forward", "sys", "time", "use_np", "var_check", "verify_generator",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    # Tests that begin with `from mxnet.test_utils import *` go on to write `mx.nd`. The
    # front door is open by then, but no module inside may import it.
    if name == "mx":
        return sys.modules["minimx"]
    raise AttributeError(f"mx.test_utils has no {name!r}.")
