"""The chooser of convolution algorithms: what it says without a browser."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import minimx as mx
from minimx.core import engine
from minimx.core.errors import ArgumentError
from minimx.core.knobs import knobs
from minimx.core.record import Record
from minimx.cuda import toolkit
from minimx.fast.convolution import tuner
from minimx.fast.convolution.algorithms import NAMES
from minimx_widgets import ConvChooser
from minimx_widgets.views import conv_chooser


def network() -> Any:
    """Two convolutions: one that Winograd suits, and one of long windows."""
    x = mx.sym.var("data")
    x = mx.sym.Convolution(x, num_filter=64, kernel=(3, 3), pad=(1, 1), name="small")
    x = mx.sym.Convolution(
        x, num_filter=8, kernel=(7, 7), stride=(2, 2), workspace=256, name="long"
    )
    return mx.sym.Group([x])


@pytest.fixture
def view() -> Iterator[ConvChooser]:
    tuner.forget()
    shown = ConvChooser(network(), data=(2, 64, 14, 14))
    yield shown
    shown.close()
    knobs.reset()
    tuner.forget()


def chosen(view: ConvChooser) -> list[str]:
    return [
        next(row["name"] for row in direction["rows"] if row["chosen"])
        for direction in view.state["directions"]
    ]


def test_the_line_names_layer_device_and_winners(view: ConvChooser) -> None:
    forward, data, weight = chosen(view)
    assert repr(view) == (
        f"ConvChooser(small on cpu, 1024 MiB: forward {forward}, "
        f"data gradient {data}, weight gradient {weight})"
    )
    assert "winograd2" in (forward, data)


def test_turning_a_knob_shows_at_once_and_says_why(view: ConvChooser) -> None:
    before = view.state
    with knobs(MXNET_CUDNN_ALLOW_WINOGRAD=0):
        assert "winograd2" not in chosen(view)
        rows = {row["name"]: row for row in view.state["directions"][0]["rows"]}
        assert rows["winograd2"]["excluded"] == "MXNET_CUDNN_ALLOW_WINOGRAD=0"
        assert "excluded: MXNET_CUDNN_ALLOW_WINOGRAD=0" in view.svg()
    assert view.state["directions"] == before["directions"]
    everything = ",".join(map(str, range(9)))
    with knobs(MXNET_CUDNN_DISABLED_CONV_FWD_ENGINES=everything):
        assert "forward nothing left" in repr(view)
        assert "No algorithm is left" in view.why("forward")


def test_the_slider_tries_another_workspace(view: ConvChooser) -> None:
    view._hear(None, {"kind": "workspace", "mib": 0}, None)
    assert set(chosen(view)) == {"direct"}
    assert "workspace allows 0" in repr(view.table())
    view._hear(None, {"kind": "workspace", "mib": None}, None)
    assert "winograd2" in chosen(view)
    with pytest.raises(ArgumentError, match="-1 MiB"):
        view.allow(-1)


def test_gpus_tune_and_measuring_shows_what_they_found(
    view: ConvChooser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tuner, "measure", lambda one, *_: 1e-3 * (1 + one.number))
    view.place("gpu")
    assert "stands for the stopwatch" in view.why("forward")
    knobs.set(MINIMX_CPU_AUTOTUNE=True)
    assert "the first call will measure" in view.why("forward")
    view.measure()
    assert chosen(view) == ["direct"] * 3
    assert view.why("forward").startswith("The fastest of")
    knobs.set(MINIMX_CPU_AUTOTUNE=False)
    assert "direct" not in chosen(view)
    view.place("cpu")  # where nobody asked for the stopwatch
    assert "direct" not in chosen(view)
    assert view.state["directions"][0]["rows"][0]["measured"] is not None


def test_layers_are_chosen_by_name(view: ConvChooser) -> None:
    view.show("long")
    assert view.workspace == 256
    assert "stride 2×2" in view.state["shape"]
    rows = {row["name"]: row for row in view.state["directions"][0]["rows"]}
    assert "3×3" in rows["winograd4"]["excluded"]
    with pytest.raises(ArgumentError, match="Did you mean long"):
        view.show("lnog")
    with pytest.raises(ArgumentError, match="no convolution"):
        ConvChooser(mx.sym.relu(mx.sym.var("x")), x=(2, 2))


def test_what_is_selected_in_a_record_is_shown(view: ConvChooser) -> None:
    net = network()
    bound = net.simple_bind(mx.cpu(), data=(2, 64, 14, 14))
    with knobs(MXNET_EXEC_BULK_EXEC_INFERENCE=0), Record() as record:
        bound.forward()
        engine.wait_all()
    beside = ConvChooser(net, record=record, data=(2, 64, 14, 14))
    layers = record.texts(record.ops()["layer"])
    ops = dict(zip(layers, record.ops()["op"], strict=True))
    if "long" in ops:
        beside._hear(None, {"kind": "op", "op": int(ops["long"])}, None)
        assert beside.layer == "long"
        beside.show("small")
        assert beside.run.selected == int(ops["small"])
    beside._hear(None, {"kind": "op", "op": 10**9}, None)
    beside.close()


@pytest.mark.parametrize("dark", [False, True])
def test_the_picture_is_well_formed(
    view: ConvChooser, tmp_path: Path, dark: bool
) -> None:
    file = view.save(tmp_path / "conv.svg", dark=dark)
    text = file.read_text(encoding="utf-8")
    ET.fromstring(text)
    for word in ("forward", "data gradient", "weight gradient", "★", "≈"):
        assert word in text


def test_a_closed_view_hears_no_knobs(view: ConvChooser) -> None:
    view.close()
    revision = view.state["revision"]
    with knobs(MXNET_CUDNN_ALLOW_FFT=0):
        assert view.state["revision"] == revision


def test_a_cuda_device_shows_the_algorithms_that_it_has(
    view: ConvChooser, monkeypatch: pytest.MonkeyPatch
) -> None:
    view.place("gpu")
    simulated = [row["name"] for row in view.state["directions"][0]["rows"]]
    assert len(simulated) > 4
    monkeypatch.setattr(conv_chooser, "backend_of", lambda device: "cuda")
    monkeypatch.setattr(toolkit, "simulated", lambda: True)
    view.refresh()
    for direction in view.state["directions"]:
        rows = {row["name"]: row["number"] for row in direction["rows"]}
        assert rows == {NAMES[0]: 0, NAMES[9]: 9}
        assert [row["chosen"] for row in direction["rows"]].count(True) == 1
    assert view.state["shape"].endswith("by the kernels of CUDA")
    assert "on gpu (CUDA)" in repr(view)
    assert "by the kernels of CUDA" in view.svg()
    with pytest.raises(ArgumentError, match="simulator, whose times say nothing"):
        view.measure()
    monkeypatch.undo()
    view.refresh()
    assert [row["name"] for row in view.state["directions"][0]["rows"]] == simulated


def test_volumes_are_computed_on_the_host_of_a_cuda_device(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x = mx.sym.Convolution(mx.sym.var("data"), num_filter=2, kernel=(3, 3, 3))
    monkeypatch.setattr(conv_chooser, "backend_of", lambda device: "cuda")
    shown = ConvChooser(x, device="gpu", data=(1, 2, 8, 8, 8))
    assert len(shown.state["directions"][0]["rows"]) > 4
    shown.close()


def test_the_type_is_that_in_which_layers_compute() -> None:
    shown = ConvChooser(network(), dtype="float16", data=(2, 64, 14, 14))
    assert shown.state["shape"].endswith("float16")
    shown.close()
