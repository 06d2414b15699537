"""Examples of the engine's knobs."""

from __future__ import annotations

from minimx.knobs.examples import Example

EXAMPLES = {
    "MXNET_ENGINE_TYPE": Example(
        acts_in="minimx.engine._make",
        reads="name",
        code="""\
with mx.Record() as seen:
    mx.nd.ones((2, 2)).wait_to_read()
print(seen.texts(seen.ops()["worker"]))""",
        expect={
            "ThreadedEnginePerDevice": "['cpu(0)/0']",
            "ThreadedEngine": "['pool/0']",
            "NaiveEngine": "['python']",
        },
    ),
}
