"""Why two sides differ, in sentences for a reader who has never seen a replay."""

from __future__ import annotations

from collections.abc import Sequence

from minimx.experiments.reasons import PROGRAM
from minimx.experiments.why import MISSING, Why
from minimx_widgets.compare.differences import FIGURES

#: So many knobs are named in a sentence.
MOST = 6


def said(found: Sequence[Why]) -> str:
    """The causes of each figure that changed, and what else differs, a line for each.

    found: of `why_each`, of at least one figure. Lines that are no cause are indented.
    """
    lines = [f"predicted: {one.sentence}" for one in found]
    if len(found) == 1:
        lines += _rest(found[0])
    named = {cause.name for one in found for cause in one.causes}
    idle = [name for name in found[0].candidates if name not in named]
    if idle:
        what = "it" if len(found) == 1 else "any of these figures"
        lines.append(
            f"  {_names(idle)} {_verb('differ', idle)} as well, but {_verb('do', idle)}"
            f" not change {what}."
        )
    if other := found[0].unexamined:
        lines.append(
            f"  {_names(other)} {_verb('differ', other)} too. No replay can turn "
            f"{'it' if len(other) == 1 else 'them'}, so it is not known what that "
            "changes: run both settings to see."
        )
    return "\n".join(lines)


def _rest(one: Why) -> list[str]:
    """What was measured, where the causes do not explain all of it."""
    if not one.causes or abs(one.change - one.explained) <= MISSING * abs(one.change):
        return []
    label, text = FIGURES[one.figure]
    return [
        f"  The causes do not explain all of it: the {label} went from "
        f"{text(one.before)} to {text(one.after)}. A replay takes it that each "
        "operation lasts as long as it did in A."
    ]


def _names(names: Sequence[str]) -> str:
    """Knobs in a row.

    >>> _names(["A"]), _names(["A", "B", "C"])
    ('A', 'A, B and C')
    """
    words = [name if name != PROGRAM else "the program" for name in names]
    if len(words) > MOST:
        words = [*words[: MOST - 1], f"{len(words) - MOST + 1} more knobs"]
    *first, last = words
    text = f"{', '.join(first)} and {last}" if first else last
    return text[0].upper() + text[1:]


def _verb(verb: str, names: Sequence[str]) -> str:
    """The verb for one knob or for several."""
    if len(names) > 1:
        return verb
    return verb + ("es" if verb.endswith("o") else "s")
