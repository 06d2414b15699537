"""`FailureLab`: a program that goes wrong, sealed; find out why, and cure it.

    lab = FailureLab()              # or FailureLab(7), FailureLab(7, fault="empty")
    lab = FailureLab("monday")      # one case for all who have the same word
    lab.probe("map", predict=7)     # evidence; costs points, if the number is wrong
    lab.answer("empty", layer="normalise", step=7)
    lab.treat("eps")                # the program runs with the remedy
    lab.bill()                      # what was predicted, and what it cost

Every case is a real program that really fails: a training whose numbers go wrong, or a
job on two simulated GPUs that is slow, wasteful or unequal. A probe runs it once more
under an instrument; a remedy runs it changed, beside the program without the fault.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Mapping
from typing import Any

import anywidget
import ipywidgets
import traitlets

from minimx.core.errors import ArgumentError, MXNetError, did_you_mean
from minimx_widgets import esm
from minimx_widgets.base import STYLE, Pictured
from minimx_widgets.code.asking import ShowsSource
from minimx_widgets.code.errors import Place, source_of_error
from minimx_widgets.code.pieces import Code
from minimx_widgets.failures import (
    CAUSES,
    PROBES,
    REMEDIES,
    Case,
    Trial,
    Verdict,
    draw,
    judged,
    number_of,
    tried,
)
from minimx_widgets.failures import evidence as seen_by
from minimx_widgets.failures.case import NUMBERS
from minimx_widgets.failures.jobs.facts import JobOutcome
from minimx_widgets.failures.probes import (
    REMEDY,
    WRONG,
    Prediction,
    number_in,
    predicted,
)
from minimx_widgets.failures.trial import Seen, complaint, run
from minimx_widgets.language import tr
from minimx_widgets.pictures import failure_picture
from minimx_widgets.saving.states import HasState, StateOf
from minimx_widgets.tables import Table, Tables
from minimx_widgets.views.engine_timeline import EngineTimeline

#: Trainings of two labs at once would turn each other's knobs.
_running = threading.Lock()


class FailurePanel(StateOf, ShowsSource, anywidget.AnyWidget):
    """The part of the lab in the browser: symptom, evidence, answer, remedies."""

    _esm = esm.module("failure_lab")
    _css = STYLE

    state = traitlets.Dict().tag(sync=True)
    #: Where the error was raised that ended the program of the case.
    ended: tuple[Place, ...] = ()

    def source_for(self, message: Mapping[str, Any]) -> Code:
        """The lines of minimx that raised what ended the program."""
        return source_of_error(self.ended, str(message.get("name", "the error")))


class FailureLab(HasState, Pictured):
    """One case after the other.

    number: of a case, or a word that a class has agreed on; None draws one. fault: a
    cause by name, to practise with. `probe`, `answer`, `treat` and `next` are what the
    buttons do. cost: points so far; par: those of the shortest way.
    """

    def __init__(
        self, number: int | str | None = None, fault: str | None = None
    ) -> None:
        self._revision = 0
        self.panel = FailurePanel()
        number = _numbered(number)
        self._first = number, fault
        self.stage = ipywidgets.Box(layout=ipywidgets.Layout(flex_flow="column"))
        self.box = ipywidgets.VBox([self.panel, self.stage])
        self.timeline: EngineTimeline | None = None
        self._begin(number, fault)
        self.panel.belong(self)
        self.panel.on_msg(self._hear)

    def _begin(self, number: int, fault: str | None) -> None:
        self._fault = fault
        self.case: Case = draw(number, fault)
        with _running:
            self._plain: Seen = run(self.case)
            self._complaint = complaint(self.case, self._plain)
        self.panel.ended = self._plain.raised
        self.predictions: dict[str, Prediction] = {}
        self._paid: list[tuple[str, str, int]] = []
        self.seen: dict[str, seen_by.Evidence] = {}
        self._open: str | None = None
        self.verdict: Verdict | None = None
        self.trial: Trial | None = None
        self._clear_stage()
        self._refresh()

    # Its state

    def state_widget(self) -> StateOf:
        """The panel."""
        return self.panel

    def state_names(self) -> tuple[str, ...]:
        """The case, the probes that were taken and predicted, and what was tried."""
        return ("case", "fault", "probes", "said", "tried")

    def state_parts(self) -> dict[str, Any]:
        """Which case, and how far one is with it."""
        tried = list(self.trial.remedies) if self.trial else []
        said = {name: one.said for name, one in self.predictions.items()}
        parts: dict[str, Any] = {"probes": list(self.seen), "said": said}
        parts |= {"tried": tried, "fault": self._fault}
        return {"case": self.case.number} | {n: v for n, v in parts.items() if v}

    def bring_state(self, parts: Mapping[str, Any]) -> None:
        """The same case again, with the same probes and remedies."""
        number, fault = parts.get("case", self._first[0]), parts.get("fault")
        if isinstance(number, bool) or not isinstance(number, int | None):
            raise ArgumentError(f"case={number!r} is not the number of a case.")
        self.next(number, None if fault is None else str(fault))
        said = dict(parts.get("said", {}))
        for name in parts.get("probes", ()):
            self.probe(str(name), said.get(name))
        if parts.get("tried"):
            self.treat(*map(str, parts["tried"]))

    # What one may do

    @property
    def symptom(self) -> str:
        """What a user of the program would complain of."""
        plain, steps = self._plain, self.case.facts.steps
        if isinstance(plain, JobOutcome):
            return (
                f"A job of {steps} steps on two simulated GPUs. Last week it was "
                f"healthy. Now: {self._complaint}."
            )
        if plain.error:
            kind = plain.error.split(":")[0]
            return (
                f"The training of {steps} steps stops with {kind} in step "
                f"{plain.ended}. Why, and where does it come from?"
            )
        bad = [k for k, loss in seen_by.losses(plain) if loss is None]
        if bad:
            return (
                f"The training of {steps} steps ends without an error, but from step "
                f"{bad[0]} on the loss is not a finite number."
            )
        return (
            f"The training of {steps} steps ends without an error, all losses are "
            f"finite, and yet it does not learn as it should: the last is "
            f"{plain.last_loss:.3g}."
        )

    def next(self, number: int | str | None = None, fault: str | None = None) -> None:
        """Another case."""
        self._begin(_numbered(number), fault)

    def probe(self, name: str, predict: float | str | None = None) -> Table:
        """Run the case under an instrument, and open what it saw.

        predict: the number that the instrument's question asks for. A right one makes
        the probe free. What was seen already costs nothing, and takes no prediction.
        Raises `ArgumentError` for an instrument that is none, and for a prediction that
        cannot be read; nothing runs then.
        """
        offered = PROBES[self.case.program]
        if name not in offered:
            near = did_you_mean(name, offered)
            raise ArgumentError(
                f"there is no instrument {name!r} for this program.{near} "
                f"{', '.join(offered)}."
            )
        one = offered[name]
        if predict is not None:
            number_in(one, predict)
        if name not in self.seen:
            with _running:
                outcome = run(self.case, (), **one.wants) if one.wants else self._plain
            self.seen[name] = one.look(outcome)
            self._pay_for(
                name, None if predict is None else predicted(one, predict, outcome)
            )
            if name in ("timeline", "layers") and outcome.record is not None:
                self._show(outcome)
        self._open = name
        self._refresh()
        return seen_by.table(self.seen[name])

    def answer(
        self, cause: str, layer: str | None = None, step: int | None = None
    ) -> Verdict:
        """Name the cause, and the layer and the step where it asks for them."""
        with _running:
            self.verdict = judged(self.case, cause, layer, step)
        if not self.verdict.right:
            self._paid.append((f"answer {cause}", "✘ wrong", WRONG))
        self._refresh()
        return self.verdict

    def treat(self, *remedies: str) -> Trial:
        """Run the program with remedies, and say whether it is healthy."""
        with _running:
            self.trial = tried(self.case, remedies)
        with_ = " + ".join(self.trial.remedies) or "nothing"
        cured = "✔ healthy" if self.trial.healthy else "✘ still ill"
        self._paid.append((f"run with {with_}", cured, REMEDY))
        self._refresh()
        return self.trial

    def question(self, name: str) -> str:
        """The number that may be predicted before a probe, as a question."""
        return PROBES[self.case.program][name].question.format(
            steps=self.case.facts.steps
        )

    @property
    def cost(self) -> int:
        """Points for probes, wrong answers and runs with remedies so far."""
        return sum(points for *_, points in self._paid)

    @property
    def par(self) -> int:
        """Points of the shortest way without a prediction: one probe, one remedy."""
        cause = CAUSES[self.case.facts.fault]
        return PROBES[cause.program][cause.probe].cost + REMEDY

    def bill(self) -> Table:
        """What was done, what became of it, and its points."""
        rows = [(done, came, str(points)) for done, came, points in self._paid]
        rows.append(("in all", "", str(self.cost)))
        return Table.of(("done", "what came of it", "points"), rows, "Bill")

    @property
    def solved(self) -> bool:
        """Whether the cause was named and the program cured."""
        return bool(self.verdict and self.verdict.right) and bool(
            self.trial and self.trial.healthy
        )

    # Looking

    def __repr__(self) -> str:
        named = "open" if self.verdict is None else "wrong"
        if self.verdict is not None and self.verdict.right:
            named = "named"
        cured = "cured" if self.trial is not None and self.trial.healthy else "ill"
        return (
            f"FailureLab(case {self.case.number}, {len(self.seen)} of "
            f"{len(PROBES[self.case.program])} probes, {self.cost} points, "
            f"cause {named}, program {cured})"
        )

    def table(self) -> Tables:
        """All evidence that was asked for."""
        return Tables(tuple(seen_by.table(one) for one in self.seen.values()))

    def svg(self, *, dark: bool = False, width: int = 900) -> str:
        """The case and the evidence that is open, as a static picture."""
        return failure_picture.picture(
            self.panel.state, repr(self), dark=dark, width=width
        )

    def _widget(self) -> Any:
        return self.box

    def close(self) -> None:
        """Take the lab away from all pages."""
        self._clear_stage()
        for part in (self.panel, self.stage, self.box):
            part.close()

    # The inside

    def _pay_for(self, name: str, one: Prediction | None) -> None:
        """Note what a probe costs: nothing where its number was predicted."""
        points = PROBES[self.case.program][name].cost
        came = "no prediction"
        if one is not None:
            self.predictions[name] = one
            came, points = repr(one), 0 if one.right else points
        self._paid.append((f"probe {name}", came, points))

    def _show(self, outcome: Seen) -> None:
        """The engine timeline of a run, at the first operation that failed."""
        self._clear_stage()
        self.timeline = EngineTimeline(outcome.record, height=150)
        op = self.seen.get("timeline", {}).get("op")
        if op:
            self.timeline.select(op)
        self.stage.children = (self.timeline,)

    def _clear_stage(self) -> None:
        if self.timeline is not None:
            self.stage.children = ()
            self.timeline.close()
            self.timeline = None

    def _refresh(self, busy: str = "", note: str = "") -> None:
        self._revision += 1
        facts, verdict = self.case.facts, None
        remedies = REMEDIES[self.case.program]
        if self.verdict is not None:
            verdict = {"good": self.verdict.right, "words": tr(repr(self.verdict))}
        tested = None
        if self.trial is not None:
            tested = {"good": self.trial.healthy, "words": tr(repr(self.trial))}
        self.panel.state = {
            "case": self.case.number,
            "symptom": tr(self.symptom),
            "losses": seen_by.losses(self._plain),
            "probes": self._probes(),
            "cost": self.cost,
            "open": self._open or "",
            "evidence": None if self._open is None else self.seen[self._open],
            "causes": [[c.name, tr(c.text), list(c.asks)] for c in CAUSES.values()],
            "remedies": [[name, tr(what)] for name, what in remedies.items()],
            "layers": list(self._plain.layers),
            "steps": facts.steps,
            "verdict": verdict,
            "trial": tested,
            "solved": self.solved,
            "busy": busy,
            "note": note,
            "revision": self._revision,
        }

    def _probes(self) -> list[list[Any]]:
        """Name, label, what it shows, whether it was taken, cost, question, outcome."""
        return [
            [
                *(name, tr(one.label), tr(one.what), name in self.seen, one.cost),
                f"{tr(self.question(name))} ({tr(one.unit)})",
                tr(repr(self.predictions[name])) if name in self.predictions else "",
            ]
            for name, one in PROBES[self.case.program].items()
        ]

    def _hear(self, _widget: Any, message: dict[str, Any], _buffers: Any) -> None:
        """A button was pressed; the work is done beside, so that the page answers."""
        if message.get("kind") == "table":
            self.panel.send({"kind": "table", "html": self.table().html()})
            return
        if message.get("kind") == "source":
            self.panel.send(self.panel.source_message(message))
            return
        threading.Thread(
            target=self._obey, args=(message,), name="failure lab", daemon=True
        ).start()

    def _obey(self, message: dict[str, Any]) -> None:
        kind = message.get("kind")
        self._refresh(busy="Running the program …")
        note = ""
        try:
            if kind == "probe":
                self.probe(str(message["name"]), message.get("predict") or None)
            elif kind == "answer":
                step = message.get("step")
                self.answer(
                    str(message["cause"]),
                    message.get("layer") or None,
                    None if step is None else int(step),
                )
            elif kind == "treat":
                self.treat(*map(str, message["remedies"]))
            elif kind == "next":
                self.next()
        except MXNetError as refused:
            note = self.panel.refused(refused)
        self._refresh(note=note)


def _numbered(number: int | str | None) -> int:
    """The number of a case: as given, of a word, or drawn."""
    if isinstance(number, str):
        return number_of(number)
    return random.SystemRandom().randrange(NUMBERS) if number is None else number
