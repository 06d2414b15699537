"""`mx.context`: what MXNet programs ask about devices."""

from __future__ import annotations

import pytest

from minimx import context
from minimx.core import storage
from minimx.core.errors import DeviceError
from minimx.core.knobs import knobs


def test_the_names_of_both_generations() -> None:
    assert context.Context is context.Device
    assert context.current_context() is context.cpu()
    assert set(context.__all__) <= set(dir(context))


def test_gpus_are_counted() -> None:
    assert context.num_gpus() == 1
    with knobs(MINIMX_SIM_GPUS=3):
        assert context.num_gpus() == 3


def test_memory_of_a_gpu_as_its_driver_sees_it() -> None:
    with knobs(MINIMX_SIM_GPU_MEMORY="16MiB"):
        assert context.gpu_memory_info(0) == (16 << 20, 16 << 20)
        storage.pool_for(context.gpu()).alloc(5000).free()
        assert context.gpu_memory_info() == ((16 << 20) - 8192, 16 << 20)


def test_memory_of_a_gpu_that_is_not_there() -> None:
    with pytest.raises(DeviceError, match=r"gpu\(5\) does not exist; there is only"):
        context.gpu_memory_info(5)
