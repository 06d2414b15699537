"""Where `dense0_` comes from: prefixes of blocks, counted per scope.

Outside every scope `mx.name` counts, as for symbols: the second `Dense` of a thread is
`dense1_`, and `with mx.name.NameManager():` counts from 0 again. Inside
`with net.name_scope():` they are counted per block, and begin with the block's own
prefix: `net0_dense0_`. So are the names of symbols made there.
"""

from __future__ import annotations

import threading
from collections import Counter
from types import TracebackType
from typing import TYPE_CHECKING

from minimx.gluon.parameter.dictionary import ParameterDict
from minimx.name import Prefix, current

if TYPE_CHECKING:
    from minimx.gluon.block import Block


class _Current(threading.local):
    """The innermost scope that this thread is in."""

    def __init__(self) -> None:
        self.scope: BlockScope | None = None


_current = _Current()


class BlockScope:
    """What `with block.name_scope():` enters; may be entered several times."""

    def __init__(self, block: Block) -> None:
        self._block = block
        self._counter: Counter[str] = Counter()
        self._outer: list[tuple[BlockScope | None, Prefix]] = []

    def __enter__(self) -> BlockScope:
        # A block with an empty prefix adds no names: its children count with its peers.
        if not self._block._empty_prefix:
            symbols = Prefix(self._block.prefix)
            symbols.__enter__()
            self._outer.append((_current.scope, symbols))
            _current.scope = self
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self._block._empty_prefix:
            _current.scope, symbols = self._outer.pop()
            symbols.__exit__()

    def _next(self, hint: str) -> str:
        number = self._counter[hint]
        self._counter[hint] += 1
        return f"{hint}{number}_"

    @staticmethod
    def create(
        prefix: str | None, params: ParameterDict | None, hint: str
    ) -> tuple[str, ParameterDict]:
        """The full prefix of a new block, and the dictionary for its parameters.

        prefix: the block's own part, or None to count one from `hint`.
        params: a dictionary of another block, whose parameters are to be shared.
        """
        scope = _current.scope
        if scope is None:
            full = current().get(None, hint) + "_" if prefix is None else prefix
            own = ParameterDict(full)
        else:
            part = scope._next(hint) if prefix is None else prefix
            outer = scope._block.params
            full = scope._block.prefix + part
            own = ParameterDict(outer.prefix + part, outer._shared)
        return full, own if params is None else ParameterDict(params.prefix, params)
