"""Which ranks have died on other machines, as `minimx launch` notes it in files."""

from __future__ import annotations

import os
from pathlib import Path

#: The variable that names the folder of notes; `minimx/commands/rank.py` sets it.
NOTES = "_MINIMX_LAUNCH_NOTES"


def deaths() -> dict[int, str]:
    """The ranks that have died, each with its host; on this machine, also its own.

    >>> deaths()
    {}
    """
    folder = os.environ.get(NOTES, "")
    notes = Path(folder).glob("died-*") if folder else ()
    return {int(note.name[5:]): note.read_text(encoding="utf-8") for note in notes}
