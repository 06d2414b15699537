"""The same weights and batches give the losses that PyTorch gave."""

from __future__ import annotations

import json

import numpy as np
import pytest

from minimx_widgets.course.same import in_minimx, learn, tasks
from minimx_widgets.course.same.record import apart
from tests.same import __main__ as same

THEIRS = json.loads(same.RECORDED.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", tasks.SMALL)
def test_the_first_losses_are_those_of_pytorch(name: str) -> None:
    task = tasks.make(name, 0, tasks.SMALL[name])
    ours = learn(in_minimx, name, task)
    assert len(ours["losses"]) >= 3
    np.testing.assert_allclose(ours["losses"], THEIRS[name]["losses"], rtol=1e-4)
    if name == "lstm":  # an accuracy moves by whole images
        np.testing.assert_allclose(ours["scores"], THEIRS[name]["scores"], rtol=1e-4)


@pytest.mark.parametrize("name", tasks.SMALL)
def test_a_learning_rate_three_percent_off_would_be_seen(name: str) -> None:
    task = tasks.make(name, 0, tasks.SMALL[name])
    ours = learn(in_minimx, name, task | {"rates": task["rates"] * 1.03})
    assert max(apart(ours["losses"], THEIRS[name]["losses"])) > 1e-4


def test_gluon_has_the_weights_of_resnet_20() -> None:
    shapes = tasks.resnet_shapes()
    assert sum(len(shape) == 4 for shape in shapes) == 19 + 2  # two shortcuts
    assert sum(int(np.prod(shape)) for shape in shapes) == 272_186


def test_a_column_of_the_text_goes_on_in_the_next_step() -> None:
    task = tasks.make("lstm", 0, tasks.SMALL["lstm"])
    x, y = (task[key].transpose(2, 0, 1).reshape(8, -1) for key in "xy")
    assert (x[:, 1:] == y[:, :-1]).all()
    assert (x[1:, 0] == y[:-1, -1]).all()


def test_a_task_depends_on_its_seed_only() -> None:
    first, again, other = (
        tasks.make("resnet", seed, tasks.SMALL["resnet"]) for seed in (1, 1, 2)
    )
    for key in first:
        assert (first[key] == again[key]).all()
    assert (first["order"] != other["order"]).any()
    assert (first["weight_0"] != other["weight_0"]).any()
