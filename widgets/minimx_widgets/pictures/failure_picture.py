"""The static picture of `FailureLab`: a pure function of its state."""

from __future__ import annotations

import math
from typing import Any

from minimx_widgets import palette, svg
from minimx_widgets.failures.evidence import table

LEFT, NAMES, LINE = 16.0, 120.0, 16.0
#: From which magnitude to which a cell gets darker, as powers of ten.
FAINT, STRONG = -3.0, 9.0


def strength(largest: float) -> float:
    """How dark a magnitude is drawn, 0.08 to 1.

    >>> strength(0.0), round(strength(1.0), 2), strength(1e30)
    (0.08, 0.31, 1.0)
    """
    if largest <= 0:
        return 0.08
    share = (math.log10(largest) - FAINT) / (STRONG - FAINT)
    return 0.08 + 0.92 * min(1.0, max(0.0, share))


def picture(state: dict[str, Any], title: str, *, dark: bool, width: int) -> str:
    """The symptom, the losses, and the evidence that is open."""
    ink, muted = (palette.surface(name, dark=dark) for name in ("ink", "muted"))
    parts = svg.heading(f"Case {state['case']}", "", width, dark=dark)
    lines: dict[str, Any] = {"space": width - 2 * LEFT, "size": 12, "step": LINE}
    more, y = svg.paragraph(LEFT, 42.0, state["symptom"], ink, **lines)
    parts += more
    parts += _losses(state["losses"], y, width, dark=dark)
    y += 84
    evidence = state["evidence"]
    if evidence is None:
        parts.append(svg.text(LEFT, y, "No evidence was asked for yet.", muted))
        y += LINE
    else:
        more, y = _evidence(evidence, y, width, dark=dark)
        parts += more
    for verdict in (state["verdict"], state["trial"]):
        if verdict:
            colour = palette.state("added" if verdict["good"] else "removed", dark=dark)
            more, y = svg.paragraph(LEFT, y + LINE, verdict["words"], colour, **lines)
            parts, y = parts + more, y - LINE
    return svg.picture(width, y + 16, parts, title=title, dark=dark)


def _losses(losses: list[Any], y: float, width: int, *, dark: bool) -> list[str]:
    """The losses that were read, on a linear axis; what is not finite as crosses."""
    muted, accent, alert = (
        palette.surface(name, dark=dark) for name in ("muted", "accent", "alert")
    )
    top, high, wide = y + 6, 52.0, width - 2 * LEFT - NAMES
    left = LEFT + NAMES
    finite = [loss for _, loss in losses if loss is not None]
    most = max(finite, default=1.0) or 1.0
    last = max([step for step, _ in losses], default=1) or 1
    parts = [
        svg.text(LEFT, top + 10, "loss", muted),
        svg.text(LEFT, top + 24, f"up to {most:.3g}", muted, size=10),
        svg.line(
            [(LEFT + NAMES, top + high), (LEFT + NAMES + wide, top + high)], muted
        ),
    ]
    points = []
    for step, loss in losses:
        x = left + wide * step / last
        if loss is None:
            text = f"step {step}: not finite"
            parts.append(svg.rect(x - 3, top + high - 9, 6, 9, alert, title=text))
        else:
            points.append((x, top + high - high * min(1.0, loss / most)))
    if points:
        parts.append(svg.line(points, accent, width=2))
    return parts


def _evidence(
    evidence: dict[str, Any], y: float, width: int, *, dark: bool
) -> tuple[list[str], float]:
    ink, muted = (palette.surface(name, dark=dark) for name in ("ink", "muted"))
    parts: list[str] = []
    for line in evidence.get("lines", []):
        space = width - 2 * LEFT
        more, y = svg.paragraph(LEFT, y, line, ink, space=space, step=LINE)
        parts += more
    if evidence["kind"] == "map":
        parts += _map(evidence, y, width, dark=dark)
        return parts, y + 22.0 * len(evidence["layers"]) + 26
    if evidence["kind"] in ("norms", "parameters") or evidence.get("heads"):
        shown = table(evidence)
        wide = (width - 2 * LEFT) / len(shown.heads)
        for k, row in enumerate((shown.heads, *shown.rows)):
            for j, cell in enumerate(row):
                colour = ink if k else muted
                x = LEFT + j * wide
                parts.append(svg.text(x, y, cell, colour, space=wide - 8))
            y += LINE
    return parts, y


def _map(evidence: dict[str, Any], y: float, width: int, *, dark: bool) -> list[str]:
    """A row for each layer, a column for each step, forward above backward."""
    muted = palette.surface("muted", dark=dark)
    alert = palette.surface("alert", dark=dark)
    wide = (width - 2 * LEFT - NAMES) / evidence["steps"]
    rows = {name: y + 22.0 * k for k, name in enumerate(evidence["layers"])}
    parts = [
        svg.text(LEFT, top + 13, name, muted, space=NAMES - 8)
        for name, top in rows.items()
    ]
    for cell in evidence["cells"]:
        top = rows[cell["layer"]] + (0 if cell["phase"] == "forward" else 10)
        x = LEFT + NAMES + cell["step"] * wide
        bad = cell["bad"] > 0
        text = (
            f"{cell['layer']}, {cell['phase']} of step {cell['step']}: "
            f"{cell['bad']} of {cell['calls']} not finite, up to {cell['largest']:.3g}"
        )
        colour = alert if bad else palette.phase(cell["phase"], dark=dark)
        opacity = 1.0 if bad else strength(cell["largest"])
        parts.append(
            svg.rect(x, top, wide - 1.5, 9, colour, opacity=opacity, title=text)
        )
    end = y + 22.0 * len(rows) + 12
    for step in range(0, evidence["steps"], 4):
        parts.append(svg.text(LEFT + NAMES + step * wide, end, str(step), muted))
    return [*parts, svg.text(LEFT, end, "step", muted)]
