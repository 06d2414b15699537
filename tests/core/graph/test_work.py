from __future__ import annotations

from minimx import gluon, nd
from minimx.core import autograd
from minimx.core.knobs import knobs
from minimx.core.record import Record


def recorded(**knobs_: object) -> Record:
    net = gluon.nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(gluon.nn.Dense(8), gluon.nn.Dense(4))
        net.add(gluon.nn.HybridLambda(lambda F, x: F.tanh(F.exp(x) * 2 + 1)))
    net.initialize()
    net.hybridize(static_alloc=True, static_shape=True)
    x = nd.ones((5, 3))
    x.attach_grad()
    with knobs(**knobs_), Record() as record:
        for _ in range(2):
            with autograd.record():
                y = net(x)
            y.backward()
        nd.waitall()
    return record


def test_the_parts_of_a_segment_add_up_to_it() -> None:
    for fusion in (False, True):
        record = recorded(MXNET_USE_FUSION=fusion)
        parts, ops = record.table("parts"), record.ops()
        joined = ops[ops["work"] > 0]
        assert len(joined) == 4  # forward and backward, twice
        assert len(set(joined["work"].tolist())) == 2
        for op in joined:
            mine = parts[parts["work"] == op["work"]]
            assert len(mine) > 1
            assert mine["flops"].sum() == op["flops"] > 0
            assert mine["nbytes"].sum() == op["nbytes"] > 0
        layers = set(record.texts(parts["layer"]))
        assert {"net/dense0", "net/dense1", "net/hybridlambda0"} <= layers
        assert {"exp", "tanh"} <= set(record.texts(parts["name"]))
        assert "_FusedOp" not in record.texts(parts["name"])


def test_an_operator_alone_has_no_parts() -> None:
    record = recorded(MXNET_EXEC_BULK_EXEC_TRAIN=False)
    assert record.ops()["graph"].any()
    assert not record.ops()["work"][record.ops()["graph"]].all()
