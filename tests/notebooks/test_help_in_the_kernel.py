"""What JupyterLab shows when a learner presses Tab, Shift-Tab, or asks with `?`.

JupyterLab asks the kernel; so does this test.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from jupyter_client.manager import start_new_kernel

WAIT = 60  # seconds, for a kernel on a busy machine


@pytest.fixture(scope="module")
def kernel() -> Iterator[Any]:
    manager, client = start_new_kernel(kernel_name="python3", startup_timeout=WAIT)
    client.execute_interactive(
        "import minimx as mx\nfrom minimx import np, npx, nd\nx = nd.ones((2, 3))",
        timeout=WAIT,
    )
    yield client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def completed(kernel: Any, code: str) -> list[str]:
    reply = kernel.complete(code, reply=True, timeout=WAIT)
    return [str(match).rpartition(".")[2] for match in reply["content"]["matches"]]


def inspected(kernel: Any, code: str) -> str:
    reply = kernel.inspect(code, detail_level=0, reply=True, timeout=WAIT)
    assert reply["content"]["found"], code
    return str(reply["content"]["data"]["text/plain"])


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("mx.nd.Convol", "Convolution"),
        ("mx.nd.broadcast_a", "broadcast_add"),
        ("mx.nd.linalg.pot", "potrf"),
        ("mx.nd.contrib.box_", "box_nms"),
        ("mx.nd.random.unif", "uniform"),
        ("x.softm", "softmax"),
        ("mx.np.tensor", "tensordot"),
        ("mx.np.linalg.chol", "cholesky"),
        ("mx.np.random.norm", "normal"),
        ("mx.npx.batch_d", "batch_dot"),
        ("mx.sym.FullyC", "FullyConnected"),
        ("mx.knobs.MXNET_ENGINE", "MXNET_ENGINE_TYPE"),
    ],
)
def test_tab_completes(kernel: Any, code: str, name: str) -> None:
    assert name in completed(kernel, code)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("mx.nd.Convolution", ("num_filter", "kernel", "Examples", ">>> mx.nd.Conv")),
        ("mx.nd.contrib.box_nms", ("overlap_thresh", "Parameters")),
        ("x.softmax", ("axis", "temperature")),
        ("mx.np.tensordot", ("axes", ">>> ")),
        ("mx.npx.softmax", ("axis",)),
        ("mx.sym.FullyConnected", ("num_hidden", "Parameters")),
    ],
)
def test_help_shows_signature_and_text(
    kernel: Any, code: str, words: tuple[str, ...]
) -> None:
    shown = inspected(kernel, code)
    assert "Signature" in shown
    for word in words:
        assert word in shown, shown[:2000]
