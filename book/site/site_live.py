"""Views of a recorded run for the book's pages, which have no kernel.

    python book/site/site_live.py build/book/source/static/views

writes one script for each view of the gallery that draws a record: its module, its
style, and the record as it is frozen into the state of a saved widget. What a view asks
of a kernel (to turn a knob, to step on) is not answered on such a page; pointing,
zooming, selecting, searching and reading are the page's own.
"""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path
from typing import Any

from minimx_widgets.base import View
from minimx_widgets.gallery import ENTRIES, OF_THE_LAB, makers

#: What a widget shares with its page and a view does not look at.
OF_WIDGETS = ("comm", "layout", "keys", "tabbable", "tooltip", "frozen")
#: Bytes of a script. A record larger than that has no place on a page.
LARGEST = 4 << 20


def write(folder: Path) -> list[str]:
    """Write the scripts; the names of the views that have one."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    with makers() as made:
        for name in ENTRIES:
            view = None if name in OF_THE_LAB else made.make(name)
            if isinstance(view, View):
                text = script(name, view)
                if len(text) < LARGEST:
                    (folder / f"{name}.js").write_text(text, encoding="utf-8")
                    written.append(name)
                view.close()
    return written


def script(name: str, view: View) -> str:
    """A script that hands a view over to `live.js`."""
    view.freeze()
    traits = {
        trait: getattr(view, trait)
        for trait in view.trait_names(sync=True)
        if not trait.startswith("_") and trait not in OF_WIDGETS
    }
    setting: dict[str, Any] = {
        "esm": str(view._esm),
        "css": str(view._css),
        "traits": traits,
        "frozen": None,
    }
    if view.frozen:
        header, buffers = view.frozen
        texts = [base64.b64encode(one).decode() for one in buffers]
        setting["frozen"] = [header, texts]
    return f"minimxBook.show({json.dumps(name)}, {json.dumps(setting)});\n"


if __name__ == "__main__":
    print(" ".join(write(Path(sys.argv[1]))))
