"""What is timed, and how fast it is meant to be."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """One thing to time. `name` is the function in every program that can do it."""

    name: str
    title: str
    #: "start" runs in a fresh interpreter each time, "loop" many times in a warm one.
    kind: str = "loop"
    #: The one library that has it; empty if everybody may try.
    library: str = ""


@dataclass(frozen=True)
class Target:
    """`ours` should take at most `ratio` times as long as `theirs` on a case."""

    case: str
    ours: str
    theirs: str
    ratio: float
    #: The case that `theirs` ran, where it is another one.
    against: str = ""


CASES = (
    Case("import", "import", kind="start"),
    Case("first", "import and first operation", kind="start"),
    Case("add_small", "`a + b`, 4 elements"),
    Case("relu_small", "`relu(a)`, 4 elements"),
    Case("slice_small", "`a[2:5]` of a matrix"),
    Case("chain", "10 × (`y = y * 2`), forward and backward"),
    Case("add_large", "`a + b`, 1M elements"),
    Case("sum_large", "`a.sum()`, 1M elements"),
    Case("mlp", "MLP 784-256-10, batch 256, training step"),
    Case("mlp_recorded", "the same with the recorder on", library="minimx"),
    Case("lenet", "LeNet 28×28, batch 128, training step"),
    Case("lenet_profiled", "the same with the profiler on", library="minimx"),
    Case("lenet_64", "LeNet, batch 64"),
    Case("lenet_64_graph", "the same, hybridized"),
    Case("lenet_4", "LeNet, batch 4"),
    Case("lenet_4_graph", "the same, hybridized"),
    Case("nodes", "100 products of 4 × 4 matrices"),
    Case("nodes_graph", "the same, bound"),
    Case("curve", "5 pointwise operators, 1M elements"),
    Case("curve_graph", "the same, bound"),
    Case("kv_push", "push to a store, 8 × 4M elements"),
    Case("kv_push_pull", "push and pull, 8 × 4M elements"),
    Case("loader", "DataLoader, 20,000 images in batches of 256"),
    Case("decode_1", "JPEGs of 640 × 480, 128, 1 process", library="minimx"),
    Case("decode_2", "the same, 2 processes", library="minimx"),
)

TARGETS = (
    Target("import", "minimx", "mxnet", 0.3),
    Target("add_small", "minimx naive", "mxnet naive", 0.6),
    Target("add_small", "minimx", "mxnet", 1.0),
    Target("chain", "minimx naive", "mxnet naive", 1.0),
    Target("chain", "minimx", "mxnet", 1.0),
    Target("mlp", "minimx naive", "mxnet naive", 1.5),
    Target("mlp", "minimx", "mxnet", 1.5),
    Target("lenet", "minimx naive", "mxnet naive", 1.5),
    Target("lenet", "minimx", "mxnet", 1.5),
    Target("lenet_64_graph", "minimx", "minimx", 0.8, against="lenet_64"),
    Target("lenet_4_graph", "minimx", "minimx", 0.8, against="lenet_4"),
    Target("nodes_graph", "minimx naive", "mxnet naive", 1.0),
    Target("nodes_graph", "minimx", "mxnet", 1.0),
    Target("curve_graph", "minimx", "minimx", 0.6, against="curve"),
    Target("kv_push_pull", "minimx", "mxnet", 0.5),
    Target("loader", "minimx", "mxnet", 1.0),
    Target("decode_2", "minimx", "minimx", 1 / 1.6, against="decode_1"),
    Target("mlp_recorded", "minimx naive", "minimx naive", 1.2, against="mlp"),
    Target("mlp_recorded", "minimx", "minimx", 1.2, against="mlp"),
    Target("lenet_profiled", "minimx naive", "minimx naive", 1.25, against="lenet"),
    Target("lenet_profiled", "minimx", "minimx", 1.25, against="lenet"),
)
