"""What a lab does when a knob is turned: it notes the turn, and how that acts."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from minimx.core.errors import ArgumentError, MXNetError
from minimx.core.knobs import knobs
from minimx_widgets.lab.reach import about_graphs, reason, shapes_programs
from minimx_widgets.units import human_bytes

if TYPE_CHECKING:
    from minimx_widgets.lab.lab import Lab
    from minimx_widgets.lab.turns import Turn

#: A graph that is bound again so many steps after a turn was bound for it.
SOON = 2


class Turning:
    """The turns of knobs in the training of a lab."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        self._noting = threading.Lock()
        # A binding whose turn is not noted yet: the step, and what is said of it.
        self._early: tuple[int, int, int] | None = None

    def noted(self, name: str, old: str, new: str, kind: str = "knob") -> None:
        """Note a turn that has begun to act; the training may be ahead of this."""
        lab = self._lab
        with self._noting:
            turn = lab.turns.turned(name, old, new, kind)
            early, self._early = self._early, None
            if turn and early and turn.step - early[0] <= SOON:
                self._bound(turn, *early)

    def turned(self, name: str, new: Any, old: Any) -> None:
        """Note a turn, and show it at once rather than at the next tick."""
        lab, declared = self._lab, knobs.declared[name]
        if lab.comparer.turning:
            return  # for one of the sides, and back
        self.noted(name, declared.format(old), declared.format(new))
        if why_not := reason(name, lab.situation):
            lab.turns.note(name, why_not)
        elif lab.fit is not None and name == "MXNET_UPDATE_ON_KVSTORE":
            lab.fit.spread.store_anew()
            lab.turns.note(name, "the store is made anew at the next step")
        elif lab.fit is not None and shapes_programs(name):
            lab.fit.binding.bind_again()
        lab.run_of_views.feed.poke()

    def refused(self, error: MXNetError) -> None:
        """Devices cannot take part: show those that train, and say why."""
        lab = self._lab
        lab.show_settings()
        for name in ("devices", "store"):
            lab.turns.note(name, f"not taken up. {error}")
        lab.run_of_views.feed.poke()

    def rebound(self, before: int, after: int) -> None:
        """Graphs were bound again in the step under way: say so where it was turned.

        before, after: the bytes of their memory plans.
        """
        lab = self._lab
        lab.knobs.refresh()  # which knobs can act depends on the operators
        with self._noting:
            fit, turn = lab.fit, lab.turns.last
            if fit is None:
                return
            if turn is None or fit.step - turn.step > SOON:
                self._early = fit.step, before, after
                return
            self._bound(turn, fit.step, before, after)

    def _bound(self, turn: Turn, step: int, before: int, after: int) -> None:
        lab = self._lab
        came = f"planned {human_bytes(before)} → {human_bytes(after)}"
        if about_graphs(turn.name) and lab.fit and not lab.fit.binding.differs:
            came = "which left the graph of this network as it was"
        lab.turns.note(turn.name, f"bound again at step {step:,}, {came}")

    def go_back(self, number: int) -> None:
        """Turn back what a turn changed; see `Lab.go_back`."""
        lab = self._lab
        try:
            turn = lab.turns.get(number)
        except KeyError:
            raise ArgumentError(
                f"Lab.go_back: there is no turn {number}; there were {len(lab.turns)}."
            ) from None
        if turn.kind == "setting":
            lab.set(turn.name, turn.old)
        else:
            knobs.set(**{turn.name: turn.old})
