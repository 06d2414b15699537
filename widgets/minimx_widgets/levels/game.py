"""Games of decisions, and the best end of one: by branch and bound, exactly.

A game asks one question after the other. A state is what was decided so far; it is
never changed, so that going back is free. `best_end` proves the least cost that can be
reached from a state: it tries every choice that a game offers to the search, and leaves
a branch where no end of it can cost less than the best that is known (`Game.least`), or
where another order of choices has led to the same state (`Game.same`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

StateT = TypeVar("StateT")
#: What counts first stands first; less is better.
Cost = tuple[int, ...]

#: More branches than so many are not searched.
MOST_BRANCHES = 1_500


@dataclass(frozen=True)
class Choice:
    """One answer to the question of a state.

    key: how it is named in `after`. text: what is shown. row: the row of the picture
    that it is about; -1 for none. refused: why it breaks a rule; empty if it does not.
    """

    key: str
    text: str
    row: int = -1
    refused: str = ""


@dataclass(frozen=True)
class Row:
    """A row of the picture. weight: its height, from 0 to 1, of the highest."""

    label: str
    detail: str = ""
    weight: float = 0.0


@dataclass(frozen=True)
class Bar:
    """What is in a row from `start` to `end`.

    kind: its place in `Game.kinds`, which say the colour. share: of the row's height.
    later: whether it is only known to come, and not decided on yet.
    """

    row: int
    start: float
    end: float
    text: str
    says: str
    kind: int = 0
    share: float = 1.0
    later: bool = False


@dataclass(frozen=True)
class Scene:
    """A picture: rows with bars, from 0 to `end`, and where the game is now."""

    rows: tuple[Row, ...]
    bars: tuple[Bar, ...]
    end: float
    now: float
    axis: str


class Game(ABC, Generic[StateT]):
    """The rules of one level.

    name, lesson: in words; the lesson is what its best end teaches. kinds: what bars
    can be, each with a category of the palette. made_as: what one's own decisions are
    called where they are compared.
    """

    made_as: str = "mine"
    kinds: ClassVar[tuple[tuple[str, str], ...]]
    name: str
    lesson: str

    @abstractmethod
    def begin(self) -> StateT:
        """The state in which nothing is decided."""

    @abstractmethod
    def over(self, state: StateT) -> bool:
        """Whether all is decided."""

    @abstractmethod
    def question(self, state: StateT) -> str:
        """What is to be decided now, in a sentence; at the end, what came of it."""

    @abstractmethod
    def coming(self, state: StateT) -> tuple[str, ...]:
        """What is known to come after the question."""

    @abstractmethod
    def choices(self, state: StateT) -> tuple[Choice, ...]:
        """The answers that are offered, those that break a rule among them."""

    @abstractmethod
    def after(self, state: StateT, key: str) -> StateT:
        """The state after a choice. Raises `ArgumentError`, with the rule it breaks."""

    @abstractmethod
    def cost(self, state: StateT) -> Cost:
        """What the decisions cost so far."""

    @abstractmethod
    def says(self, cost: Cost) -> str:
        """A cost in words."""

    @abstractmethod
    def numbers(self, state: StateT) -> tuple[tuple[str, str], ...]:
        """Key numbers: label and value."""

    @abstractmethod
    def scene(self, state: StateT) -> Scene:
        """The picture."""

    # -- the real runtime --------------------------------------------------------------

    @abstractmethod
    def compared(self) -> Mapping[str, Cost]:
        """What the runtime's own policies cost here, by name."""

    @abstractmethod
    def policy(self, state: StateT, name: str) -> str:
        """The decisions in a form that the runtime takes, as source text."""

    @abstractmethod
    def ran(self, made: Any) -> Cost:
        """What the object that this source makes costs in the real runtime."""

    # -- for the search ----------------------------------------------------------------

    @abstractmethod
    def tried(self, state: StateT) -> Iterable[tuple[str, StateT]]:
        """The choices among which is the first of a best end, and what they lead to."""

    @abstractmethod
    def least(self, state: StateT) -> Cost:
        """No end of this state costs less, in any of the numbers."""

    @abstractmethod
    def same(self, state: StateT) -> Hashable:
        """States with the same value have ends of the same costs."""


@dataclass(frozen=True)
class End:
    """The best end of a state: its cost, and the choices that lead to it."""

    cost: Cost
    keys: tuple[str, ...]


def best_end(
    game: Game[Any], state: Any = None, most: int = MOST_BRANCHES
) -> End | None:
    """The best end of a state, by default of the first; None where that takes too long.

    most: how many branches are searched.
    """
    search = _Search(game, most)
    start = game.begin() if state is None else state
    search.go(start, game.least(start), ())
    return search.best if search.branches <= most else None


class _Search:
    def __init__(self, game: Game[Any], most: int) -> None:
        self.game, self.most = game, most
        self.best: End | None = None
        self.branches = 0
        self._seen: set[Hashable] = set()

    def go(self, state: Any, least: Cost, keys: tuple[str, ...]) -> None:
        """Search the ends of a state, those that promise most first."""
        if self.best is not None and least >= self.best.cost:
            return
        self.branches += 1
        if self.branches > self.most:
            return
        game = self.game
        if game.over(state):
            self.best = End(game.cost(state), keys)
            return
        same = game.same(state)
        if same in self._seen:
            return
        self._seen.add(same)
        found = [(game.least(after), key, after) for key, after in game.tried(state)]
        for below, key, after in sorted(found, key=lambda one: one[0]):
            self.go(after, below, (*keys, key))
