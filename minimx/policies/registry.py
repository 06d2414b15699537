"""Registering a policy of one's own: checked first, then selectable by its name.

    @mx.storage.register_pool            # or register_pool("BestFit", BestFit)
    class BestFit: ...

    mx.policies.check(BestFit)           # the same checks, nothing registered
    mx.policies.unregister("BestFit")

A class is made without arguments, once for each pool, lane, graph or scaler that it
decides for, and runs through a few traces of each family. If it breaks a rule nothing
is registered, and `PolicyError` names the trace, the step, the question and the rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from minimx.core.errors import ArgumentError, PolicyError, did_you_mean
from minimx.core.knobs import knobs
from minimx.policies.asking import Asked, Broken, within
from minimx.policies.kinds import Entry, Kind
from minimx.policies.planners import PLANNERS
from minimx.policies.pools import POOLS
from minimx.policies.scalers import SCALERS
from minimx.policies.schedulers import SCHEDULERS
from minimx.policies.trees import TREES

KINDS: Final = (POOLS, SCHEDULERS, PLANNERS, TREES, SCALERS)
#: Of each family so many traces are run at registration; scores begin behind them.
CHECKED: Final = 2
#: How long checks and scores may take together, in seconds.
SECONDS: Final = 20.0


def register_pool(name: Any, policy: Any = None) -> Any:
    """Let MXNET_CPU_MEM_POOL_TYPE, and those of GPU and CPU_PINNED, take a class.

    name: under which it is chosen; policy: a class with `size(nbytes, idle)`, which
    gives the bytes of a block (`minimx/policies/pools.py` has an example). A call, or a
    decorator with or without a name. Returns the class. Raises `PolicyError` for one
    that breaks a rule, and `ArgumentError` for a name that is taken.
    """
    return _register(POOLS, name, policy)


def register_engine(name: Any, policy: Any = None) -> Any:
    """Let MXNET_ENGINE_TYPE take a class with `pick(ready)`: who runs next.

    `minimx/policies/schedulers.py` has an example; all else as in `register_pool`.
    """
    return _register(SCHEDULERS, name, policy)


def register_planner(name: Any, policy: Any = None) -> Any:
    """Let MINIMX_MEMORY_PLANNER take a class with `assign(results)`: who shares memory.

    `minimx/policies/planners.py` has an example; all else as in `register_pool`.
    """
    return _register(PLANNERS, name, policy)


def register_tree(name: Any, policy: Any = None) -> Any:
    """Let MINIMX_KVSTORE_TREE take a class with `parents(links, root)`: who sends on.

    `minimx/policies/trees.py` has an example; all else as in `register_pool`.
    """
    return _register(TREES, name, policy)


def register_scaler(name: Any, policy: Any = None) -> Any:
    """Let `LossScaler(policy=name)` take a class with `scale(scale, good, overflow)`.

    `minimx/policies/scalers.py` has an example; all else as in `register_pool`.
    """
    return _register(SCALERS, name, policy)


def _register(kind: Kind[Any, Any], name: Any, policy: Any) -> Any:
    if isinstance(name, type) and policy is None:
        name, policy = name.__name__, name
    if not isinstance(name, str) or not name.isidentifier():
        raise ArgumentError(
            f"{name!r} is no name for a {kind.name}. Take one of letters and digits, "
            "such as 'BestFit'."
        )
    if policy is None:
        return lambda later: _register(kind, name, later)
    taken = {one for knob in kind.knobs for one in knobs.declared[knob].choices}
    if name in (taken | {*kind.builtins}) - {*kind.entries}:
        raise ArgumentError(f"{name!r} is a {kind.name} of minimx. Take another name.")
    try:
        check(policy, kind)
    except PolicyError as error:
        error.add_note("Nothing was registered; the runtime is as it was.")
        raise
    kind.add(Entry(kind, name, policy))
    return policy


def unregister(which: Any) -> None:
    """Forget a registered policy, by its name or its class.

    Knobs that name it go back to their defaults first. Raises `ArgumentError` if it is
    not registered.
    """
    every = list(entries())
    found = [one for one in every if which in (one.name, one.policy)]
    if not found:
        names = [one.name for one in every]
        raise ArgumentError(
            f"{which!r} is not registered; registered are {', '.join(names) or 'none'}."
            + did_you_mean(str(which), names)
        )
    for entry in found:
        entry.kind.remove(entry)


def entries() -> Iterator[Entry]:
    """What is registered now, of all kinds."""
    for kind in KINDS:
        yield from kind.entries.values()


def kind_of(policy: Any) -> Kind[Any, Any]:
    """The kind of a class, by the method that it has. Raises `ArgumentError`."""
    wanted = ", ".join(f"{one.method} ({one.name})" for one in KINDS)
    if not isinstance(policy, type):
        raise ArgumentError(f"give the class itself, not {policy!r}.")
    found = [one for one in KINDS if callable(getattr(policy, one.method, None))]
    if len(found) != 1:
        raise ArgumentError(
            f"{policy.__name__} has {len(found) or 'none'} of the methods that make a "
            f"policy: {wanted}. Write exactly one of them."
        )
    kind: Kind[Any, Any] = found[0]
    return kind


def check(
    policy: Any, kind: Kind[Any, Any] | None = None, seconds: float = SECONDS
) -> None:
    """Run a policy through the checks of its kind; returns if it keeps all rules.

    kind: which one it should be; by default, the one whose method it has. seconds: the
    most that it may take. Raises `PolicyError`, a lesson.
    """
    found = kind_of(policy)
    if kind not in (None, found):
        assert kind is not None
        raise ArgumentError(
            f"{policy.__name__} is a {found.name}; a {kind.name} has {kind.method}()."
        )
    taught(policy, found, seconds, lambda: _check(policy, found))


def _check(policy: type, kind: Kind[Any, Any]) -> None:
    for family in kind.families:
        for seed in range(CHECKED):
            answers: list[str] = []
            trace = kind.trace(family, seed)
            run(kind, asked(policy, kind, answers), trace)
            if seed == 0:
                run(kind, asked(policy, kind, [], answers), trace)


def asked(
    policy: type,
    kind: Kind[Any, Any],
    answers: list[str] | None = None,
    before: list[str] | None = None,
) -> Asked:
    """The question to a new instance; see `Asked`."""
    return Asked(Asked(_Maker(policy), "new")(), kind.method, answers, before)


class _Maker:
    """Makes instances; to be asked, since that is the user's code as well."""

    def __init__(self, policy: type) -> None:
        self.new = policy


def run(kind: Kind[Any, Any], ask: Asked, trace: Any) -> float:
    """The cost of a trace under a policy. Raises `Broken`, with trace and step."""
    try:
        return kind.run(kind.subject(ask), trace)
    except Broken as error:
        error.step = ", ".join(filter(None, [error.step, f"trace “{trace.name}”"]))
        raise


def taught(
    policy: type,
    kind: Kind[Any, Any],
    seconds: float,
    work: Callable[[], Any],
) -> Any:
    """What `work` gives, within the time; a rule that is broken becomes a lesson."""
    try:
        return within(seconds, work)
    except Broken as error:
        where = f" ({error.step})" if error.step else ""
        raise PolicyError(
            f"{policy.__name__} breaks a rule of every {kind.name}{where}.\n"
            f"  What happened: {error.what}.\n"
            f"  The rule: {error.rule}."
        ) from error.__cause__
