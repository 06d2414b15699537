"""What programs ask of MXNet's library by ctypes."""

from __future__ import annotations

import ctypes

import pytest

import minimx as mx
from minimx.base import _LIB, check_call
from minimx.core.errors import KnobError, MXNetError
from minimx.core.kernels import threads


def test_the_names_of_operators_come_as_from_a_c_library() -> None:
    count, first = ctypes.c_uint(), ctypes.POINTER(ctypes.c_char_p)()
    for _ in range(2):
        check_call(_LIB.MXListAllOpNames(ctypes.byref(count), ctypes.byref(first)))
    names = [mx.base.py_str(first[k] or b"") for k in range(count.value)]
    assert {"Convolution", "elemwise_add", "_npi_add"} <= set(names)
    assert len(names) == len(set(names)) > 500
    assert set(mx.amp.list_fp32_ops()) <= set(names)


@pytest.mark.parametrize("number", [3, ctypes.c_int(3)])
def test_the_threads_of_kernels_are_a_knob(number: ctypes.c_int | int) -> None:
    check_call(_LIB.MXSetNumOMPThreads(number))
    assert mx.knobs.get("OMP_NUM_THREADS") == threads.count() == 3
    with pytest.raises(KnobError, match="OMP_NUM_THREADS"):
        _LIB.MXSetNumOMPThreads(-1)
    assert threads.count() == 3


def test_other_calls_are_refused_and_errors_are_no_secret() -> None:
    with pytest.raises(AttributeError, match="minimx has no C library"):
        _LIB.MXNDArrayCreate(0)
    with pytest.raises(MXNetError, match="returned -1"):
        check_call(-1)
