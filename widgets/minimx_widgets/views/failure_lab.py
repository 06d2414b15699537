"""`FailureLab`: a training run that goes wrong, sealed; find out why, and cure it.

    lab = FailureLab()          # or FailureLab(7), FailureLab(7, fault="empty")
    lab.probe("map")            # evidence; each piece counts
    lab.answer("empty", layer="normalise", step=7)
    lab.treat("eps")            # the program runs with the remedy

Every case is a real training that really fails. A probe runs it once more under an
instrument; a remedy runs it changed, beside the same program without the fault.
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
    REMEDIES,
    Case,
    Trial,
    Verdict,
    draw,
    judged,
    tried,
)
from minimx_widgets.failures import evidence as seen_by
from minimx_widgets.failures.program import Outcome, run
from minimx_widgets.pictures import failure_picture
from minimx_widgets.saving.states import HasState, StateOf
from minimx_widgets.tables import Table, Tables
from minimx_widgets.views.engine_timeline import EngineTimeline

#: Trainings of two labs at once would turn each other's knobs.
_running = threading.Lock()
#: What each instrument needs a run to do, and what it makes of it.
_INSTRUMENTS: dict[str, tuple[dict[str, Any], Any]] = {
    "message": ({}, seen_by.message),
    "timeline": ({"record": True}, seen_by.timeline),
    "map": ({"watch": True}, seen_by.finite_map),
    "norms": ({"norms": True}, seen_by.norms),
    "parameters": ({}, seen_by.parameters),
}


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

    number: of a case; None draws one. fault: a cause by name, to practise with.
    `probe`, `answer`, `treat` and `next` are what the buttons do.
    """

    def __init__(self, number: int | None = None, fault: str | None = None) -> None:
        self._revision = 0
        self.panel = FailurePanel()
        self._first = number, fault
        self.stage = ipywidgets.Box(layout=ipywidgets.Layout(flex_flow="column"))
        self.box = ipywidgets.VBox([self.panel, self.stage])
        self.timeline: EngineTimeline | None = None
        self._begin(_drawn() if number is None else number, fault)
        self.panel.belong(self)
        self.panel.on_msg(self._hear)

    def _begin(self, number: int, fault: str | None) -> None:
        self._fault = fault
        self.case: Case = draw(number, fault)
        with _running:
            self._plain: Outcome = run(self.case.facts)
        self.panel.ended = self._plain.raised
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
        """The case, the probes that were taken, and what was tried."""
        return ("case", "fault", "probes", "tried")

    def state_parts(self) -> dict[str, Any]:
        """Which case, and how far one is with it."""
        tried = list(self.trial.remedies) if self.trial else []
        parts = {"probes": list(self.seen), "tried": tried, "fault": self._fault}
        return {"case": self.case.number} | {n: v for n, v in parts.items() if v}

    def bring_state(self, parts: Mapping[str, Any]) -> None:
        """The same case again, with the same probes and remedies."""
        number, fault = parts.get("case", self._first[0]), parts.get("fault")
        if isinstance(number, bool) or not isinstance(number, int | None):
            raise ArgumentError(f"case={number!r} is not the number of a case.")
        self.next(number, None if fault is None else str(fault))
        for name in parts.get("probes", ()):
            self.probe(str(name))
        if parts.get("tried"):
            self.treat(*map(str, parts["tried"]))

    # What one may do

    @property
    def symptom(self) -> str:
        """What a user of the program would complain of."""
        plain, steps = self._plain, self.case.facts.steps
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

    def next(self, number: int | None = None, fault: str | None = None) -> None:
        """Another case."""
        self._begin(_drawn() if number is None else number, fault)

    def probe(self, name: str) -> Table:
        """Run the case under an instrument, and open what it saw.

        Raises `ArgumentError` for an instrument that is none.
        """
        if name not in _INSTRUMENTS:
            near = did_you_mean(name, _INSTRUMENTS)
            raise ArgumentError(
                f"there is no instrument {name!r}.{near} {', '.join(_INSTRUMENTS)}."
            )
        if name not in self.seen:
            wants, look = _INSTRUMENTS[name]
            with _running:
                outcome = run(self.case.facts, **wants) if wants else self._plain
            self.seen[name] = look(outcome)
            if name == "timeline":
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
        self._refresh()
        return self.verdict

    def treat(self, *remedies: str) -> Trial:
        """Run the program with remedies, and say whether it is healthy."""
        with _running:
            self.trial = tried(self.case, remedies)
        self._refresh()
        return self.trial

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
            f"{len(_INSTRUMENTS)} probes, cause {named}, program {cured})"
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

    def _show(self, outcome: Outcome) -> None:
        """The engine timeline of a run, at the first operation that failed."""
        self._clear_stage()
        self.timeline = EngineTimeline(outcome.record, height=150)
        op = self.seen["timeline"]["op"]
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
        if self.verdict is not None:
            verdict = {"good": self.verdict.right, "words": repr(self.verdict)}
        tested = None
        if self.trial is not None:
            tested = {"good": self.trial.healthy, "words": repr(self.trial)}
        self.panel.state = {
            "case": self.case.number,
            "symptom": self.symptom,
            "losses": seen_by.losses(self._plain),
            "probes": [
                [name, *text, name in self.seen]
                for name, text in seen_by.PROBES.items()
            ],
            "open": self._open or "",
            "evidence": None if self._open is None else self.seen[self._open],
            "causes": [[c.name, c.text, list(c.asks)] for c in CAUSES.values()],
            "remedies": [[name, text] for name, text in REMEDIES.items()],
            "layers": list(self._plain.layers),
            "steps": facts.steps,
            "verdict": verdict,
            "trial": tested,
            "solved": self.solved,
            "busy": busy,
            "note": note,
            "revision": self._revision,
        }

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
                self.probe(str(message["name"]))
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


def _drawn() -> int:
    return random.SystemRandom().randrange(10_000)
