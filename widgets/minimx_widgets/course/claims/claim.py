"""One sentence of a document, the experiment that tests it, and who decides.

    @claim("05", "The common limit “…”", V1, 98, "measured", limits, tolerance="none")
    def common_limit(common, backward):
        '''The limit of one direction should follow the common one.'''
        return "holds" if backward == common else "fails", f"… {backward}"

The decorated function becomes a `Claim`. It decides by numbers alone: other ones give
another verdict. Its docstring is the prediction: what the document lets one expect.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from minimx_widgets.language import tr

#: A verdict, which begins with "holds", "fails" or "depends", and the evidence for it.
Decision = tuple[str, str]
Numbers = Mapping[str, Any]
#: Where the numbers come from: measured on this machine, or counted while it ran; read
#: off the virtual clock; planned and not run; modelled by costs of machines.
Kind = Literal["measured", "virtual", "planned", "modelled"]


@dataclass(frozen=True)
class Document:
    """A document on trial: its name, its file, and the generation that it describes."""

    name: str
    file: str
    generation: str


V0 = Document("0.x", "env-vars-0.x.md", "0.x")
V1 = Document("1.x", "env-vars-1.x.md", "1.x")
V2 = Document("2.0", "env-vars-2.0.md", "2.0")
TIPS = Document("performance tips", "performance-tips.md", "2.0")
#: The tables of the tips were measured with MXNet 1.2.0.
TIPS_OF_1X = Document("performance tips", "performance-tips.md", "1.x")
GUIDE = Document("troubleshooting guide", "troubleshooting-guide.md", "1.x")
#: What users reported; a report has no lines.
REPORTS: Final = ""
NONE: Final = "none"


@dataclass(frozen=True)
class Claim:
    """A sentence of a document, and how its verdict is computed.

    notebook: which one shows it, as "05". text: the sentence, quotations in “ ”; HTML.
    line, last: where the quotation stands in the document; 0 if that has no lines.
    experiment: returns the numbers that `decide` takes; its arguments change it.
    tolerance: in words, how far numbers may be off before the verdict turns.
    """

    notebook: str
    text: str
    document: Document
    line: int
    kind: Kind
    experiment: Callable[..., Numbers]
    decide: Callable[..., Decision]
    tolerance: str
    last: int = 0

    @property
    def name(self) -> str:
        """The name of the deciding function, one of its kind in a notebook."""
        return self.decide.__name__

    @property
    def prediction(self) -> str:
        """What the document lets one expect."""
        return (self.decide.__doc__ or "").strip().splitlines()[0]

    @property
    def quotations(self) -> list[str]:
        """What the text says in the document's own words; “…” parts two of them."""
        text = html.unescape(re.sub("<[^>]+>", "", self.text))
        quoted: list[str] = re.findall("“([^”]*)”", text)
        return [part.strip() for one in quoted for part in one.split("…")]

    @property
    def place(self) -> str:
        """Document and line, and the generation if the name does not tell it."""
        parts = [self.document.name]
        if self.last:
            parts[0] += f", lines {self.line}–{self.last}"
        elif self.line:
            parts[0] += f", line {self.line}"
        if self.document.generation != self.document.name:
            parts.append(f"MXNet {self.document.generation}")
        return "; ".join(parts)

    @property
    def shown(self) -> str:
        """The text with its place, and how its numbers came about; HTML."""
        return f"{tr(self.text)} <i>({self.place}; {tr(self.kind)})</i>"

    def judged(self, **changes: Any) -> Decision:
        """Make the experiment, with other arguments if there are any, and decide."""
        return self.decide(**self.experiment(**changes))

    def row(self, numbers: Numbers | None = None) -> tuple[str, str, str]:
        """The claim with its place, its verdict and evidence, as `verdicts` shows them.

        numbers: what was measured already; without them the experiment is made.
        """
        found = self.experiment() if numbers is None else numbers
        return (self.shown, *self.decide(**found))


def claim(
    notebook: str,
    text: str,
    document: Document,
    line: int,
    kind: Kind,
    experiment: Callable[..., Numbers],
    *,
    tolerance: str = NONE,
    last: int = 0,
) -> Callable[[Callable[..., Decision]], Claim]:
    """Make a `Claim` of the function that decides; the arguments are its fields."""

    def made(decide: Callable[..., Decision]) -> Claim:
        return Claim(
            *(notebook, text, document, line, kind, experiment, decide, tolerance),
            last=last,
        )

    return made


def report(number: str, generation: str) -> Document:
    """A report of a user, such as `mxnet#7592`."""
    return Document(number, REPORTS, generation)


def weighed(parts: Sequence[bool], on: str) -> str:
    """Return "holds" if it does in all parts, "fails" if in none, else "depends".

    >>> weighed([True, False], "the sizes")
    'depends on the sizes'
    """
    if all(parts):
        return "holds"
    return f"depends on {on}" if any(parts) else "fails"


def if_true(fact: bool, well: str = "holds", badly: str = "fails") -> str:
    """One of two verdicts."""
    return well if fact else badly
