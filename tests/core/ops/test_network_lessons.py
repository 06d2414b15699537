"""What the sheets of a network's operators say when a call does not fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minimx.core.errors import DTypeError, OperatorError, ShapeError
from minimx.core.ops.registry import Op, lookup
from minimx.core.ops.spec import Spec


def spec(*shape: int, dtype: Any = "float32") -> Spec:
    return Spec.of(shape, np.dtype(dtype))


def of(name: str, **settings: Any) -> Op:
    return lookup(name).of(**settings)


LESSONS: list[tuple[str, dict[str, Any], list[Spec], type[Exception], str]] = [
    (
        "FullyConnected",
        {"num_hidden": 128},
        [spec(32, 100), spec(128, 256), spec(128)],
        ShapeError,
        "FullyConnected: data (32, 100) brings 100 features, weight (128, 256) expects "
        "256. Flatten data, or rebuild the layer.",
    ),
    (
        "Convolution",
        {"kernel": (3, 3), "num_filter": 4, "num_group": 2},
        [spec(1, 3, 8, 8), spec(4, 1, 3, 3), spec(4)],
        ShapeError,
        "num_group=2 does not divide the 3 channels",
    ),
    (
        "Convolution",
        {"kernel": (9, 9), "num_filter": 4},
        [spec(1, 3, 8, 8), spec(4, 3, 9, 9), spec(4)],
        ShapeError,
        "larger than the image",
    ),
    (
        "Convolution",
        {"kernel": (3,), "num_filter": 4},
        [spec(1, 3, 8, 8), spec(4, 3, 3), spec(4)],
        OperatorError,
        "kernel=(3,) has 1 numbers, but data has 2 image axes",
    ),
    (
        "Convolution",
        {"kernel": (3, 3), "num_filter": 4},
        [spec(1, 3, 8, 8), spec(4, 2, 3, 3), spec(4)],
        ShapeError,
        "weight is (4, 2, 3, 3), but data (1, 3, 8, 8) with kernel=(3, 3) asks for "
        "(4, 3, 3, 3)",
    ),
    (
        "Convolution",
        {"kernel": (3, 3), "num_filter": 4, "layout": "NHWC"},
        [spec(1, 8, 8, 3), spec(4, 3, 3, 3), spec(4)],
        OperatorError,
        "channels come second",
    ),
    (
        "Convolution",
        {"kernel": (3, 0), "num_filter": 4},
        [spec(1, 3, 8, 8), spec(4, 3, 3, 0), spec(4)],
        OperatorError,
        "kernel=(3, 0): no number may be below 1",
    ),
    (
        "Deconvolution",
        {"kernel": (3, 3), "num_filter": 4, "stride": (2, 2), "adj": (2, 0)},
        [spec(1, 3, 8, 8), spec(3, 4, 3, 3)],
        OperatorError,
        "adj=(2, 0) must be smaller than stride=(2, 2)",
    ),
    (
        "Deconvolution",
        {"kernel": (3, 3), "num_filter": 4, "target_shape": (20, 20)},
        [spec(1, 3, 8, 8), spec(3, 4, 3, 3)],
        ShapeError,
        "larger than (10, 10)",
    ),
    (
        "Deconvolution",
        {"kernel": (3, 3), "num_filter": 4},
        [spec(1, 3, 8, 8), spec(4, 3, 3, 3)],
        ShapeError,
        "asks for (3, 4, 3, 3)",
    ),
    (
        "Pooling",
        {"kernel": (2, 2), "pooling_convention": "same"},
        [spec(1, 3, 8, 8)],
        OperatorError,
        "Take 'full'",
    ),
    (
        "Pooling",
        {"kernel": (2, 2), "layout": "NWC"},
        [spec(1, 3, 8, 8)],
        ShapeError,
        "one for as many axes",
    ),
    (
        "Convolution",
        {"kernel": (3, 3), "num_filter": 4},
        [spec(1, 3, 8, 8), spec(4, 3, 3, 3, dtype="float64"), spec(4)],
        DTypeError,
        "data is float32 and weight float64",
    ),
    ("Pooling", {"kernel": (9, 9)}, [spec(1, 3, 8, 8)], ShapeError, "does not fit"),
    (
        "Pooling",
        {"kernel": (2, 2), "pad": (2, 2)},
        [spec(1, 3, 8, 8)],
        ShapeError,
        "nor the padding as large as the window",
    ),
    ("Pooling", {}, [spec(1, 3, 8, 8)], OperatorError, "needs kernel"),
    ("dot", {}, [spec(3, 4), spec(5, 2)], ShapeError, "over 4 elements of lhs (3, 4)"),
    ("batch_dot", {}, [spec(3, 4), spec(4, 2)], ShapeError, "For single matrices use"),
    (
        "BatchNorm",
        {},
        [spec(2, 3, 4), *[spec(4)] * 4],
        ShapeError,
        "gamma is (4,), but data (2, 3, 4) asks for (3,)",
    ),
    (
        "GroupNorm",
        {"num_groups": 3},
        [spec(2, 4, 5), spec(3), spec(3)],
        ShapeError,
        "3 groups do not divide the 4 channels",
    ),
    (
        "InstanceNorm",
        {},
        [spec(2, 4), spec(4), spec(4)],
        ShapeError,
        "at least three axes",
    ),
    ("LRN", {"nsize": 2}, [spec(2, 4, 3, 3)], OperatorError, "must be odd"),
    (
        "UpSampling",
        {"scale": 2},
        [spec(1, 3, 2, 2), spec(1, 3, 3, 3)],
        ShapeError,
        "its image must divide that",
    ),
    (
        "UpSampling",
        {"scale": 2, "sample_type": "bilinear", "num_filter": 2},
        [spec(1, 3, 2, 2), spec(3, 1, 4, 4)],
        OperatorError,
        "each gets a filter of its own",
    ),
    (
        "_contrib_BilinearResize2D",
        {"height": 0},
        [spec(1, 3, 2, 2)],
        ShapeError,
        "Ask for a larger one",
    ),
    (
        "GridGenerator",
        {"transform_type": "affine"},
        [spec(2, 6)],
        OperatorError,
        "must be the height and width",
    ),
    (
        "BilinearSampler",
        {},
        [spec(2, 3, 4, 4), spec(1, 2, 4, 4)],
        ShapeError,
        "as many samples",
    ),
    (
        "SpatialTransformer",
        {"target_shape": (2, 2)},
        [spec(2, 3, 4, 4), spec(2, 5)],
        ShapeError,
        "asks for (2, 6)",
    ),
    (
        "Correlation",
        {"max_displacement": 4},
        [spec(1, 3, 4, 4), spec(1, 3, 4, 4)],
        ShapeError,
        "Pad more",
    ),
    (
        "col2im",
        {"kernel": (2, 2), "output_size": (3, 3)},
        [spec(1, 8, 5)],
        ShapeError,
        "(N, C * 4, 4)",
    ),
    (
        "_contrib_DeformableConvolution",
        {"kernel": (3, 3), "num_filter": 2},
        [spec(1, 2, 4, 4), spec(1, 9, 2, 2), spec(2, 2, 3, 3), spec(2)],
        ShapeError,
        "offset is (1, 9, 2, 2), but data (1, 2, 4, 4) asks for (1, 18, 2, 2)",
    ),
    ("softmax", {}, [spec(3, dtype="int32")], DTypeError, ".astype('float32')"),
    (
        "SoftmaxOutput",
        {},
        [spec(3, 4), spec(5)],
        ShapeError,
        "asks for 3 class numbers",
    ),
    (
        "sgd_mom_update",
        {"lr": 0.1},
        [spec(3), spec(3), spec(4)],
        ShapeError,
        "mom is (4,), but weight asks for (3,)",
    ),
    (
        "multi_sgd_update",
        {"lrs": (0.1,), "wds": (0,), "num_weights": 1},
        [spec(3)],
        OperatorError,
        "each weight needs weight, grad",
    ),
]


class TestLessons:
    """Bad input meets a sentence that says what is true and what to try."""

    @pytest.mark.parametrize(
        ("name", "settings", "specs", "error", "words"),
        LESSONS,
        ids=[f"{row[0]}-{k}" for k, row in enumerate(LESSONS)],
    )
    def test_at_the_call(
        self,
        name: str,
        settings: dict[str, Any],
        specs: list[Spec],
        error: type[Exception],
        words: str,
    ) -> None:
        with pytest.raises(error) as caught:
            of(name, **settings).plan(tuple(specs))
        assert words in str(caught.value)

    @pytest.mark.parametrize(
        ("name", "settings", "words"),
        [
            ("Activation", {"act_type": "rleu"}, "Did you mean relu?"),
            ("LeakyReLU", {"act_type": "leeky"}, "Did you mean leaky?"),
            ("Pooling", {"kernel": (2, 2), "pool_type": "mean"}, "max, avg, sum"),
            ("Pooling", {"kernel": (2, 2), "pool_type": "lp"}, "needs p_value=1, 2"),
            ("Convolution", {"kernel": (), "num_filter": 3}, "is no window"),
            ("_contrib_BilinearResize2D", {"scale_width": 2.0}, "give both"),
            ("UpSampling", {"scale": 2, "sample_type": "cubic"}, "nearest, bilinear"),
            ("Dropout", {"p": 1.5}, "from 0 to 1"),
            ("SoftmaxOutput", {"normalization": "none"}, "null, batch or valid"),
            ("Convolution", {"num_filter": 3}, "needs kernel"),
            (
                "multi_sgd_update",
                {"lrs": (1, 2), "wds": (0, 0), "num_weights": 3},
                "lrs has 2 numbers for num_weights=3",
            ),
        ],
    )
    def test_in_the_settings(
        self, name: str, settings: dict[str, Any], words: str
    ) -> None:
        with pytest.raises(OperatorError) as caught:
            of(name, **settings)
        assert words in str(caught.value)
