"""Statistics of what passes through an executor."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx import nd, symbol


def executor() -> Any:
    dense = symbol.FullyConnected(symbol.var("x"), num_hidden=2, name="fc")
    bound = symbol.relu(dense, name="act").simple_bind(mx.cpu(), x=(1, 2))
    bound.arg_dict["fc_weight"][:] = 2
    bound.arg_dict["x"][:] = nd.array([[3, -4]])
    return bound


def test_a_monitor_looks_every_few_batches() -> None:
    monitor, bound = mx.mon.Monitor(2), executor()
    monitor.install(bound)
    for step in range(1, 5):
        monitor.tic()
        bound.forward()
        found = monitor.toc()
        names = [name for _, name, _ in found]
        if step % 2 == 0:
            assert found == []
            continue
        assert names == ["fc_output", "act_output", "x", "fc_weight", "fc_bias"]
        assert {number for number, _, _ in found} == {step}
        assert found[0][2] == "2.0\t"  # twice -2: the root of the mean square
        assert found[1][2] == "0.0\t"
        assert found[2][2].startswith("3.53553")


def test_a_statistic_of_ones_own(caplog: pytest.LogCaptureFixture) -> None:
    monitor = mx.monitor.Monitor(
        1, lambda x: [x.max(), x], "act|fc_w", sort=True, monitor_all=True
    )
    bound = executor()
    monitor.install(bound)
    monitor.tic()
    bound.forward()
    with caplog.at_level(logging.INFO):
        monitor.toc_print()
    lines = [record.getMessage().split() for record in caplog.records]
    names = [line[2] for line in lines]
    assert names == sorted(names)
    assert {"act_output", "fc_weight"} <= set(names)
    assert not [name for name in names if not name.startswith(("act", "fc_w"))]
    weight = lines[names.index("fc_weight")]
    assert weight[:4] == ["Batch:", "1", "fc_weight", "2.0"]
    assert monitor.toc() == []


def test_an_interval_of_nothing() -> None:
    with pytest.raises(ValueError, match="1 or more"):
        mx.mon.Monitor(0)


def test_a_watched_batch_norm_learns_the_same() -> None:
    """Its mean and deviation are shown, and change neither gradients nor states."""
    x = np.arange(8.0).reshape(4, 2)
    found = []
    for watched in (False, True):
        net = mx.sym.BatchNorm(mx.sym.var("data"), fix_gamma=False, name="norm")
        executor = (net * net).simple_bind(data=(4, 2))
        executor.arg_dict["norm_gamma"][:] = 2
        seen: dict[str, Any] = {}
        if watched:
            executor.set_monitor_callback(
                lambda name, array, seen=seen: seen.update({name: array.asnumpy()})
            )
        executor.forward(is_train=True, data=mx.nd.array(x))
        executor.backward()
        arrays = {**executor.grad_dict, **executor.aux_dict}
        found.append({name: array.asnumpy() for name, array in arrays.items()})
    np.testing.assert_allclose(seen["norm_mean"], x.mean(axis=0))
    np.testing.assert_allclose(seen["norm_var"], (x.var(axis=0) + 1e-3) ** -0.5, 1e-6)
    assert any(array.any() for array in found[0].values())
    for name, array in found[0].items():
        np.testing.assert_allclose(found[1][name], array, rtol=1e-5, atol=1e-6)


def test_a_monitor_goes_on_watching_an_executor_of_other_shapes() -> None:
    """Also after the second change, and with what goes into each operator."""
    executor = (mx.sym.var("data") * 2).simple_bind(data=(2, 3))
    seen: list[tuple[str, tuple[int, ...]]] = []
    executor.set_monitor_callback(
        lambda name, array: seen.append((name, array.shape)), monitor_all=True
    )
    for rows in (4, 1):
        seen.clear()
        executor = executor.reshape(data=(rows, 3), allow_up_sizing=True)
        executor.forward()
        assert ("data", (rows, 3)) in seen
        assert len(seen) > 1
        assert {shape for _, shape in seen} == {(rows, 3)}
