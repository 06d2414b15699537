"""The loss that reads labels out of sequences, and its gradient, on CUDA."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.cuda.kernels.comparing import drawn, same

#: Repeated letters; the blank as a letter; no letters; too many for the steps.
LABELS = np.array([[1, 2, 1, 2], [2, 2, 0, 1], [0, 1, 2, 3], [3, 3, 3, 3]], np.float32)


@pytest.mark.parametrize("blank", ["first", "last"])
@pytest.mark.parametrize("lengths", [(), ("data",), ("label",), ("data", "label")])
def test_the_loss_and_its_gradient_are_those_of_the_cpu(
    blank: str, lengths: Any
) -> None:
    given = {
        "data": np.array([6, 5, 4, 0], np.float32),
        "label": np.array([4, 3, 4, 2], np.float32),
    }
    flags = {f"use_{name}_lengths": True for name in lengths}
    more = [given[name] for name in lengths]
    data = 2 * drawn(6, 4, 4)
    loss, slope, *_ = same(
        "CTCLoss", data, LABELS, *more, blank_label=blank, **flags
    )  # fmt: skip
    assert loss[0] > 0
    assert np.abs(slope[:, 0]).max() > 0.01


def test_unknown_letters_cost_nan_and_labels_that_do_not_fit_nothing() -> None:
    labels = np.array([[1, 7], [1, 1], [1, 2]], np.int32)
    loss, slope, _ = same("CTCLoss", drawn(2, 3, 3), labels)
    assert np.isnan(loss[0])
    assert np.isnan(slope[:, 0]).all()
    assert loss[1] == 0
    assert not slope[:, 1].any()
    assert loss[2] > 0
