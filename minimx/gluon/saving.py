"""A block's parts and values in two files, `….json` and `….params`.

The first says which parts there are, of which class and under which names; values are
stored by these. So a block whose parts got other names while it was made, since other
blocks were made before it, still finds its values. The form is MXNet's.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from minimx.core.errors import DataError
from minimx.core.files import read_whole, write_whole

if TYPE_CHECKING:
    from minimx.gluon.block import Block

Part = dict[str, Any]
_DAMAGED = (AttributeError, LookupError, TypeError, ValueError, RecursionError)


def save(block: Block, prefix: str) -> None:
    """Write the parts of a block and its values."""
    text = json.dumps(_structure(block, [0]))
    write_whole(f"{prefix}-model.json", text.encode(), "Block.save")
    block.save_parameters(f"{prefix}-model.params")


def load(block: Block, prefix: str) -> None:
    """Take over the names of parts, whether they are hybridized, and the values.

    Raises DataError for files that are missing, damaged or of another block; then the
    block is as it was.
    """
    path = f"{prefix}-model.json"
    content = read_whole(path, "Block.load")
    planned: list[tuple[Block, dict[str, Block], bool]] = []
    try:
        _plan(block, [0], json.loads(content), planned)
    except _DAMAGED as reason:
        if isinstance(reason, DataError):
            raise
        raise DataError(f"Block.load: {path!r} is damaged: {reason!r}.") from reason
    before = [(part, part._children) for part, _, _ in planned]
    try:
        for part, children, _ in planned:
            part._children = children
        block.load_parameters(f"{prefix}-model.params")
    except BaseException:
        for part, children in before:
            part._children = children
        raise
    for part, _, hybridized in planned:
        if hybridized:
            part.hybridize()


def _key(block: Block, count: list[int]) -> str:
    return f"{type(block).__name__.lower()}{count[0]}"


def _structure(block: Block, count: list[int]) -> Part:
    """{class and number: {its name, its parts' places by their names, its parts}}.

    MXNet keeps a hybridized block's graph, too; one that is read without is traced when
    it is called.
    """
    part: Part = {"orig_name": block.name, "hybridized": False}
    key = _key(block, count)
    part |= {"active": block._active, "children": {}}
    for place, child in block._children.items():
        count[0] += 1
        part["children"][child.name] = place
        part |= _structure(child, count)
    return {key: part}


def _plan(block: Block, count: list[int], stored: Part, planned: list[Any]) -> None:
    """Add the block's parts by the names in the file, those inside them first."""
    key = _key(block, count)
    if key not in stored:
        known = ", ".join(name for name, part in stored.items() if type(part) is dict)
        raise DataError(
            f"Block.load: part {count[0]} is a {type(block).__name__}; the file has "
            f"{known}. Make the block as it was when it was saved."
        )
    part = stored[key]
    for child in block._children.values():
        count[0] += 1
        _plan(child, count, part, planned)
    places = list(part["children"].values())
    if len(block._children) != len(places):
        raise DataError(
            f"Block.load: {type(block).__name__} has {len(block._children)} parts, the "
            f"file has {len(places)}."
        )
    children = dict(zip(places, block._children.values(), strict=True))
    if len(children) != len(places) or not all(type(name) is str for name in places):
        raise ValueError(f"{places!r:.60} are no names of parts")
    planned.append((block, children, bool(part["hybridized"] or part.get("active"))))
