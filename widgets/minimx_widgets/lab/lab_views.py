"""The views of a lab: where they lie, and those that are made when they are opened."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import ipywidgets

from minimx_widgets.compare.in_lab import REPLAY
from minimx_widgets.lab.lab_compare import ComparePanel
from minimx_widgets.lab.reach import reasons
from minimx_widgets.training.training import load, made
from minimx_widgets.views.conv_chooser import ConvChooser
from minimx_widgets.views.engine_timeline import EngineTimeline
from minimx_widgets.views.knob_panel import KnobPanel
from minimx_widgets.views.kvstore_view import KVStoreView
from minimx_widgets.views.numerics_monitor import NumericsMonitor
from minimx_widgets.views.pool_map import PoolMap

if TYPE_CHECKING:
    from minimx_widgets.lab.lab import Lab

POOL = "The inside of the pool"
ACCOUNT = "Where time and memory went"
NUMBERS = "How large the numbers are"
CONVOLUTIONS = "Who computes the convolutions"
STORE = "Who sends what to whom"
COMPARE = "Compare two settings"
#: Pixels that the lanes of one device share, and those of each further one.
LANES, LANES_OF_ONE_MORE = 112, 36
#: The settings that the choice of a convolution's algorithm depends on.
CHOOSING = ("network", "data", "device", "dtype", "batch_size")


def timeline(lab: Lab) -> EngineTimeline:
    """The lanes of a lab's workers; higher for more devices, which have lanes each."""

    def height(settings: Mapping[str, str]) -> int:
        return LANES + LANES_OF_ONE_MORE * (int(settings["devices"]) - 1)

    view = EngineTimeline(lab.run_of_views, height=height(lab.controls.settings))
    lab.controls.observe(
        lambda change: setattr(view, "height", height(change.new)), "settings"
    )
    return view


def knob_panel(lab: Lab, pinned: Sequence[str]) -> KnobPanel:
    """All knobs, which say why they cannot act on the lab, and can be tried on it."""
    return KnobPanel(
        pinned,
        height=470,
        cannot=lambda: reasons(lab.situation),
        compare=lab.replays.propose,
    )


def composed(
    top: Sequence[ipywidgets.DOMWidget],
    knobs: ipywidgets.DOMWidget,
    views: Sequence[ipywidgets.DOMWidget],
) -> ipywidgets.Box:
    """A box with `top` across the whole width, and below it knobs beside the views."""
    for part in top:
        part.add_class("mx-lab-top")
    knobs.add_class("mx-lab-knobs")
    column = ipywidgets.Box(views)
    column.add_class("mx-lab-views")
    box = ipywidgets.Box([*top, knobs, column])
    box.add_class("mx-lab")
    return box


def makers(lab: Lab) -> dict[str, Callable[[], Any]]:
    """What makes each view, by title."""
    return {
        POOL: lambda: PoolMap(lab.run_of_views),
        ACCOUNT: lambda: lab.overview,
        NUMBERS: lambda: NumericsMonitor(lab.run_of_views),
        CONVOLUTIONS: lambda: convolutions(lab),
        STORE: lambda: store(lab),
        COMPARE: lambda: ComparePanel(lab.comparer),
        REPLAY: lab.replays.panel,
    }


def convolutions(lab: Lab) -> ConvChooser:
    """The chooser for the network, the device and the type of the settings."""
    settings, fit = lab.settings, lab.fit
    data = load(settings.data) if fit is None else fit.data
    return ConvChooser(
        made(settings.network, data),
        device=settings.device,
        dtype=settings.dtype,
        record=lab.run_of_views,
        data=(settings.batch_size, *data.train_x.shape[1:]),
    )


def store(lab: Lab) -> KVStoreView:
    """What the devices of the training send each other, and what more of them would."""
    settings = lab.settings
    return KVStoreView(
        record=lab.run_of_views,
        net=lambda: lab.net,
        store=settings.store,
        workers=max(2, settings.devices),
    )
