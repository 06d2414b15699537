"""Examples of graph passes, kernels and number formats."""

from __future__ import annotations

from minimx.knobs.examples import Example

EXAMPLES = {
    "MXNET_SAFE_ACCUMULATION": Example(
        acts_in="minimx.ops.reduce.adding",
        code="""\
x = mx.nd.ones((70_000,), dtype="float16")
total = mx.nd.softmax(x).astype("float32").sum().asscalar()
print(f"sum of shares {total:.2f}, norm {mx.nd.norm(x).asscalar()}")""",
        expect={
            "0": "sum of shares 34.18, norm 45.25",
            "1": "sum of shares 1.00, norm 264.5",
        },
    ),
}
