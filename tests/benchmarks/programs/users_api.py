"""Programs as users of MXNet write them: small arrays, cells, buckets, sparse rows.

The same lines run under MXNet and under minimx. Every method prepares a program and
returns `run(count)`, as in mxnet_api.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Step = Callable[[], Any]
Run = Callable[[int], None]

WORDS, UNITS = 1000, 64
LENGTHS = (7, 12, 19, 26, 33)


class Users:
    """The programs. base: has the library, random arrays, and `repeat`."""

    def __init__(self, base: Any) -> None:
        self.mx, self.array, self.random = base.mx, base.array, base.random
        self.repeat: Callable[[Step], Run] = base.repeat

    def words(self, *shape: int, top: int = WORDS) -> Any:
        """Numbers of words."""
        return self.mx.nd.array(self.random.randint(top, size=shape))

    def trained(
        self, blocks: list[Any], error: Step, size: int, optimizer: str = "sgd"
    ) -> Step:
        """A step of training. error: computes the loss, to be recorded."""
        mx, trainers, rate = self.mx, [], {"learning_rate": 0.01}
        for block in blocks:
            block.initialize(mx.init.Xavier())
            trainer = mx.gluon.Trainer(block.collect_params(), optimizer, rate)
            trainers.append(trainer)

        def step() -> None:
            with mx.autograd.record():
                loss = error()
            loss.backward()
            for trainer in trainers:
                trainer.step(size)

        return step

    def epochs(self, module: Any, feed: Any, metric: Any) -> Run:
        """The loop of `Module`: a pass over `feed`, with a metric."""

        def step() -> None:
            feed.reset()
            metric.reset()
            for batch in feed:
                module.forward_backward(batch)
                module.update()
                module.update_metric(metric, batch.label)

        return self.repeat(step)

    def user_tagger(self) -> Run:
        """A tag for each word of single sentences, by an LSTM in both directions."""
        mx, nn = self.mx, self.mx.gluon.nn
        net = nn.Sequential()
        net.add(
            nn.Embedding(WORDS, UNITS),
            mx.gluon.rnn.LSTM(UNITS, bidirectional=True, layout="NTC"),
            nn.Dense(10, flatten=False),
        )
        loss = mx.gluon.loss.SoftmaxCrossEntropyLoss()
        sentences = [(self.words(1, n), self.words(1, n, top=10)) for n in LENGTHS]
        place = iter(range(10**9))

        def error() -> Any:
            x, y = sentences[next(place) % len(sentences)]
            return loss(net(x), y)

        return self.repeat(self.trained([net], error, 1, optimizer="adam"))

    def user_cells(self) -> Run:
        """The same with cells that are unrolled word by word, on a batch."""
        mx, nn, rnn = self.mx, self.mx.gluon.nn, self.mx.gluon.rnn
        embed, last = nn.Embedding(WORDS, UNITS), nn.Dense(10, flatten=False)
        cell = rnn.BidirectionalCell(rnn.LSTMCell(UNITS), rnn.LSTMCell(UNITS))
        loss = mx.gluon.loss.SoftmaxCrossEntropyLoss()
        x, y = self.words(16, 20), self.words(16, 20, top=10)

        def error() -> Any:
            out, _ = cell.unroll(20, embed(x), layout="NTC", merge_outputs=True)
            return loss(last(out), y)

        return self.repeat(self.trained([embed, cell, last], error, 16))

    def user_augment(self) -> Run:
        """Images that are cropped, flipped and tinted one by one; a small network."""
        mx, nn = self.mx, self.mx.gluon.nn
        change = mx.gluon.data.vision.transforms
        steps = change.Compose(
            [
                change.RandomResizedCrop(32, scale=(0.6, 1.0)),
                change.RandomFlipLeftRight(),
                change.RandomColorJitter(0.2, 0.2, 0.2),
                change.ToTensor(),
                change.Normalize([0.49, 0.48, 0.45], [0.2, 0.2, 0.2]),
            ]
        )
        images = self.random.randint(0, 256, (64, 32, 32, 3)).astype("uint8")
        labels = self.random.randint(10, size=64).astype("float32")
        data = mx.gluon.data.ArrayDataset(mx.nd.array(images, dtype="uint8"), labels)
        batches = mx.gluon.data.DataLoader(data.transform_first(steps), batch_size=32)
        net = nn.HybridSequential()
        net.add(
            nn.Conv2D(16, 3, padding=1),
            nn.BatchNorm(),
            nn.Activation("relu"),
            nn.MaxPool2D(),
            nn.Dense(10),
        )
        net.initialize(mx.init.Xavier())
        net.hybridize()
        loss = mx.gluon.loss.SoftmaxCrossEntropyLoss()
        trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01})

        def step() -> None:
            for x, y in batches:
                with mx.autograd.record():
                    error = loss(net(x), y)
                error.backward()
                trainer.step(32)

        return self.repeat(step)

    def user_bert(self) -> Run:
        """Two layers of attention with four heads, 64 words, layer by layer."""
        mx, nd, nn = self.mx, self.mx.nd, self.mx.gluon.nn
        size, heads, length, units = 8, 4, 64, 128

        class Layer(nn.Block):  # type: ignore[misc, name-defined]
            """Attention and two dense layers, each with a sum and a normalization."""

            def __init__(self, **names: Any) -> None:
                super().__init__(**names)
                with self.name_scope():
                    self.query, self.key, self.value, self.out = (
                        nn.Dense(units, flatten=False) for _ in range(4)
                    )
                    self.wide = nn.Dense(4 * units, flatten=False)
                    self.narrow = nn.Dense(units, flatten=False)
                    self.one, self.two = nn.LayerNorm(), nn.LayerNorm()
                    self.drop = nn.Dropout(0.1)

            def split(self, x: Any) -> Any:
                """(batch, words, units) as (batch * heads, words, units / heads)."""
                x = x.reshape((0, 0, heads, -1)).transpose((0, 2, 1, 3))
                return x.reshape((-1, 0, 0), reverse=True)

            def forward(self, x: Any) -> Any:
                q, k, v = (self.split(f(x)) for f in (self.query, self.key, self.value))
                scores = nd.batch_dot(q, k, transpose_b=True) / (units / heads) ** 0.5
                mixed = nd.batch_dot(self.drop(nd.softmax(scores)), v)
                mixed = mixed.reshape((-1, heads, 0, 0), reverse=True)
                mixed = mixed.transpose((0, 2, 1, 3)).reshape((0, 0, -1))
                x = self.one(x + self.drop(self.out(mixed)))
                inner = nd.LeakyReLU(self.wide(x), act_type="gelu")
                return self.two(x + self.drop(self.narrow(inner)))

        net = nn.Sequential()
        net.add(nn.Embedding(WORDS, units), Layer(), Layer(), nn.Dense(2))
        loss = mx.gluon.loss.SoftmaxCrossEntropyLoss()
        x, y = self.words(size, length), self.words(size, top=2)
        step = self.trained([net], lambda: loss(net(x), y), size, optimizer="adam")
        return self.repeat(step)

    def user_language_model(self) -> Run:
        """Words from words: two layers of LSTM, states kept, gradients clipped."""
        mx, gluon = self.mx, self.mx.gluon
        embed = gluon.nn.Embedding(WORDS, 200)
        layers = gluon.rnn.LSTM(200, num_layers=2, dropout=0.2, input_size=200)
        last = gluon.nn.Dense(WORDS, flatten=False, in_units=200)
        net = gluon.nn.Sequential()
        net.add(embed, layers, last)
        net.initialize(mx.init.Xavier())
        trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
        loss = gluon.loss.SoftmaxCrossEntropyLoss()
        x, y = self.words(35, 20), self.words(35 * 20)
        state = layers.begin_state(batch_size=20)

        def step() -> None:
            nonlocal state
            state = [one.detach() for one in state]
            with mx.autograd.record():
                out, state = layers(embed(x), state)
                error = loss(last(out).reshape((-1, WORDS)), y)
            error.backward()
            grads = [p.grad() for p in net.collect_params().values()]
            gluon.utils.clip_global_norm(grads, 0.2 * 35 * 20)
            trainer.step(35 * 20)

        return self.repeat(step)

    def user_buckets(self) -> Run:
        """Sentences in buckets of three lengths, a symbol and an executor for each."""
        mx = self.mx
        cells = mx.rnn.SequentialRNNCell()
        cells.add(mx.rnn.LSTMCell(UNITS, prefix="lstm0_"))
        cells.add(mx.rnn.LSTMCell(UNITS, prefix="lstm1_"))
        lengths, size = (10, 20, 30), 16

        def symbol(length: int) -> Any:
            data, label = mx.sym.var("data"), mx.sym.var("softmax_label")
            sizes = {"input_dim": WORDS, "output_dim": UNITS}
            embed = mx.sym.Embedding(data, name="embed", **sizes)
            cells.reset()
            outs, _ = cells.unroll(length, inputs=embed, merge_outputs=True)
            flat = mx.sym.reshape(outs, shape=(-1, UNITS))
            scores = mx.sym.FullyConnected(flat, num_hidden=WORDS, name="scores")
            label = mx.sym.reshape(label, shape=(-1,))
            out = mx.sym.SoftmaxOutput(scores, label, name="softmax")
            return out, ("data",), ("softmax_label",)

        module = mx.mod.BucketingModule(symbol, default_bucket_key=max(lengths))
        batches = [
            mx.io.DataBatch(
                [self.words(size, n)],
                [self.words(size, n)],
                bucket_key=n,
                provide_data=[mx.io.DataDesc("data", (size, n))],
                provide_label=[mx.io.DataDesc("softmax_label", (size, n))],
            )
            for n in lengths
        ]
        module.bind(batches[-1].provide_data, batches[-1].provide_label)
        module.init_params(mx.init.Xavier())
        module.init_optimizer(optimizer_params={"learning_rate": 0.01})
        metric = mx.metric.Perplexity(None)

        def step() -> None:
            for batch in batches:
                module.forward_backward(batch)
                module.update()
                module.update_metric(metric, batch.label)

        return self.repeat(step)

    def user_gaussian_process(self) -> Run:
        """The likelihood of 100 points under a kernel with two parameters."""
        mx, nd = self.mx, self.mx.nd
        points, values = self.array(100, 2), self.array(100, 1)
        wide, noise = nd.array([0.3]), nd.array([-1.0])
        for one in (wide, noise):
            one.attach_grad()
        unit = nd.eye(100)

        def step() -> None:
            with mx.autograd.record():
                apart = nd.expand_dims(points, 1) - nd.expand_dims(points, 0)
                far = nd.sum(nd.square(apart), axis=-1)
                kernel = nd.exp(-far * nd.exp(wide)) + unit * nd.exp(noise)
                low = nd.linalg.potrf(kernel)
                solved = nd.linalg.trsm(low, values)
                spread = nd.linalg.sumlogdiag(low)
                error = nd.sum(nd.square(solved)) / 2 + spread
            error.backward()
            for one in (wide, noise):
                one -= 0.001 * one.grad
            error.wait_to_read()

        return self.repeat(step)

    def user_wide_and_deep(self) -> Run:
        """Sparse rows times a sparse weight, embeddings with sparse gradients."""
        mx, gluon, nd = self.mx, self.mx.gluon, self.mx.nd
        size, wide, fields = 64, 10_000, 8
        rows = np.zeros((size, wide), np.float32)
        for row in rows:
            row[self.random.randint(wide, size=20)] = 1
        data = nd.array(rows).tostype("csr")
        weight = nd.random.normal(0, 0.01, (wide, 2)).tostype("row_sparse")
        weight.attach_grad(stype="row_sparse")
        words, label = self.words(size, fields), self.words(size, top=2)
        net = gluon.nn.Sequential()
        net.add(
            gluon.nn.Embedding(WORDS, 16, sparse_grad=True),
            gluon.nn.Dense(50, activation="relu"),
            gluon.nn.Dense(2),
        )
        net.initialize(mx.init.Xavier())
        trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.001})
        sgd = mx.optimizer.create("sgd", learning_rate=0.01, lazy_update=True)
        update, loss = mx.optimizer.get_updater(sgd), gluon.loss.SoftmaxCELoss()

        def step() -> None:
            with mx.autograd.record():
                error = loss(nd.sparse.dot(data, weight) + net(words), label)
            error.backward()
            trainer.step(size)
            update(0, weight.grad, weight)

        return self.repeat(step)

    def user_sparse_module(self) -> Run:
        """Linear regression of rows in CSR form, a weight of sparse rows, an epoch."""
        mx, sym = self.mx, self.mx.sym
        size, wide, count = 32, 1000, 320
        rows = np.zeros((count, wide), np.float32)
        for row in rows:
            row[self.random.randint(wide, size=10)] = 1
        data = mx.nd.array(rows).tostype("csr")
        label = self.array(count, 1)
        feed = mx.io.NDArrayIter(
            data, label, size, label_name="label", last_batch_handle="discard"
        )
        weight = sym.var("weight", stype="row_sparse", shape=(wide, 1))
        bias = sym.var("bias", shape=(1,))
        scores = sym.sparse.dot(sym.var("data", stype="csr"), weight)
        out = sym.LinearRegressionOutput(
            sym.broadcast_add(scores, bias), sym.var("label"), name="out"
        )
        module = mx.mod.Module(out, data_names=["data"], label_names=["label"])
        module.bind(feed.provide_data, feed.provide_label)
        module.init_params(mx.init.Normal(0.01))
        module.init_optimizer(
            kvstore=None, optimizer="sgd", optimizer_params={"learning_rate": 0.01}
        )
        return self.epochs(module, feed, mx.metric.MSE())

    def user_module(self) -> Run:
        """An epoch of a small network in the loop of `Module`, with its metric."""
        mx, sym = self.mx, self.mx.sym
        x = self.random.standard_normal(size=(640, 64)).astype("float32")
        y = self.random.randint(10, size=640).astype("float32")
        feed = mx.io.NDArrayIter(x, y, 32, shuffle=True)
        net = sym.FullyConnected(sym.var("data"), num_hidden=64, name="one")
        net = sym.FullyConnected(sym.relu(net), num_hidden=10, name="two")
        module = mx.mod.Module(sym.SoftmaxOutput(net, name="softmax"))
        module.bind(feed.provide_data, feed.provide_label)
        module.init_params(mx.init.Xavier())
        module.init_optimizer(optimizer_params={"learning_rate": 0.01})
        return self.epochs(module, feed, mx.metric.Accuracy())

    def user_resnet(self) -> Run:
        """ResNet-18 of the zoo on sixteen small images, layer by layer."""
        mx = self.mx
        net = mx.gluon.model_zoo.vision.resnet18_v1(classes=10)
        loss = mx.gluon.loss.SoftmaxCrossEntropyLoss()
        x, y = self.array(16, 3, 32, 32), self.words(16, top=10)
        return self.repeat(self.trained([net], lambda: loss(net(x), y), 16))
