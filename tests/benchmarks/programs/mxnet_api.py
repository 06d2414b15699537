"""The cases in MXNet's API: the very same lines run under MXNet and under minimx.

Every method prepares its arrays and returns `run(count)`, which does the work `count`
times and waits for the last result.
"""

from __future__ import annotations

import importlib.util
import os
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

Step = Callable[[], Any]
Run = Callable[[int], None]


def users(base: Any) -> Any:
    """The programs in the file beside this one, which has no package here."""
    path = Path(__file__).with_name("users_api.py")
    spec = importlib.util.spec_from_file_location("users_api", path)
    assert spec is not None and spec.loader is not None, path
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Users(base)


class Program:
    """The cases for a library that is MXNet, or speaks like it."""

    #: Pixels along a side of an image, for networks that have no other size.
    side = 224

    def __init__(self, library: Any) -> None:
        self.mx = library
        self.random = np.random.RandomState(0)

    def array(self, *shape: int) -> Any:
        """Random numbers."""
        values = self.random.standard_normal(size=shape).astype(np.float32)
        return self.mx.nd.array(values)

    def repeat(self, step: Step) -> Run:
        """Run a step many times and wait."""
        wait = self.mx.nd.waitall

        def run(count: int) -> None:
            for _ in range(count):
                step()
            wait()

        return run

    def add_small(self) -> Run:
        """Dispatch of a binary operator."""
        a, b = self.array(4), self.array(4)
        return self.repeat(lambda: a + b)

    def relu_small(self) -> Run:
        """Dispatch of a named operator."""
        a, relu = self.array(4), self.mx.nd.relu
        return self.repeat(lambda: relu(a))

    def slice_small(self) -> Run:
        """A view of some rows."""
        a = self.array(8, 8)
        return self.repeat(lambda: a[2:5])

    def chain(self) -> Run:
        """Ten operators on the tape, and back."""
        x, record = self.array(4), self.mx.autograd.record
        x.attach_grad()

        def step() -> None:
            with record():
                y = x
                for _ in range(10):
                    y = y * 2
            y.backward()

        return self.repeat(step)

    def add_large(self) -> Run:
        """Memory bandwidth."""
        a, b = self.array(1000, 1000), self.array(1000, 1000)
        return self.repeat(lambda: a + b)

    def sum_large(self) -> Run:
        """A reduction to one number."""
        a = self.array(1000, 1000)
        return self.repeat(lambda: a.sum())

    def training(
        self, net: Any, *shape: int, rate: float = 0.01, graphs: bool = False
    ) -> Step:
        """A step of SGD with momentum on one batch.

        graphs: network and loss are static graphs. rate: a small batch is soon learnt
        by heart, and then most gradients are numbers so small that processors are slow
        with them; a tiny rate keeps them as they are.
        """
        mx, gluon = self.mx, self.mx.gluon
        net.initialize(mx.init.Xavier())
        data = self.array(*shape)
        label = mx.nd.array(self.random.randint(10, size=shape[0]))
        loss = gluon.loss.SoftmaxCrossEntropyLoss()
        for block in (net, loss) if graphs else ():
            block.hybridize(static_alloc=True, static_shape=True)
        trainer = gluon.Trainer(
            net.collect_params(), "sgd", {"learning_rate": rate, "momentum": 0.9}
        )

        def step() -> None:
            with mx.autograd.record():
                error = loss(net(data), label)
            error.backward()
            trainer.step(shape[0])

        return step

    def mlp(self) -> Run:
        """Two dense layers."""
        nn = self.mx.gluon.nn
        net = nn.Sequential()
        net.add(nn.Dense(256, activation="relu"), nn.Dense(10))
        return self.repeat(self.training(net, 256, 784))

    def mlp_recorded(self) -> Run:
        """Two dense layers, while the recorder remembers everything."""
        unrecorded = self.mlp()

        def run(count: int) -> None:
            with self.mx.Record():
                unrecorded(count)

        return run

    def lenet(self) -> Run:
        """Two convolutions, two dense layers."""
        return self.repeat(self.training(self.lenet_net(), 128, 1, 28, 28))

    def lenet_graph(self) -> Run:
        """The same as a static graph."""
        net = self.lenet_net()
        return self.repeat(self.training(net, 128, 1, 28, 28, graphs=True))

    def lstm(self) -> Run:
        """Two layers of 256 over 35 steps, 32 sequences; ten classes at every step."""
        mx, gluon = self.mx, self.mx.gluon
        layers = gluon.rnn.LSTM(256, num_layers=2, input_size=256)
        last = gluon.nn.Dense(10, flatten=False, in_units=256)
        trainers = []
        for block in (layers, last):
            block.initialize(mx.init.Xavier())
            block.hybridize()
            trainers.append(
                gluon.Trainer(block.collect_params(), "sgd", {"learning_rate": 0.01})
            )
        data = self.array(35, 32, 256)
        label = mx.nd.array(self.random.randint(10, size=(35, 32)))
        loss = gluon.loss.SoftmaxCrossEntropyLoss()

        def step() -> None:
            with mx.autograd.record():
                error = loss(last(layers(data)), label)
            error.backward()
            for trainer in trainers:
                trainer.step(32)

        return self.repeat(step)

    def network(self, name: str) -> Any:
        """A network of the zoo, or where it is not there, one that minimx wrote."""
        vision = self.mx.gluon.model_zoo.vision
        if name == "inceptionbn" and not hasattr(vision, "inception_bn"):
            graph = Path(os.environ["BENCH_GRAPHS"]) / f"{name}.json"
            net = self.mx.gluon.SymbolBlock.imports(str(graph), ["data"])
            for one in net.collect_params().values():  # a graph does not say these
                if one.name.endswith(("bias", "beta", "mean")):
                    one.init = "zeros"
                elif one.name.endswith(("gamma", "var")):
                    one.init = "ones"
            return net
        return vision.get_model(name, classes=1000)

    def scoring(self, name: str, batch: int) -> Run:
        """A network forward, as a static graph."""
        net = self.network(name)
        net.initialize(self.mx.init.Xavier(magnitude=2.0))
        net.collect_params().setattr("grad_req", "null")
        net.hybridize(static_alloc=True, static_shape=True)
        side = 299 if name == "inceptionv3" else self.side
        data = self.array(batch, 3, side, side)
        return self.repeat(lambda: net(data))

    def __getattr__(self, case: str) -> Any:
        """The cases `score_<network>_<batch>` and `user_<program>`."""
        if case.startswith("user_"):
            return getattr(users(self), case)
        start, _, rest = case.partition("_")
        name, _, batch = rest.rpartition("_")
        if start != "score" or not batch.isdigit():
            raise AttributeError(case)
        return partial(self.scoring, name, int(batch))

    def resnet_score_1(self) -> Run:
        """ResNet-50 on a single image."""
        return self.scoring("resnet50_v1", 1)

    def resnet_score_16(self) -> Run:
        """ResNet-50 on a batch."""
        return self.scoring("resnet50_v1", 16)

    def resnet_train_8(self) -> Run:
        """ResNet-50 forward, backward and an update, as static graphs."""
        net, batch = self.network("resnet50_v1"), (8, 3, self.side, self.side)
        return self.repeat(self.training(net, *batch, rate=1e-4, graphs=True))

    def lenet_profiled(self) -> Run:
        """The same while the profiler hears everything, and writes its trace."""
        profiler, plain = self.mx.profiler, self.lenet()
        path = Path(tempfile.mkdtemp()) / "profile.json"
        profiler.set_config(profile_all=True, filename=str(path))

        def run(count: int) -> None:
            profiler.set_state("run")
            plain(count)
            profiler.set_state("stop")

        return run

    def lenet_64(self) -> Run:
        """The same on half a batch, layer by layer."""
        return self.repeat(self.training(self.lenet_net(), 64, 1, 28, 28, rate=1e-9))

    def lenet_64_graph(self) -> Run:
        """The same as a static graph."""
        net, batch = self.lenet_net(), (64, 1, 28, 28)
        return self.repeat(self.training(net, *batch, rate=1e-9, graphs=True))

    def lenet_4(self) -> Run:
        """So few images that calling operators counts."""
        return self.repeat(self.training(self.lenet_net(), 4, 1, 28, 28, rate=1e-9))

    def lenet_4_graph(self) -> Run:
        """The same as a static graph."""
        net, batch = self.lenet_net(), (4, 1, 28, 28)
        return self.repeat(self.training(net, *batch, rate=1e-9, graphs=True))

    def nodes(self) -> Run:
        """Products of small matrices, operator by operator."""
        x = self.array(4, 4)

        def step() -> None:
            y = x
            for _ in range(100):
                y = self.mx.nd.dot(y, x)

        return self.repeat(step)

    def nodes_graph(self) -> Run:
        """The same as a static graph."""
        x, symbol = self.array(4, 4), self.mx.sym.var("x")
        y = symbol
        for _ in range(100):
            y = self.mx.sym.dot(y, symbol)
        executor = y.bind(self.mx.cpu(), {"x": x}, grad_req="null")
        return self.repeat(lambda: executor.forward(is_train=False))

    def curve(self) -> Run:
        """Five pointwise operators, one after the other."""
        x, nd = self.array(1000, 1000), self.mx.nd
        return self.repeat(lambda: nd.sqrt(nd.square(nd.relu(x * 2) + 1)))

    def curve_graph(self) -> Run:
        """The same as a static graph, in which they are one kernel."""
        x, sym = self.array(1000, 1000), self.mx.sym
        y = sym.sqrt(sym.square(sym.relu(sym.var("x") * 2) + 1))
        executor = y.bind(self.mx.cpu(), {"x": x}, grad_req="null")
        return self.repeat(lambda: executor.forward(is_train=False))

    def kv_push(self) -> Run:
        """The sum of arrays of eight devices on the host."""
        store, given = self.store()
        return self.repeat(lambda: store.push("w", given))

    def kv_push_pull(self) -> Run:
        """The same, and copies of it to the devices."""
        store, given = self.store()
        outs = [self.mx.nd.zeros(one.shape, ctx=one.context) for one in given]

        def step() -> None:
            store.push("w", given)
            store.pull("w", out=outs)

        return self.repeat(step)

    def store(self) -> tuple[Any, list[Any]]:
        """A store with a key, and an array for it on each of eight devices."""
        mx, shape = self.mx, (4_000_000,)
        store = mx.kv.create("local")
        store.init("w", mx.nd.zeros(shape))
        return store, [mx.nd.ones(shape, ctx=mx.cpu(k)) for k in range(8)]

    def lenet_net(self) -> Any:
        """The network."""
        nn = self.mx.gluon.nn
        net = nn.HybridSequential()
        net.add(
            nn.Conv2D(20, kernel_size=5, activation="relu"),
            nn.MaxPool2D(2, 2),
            nn.Conv2D(50, kernel_size=5, activation="relu"),
            nn.MaxPool2D(2, 2),
            nn.Dense(500, activation="relu"),
            nn.Dense(10),
        )
        return net

    def loader(self) -> Run:
        """One pass over a data set."""
        data = self.mx.gluon.data
        images = self.random.standard_normal(size=(20_000, 28, 28)).astype(np.float32)
        labels = self.random.randint(10, size=20_000).astype(np.float32)
        batches = data.DataLoader(data.ArrayDataset(images, labels), batch_size=256)

        def step() -> None:
            for batch, _ in batches:
                last = batch
            last.wait_to_read()

        return self.repeat(step)

    def decode_1(self) -> Run:
        """One pass over photographs, decoded by one worker process."""
        return self._decode(1)

    def decode_2(self) -> Run:
        """The same with two processes."""
        return self._decode(2)

    def _decode(self, workers: int) -> Run:
        import cv2

        noise = self.random.randint(0, 256, (128, 12, 16, 3)).astype(np.uint8)
        files = [
            cv2.imencode(".jpg", cv2.resize(part, (640, 480)))[1].tobytes()
            for part in noise
        ]
        data, decode = self.mx.gluon.data, self.mx.image.imdecode
        pictures = data.SimpleDataset(files).transform(decode)
        batches = data.DataLoader(pictures, batch_size=8, num_workers=workers)

        def step() -> None:
            for batch in batches:
                last = batch
            last.wait_to_read()

        return self.repeat(step)
