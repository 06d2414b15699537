"""What the cases share: parameters filled by number, a step, its gradients."""

import mxnet as mx
import numpy as np

CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def filled(net, *inputs):
    """A network with parameters that depend on their place and shape only."""
    net.initialize()
    with mx.autograd.predict_mode():
        net(*inputs)  # lengths that were open are known now
    fill(net)
    return net


def fill(net):
    for place, parameter in enumerate(net.collect_params().values()):
        if parameter._grad is None and type(parameter).__name__ == "Constant":
            continue
        rng = np.random.RandomState(place)
        shape, name = parameter.shape, parameter.name
        if name.endswith(("gamma", "running_var", "moving_var")):
            value = rng.uniform(0.8, 1.2, shape)
        elif name.endswith(("weight", "parameters")) and len(shape) > 1:
            fan = max(np.prod(shape[1:]), 1)
            value = rng.normal(0, 1 / np.sqrt(fan), shape)
        elif parameter.grad_req == "null" and not name.endswith(
            ("running_mean", "moving_mean")
        ):
            continue  # constants, such as anchors
        else:
            value = rng.normal(0, 0.02, shape)
        parameter.set_data(mx.nd.array(value.astype("float32")))


def arrays(found):
    """The arrays in nested lists, from left to right."""
    if found is None:
        return []
    if isinstance(found, (list, tuple)):
        return [one for part in found for one in arrays(part)]
    return [found]


def fixed(block):
    """A training step that draws no random numbers: no dropout, no batch statistics."""
    if isinstance(block, mx.gluon.nn.Dropout):
        block._rate = 0
    elif isinstance(block, mx.gluon.nn.BatchNorm):
        block._kwargs["use_global_stats"] = True


def asked(net, *inputs, train=True, training=False):
    """Outputs of a prediction, hybridized as well; gradients of a step.

    training: record the step in training mode, with what is random switched off.
    Otherwise in prediction mode, where MXNet's own gradient of max pooling is wrong.
    """
    found = [x.asnumpy() for x in arrays(net(*inputs))]
    if not train:
        return found
    if training:
        net.apply(fixed)
    with mx.autograd.record(train_mode=training):
        outs = [x for x in arrays(net(*inputs)) if x.dtype == np.float32]
        loss = sum((x * x).mean() for x in outs)
    loss.backward(train_mode=training)  # as it was recorded
    found.append(loss.asnumpy())
    found += [norms(net)]
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01})
    trainer.step(1, ignore_stale_grad=True)
    return found


def norms(net):
    """The norm of the gradient of every parameter that has one."""
    return np.array(
        [
            p.grad().asnumpy().astype("float64").ravel() @ p.grad().asnumpy().ravel()
            for p in net.collect_params().values()
            if p.grad_req != "null" and p._stype == "default"
        ]
    )


def image(*shape):
    return mx.nd.array(np.random.RandomState(7).uniform(-1, 1, shape).astype("float32"))
