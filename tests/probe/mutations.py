"""Damage: the bytes of a file, or the values of its JSON, changed at random."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

WORDS = [
    b"\xff" * 8,
    b"\0" * 8,
    b"\xff" * 7 + b"\x7f",
    b"\0\0\0\x80",
    b"\1\0\0\0",
    b"[",
]
VALUES: list[Any] = [
    *(None, True, False, 0, 1, -1, 2**31, 2**63, 10**30, -(2**70), 0.5, 1e300),
    *(float("nan"), float("inf"), "", "None", "x", "(1,", "((" * 200, "9" * 5000),
    *([], {}, [0], [[]], [None], {"a": 1}, ["a", "b"], [0, 0, 0], "relu", "_foreach"),
    *("2", "-1", "1e999", "float16", "\0", "0" * 60, "(2, 2)", "[1, 2]", "True"),
]


def changed(content: bytes, draw: random.Random) -> bytes:
    """The bytes of a file, damaged in one to three places."""
    found = bytearray(content)
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        place = draw.randrange(len(found) + 1)
        near = min(draw.randrange(64), len(found))  # heads decide more than numbers
        place = draw.choice((place, near))
        kind = draw.randrange(7)
        if kind == 0:
            del found[place:]
        elif kind == 1:
            word = draw.choice(WORDS)
            found[place : place + len(word)] = word
        elif kind == 2 and place < len(found):
            found[place] ^= 1 << draw.randrange(8)
        elif kind == 3 and place < len(found):
            found[place] = draw.randrange(256)
        elif kind == 4:
            del found[place : place + draw.choice((1, 4, 8, 100))]
        elif kind == 5:
            found[place:place] = draw.randbytes(draw.choice((1, 4, 9)))
        else:
            start = draw.randrange(len(found) + 1)
            found[place:place] = found[start : start + draw.choice((4, 16, 64))]
    return bytes(found)


def changed_json(text: str | bytes, draw: random.Random) -> str:
    """JSON with one to three of its values exchanged, left out or nested deeply."""
    found = json.loads(text)
    for _ in range(draw.choice((1, 1, 2, 3))):
        holders = _holders(found)
        if not holders:
            break
        holder = draw.choice(holders)
        key = draw.choice(
            list(holder) if isinstance(holder, dict) else [*range(len(holder))]
        )
        kind = draw.randrange(10)
        if kind == 0:
            del holder[key]
        elif kind == 1 and isinstance(holder, dict):
            holder[draw.choice(["", "name", "inputs", "op", "dtype"])] = holder.pop(key)
        elif kind == 2 and isinstance(holder, list):
            holder.append(holder[key])
        elif kind == 3:
            holder[key] = draw.choice(holders[:50])
            try:  # it may hold itself now
                found = json.loads(json.dumps(found))
            except (ValueError, RecursionError):
                holder[key] = 3
        else:
            holder[key] = copy.deepcopy(draw.choice(VALUES))
    text = json.dumps(found)
    if draw.randrange(30) == 0:
        deep = "[" * 100_000 + "]" * 100_000
        place = text.find(":") + 1
        text = text[:place] + deep + text[place:]
    return text


def _holders(value: Any) -> list[Any]:
    """The lists and dicts inside that are not empty."""
    found, todo = [], [value]
    while todo:
        one = todo.pop()
        if isinstance(one, (dict, list)) and one:
            found.append(one)
            todo += one.values() if isinstance(one, dict) else one
    return found
