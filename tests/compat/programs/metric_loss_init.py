"""Metrics, losses and initializers."""

import numpy as np
import mxnet as mx
from mxnet import autograd, gluon, init, metric, nd
from mxnet.gluon import loss as gloss, nn
# %%
acc = metric.Accuracy()
acc.update([nd.array([0, 1, 1])], [nd.array([[0.3, 0.7], [0, 1.0], [0.4, 0.6]])])
acc.get(), str(acc), acc.name, acc.num_inst, acc.sum_metric
# %%
acc.reset()
acc.get()
# %%
acc.update(nd.array([0, 1]), nd.array([0, 0]))
acc.get(), acc.get_name_value(), acc.get_config()
# %%
acc.update([nd.array([0, 1])], [nd.array([[1, 2]])])
# %%
topk = metric.TopKAccuracy(top_k=2)
topk.update([nd.array([2, 0])], [nd.array([[0.1, 0.5, 0.4], [0.1, 0.6, 0.3]])])
topk.get()
# %%
for name in ("mae", "mse", "rmse", "pearsonr"):
    m = metric.create(name)
    m.update([nd.array([3, -0.5, 2, 7])], [nd.array([2.5, 0.0, 2, 8])])
    print(m.get())
# %%
for m in (metric.CrossEntropy(), metric.NegativeLogLikelihood(), metric.Perplexity(ignore_label=None), metric.Perplexity(ignore_label=0)):
    m.update([nd.array([0, 1, 1])], [nd.array([[0.3, 0.7], [0, 1.0], [0.4, 0.6]])])
    print(m.get(), m)
# %%
for m in (metric.F1(), metric.MCC(), metric.F1(average="micro")):
    m.update([nd.array([0, 1, 1])], [nd.array([[0.3, 0.7], [0, 1.0], [0.4, 0.6]])])
    print(m.get())
# %%
m = metric.Loss()
m.update(None, [nd.array([1, 2, 3])])
m.update(0, nd.array([4.0]))
m.get()
# %%
m = metric.CompositeEvalMetric()
m.add(metric.Accuracy())
m.add("f1")
m.update([nd.array([0, 1, 1])], [nd.array([[0.3, 0.7], [0, 1.0], [0.4, 0.6]])])
m.get(), m.get_metric(0).get()
# %%
metric.create(["acc", "mse"]).get(), metric.create("acc"), metric.create(metric.Accuracy()).get()
# %%
def err(label, pred):
    return float(np.abs(label - pred).sum())
m = metric.create(err)
m.update([nd.array([1, 2])], [nd.array([1, 4])])
m.get()
# %%
m = metric.np(err)
m.update([nd.array([1, 2])], [nd.array([1, 4])])
m.get()
# %%
m = metric.CustomMetric(lambda l, p: (1.0, 2), name="half")
m.update([nd.array([1])], [nd.array([1])])
m.get()
# %%
metric.create("nothing")
# %%
metric.Accuracy(axis=0, name="my"), metric.Accuracy(output_names=["a"], label_names=["b"]).get_config()
# %%
m = metric.Accuracy()
m.update_dict({"label": nd.array([1])}, {"out": nd.array([[0.1, 0.9]])})
m.get(), m.get_global()
# %%
class Mine(metric.EvalMetric):
    def __init__(self):
        super().__init__("mine")
    def update(self, labels, preds):
        self.sum_metric += 3
        self.num_inst += 1
m = Mine()
m.update(1, 2)
m.get(), m
# %%
mx.metric.check_label_shapes([1], [1, 2])
# %%
pred = nd.array([[0.5, 1.5, -1.0], [2.0, -0.5, 0.1]])
lab = nd.array([1, 0])
dense = nd.array([[1.0, 0, 1], [0, 1, -1]])
def show(l, *args):
    args = [a.copy() for a in args]
    args[0].attach_grad()
    with autograd.record():
        out = l(*args)
    out.backward()
    print(type(l).__name__, out.asnumpy(), args[0].grad.asnumpy())
