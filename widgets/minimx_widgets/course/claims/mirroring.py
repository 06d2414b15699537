"""What the documents say of mirror and memonger (notebook 09)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from minimx.gluon.model_zoo import vision
from minimx_widgets.course import mirroring
from minimx_widgets.course.claims.claim import (
    V2,
    Decision,
    Numbers,
    claim,
    if_true,
    report,
    weighed,
)
from minimx_widgets.views.mirror_explorer import MirrorExplorer

#: By rule: the peak as a share of keeping all, and the extra work as one of a step.
Rules = Mapping[str, tuple[float, float]]
SAVES = (0.30, 0.50)
SPEED, NEAR = 0.95, 0.02


@cache
def _on_resnet50(version: str) -> Rules:
    net: Any = getattr(vision, f"resnet50_{version}")()
    net.initialize()
    view = MirrorExplorer(net, data=(16, 3, 224, 224))
    found = {}
    for rule in ("1.x", "remap"):
        view.choose(rule)
        planned = view.planned
        found[rule] = (planned.peak / view.base().peak, planned.extra)
    view.close()
    return found


def resnets() -> Numbers:
    """Both versions of ResNet-50, of 16 images, under the rules 1.x and remap."""
    return {"v1": _on_resnet50("v1"), "v2": _on_resnet50("v2")}


@claim(
    "09",
    "“MXNET_BACKWARD_DO_MIRROR=1 will save 30%~50% of device memory”",
    V2,
    251,
    "planned",
    resnets,
)
def thirty_to_fifty(v1: Rules, v2: Rules) -> Decision:
    """Each network should need 30 to 50 % less, under each rule."""
    saved = [1 - rules[rule][0] for rule in ("remap", "1.x") for rules in (v2, v1)]
    low, high = SAVES
    return (
        weighed([low <= one <= high for one in saved], "rule and network"),
        f"in minimx {-saved[0]:+.0%} on ResNet-50 v2 and {-saved[1]:+.0%} on v1; under "
        f"the rule of MXNet 1.x {-saved[3]:+.0%} on v1",
    )


@claim(
    "09",
    "“but retains about 95% of running speed”",
    V2,
    251,
    "modelled",
    resnets,
    tolerance="2 points, by the roofline",
)
def ninety_five(v1: Rules, v2: Rules) -> Decision:
    """The speed should be about 95 % of that with everything kept."""
    speeds = [1 / (1 + rules["remap"][1]) for rules in (v1, v2)]
    near = [abs(one - SPEED) <= NEAR for one in speeds]
    return (
        weighed(near, "the network"),
        f"in minimx {speeds[0]:.0%} and {speeds[1]:.0%}: what is cheap is a small part "
        "of the work, whether or not it saves anything",
    )


def in_gluon() -> Numbers:
    """Extra work of a Gluon network with the switch, in minimx and in MXNet.

    MXNet 1.9.1 and 2.0 build the gradients of Gluon (CachedOp, the tape) without a
    mirror function, so nothing there is computed again.
    """
    return {"extra": _on_resnet50("v1")["remap"][1], "in_mxnet": 0.0}


@claim(
    "09",
    "“When set to 1, during forward propagation, graph executor will mirror some "
    "layer's feature map and drop others”",
    V2,
    250,
    "planned",
    in_gluon,
)
def switch_in_gluon(extra: float, in_mxnet: float) -> Decision:
    """With the switch on, a Gluon network should compute something again."""
    return (
        weighed([extra > 0, in_mxnet > 0], "the framework"),
        f"a Gluon network computes {extra:.0%} more in minimx, and {in_mxnet:.0%} more "
        "in MXNet 1.9.1 and 2.0: there the switch never reaches Gluon. MXNet 1.x reads "
        "it for symbols that are bound; in 2.0 no caller is left that mirrors",
    )


def segments() -> Numbers:
    """By number of layers, the slots of √N segments, and the layers computed again."""
    found = {}
    for layers, count in ((64, 8), (256, 16)):
        one = mirroring.segmented(layers, count)
        found[layers] = (one.kib / mirroring.SLOT, one.again)
    return {"found": found}


@claim(
    "09",
    "memonger “will only use O(sqrt(N)) memory”",
    V2,
    252,
    "planned",
    segments,
    tolerance="a tenth",
)
def square_root(found: Mapping[int, tuple[float, int]]) -> Decision:
    """Four times as many layers should need twice as much memory."""
    (few, (slots, _)), (many, (more, _)) = found.items()
    wanted: float = (many / few) ** 0.5
    return (
        if_true(abs(more / slots / wanted - 1) < 0.1),
        f"{few} layers need {slots:.0f} slots, {many} need {more:.0f}",
    )


@claim(
    "09",
    "“at 75% running speed”",
    V2,
    252,
    "planned",
    segments,
    tolerance="up to 85 %: backward is two parts of three, and borders are kept",
)
def three_quarters(found: Mapping[int, tuple[float, int]]) -> Decision:
    """The whole forward pass should run again: three parts of work become four."""
    speeds = {}
    for layers, (_, again) in found.items():
        products = 3 * layers - 1  # the gradient of the data is not asked for
        speeds[layers] = products / (products + again)
    return (
        if_true(
            all(0.75 <= one <= 0.85 for one in speeds.values()),
            "holds as a bound",
            "fails",
        ),
        ", ".join(f"{speed:.0%} with {n} layers" for n, speed in speeds.items())
        + "; a second forward pass for every layer, which gives 3/4, is what it tends "
        "to",
    )


@claim(
    "09",
    "With mirror on, ResNet-50 takes more memory",
    report("report mxnet#14383", "1.x"),
    0,
    "planned",
    resnets,
)
def more_memory(v1: Rules, v2: Rules) -> Decision:
    """Under the rule of MXNet 1.x the peak should rise."""
    rise = {"v1": v1["1.x"][0] - 1, "v2": v2["1.x"][0] - 1}
    return (
        if_true(rise["v1"] > 0, "holds under the rule of MXNet 1.x", "fails"),
        f"{rise['v1']:+.0%} in minimx under that rule, and 8 % in the plan of MXNet "
        "1.9.1. The report, with another version and batch, had 36 %",
    )
