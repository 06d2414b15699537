"""The server extension takes over the kernel's WebSocket and turns waiting off."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import minimx_widgets.server as server

ETC = Path(__file__).parents[2] / "widgets/etc/jupyter/jupyter_server_config.d"


def test_the_extension_is_found_by_name() -> None:
    [point] = server._jupyter_server_extension_points()
    assert point == {"module": server.__name__}
    enabled = json.loads((ETC / "minimx.json").read_text())
    assert enabled["ServerApp"]["jpserver_extensions"] == {server.__name__: True}


def test_loading_it_exchanges_the_connection_class() -> None:
    app = SimpleNamespace(web_app=SimpleNamespace(settings={}))
    server._load_jupyter_server_extension(app)
    assert app.web_app.settings[server.SETTING] is server.NoDelayConnection


def test_the_server_does_not_load_the_framework() -> None:
    code = (
        "import sys, minimx_widgets.server; "
        "print([n for n in ('minimx', 'numpy', 'ipywidgets') if n in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
