"""What is timed, and how fast it is meant to be.

A case belongs to a group, and `--group` chooses groups; by default all are run. `MAIN`
are the groups of the README's table; the book shows all.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

#: In the order of the tables.
GROUPS = {
    "start": "importing, and the first training step of a program",
    "calls": "single operators, called from Python",
    "training": "steps of small networks",
    "resnet": "ResNet-50, forward and training",
    "memory": "the most memory that a training run takes",
    "networks": "the six networks of MXNet's performance page, forward",
    "users": "programs as users of MXNet write them, warm",
    "graphs": "static graphs beside single calls",
    "watching": "the recorder and the profiler",
    "stores": "sums over devices",
    "data": "loading and decoding",
}
MAIN = ("start", "calls", "training", "resnet", "memory")
#: Groups that take long, and how many rounds they have at most when all are run.
LONG = {"networks": 2}


@dataclass(frozen=True)
class Case:
    """One thing to measure. `name` is the function in every program that can do it.

    kind: how it is measured, one of

        loop          many times in an interpreter that stays; seconds for each
        import        in a new interpreter: seconds to import the library
        first         the same, and a first operation
        first_start   in a new interpreter without any cache: seconds to the end of the
                      first call
        second_start  in another new one, with the caches that the first left
        memory        in a new interpreter: bytes that some calls add at most

    program: the function that it runs, where that is another name. library: the one
    library that has it; empty if each may try. images: how many a call computes; then
    its rate is shown. rounds: the most that are run of it. takes: seconds that a turn
    takes where that is more than a turn is given, for telling how much is left.
    """

    name: str
    title: str
    group: str = "calls"
    kind: str = "loop"
    program: str = ""
    library: str = ""
    images: int = 0
    rounds: int = 99
    takes: float = 0.0


@dataclass(frozen=True)
class Target:
    """What `ours` should reach on a case.

    theirs: contenders; the fastest of them counts. Empty: `limit` is in the unit of the
    case, seconds or bytes. Else `ours` should take at most `limit` times as long, or as
    much memory; with `rate`, reach at least `limit` times as many images a second.
    against: the case that `theirs` ran, where it is another one.
    """

    case: str
    ours: str
    theirs: tuple[str, ...]
    limit: float
    rate: bool = False
    against: str = ""


NETWORKS = (
    *("alexnet", "vgg16", "inceptionbn"),
    *("inceptionv3", "resnet50_v2", "resnet152_v2"),
)
BATCHES = (1, 2, 4, 8, 16, 32)
#: Programs in `programs/users_api.py`.
USERS = {
    "tagger": "tagger, LSTM in both directions, single sentences of 5 lengths",
    "cells": "tagger of unrolled cells, 20 words, batch 16",
    "augment": "64 images cropped, flipped, tinted; convolution, batch 32",
    "bert": "2 layers of attention, 64 words, batch 8",
    "language_model": "language model, LSTM 2 × 200, 35 × 20 words",
    "buckets": "LSTM in 3 buckets, BucketingModule, batch 16",
    "gaussian_process": "Gaussian process, 100 points",
    "wide_and_deep": "wide and deep, sparse gradients, batch 64",
    "sparse_module": "sparse regression, Module, 10 batches of 32",
    "module": "small network, Module, 20 batches of 32",
    "resnet": "ResNet-18, 16 images of 32 × 32, layer by layer",
}
#: Giga-multiplications of an image, to foretell how long a call takes.
_WORK = dict(zip(NETWORKS, (0.7, 15.5, 2.0, 5.7, 4.1, 11.5), strict=True))


def scoring(network: str, batch: int) -> Case:
    """A network of the zoo, forward."""
    takes = 4 * batch * _WORK[network] / 50
    title = f"{network}, batch {batch}, forward"
    return Case(
        f"score_{network}_{batch}", title, "networks",
        images=batch, rounds=3, takes=takes,
    )  # fmt: skip


CASES = (
    Case("import", "import", "start", "import", takes=1.0),
    Case("first", "import and first operation", "start", "first", takes=1.2),
    Case(
        "first_start", "first start to a LeNet step, no bytecode, no cache",
        "start", "first_start", "lenet", rounds=3, takes=25.0,
    ),
    Case(
        "second_start", "second start to a LeNet step",
        "start", "second_start", "lenet", takes=4.0,
    ),
    Case("add_small", "`a + b`, 4 elements"),
    Case("relu_small", "`relu(a)`, 4 elements"),
    Case("slice_small", "`a[2:5]` of a matrix"),
    Case("chain", "10 × (`y = y * 2`), forward and backward"),
    Case("add_large", "`a + b`, 1M elements"),
    Case("sum_large", "`a.sum()`, 1M elements"),
    Case("mlp", "MLP 784-256-10, batch 256, training step", "training"),
    Case("mlp_recorded", "MLP with the recorder on", "watching", library="minimx"),
    Case("lenet", "LeNet 28×28, batch 128, training step", "training"),
    Case("lenet_graph", "LeNet, batch 128, hybridized", "training"),
    Case("lenet_profiled", "LeNet with the profiler on", "watching", library="minimx"),
    Case(
        "lstm", "LSTM 2 × 256, 35 steps, batch 32, training step",
        "training", takes=1.0,
    ),
    Case(
        "resnet_score_1", "ResNet-50, batch 1, forward",
        "resnet", images=1, takes=1.5,
    ),
    Case(
        "resnet_score_16", "ResNet-50, batch 16, forward",
        "resnet", images=16, takes=4.5,
    ),
    Case(
        "resnet_train_8", "ResNet-50, batch 8, training step",
        "resnet", images=8, takes=7.0,
    ),
    Case(
        "resnet_memory", "ResNet-50, batch 8, training: memory it adds",
        "memory", "memory", "resnet_train_8", rounds=3, takes=20.0,
    ),
    *(scoring(network, batch) for network in NETWORKS for batch in BATCHES),
    *(Case(f"user_{name}", title, "users") for name, title in USERS.items()),
    Case("lenet_64", "LeNet, batch 64", "graphs"),
    Case("lenet_64_graph", "LeNet, batch 64, hybridized", "graphs"),
    Case("lenet_4", "LeNet, batch 4", "graphs"),
    Case("lenet_4_graph", "LeNet, batch 4, hybridized", "graphs"),
    Case("nodes", "100 products of 4 × 4 matrices", "graphs"),
    Case("nodes_graph", "100 products, bound", "graphs"),
    Case("curve", "5 pointwise operators, 1M elements", "graphs"),
    Case("curve_graph", "5 pointwise operators, bound", "graphs"),
    Case("kv_push", "push to a store, 8 × 4M elements", "stores"),
    Case("kv_push_pull", "push and pull, 8 × 4M elements", "stores"),
    Case("loader", "DataLoader, 20,000 images in batches of 256", "data"),
    Case("decode_1", "JPEGs of 640 × 480, 128, 1 process", "data", library="minimx"),
    Case("decode_2", "the same JPEGs, 2 processes", "data", library="minimx"),
)  # fmt: skip

MX, NAIVE_MX = ("mxnet",), ("mxnet naive",)
#: "The faster of": whichever takes less time in the run that is judged.
EACH = ("numpy", "torch", "mxnet")
FRAMEWORKS = ("torch", "mxnet")
OURS, NAIVE, ONEDNN = "minimx", "minimx naive", "minimx onednn"
COMPILED, COMPILED_NAIVE = "minimx compiled", "minimx compiled naive"
#: Plain convolutions by oneDNN itself, and nothing else of a network.
ALONE = ("onednn alone",)


def _engines(case: str, naive: float, per_device: float) -> tuple[Target, ...]:
    """Against MXNet under the same engine."""
    return (
        Target(case, NAIVE, NAIVE_MX, naive),
        Target(case, OURS, MX, per_device),
    )


def _calls(case: str, naive: float, per_device: float) -> tuple[Target, ...]:
    """The same, in plain Python and compiled."""
    return (
        *_engines(case, naive, per_device),
        Target(case, COMPILED_NAIVE, NAIVE_MX, naive),
        Target(case, COMPILED, MX, per_device),
    )


TARGETS = (
    Target("import", OURS, MX, 0.3),
    Target("first_start", OURS, (), 15.0),
    Target("second_start", OURS, (), 3.0),
    *_calls("add_small", 0.3, 0.6),
    *_calls("relu_small", 0.3, 0.6),
    *_calls("slice_small", 0.7, 0.7),
    *_calls("chain", 0.6, 0.6),
    Target("add_large", OURS, EACH, 1.1),
    Target("sum_large", OURS, EACH, 1.1),
    Target("mlp", OURS, FRAMEWORKS, 1.0),
    Target("lenet", OURS, FRAMEWORKS, 0.7),
    Target("lenet_graph", OURS, FRAMEWORKS, 0.7),
    Target("lstm", OURS, FRAMEWORKS, 1.0),
    *(
        target
        for case in ("resnet_score_1", "resnet_score_16")
        for target in (
            Target(case, ONEDNN, MX, 1.15, rate=True),
            Target(case, ONEDNN, ALONE, 0.8, rate=True),
            Target(case, OURS, MX, 0.9, rate=True),
        )
    ),
    Target("resnet_train_8", ONEDNN, FRAMEWORKS, 1.0, rate=True),
    Target("resnet_train_8", OURS, FRAMEWORKS, 0.85, rate=True),
    Target("resnet_memory", OURS, ("torch",), 0.8),
    Target("resnet_memory", ONEDNN, ("torch",), 0.8),
    *(
        Target(case.name, ONEDNN, MX, 1.0, rate=True)
        for case in CASES
        if case.group == "networks"
    ),
    *(Target(f"user_{name}", OURS, MX, 1.5) for name in USERS),
    Target("lenet_64_graph", OURS, (OURS,), 0.8, against="lenet_64"),
    Target("lenet_4_graph", OURS, (OURS,), 0.8, against="lenet_4"),
    *_engines("nodes_graph", 1.0, 1.0),
    Target("curve_graph", OURS, (OURS,), 0.6, against="curve"),
    Target("kv_push_pull", OURS, MX, 0.5),
    Target("loader", OURS, MX, 1.0),
    Target("decode_2", OURS, (OURS,), 1 / 1.6, against="decode_1"),
    Target("mlp_recorded", NAIVE, (NAIVE,), 1.2, against="mlp"),
    Target("mlp_recorded", OURS, (OURS,), 1.2, against="mlp"),
    Target("lenet_profiled", NAIVE, (NAIVE,), 1.25, against="lenet"),
    Target("lenet_profiled", OURS, (OURS,), 1.25, against="lenet"),
)


def chosen(only: Iterable[str] = (), groups: Iterable[str] = ()) -> list[Case]:
    """The cases of these names and groups; without any, all, and few rounds of `LONG`.

    A case that a target compares with another one brings it along.

    >>> [case.name for case in chosen(["curve_graph"])]
    ['curve', 'curve_graph']
    """
    names, groups = set(only), set(groups)
    if not names and not groups:
        return [replace(one, rounds=LONG.get(one.group, one.rounds)) for one in CASES]
    names |= {case.name for case in CASES if case.group in groups}
    names |= {t.against for t in TARGETS if t.case in names and t.against}
    return [case for case in CASES if case.name in names]


def blocks(cases: Iterable[Case]) -> list[list[Case]]:
    """Cases that take turns in the same rounds, since targets compare them."""
    block_of: dict[str, list[Case]] = {}
    found: list[list[Case]] = []
    for case in cases:
        against = [t.against for t in TARGETS if t.case == case.name]
        block = next((block_of[name] for name in against if name in block_of), None)
        if block is None:
            block = []
            found.append(block)
        block.append(case)
        block_of[case.name] = block
    return found
