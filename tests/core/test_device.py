"""Devices are names: one object each, usable before the hardware exists."""

from __future__ import annotations

import copy
import pickle
import threading

import pytest

from minimx.core.device import (
    Context,
    Device,
    cpu,
    cpu_pinned,
    cpu_shared,
    current_context,
    current_device,
    gpu,
)
from minimx.core.errors import DeviceError


def test_one_object_per_name() -> None:
    assert cpu() is cpu(0) is Device("cpu") is Device(cpu())
    assert gpu(1) is not gpu(0)
    assert len({cpu(), cpu(0), gpu(), cpu_pinned(), cpu_shared()}) == 4


def test_two_generations_of_names_mean_the_same() -> None:
    assert Context is Device
    assert current_context() is current_device()


def test_a_device_says_its_name_and_mxnets_code() -> None:
    assert repr(gpu(3)) == str(gpu(3)) == "gpu(3)"
    assert [d.device_typeid for d in (cpu(), gpu(), cpu_pinned(), cpu_shared())] == [
        1,
        2,
        3,
        5,
    ]
    assert (gpu(3).device_type, gpu(3).device_id) == ("gpu", 3)


def test_copies_and_pickles_are_the_same_object() -> None:
    assert copy.deepcopy(gpu(2)) is gpu(2)
    assert pickle.loads(pickle.dumps(cpu_pinned())) is cpu_pinned()


def test_scopes_nest_and_end_also_after_an_error() -> None:
    with gpu(0) as outer, cpu_pinned():
        assert outer is gpu(0)
        assert current_device() is cpu_pinned()
    with pytest.raises(RuntimeError), gpu(1):
        raise RuntimeError
    assert current_device() is cpu(0)


def test_scopes_belong_to_their_thread() -> None:
    seen = []
    with gpu(1):
        other = threading.Thread(target=lambda: seen.append(current_device()))
        other.start()
        other.join()
    assert seen == [cpu(0)]


def test_an_unknown_type_is_corrected() -> None:
    with pytest.raises(
        DeviceError, match=r"'cpu_pined' is not.*Did you mean cpu_pinned"
    ):
        Device("cpu_pined")


@pytest.mark.parametrize("number", [-1, 1.5, "0", None])
def test_a_number_that_is_none_is_refused(number: object) -> None:
    with pytest.raises(DeviceError, match="numbered 0, 1, 2"):
        Device("gpu", number)  # type: ignore[arg-type]
