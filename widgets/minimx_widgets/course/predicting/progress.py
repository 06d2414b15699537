"""How well a learner knows what they know: a calibration curve, and weak spots.

    my_predictions()              # the curve, the table by notebook, what to look at
    weak_spots(here(), 3)         # the topics to ask about again

A learner who is 80 % sure should be right in 8 of 10 cases. Only the first answer to a
question counts: "Another one" is practice.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from minimx_widgets.course.parts.text import Shown, table
from minimx_widgets.course.predicting import ledger as ledgers
from minimx_widgets.course.predicting.ledger import Answer, Ledger
from minimx_widgets.language import tr

#: Confidence in percent, from and up to but without.
BANDS = ((50, 60), (60, 70), (70, 80), (80, 90), (90, 101))


class Band(NamedTuple):
    """Answers of about one confidence. sure: on average. right: how many were."""

    answers: int
    sure: float
    right: int

    @property
    def share(self) -> float:
        """The percentage that was right."""
        return 100 * self.right / self.answers


class Topic(NamedTuple):
    """Answers of one topic. right: how many of them were."""

    name: str
    answers: int
    right: int

    @property
    def share(self) -> float:
        """Between 0 and 1; a topic of which little is known is near a half."""
        return (self.right + 1) / (self.answers + 2)


def first_answers(answers: Iterable[Answer]) -> list[Answer]:
    """The first answer to each question, in the order in which they were given."""
    found: dict[str, Answer] = {}
    for each in answers:
        found.setdefault(each.card, each)
    return list(found.values())


def calibration(answers: Iterable[Answer]) -> list[Band]:
    """The first answers by confidence; bands without any are left out."""
    return bands_of(first_answers(answers))


def bands_of(mine: Sequence[Answer]) -> list[Band]:
    """Answers by confidence, all of them: of a class, several to one question."""
    bands = []
    for low, high in BANDS:
        part = [each for each in mine if low <= each.sure < high]
        if part:
            sure = sum(each.sure for each in part) / len(part)
            bands.append(Band(len(part), sure, sum(each.right for each in part)))
    return bands


def topics(answers: Iterable[Answer]) -> list[Topic]:
    """The first answers by topic, in the order of names."""
    mine = first_answers(answers)
    names = sorted({each.topic for each in mine if each.topic})
    return [
        Topic(
            name,
            sum(each.topic == name for each in mine),
            sum(each.topic == name and each.right for each in mine),
        )
        for name in names
    ]


def weak_spots(answers: Iterable[Answer], count: int = 3) -> list[str]:
    """The topics with the fewest right predictions, the weakest first."""
    known = sorted(topics(answers), key=lambda each: (each.share, each.name))
    return [each.name for each in known if each.right < each.answers][:count]


def my_predictions(ledger: Ledger | None = None) -> Shown:
    """What you predicted so far: how sure, how often right, and where to look again."""
    found = ledgers.here() if ledger is None else ledger
    if ledger is None and found.path is not None:
        found = Ledger(found.path)  # with the answers of other notebooks
    mine = first_answers(found)
    if not mine:
        text = tr("No predictions yet. Every card that you lock in will count here.")
        return Shown(text, f"<i>{text}</i>")
    bands, spots = calibration(mine), weak_spots(mine)
    said = table(
        ("you said", "predictions", "right", "share"),
        [(f"{b.sure:.0f} %", b.answers, b.right, f"{b.share:.0f} %") for b in bands],
    )
    by_topic = table(
        ("notebook", "predictions", "right"),
        [(each.name, each.answers, each.right) for each in topics(mine)],
    )
    lines = [_summary(mine)]
    if spots:
        lines.append(tr("Worth another look: {spots}.", spots=", ".join(spots)))
    if found.notice:
        lines.append(tr(found.notice))
    plain = "\n".join([*lines, "", said.plain, "", by_topic.plain])
    rich = "".join(f"<p>{html.escape(line)}</p>" for line in lines)
    boxes = f"{curve(bands)}<div>{said.rich}{by_topic.rich}</div>"
    style = "display:flex;gap:1.5em;flex-wrap:wrap;align-items:flex-start"
    return Shown(plain, f"{rich}<div style='{style}'>{boxes}</div>")


def _summary(mine: Sequence[Answer]) -> str:
    right = sum(each.right for each in mine)
    sure = sum(each.sure for each in mine) / len(mine)
    share = 100 * right / len(mine)
    if len(mine) < 10:
        verdict = "too few to say how well you know what you know."
    elif abs(sure - share) <= 10:
        verdict = "you know well what you know."
    elif sure > share:
        verdict = "you are surer than your predictions allow."
    else:
        verdict = "you know more than you think."
    return tr(
        "{count} predictions, {right} right ({share} %); you were {sure} % sure on "
        "average: {verdict}",
        count=str(len(mine)),
        right=str(right),
        share=f"{share:.0f}",
        sure=f"{sure:.0f}",
        verdict=tr(verdict),
    )


def curve(bands: Sequence[Band]) -> str:
    """The calibration curve as SVG: confidence to the right, share of right ones up."""

    def x(sure: float) -> float:
        return 46 + (sure - 50) * 4.4

    def y(share: float) -> float:
        return 214 - share * 1.9

    label = tr("calibration curve: how sure, and how often right")
    across, up = tr("% sure"), tr("% right (dashed: exactly as sure as right)")
    marks = "".join(
        f'<circle cx="{x(band.sure):.1f}" cy="{y(band.share):.1f}" '
        f'r="{3 + min(band.answers, 25) ** 0.5:.1f}" '
        'fill="var(--jp-brand-color1, #1976d2)" fill-opacity="0.75">'
        f"<title>{_of_band(band)}</title></circle>"
        for band in bands
    )
    joined = " ".join(f"{x(b.sure):.1f},{y(b.share):.1f}" for b in bands)
    ticks = "".join(
        f'<text x="{x(each):.1f}" y="230" text-anchor="middle">{each}</text>'
        for each in (50, 60, 70, 80, 90, 100)
    ) + "".join(
        f'<text x="40" y="{y(each) + 4:.1f}" text-anchor="end">{each}</text>'
        for each in (0, 50, 100)
    )
    return (
        '<svg viewBox="0 0 290 258" width="290" height="258" role="img" '
        f'aria-label="{label}" '
        'font-size="11" fill="currentColor" style="font-family:sans-serif">'
        f'<line x1="{x(50)}" y1="{y(50)}" x2="{x(100)}" y2="{y(100)}" '
        'stroke="currentColor" stroke-dasharray="4 3" opacity="0.6"/>'
        f'<line x1="{x(50)}" y1="{y(0)}" x2="{x(100)}" y2="{y(0)}" '
        'stroke="currentColor" opacity="0.5"/>'
        f'<line x1="{x(50)}" y1="{y(0)}" x2="{x(50)}" y2="{y(100)}" '
        'stroke="currentColor" opacity="0.5"/>'
        f'<polyline points="{joined}" fill="none" '
        'stroke="var(--jp-brand-color1, #1976d2)"/>'
        f"{marks}{ticks}"
        f'<text x="156" y="250" text-anchor="middle">{across}</text>'
        f'<text x="46" y="14">{up}</text></svg>'
    )


def _of_band(band: Band) -> str:
    return tr(
        "{count} predictions, {sure} % sure, {share} % right",
        count=str(band.answers),
        sure=f"{band.sure:.0f}",
        share=f"{band.share:.0f}",
    )


def export_predictions(path: str | Path, ledger: Ledger | None = None) -> Path:
    """Write your predictions as one JSON file, to hand in; returns its path."""
    found = ledgers.here() if ledger is None else ledger
    return (Ledger(found.path) if found.path is not None else found).export(path)
