"""How the parts of a lab are laid out: controls and switches above, knobs beside."""

from __future__ import annotations

from collections.abc import Sequence

import ipywidgets


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
