"""`LevelView`: a level on a page. What all kinds of levels have in common.

The page shows the question, the choices, and a picture of what was decided; it asks for
a choice, for one step back, for a hint. All rules are the game's, in the kernel.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import traitlets

from minimx.core.errors import ArgumentError
from minimx.core.events import CATEGORIES
from minimx_widgets import esm
from minimx_widgets.base import STYLE, AnsweringWidget
from minimx_widgets.code.decisions import cut
from minimx_widgets.code.errors import raised, source_of_error
from minimx_widgets.code.pieces import Code
from minimx_widgets.levels.game import Cost, Game
from minimx_widgets.levels.play import Play
from minimx_widgets.tables import Table, Tables
from minimx_widgets.units import counted


class LevelView(AnsweringWidget):
    """The base of the kinds of levels, each with its `levels`.

    what: the number of a level, from 1, or a game of one's own. `choose(key)` answers
    the question, `undo()`, `redo()` and `restart()` go back and on, `hint()` says what
    can still be reached and how. `reached` says whether nothing costs less, `policy()`
    writes the decisions in a form that the runtime takes. Raises `ArgumentError` for a
    number without a level.
    """

    _esm = esm.module("levels/level_view")
    _css = STYLE + (esm.STATIC / "levels" / "level_view.css").read_text("utf-8")

    title: ClassVar[str]
    #: For the help on the page: what is decided, and by which rules.
    about: ClassVar[str]
    levels: ClassVar[tuple[Callable[[], Game[Any]], ...]]
    state = traitlets.Dict().tag(sync=True)

    def __init__(self, what: int | Game[Any] = 1, **settings: Any) -> None:
        self._lock = threading.RLock()
        #: The numbers of the levels whose target was reached.
        self.done: set[int] = set()
        self._begin(what)
        self._first = self.number
        super().__init__(**settings)
        self.refresh()

    @classmethod
    def level(cls, number: int) -> LevelView:
        """A level by its number, from 1."""
        return cls(number)

    def _begin(self, what: int | Game[Any]) -> None:
        if isinstance(what, Game):
            self.number, self.play = 0, Play(what)
            return
        if isinstance(what, bool) or what not in range(1, len(self.levels) + 1):
            raise ArgumentError(
                f"{type(self).__name__}: no level {what!r}; there are 1 to "
                f"{len(self.levels)}."
            )
        self.play = Play(self.levels[what - 1]())
        self.number = what

    # -- its state ---------------------------------------------------------------------

    def _more_names(self) -> tuple[str, ...]:
        return ("level", "chosen")

    def _more(self) -> dict[str, Any]:
        more: dict[str, Any] = {}
        if self.number != self._first:
            more["level"] = self.number
        return more | ({"chosen": list(self.chosen)} if self.chosen else {})

    def _bring(self, more: Mapping[str, Any]) -> None:
        number, keys = more.get("level", self._first), more.get("chosen", [])
        with self._lock:
            before = self.number, self.play
            try:
                if number != self.number:
                    self._begin(number)
                self.play = self.play.again([str(key) for key in keys])
            except Exception:
                self.number, self.play = before
                raise
            self.refresh()

    # -- playing -----------------------------------------------------------------------

    @property
    def game(self) -> Game[Any]:
        """The rules of the level that is shown."""
        return self.play.game

    @property
    def best(self) -> Cost:
        """The least cost that can be reached, or a bound below which none lies."""
        return self.play.target

    @property
    def score(self) -> Cost:
        """What the decisions cost so far; less is better, the first number first."""
        return self.game.cost(self.play.state)

    @property
    def reached(self) -> bool:
        """Whether all is decided, and nothing costs less."""
        return self.play.reached

    @property
    def chosen(self) -> tuple[str, ...]:
        """The choices so far."""
        return tuple(self.play.keys)

    def choices(self) -> Table:
        """What can be answered now, and why not."""
        rows = [
            (one.key, one.text, one.refused)
            for one in self.game.choices(self.play.state)
        ]
        return Table.of(("choice", "", "why not"), rows, self.question)

    @property
    def question(self) -> str:
        """What is to be decided now."""
        return self.game.question(self.play.state)

    def choose(self, *keys: str) -> None:
        """Answer the question, and with more keys the next ones.

        Raises `ArgumentError` where a choice breaks a rule, with the reason; those
        before it stay.
        """
        with self._lock:
            before = len(self.play.keys)
            try:
                for key in keys:
                    self.play.choose(key)
            finally:
                if len(self.play.keys) > before:
                    self.refresh()

    def undo(self) -> None:
        """Take the last choice back."""
        self._moved(self.play.undo)

    def redo(self) -> None:
        """Make the choice again that was taken back last."""
        self._moved(self.play.redo)

    def restart(self) -> None:
        """Take all choices back."""
        self._moved(self.play.restart)

    def go(self, number: int) -> None:
        """Another level."""
        self._moved(lambda: self._begin(number))

    def _moved(self, move: Callable[[], Any]) -> None:
        with self._lock:
            move()
            self.refresh()

    def hint(self) -> str:
        """What can still be reached, and the next choice on the way to it."""
        with self._lock:
            return self.play.hint()

    def policy(self, name: str = "Mine") -> str:
        """The decisions in a form that the runtime takes, as source text.

        Raises `ArgumentError` before all is decided, and unless `name` can be a name.
        """
        if not isinstance(name, str) or not name.isidentifier():
            raise ArgumentError(f"policy: {name!r} cannot be a name.")
        with self._lock:
            if not self.play.over:
                raise ArgumentError(f"policy: not all is decided yet. {self.question}")
            return self.game.policy(self.play.state, name)

    def compare(self) -> Table:
        """One's own decisions, run by the real runtime, beside its own policies."""
        rows = [(name, self.game.says(c)) for name, c in self.game.compared().items()]
        if self.play.over:
            made: dict[str, Any] = {}
            exec(self.policy("Mine"), made)  # what `policy` wrote, and nothing else
            cost = self.game.ran(made["Mine"])
            rows.insert(0, (self.game.made_as, self.game.says(cost)))
        what = "the best" if self.play.exact else "no better than"
        rows.append((what, self.game.says(self.best)))
        return Table.of(("who decides", "cost"), rows, f"{self.game.name}, compared")

    # -- to and from the page ----------------------------------------------------------

    def refresh(self) -> None:
        """Send everything to the page."""
        play, game = self.play, self.game
        if play.reached and self.number:
            self.done.add(self.number)
        state, scene = play.state, game.scene(play.state)
        self.state = {
            "title": self.title,
            "about": self.about,
            "level": self.number,
            "levels": len(self.levels),
            "done": sorted(self.done),
            "name": game.name,
            "lesson": game.lesson if play.reached else "",
            "question": game.question(state),
            "coming": list(game.coming(state)),
            "choices": [
                [one.key, one.text, one.row, one.refused] for one in game.choices(state)
            ],
            "numbers": [list(pair) for pair in game.numbers(state)],
            "target": game.says(play.target),
            "exact": play.exact,
            "over": play.over,
            "verdict": self._verdict(),
            "reached": play.reached,
            "made": len(play.keys),
            "undone": len(play.undone),
            "rows": [[row.label, row.detail, row.weight] for row in scene.rows],
            "bars": [
                [b.row, b.start, b.end, b.text, b.says, b.kind, b.share, b.later]
                for b in scene.bars
            ],
            "kinds": [[name, CATEGORIES.index(c)] for name, c in game.kinds],
            "end": scene.end,
            "now": scene.now,
            "axis": scene.axis,
            "code": game.policy(state, "Mine") if play.over else "",
            "revision": self.state.get("revision", 0) + 1,
        }

    def _verdict(self) -> str:
        play, game = self.play, self.game
        if not play.over:
            return ""
        said = game.says(game.cost(play.state))
        said = said[:1].upper() + said[1:]
        if play.reached:
            return f"{said}: nothing costs less."
        goal = "can be reached" if play.exact else "is the bound"
        return f"{said}; {game.says(play.target)} {goal}."

    def _do(self, message: Mapping[str, Any]) -> str:
        """Do what the page asks."""
        kind = message["kind"]
        if kind == "choose":
            self.choose(str(message["key"]))
        elif kind == "hint":
            return self.hint()
        elif kind == "level":
            self.go(int(message["number"]))
        elif kind in ("undo", "redo", "restart"):
            getattr(self, kind)()
        return ""

    def source_for(self, message: Mapping[str, Any]) -> Code:
        """The rule that a choice breaks; of one that is legal, what comes of it."""
        key = str(message["key"])
        try:
            with self._lock:
                self.game.after(self.play.state, key)
        except ArgumentError as refused:
            return source_of_error(raised(refused), f"why not {key}")
        rules = type(self.game).after
        found = cut(rules, "", "what comes of a choice, and which are refused")
        assert found is not None
        return Code(f"{self.game.name}: {key}", (found,))

    # -- faces -------------------------------------------------------------------------

    def __repr__(self) -> str:
        play, game = self.play, self.game
        what = "the best is" if play.exact else "nothing is below"
        so_far = "mine" if play.over else f"after {counted(len(play.keys), 'choice')}"
        parts = [
            game.name,
            f"{what} {game.says(play.target)}",
            f"{so_far}: {game.says(self.score)}",
        ]
        return f"{type(self).__name__}({'; '.join(parts)})"

    def table(self) -> Tables:
        """The choices, what is in the picture, and the comparison."""
        scene = self.game.scene(self.play.state)
        rows = [
            (scene.rows[b.row].label, b.text, f"{b.start:g}", f"{b.end:g}", b.says)
            for b in scene.bars
        ]
        heads = ("row", "what", "from", "to", "")
        shown = Table.of(heads, rows, f"{self.game.name}, in units of: {scene.axis}")
        parts = [shown, self.compare()]
        return Tables((self.choices(), *parts) if not self.play.over else tuple(parts))

    def svg(self, *, dark: bool = False, width: int = 900) -> str:
        """A static picture of what was decided, and of the question."""
        from minimx_widgets.levels.picture import draw

        return draw(self, dark=dark, width=width)
