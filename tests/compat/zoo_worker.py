"""Networks of the zoo under MXNet or under minimx: their structure, and what they give.

    python zoo_worker.py mxnet|minimx structure|small [DIRECTORY]
    python zoo_worker.py mxnet|minimx graph|make|read DIRECTORY NETWORK

`structure` prints how many parameters every network has and how they are called,
`small` what small or shrunken networks compute, as JSON. `make` writes a network's
weights and, for known images, its outputs, gradients and running statistics to files;
`read` loads the weights and writes the same. Runs under the Python of either.

MXNet has Inception-BN among its examples only; there it is read from the graph that
minimx writes.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

NAMES = [
    *["alexnet", "densenet121", "densenet161", "densenet169", "densenet201"],
    *["inceptionv3", "squeezenet1.0", "squeezenet1.1"],
    *[f"mobilenet{size}" for size in ("1.0", "0.75", "0.5", "0.25")],
    *[f"mobilenetv2_{size}" for size in ("1.0", "0.75", "0.5", "0.25")],
    *[f"resnet{n}_v{v}" for v in (1, 2) for n in (18, 34, 50, 101, 152)],
    *[f"vgg{n}{norm}" for norm in ("", "_bn") for n in (11, 13, 16, 19)],
]
#: Networks that are small, or made so: how, with what, and for images of which size.
SMALL: dict[str, tuple[str, dict[str, Any], int]] = {
    "AlexNet": ("AlexNet", {}, 64),
    "VGG": ("VGG", {"layers": [1, 2], "filters": [6, 8], "batch_norm": True}, 12),
    "Inception v3": ("Inception3", {}, 299),
    "Inception-BN": ("InceptionBN", {}, 224),
    "ResNet v1": ("resnet50_v1", {}, 64),
    "ResNet v2": ("resnet18_v2", {}, 64),
    "SqueezeNet 1.0": ("squeezenet1_0", {}, 224),
    "SqueezeNet 1.1": ("squeezenet1_1", {}, 224),
    "MobileNet v1": ("mobilenet0_25", {}, 64),
    "MobileNet v2": ("mobilenet_v2_0_25", {}, 64),
    "DenseNet": (
        "DenseNet",
        {"num_init_features": 8, "growth_rate": 4, "block_config": [2, 3]},
        56,
    ),
}
CLASSES = 5
#: How networks of full size are run: in training mode or not, and in which type. In
#: float32, rounding decides now and then which ReLU is open and which element is the
#: largest, and BatchNorm enlarges that; so gradients are compared in float64.
MODES = [(False, "float32"), (True, "float64")]
SAMPLED = 1000  # elements of a large array that are compared


def shapes_of(mx: Any, name: str) -> list[Any]:
    """[short name, full name, shape] of every parameter, in their order."""
    net = mx.gluon.model_zoo.vision.get_model(name, prefix="net_")
    size = 299 if "inception" in name else 224
    net.infer_shape(mx.nd.zeros((1, 3, size, size)))
    short = net._collect_params_with_prefix()
    return [[key, short[key].name, list(short[key].shape)] for key in short] + [
        [full, list(p.shape)] for full, p in net.collect_params().items()
    ]


def structure(mx: Any, name: str) -> dict[str, Any]:
    """Sizes in numbers, and all names and shapes, in order, as a sum."""
    rows = shapes_of(mx, name)
    full = [row for row in rows if len(row) == 2]
    return {
        "arrays": len(full),
        "parameters": sum(int(np.prod(shape)) for _, shape in full),
        "sha1": hashlib.sha1(json.dumps(rows).encode()).hexdigest(),
    }


def fill(mx: Any, net: Any, size: int) -> None:
    """Give every parameter numbers that only its place among the names decides."""
    net.infer_shape(mx.nd.zeros((1, 3, size, size)))
    draw = np.random.Generator(np.random.PCG64(5))
    for name, parameter in sorted(net.collect_params().items()):
        values = draw.random(parameter.shape, dtype=np.float32)
        if name.endswith("_weight"):
            reach = np.sqrt(6 / np.prod(parameter.shape[1:]))
            values = (2 * values - 1) * np.float32(reach)
        elif name.endswith(("gamma", "var")):
            values = 0.4 + 0.4 * values
        else:
            values = 0.2 * values - 0.1
        parameter.initialize(mx.init.Zero())
        parameter.set_data(mx.nd.array(values))


def run(mx: Any, net: Any, size: int, training: bool, dtype: str) -> dict[str, Any]:
    """Output, gradients and statistics after one step forward and backward."""
    draw = np.random.Generator(np.random.PCG64(6))
    without_dropout(net)
    net.cast(dtype)
    x = mx.nd.array(2 * draw.random((2, 3, size, size)) - 1, dtype=dtype)
    x.attach_grad()
    with mx.autograd.record(train_mode=training):
        out = net(x)
    head = mx.nd.array(draw.random(out.shape) - 0.5, dtype=dtype)
    out.backward(head, train_mode=training)
    found = {"output": out.asnumpy(), "images": x.grad.asnumpy()}
    for name, parameter in sorted(net.collect_params().items()):
        if "running" in name:
            found[name] = parameter.data().asnumpy()
        elif parameter.grad_req != "null":
            found[name] = parameter.grad().asnumpy()
    return found


def without_dropout(net: Any) -> None:
    """Dropout would draw other numbers in every library."""
    if hasattr(net, "_rate"):
        net._rate = 0.0
    for child in net._children.values():
        without_dropout(child)


def sampled(array: Any) -> Any:
    """Some elements, evenly over the array."""
    flat = array.reshape(-1)
    return flat[:: max(1, flat.size // SAMPLED)]


def make(mx: Any, name: str, place: Path, **settings: Any) -> Any:
    """A network by its maker or by its name in `get_model`."""
    vision = mx.gluon.model_zoo.vision
    if name in ("InceptionBN", "inceptionbn"):
        if mx.__name__ == "mxnet":
            return mx.gluon.SymbolBlock.imports(str(place / f"{name}.json"), ["data"])
        return vision.InceptionBN(prefix="", **settings)
    settings["prefix"] = "net_"
    maker = getattr(vision, name, None)
    return maker(**settings) if maker else vision.get_model(name, **settings)


def graph(mx: Any, name: str, place: Path) -> None:
    """Write the graph from which MXNet learns of Inception-BN."""
    net = make(mx, name, place, classes=CLASSES if name == "InceptionBN" else 1000)
    net(mx.sym.var("data")).save(str(place / f"{name}.json"))


def small(mx: Any, name: str, place: Path) -> dict[str, list[float]]:
    """The output, and the norms of gradients and statistics, of a small network."""
    maker, settings, size = SMALL[name]
    net = make(mx, maker, place, classes=CLASSES, **settings)
    fill(mx, net, size)
    found = run(mx, net, size, training=True, dtype="float64")
    norms = {key: [digits(np.linalg.norm(array))] for key, array in found.items()}
    return {**norms, "output": [digits(value) for value in found["output"].flat]}


def digits(value: Any) -> float:
    """A number without the digits that do not matter."""
    return float(f"{value:.9g}")


def full(mx: Any, task: str, name: str, place: Path) -> None:
    """Write or load weights, and write what the network gives, in both modes."""
    size = 299 if name == "inceptionv3" else 224
    net = make(mx, name, place)
    weights = str(place / f"{name}.params")
    if task == "make":
        fill(mx, net, size)
        net.collect_params().save(weights)
    else:
        net.load_parameters(weights)
    for training, dtype in MODES:
        found = run(mx, net, size, training, dtype)
        arrays = {
            key: sampled(array)
            for key, array in found.items()
            if training or key == "output"
        }
        np.savez(place / f"{name}-{mx.__name__}-{training}-{dtype}.npz", **arrays)


def main() -> None:
    mx = importlib.import_module(sys.argv[1])
    task = sys.argv[2]
    if task == "structure":
        print(json.dumps({name: structure(mx, name) for name in NAMES}))
    elif task == "small":
        place = Path(sys.argv[3])
        print(json.dumps({name: small(mx, name, place) for name in SMALL}))
    elif task == "graph":
        graph(mx, sys.argv[4], Path(sys.argv[3]))
    else:
        full(mx, task, sys.argv[4], Path(sys.argv[3]))


if __name__ == "__main__":
    main()
