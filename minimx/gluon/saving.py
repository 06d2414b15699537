"""A block's parts and values in two files, `….json` and `….params`.

The first says which parts there are, of which class and under which names; values are
stored by these. So a block whose parts got other names while it was made, since other
blocks were made before it, still finds its values. The form is MXNet's.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minimx.core.errors import DataError
from minimx.core.files import write_whole

if TYPE_CHECKING:
    from minimx.gluon.block import Block

Part = dict[str, Any]


def save(block: Block, prefix: str) -> None:
    """Write the parts of a block and its values."""
    text = json.dumps(_structure(block, [0]))
    write_whole(f"{prefix}-model.json", text.encode(), "Block.save")
    block.save_parameters(f"{prefix}-model.params")


def load(block: Block, prefix: str) -> None:
    """Take over the names of parts, whether they are hybridized, and the values."""
    path = Path(f"{prefix}-model.json")
    try:
        stored = json.loads(path.read_text())
    except (OSError, ValueError) as reason:
        raise DataError(f"Block.load: cannot read {str(path)!r}: {reason}") from reason
    _restore(block, [0], stored)
    block.load_parameters(f"{prefix}-model.params")


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


def _restore(block: Block, count: list[int], stored: Part) -> None:
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
        _restore(child, count, part)
    if len(block._children) != len(part["children"]):
        raise DataError(
            f"Block.load: {type(block).__name__} has {len(block._children)} parts, the "
            f"file has {len(part['children'])}."
        )
    places = part["children"].values()
    block._children = dict(zip(places, block._children.values(), strict=True))
    if part["hybridized"] or part.get("active"):
        block.hybridize()
