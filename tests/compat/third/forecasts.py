"""Estimators of GluonTS: the loss of a batch, its gradients, a forecast."""

import mxnet as mx
import numpy as np
from common import CASES, arrays, fill, norms


def series(freq="D", count=6, length=120):
    from gluonts.dataset.common import ListDataset

    rng = np.random.RandomState(11)
    rows = [
        {
            "start": "2020-01-01",
            "target": (5 + np.sin(np.arange(length) / 7) + rng.normal(0, 0.1, length)),
            "feat_static_cat": [k % 3],
        }
        for k in range(count)
    ]
    return ListDataset(rows, freq=freq)


def forecast(name, make):
    def run():
        from gluonts.mx.trainer import Trainer

        found = []

        class Once(Trainer):
            def __call__(self, net, train_iter, validation_iter=None):
                batch = next(iter(train_iter))
                net.initialize(mx.init.Xavier())
                inputs = list(batch.values())
                net(*inputs)
                fill(net)
                mx.random.seed(1)
                with mx.autograd.record(train_mode=False):
                    loss = arrays(net(*inputs))[0].mean()
                loss.backward(train_mode=False)  # as it was recorded
                found.extend([loss.asnumpy(), norms(net)])
                trainer = mx.gluon.Trainer(
                    net.collect_params(), "adam", {"learning_rate": 0.001}
                )
                trainer.step(1, ignore_stale_grad=True)

        np.random.seed(3)
        mx.random.seed(3)
        data, few = series(), series(count=2)
        if name in JOINT:
            from gluonts.dataset.multivariate_grouper import MultivariateGrouper

            data = few = MultivariateGrouper(max_target_dim=6)(data)
        estimator = make(Once(epochs=1, num_batches_per_epoch=1, hybridize=False))
        predictor = estimator.train(data)
        forecasts = list(predictor.predict(few))
        found.append(np.array([len(forecasts), *forecasts[0].mean.shape]))
        return found

    run.__name__ = "ts_" + name
    CASES[run.__name__] = run


D = {"freq": "D", "prediction_length": 5}


def _estimator(module, name, **settings):
    def make(trainer):
        import importlib

        kind = getattr(importlib.import_module(module), name)
        return kind(trainer=trainer, **settings)

    return make


def _gaussian(trainer):
    from gluonts.mx import DeepAREstimator
    from gluonts.mx.distribution import GaussianOutput

    return DeepAREstimator(
        trainer=trainer,
        num_cells=8,
        num_layers=1,
        dropout_rate=0.0,
        batch_size=4,
        freq="D",
        distr_output=GaussianOutput(),
        **S,
    )


S = {"prediction_length": 5, "context_length": 10}
VECTOR = S | {
    "target_dim": 6,
    "num_cells": 4,
    "num_layers": 1,
    "dropout_rate": 0.0,
    "freq": "D",
    "batch_size": 4,
    "pick_incomplete": True,
    "use_marginal_transformation": False,
    "rank": 2,
}
#: Those that forecast all series together.
JOINT = ("lstnet", "deepvar", "gpvar")
for name, make in {
    "simple_feedforward": _estimator(
        "gluonts.mx",
        "SimpleFeedForwardEstimator",
        num_hidden_dimensions=[8],
        batch_size=4,
        **S,
    ),
    "deepar": _estimator(
        "gluonts.mx",
        "DeepAREstimator",
        num_cells=8,
        num_layers=1,
        dropout_rate=0.0,
        batch_size=4,
        freq="D",
        **S,
    ),
    "mqcnn": _estimator(
        "gluonts.mx", "MQCNNEstimator", batch_size=4, freq="D", seed=1, **S
    ),
    "mqrnn": _estimator("gluonts.mx", "MQRNNEstimator", batch_size=4, freq="D", **S),
    "transformer": _estimator(
        "gluonts.mx",
        "TransformerEstimator",
        model_dim=8,
        num_heads=2,
        inner_ff_dim_scale=2,
        dropout_rate=0.0,
        batch_size=4,
        freq="D",
        **S,
    ),
    "tft": _estimator(
        "gluonts.mx",
        "TemporalFusionTransformerEstimator",
        freq="D",
        hidden_dim=8,
        num_heads=2,
        dropout_rate=0.0,
        batch_size=4,
        **S,
    ),
    "nbeats": _estimator(
        "gluonts.mx",
        "NBEATSEstimator",
        freq="D",
        num_stacks=2,
        widths=[8],
        num_blocks=[1],
        num_block_layers=[2],
        expansion_coefficient_lengths=[4],
        sharing=[False],
        stack_types=["G"],
        batch_size=4,
        **S,
    ),
    "canonical_rnn": _estimator(
        "gluonts.mx",
        "CanonicalRNNEstimator",
        freq="D",
        num_cells=8,
        num_layers=1,
        cardinality=[3],
        **S,
    ),
    "deepstate": _estimator(
        "gluonts.mx",
        "DeepStateEstimator",
        freq="D",
        prediction_length=5,
        cardinality=[3],
        use_feat_static_cat=True,
        num_cells=8,
        num_layers=1,
        dropout_rate=0.0,
        batch_size=4,
        past_length=20,
    ),
    "deepfactor": _estimator(
        "gluonts.mx",
        "DeepFactorEstimator",
        freq="D",
        num_hidden_global=8,
        num_layers_global=1,
        num_factors=3,
        num_hidden_local=4,
        num_layers_local=1,
        batch_size=4,
        cardinality=[3],
        **S,
    ),
    "deeptpp_skipped_rnn": _estimator(
        "gluonts.mx.model.deepar",
        "DeepAREstimator",
        num_cells=8,
        num_layers=2,
        cell_type="gru",
        dropout_rate=0.0,
        batch_size=4,
        freq="D",
        **S,
    ),
    "deepar_gaussian": _gaussian,
    "lstnet": _estimator(
        "gluonts.mx.model.lstnet",
        "LSTNetEstimator",
        num_series=6,
        channels=4,
        kernel_size=3,
        rnn_num_layers=1,
        skip_rnn_num_layers=1,
        skip_size=2,
        ar_window=4,
        rnn_num_cells=4,
        skip_rnn_num_cells=4,
        dropout_rate=0.0,
        batch_size=4,
        **S,
    ),
    "deepvar": _estimator(
        "gluonts.mx",
        "DeepVAREstimator",
        **VECTOR,
    ),
    "gpvar": _estimator(
        "gluonts.mx",
        "GPVAREstimator",
        target_dim_sample=3,
        **VECTOR,
    ),
    "gp": _estimator(
        "gluonts.mx",
        "GaussianProcessEstimator",
        freq="D",
        prediction_length=5,
        context_length=10,
        cardinality=6,
        batch_size=4,
    ),
}.items():
    forecast(name, make)