show(gloss.SoftmaxCrossEntropyLoss(), pred, lab)
show(gloss.SoftmaxCELoss(sparse_label=False), pred, nd.array([[0.2, 0.3, 0.5], [1, 0, 0]]))
show(gloss.SoftmaxCrossEntropyLoss(from_logits=True), pred, lab)
show(gloss.SoftmaxCrossEntropyLoss(axis=0), pred, nd.array([0, 1, 1]))
show(gloss.SoftmaxCrossEntropyLoss(weight=2), pred, lab)
show(gloss.SoftmaxCrossEntropyLoss(), pred, lab, nd.array([[0.5], [2]]))
# %%
show(gloss.L2Loss(), pred, dense)
show(gloss.L1Loss(), pred, dense)
show(gloss.L2Loss(weight=3, batch_axis=1), pred, dense)
show(gloss.SigmoidBinaryCrossEntropyLoss(), pred, nd.array([[1, 0, 1], [0, 1, 0]]))
show(gloss.SigmoidBCELoss(from_sigmoid=True), pred.sigmoid(), nd.array([[1, 0, 1], [0, 1, 0]]))
show(gloss.SigmoidBCELoss(), pred, nd.array([[1, 0, 1], [0, 1, 0]]), None, nd.array([[2.0, 1, 3]]))
# %%
show(gloss.HuberLoss(), pred, dense)
show(gloss.HuberLoss(rho=0.5), pred, dense)
show(gloss.HingeLoss(), pred, dense)
show(gloss.SquaredHingeLoss(margin=2), pred, dense)
show(gloss.LogisticLoss(), pred, dense)
show(gloss.LogisticLoss(label_format="binary"), pred, nd.array([[1, 0, 1], [0, 1, 0]]))
# %%
show(gloss.KLDivLoss(), pred.log_softmax(), nd.array([[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]]))
show(gloss.KLDivLoss(from_logits=False), pred, nd.array([[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]]))
# %%
show(gloss.TripletLoss(), pred, dense, -dense)
show(gloss.CosineEmbeddingLoss(), pred, dense, nd.array([1, -1]))
# %%
show(gloss.PoissonNLLLoss(), pred, nd.array([[1, 0, 1], [0, 1, 2]]))
# %% differs: a mistake of MXNet's
show(gloss.PoissonNLLLoss(from_logits=False, compute_full=True), pred.abs(), nd.array([[1, 0, 1], [0, 1, 2]]))
# %%
gloss.L2Loss(), gloss.SoftmaxCELoss(), repr(gloss.HuberLoss())
# %%
gloss.L2Loss()(nd.ones((2, 3)), nd.ones((2, 2)))
# %%
gloss.L2Loss()(nd.ones((2, 3)), nd.ones((6,))).shape, gloss.L1Loss()(nd.ones((4,)), nd.ones((4, 1)))
# %%
gloss.LogisticLoss(label_format="other")
# %%
class MyLoss(gloss.Loss):
    def __init__(self, weight=None, batch_axis=0, **kwargs):
        super().__init__(weight, batch_axis, **kwargs)
    def hybrid_forward(self, F, pred, label, sample_weight=None):
        l = F.abs(pred - label)
        return F.mean(l, axis=self._batch_axis, exclude=True)
MyLoss()(pred, dense), MyLoss()
# %%
def drawn(i, shape=(4, 3), name="fc_weight"):
    a = nd.zeros(shape)
    i(mx.init.InitDesc(name), a)
    return a
drawn(init.Zero()), drawn(init.One()), drawn(init.Constant(3)), drawn(init.Zero(), (3,), "x_bias"), drawn(init.Uniform(), (3,), "x_gamma"), drawn(init.Uniform(), (3,), "x_bias")
# %%
float(drawn(init.Uniform(0.5), (1000,)).abs().max().asscalar()) < 0.5, drawn(init.Normal(0.01), (1000,)).norm().asscalar() < 1
# %%
x = drawn(init.Xavier(), (100, 50))
bound = float(np.sqrt(3 / 75))
0.9 * bound < float(x.abs().max().asscalar()) <= bound
# %%
x = drawn(init.Xavier(rnd_type="gaussian", factor_type="in", magnitude=2), (500, 50)).asnumpy()
round(float(x.std()), 1), abs(x.std() - np.sqrt(2 / 50)) < 0.01
# %%
x = drawn(init.MSRAPrelu(), (500, 50)).asnumpy()
abs(x.std() - np.sqrt(2 / (1 + 0.25 ** 2) / 275)) < 0.01
# %%
x = drawn(init.Orthogonal(), (4, 4))
nd.dot(x, x.T).asnumpy().round(3)
# %%
drawn(init.Bilinear(), (1, 1, 4, 4)), drawn(init.LSTMBias(1.0), (8,))
# %%
drawn(init.Xavier(), (5,))
# %%
drawn(init.Uniform(), (5,), "strange")
# %%
drawn(init.Mixed([".*bias", ".*"], [init.One(), init.Zero()]), (2,), "x_bias"), drawn(init.Mixed([".*bias", ".*"], [init.One(), init.Constant(3)]), (2,), "x_weight")
# %%
class MyInit(init.Initializer):
    def _init_weight(self, name, data):
        print("Init", name, data.shape)
        data[:] = nd.random.uniform(low=-10, high=10, shape=data.shape)
        data *= data.abs() >= 5
net = nn.Sequential(prefix="p_")
net.add(nn.Dense(3, prefix="a_"), nn.Dense(2, prefix="b_"))
net.initialize(MyInit())
net(nd.ones((2, 4))).shape
# %%
net.initialize(init=MyInit(), force_reinit=True)
# %%
@init.register
class Sevens(init.Initializer):
    def __init__(self, scale=1):
        super().__init__(scale=scale)
        self.scale = scale
    def _init_weight(self, _, arr):
        arr[:] = 7 * self.scale
d = nn.Dense(2, in_units=2, weight_initializer="sevens", bias_initializer="ones")
d.initialize()
d.weight.data(), d.bias.data(), Sevens(2).dumps(), init.Xavier().dumps()
# %%
d = nn.Dense(2, in_units=2, weight_initializer=init.Constant(4), bias_initializer=init.Constant(nd.array([1, 2])))
d.initialize(init.Zero())
d.weight.data(), d.bias.data()
# %%
init.create("xavier", magnitude=3).dumps(), init.create("zeros").dumps()
# %%
init.create("nothing")
# %%
init.Uniform() == init.Uniform(), init.One() == init.Zero()
# %%
net[0].weight.initialize(init=init.Xavier(), force_reinit=True)
net[0].weight.set_data(net[0].weight.data() + 1)
net[0].weight.data().shape
# %%
d = nn.Dense(2, in_units=3)
d.initialize("ones")
d.weight.data()
# %%
nn.Dense(2, weight_initializer="nothing").initialize()
# %%
mx.initializer.Xavier is mx.init.Xavier, mx.init.Load
