"""The table of what lives on GPUs, and for whom."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import minimx as mx
from minimx import gluon, profiler
from minimx.core import autograd
from minimx.core.errors import ProfilerError
from minimx.core.knobs import knobs
from minimx.profiler.session import profiler as the_profiler


@pytest.fixture(autouse=True)
def profiled(tmp_path: Path) -> Iterator[None]:
    mx.nd.waitall()
    with knobs(MINIMX_SIM_GPUS=2):
        profiler.set_config(
            profile_all=True,
            filename=str(tmp_path / "profile.json"),
            continuous_dump=False,
            gpu_memory_profile_filename_prefix=str(tmp_path / "gpus"),
        )
        yield
        if the_profiler.profile is not None:
            profiler.set_config(filename=str(tmp_path / "rest.json"))
            profiler.dump()
        mx.nd.waitall()


def table(tmp_path: Path) -> list[dict[str, str]]:
    path = tmp_path / f"gpus-pid_{os.getpid()}.csv"
    text = path.read_text()
    heads = '"Attribute Name","Requested Size","Device","Actual Size","Reuse?"'
    assert text.splitlines()[0] == heads
    rows = list(csv.DictReader(text.splitlines()))
    names = [row["Attribute Name"] for row in rows]
    assert names == sorted(names)
    assert not {"<unk>:unknown", "<unk>:"} & set(names)
    assert all(int(row["Actual Size"]) >= int(row["Requested Size"]) for row in rows)
    return rows


def test_scopes_operators_sizes_and_devices(tmp_path: Path) -> None:
    profiler.set_state("run")
    with profiler.scope("init:"):
        a = mx.nd.random.uniform(-1, 1, shape=(64, 32), ctx=mx.gpu(0))
    with profiler.scope("tensordot:"):
        b = mx.nd.dot(a, a, transpose_b=True)
    other = mx.nd.ones((3,), ctx=mx.gpu(1))
    gone = mx.nd.ones((77,), ctx=mx.gpu(0))
    mx.nd.waitall()
    del gone
    mx.nd.waitall()
    profiler.set_state("stop")
    profiler.dump(True)
    found = {
        (row["Attribute Name"], row["Requested Size"], row["Device"])
        for row in table(tmp_path)
    }
    assert ("init:_random_uniform", str(4 * a.size), "0") in found
    assert ("tensordot:dot", str(4 * b.size), "0") in found
    assert ("<unk>:_ones", str(4 * other.size), "1") in found
    assert not any(size == str(4 * 77) for _, size, _ in found), "it was returned"


def test_parameters_and_gradients_stand_under_their_layer(tmp_path: Path) -> None:
    profiler.set_state("run")
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(128, activation="tanh"), gluon.nn.Dropout(0.5))
    net.add(gluon.nn.Dense(32))
    net.initialize(ctx=mx.gpu(0))
    net.hybridize()
    with autograd.record():
        out = net(mx.nd.zeros((16, 10), ctx=mx.gpu(0)))
    out.backward()
    mx.nd.waitall()
    profiler.dump(True)
    rows = table(tmp_path)
    for block in (net[0], net[2]):
        for parameter in block.collect_params().values():
            size = str(4 * parameter.data(mx.gpu(0)).size)
            for kind in ("in_arg", "arg_grad"):
                assert any(
                    f":{block.name}:{kind}:" in row["Attribute Name"]
                    and row["Requested Size"] == size
                    for row in rows
                ), (parameter.name, kind, rows)


def test_an_idle_block_that_is_used_again_is_told(tmp_path: Path) -> None:
    x = mx.nd.ones((1000,), ctx=mx.gpu(0))
    x.wait_to_read()
    del x
    mx.nd.waitall()
    profiler.set_state("run")
    with profiler.scope("again:"):
        y = mx.nd.ones((1000,), ctx=mx.gpu(0))
    mx.nd.waitall()
    profiler.dump()
    (row,) = [r for r in table(tmp_path) if r["Attribute Name"].startswith("again:")]
    assert row["Reuse?"] == "1" and y.size == 1000


def test_without_gpus_or_memory_there_is_no_table(tmp_path: Path) -> None:
    profiler.set_config(
        profile_memory=False,
        filename=str(tmp_path / "profile.json"),
        continuous_dump=False,
        gpu_memory_profile_filename_prefix=str(tmp_path / "gpus"),
    )
    profiler.set_state("run")
    mx.nd.ones((3,), ctx=mx.gpu(0)).wait_to_read()
    profiler.dump()
    assert list(tmp_path.glob("gpus*")) == []


def test_a_table_that_cannot_be_written_is_an_error_and_the_trace_is_whole(
    tmp_path: Path,
) -> None:
    profiler.set_config(
        filename=str(tmp_path / "profile.json"),
        continuous_dump=False,
        gpu_memory_profile_filename_prefix=str(tmp_path / "none" / "gpus"),
    )
    profiler.set_state("run")
    kept = mx.nd.ones((3,), ctx=mx.gpu(0))
    kept.wait_to_read()
    with pytest.raises(ProfilerError, match="cannot write"):
        profiler.dump()
    assert json.loads((tmp_path / "profile.json").read_text())["traceEvents"]
    (tmp_path / "none").mkdir()
    profiler.dump()  # nothing was lost
    assert list((tmp_path / "none").iterdir())
