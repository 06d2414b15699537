from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minimx import nd

contrib: Any = nd.contrib


def arrays(seed: int, dtype: str = "float32") -> list[Any]:
    numbers = np.random.default_rng(seed).uniform(0.5, 1.5, (4, 3, 2))
    weight, grad, mean, var = (nd.array(x, dtype=dtype) for x in numbers)
    return [weight, grad, mean, var]


def test_many_weights_are_updated_as_one_by_one() -> None:
    one, two = arrays(1), arrays(2)
    alone = []
    for (weight, *rest), lr in ((arrays(1), 0.1), (arrays(2), 0.2)):
        settings = {"lr": lr, "wd": 0.3, "eta": 0.9}
        alone.append(contrib.adamw_update(weight, *rest, 0.5, **settings).asnumpy())
    columns = list(zip(one, two, strict=True))
    found = contrib.multi_adamw_update(
        *columns, 0.5, lrs=(0.1, 0.2), wds=(0.3, 0.3), etas=(0.9, 0.9)
    )
    for mine, its in zip(found, alone, strict=True):
        np.testing.assert_allclose(mine.asnumpy(), its, rtol=1e-6)


@pytest.mark.parametrize("scale", [0.0, np.inf, np.nan])
def test_adamw_waits_out_an_overflow(scale: float) -> None:
    weight, grad, mean, var = arrays(3, "float16")
    master = weight.astype("float32")
    before, averages = master.asnumpy(), mean.astype("float32")
    kept = averages.asnumpy()
    contrib.mp_adamw_update(
        weight,
        grad,
        averages,
        var.astype("float32"),
        master,
        nd.array([scale]),
        lr=0.1,
        eta=1.0,
        out=weight,
    )
    assert (master.asnumpy() == before).all()
    assert (averages.asnumpy() == kept).all()


def test_lamb_in_two_halves_is_lamb_in_one() -> None:
    weight, grad, mean, var = arrays(4)
    copies = [x.copy() for x in (mean, var)]
    step = nd.lamb_update_phase1(weight, grad, copies[0], copies[1], t=3, wd=0.1)
    halves = nd.lamb_update_phase2(weight, step, weight.norm(), step.norm(), lr=0.1)
    (whole,) = [
        contrib.multi_lamb_update(
            [weight], [grad], [mean], [var], step_count=(3,), lrs=(0.1,), wds=(0.1,)
        )
    ]
    np.testing.assert_allclose(whole.asnumpy(), halves.asnumpy(), rtol=1e-5)


def test_mixed_precision_keeps_the_copy_ahead_of_the_weight() -> None:
    weight, grad, mean, var = arrays(5, "float16")
    wide = [x.astype("float32") for x in (mean, var, weight)]
    contrib.multi_mp_lamb_update(
        [weight],
        [grad],
        *([x] for x in wide),
        step_count=(1,),
        lrs=(0.01,),
        wds=(0.0,),
        out=[weight],
    )
    np.testing.assert_array_equal(
        weight.asnumpy(), wide[2].asnumpy().astype(np.float16)
    )
