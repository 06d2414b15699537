"""Examples of the oneDNN backend's knobs."""

from __future__ import annotations

from functools import partial

from minimx.tools.knob_examples import Example
from minimx.tools.knob_examples.needs import ONEDNN

backend = partial(Example, needs=ONEDNN)

EXAMPLES = {
    "MXNET_ONEDNN_ENABLED": backend(
        acts_in="minimx.fast.convolution.choosing.excluded",
        reads="onednn",
        code="""\
from minimx.core.operators.conv import Convolution
conv = Convolution.of(kernel=(3, 3), num_filter=8)
found = conv.choice("forward", mx.nd.ones((2, 8, 9, 9)).spec)
against = {one.algorithm.name: one.excluded for one in found}
print("against oneDNN:", against["onednn"] or "nothing")""",
        expect={
            "1": "against oneDNN: nothing",
            "0": "against oneDNN: MXNET_ONEDNN_ENABLED=0",
        },
    ),
    "MXNET_ONEDNN_CACHE_NUM": backend(
        acts_in="minimx.fast.onednn.lru_cache.LruCache.keep_at_most",
        reads="keep_at_most",
        code="""\
with mx.knobs(MXNET_ONEDNN_CACHE_NUM=0): w = mx.nd.ones((8, 8, 3, 3))  # forget all
for size in (9, 10, 11, 12, 13):
    x = mx.nd.ones((2, 8, size, size))
    mx.nd.Convolution(x, w, kernel=(3, 3), num_filter=8, no_bias=True).asnumpy()
print(mx.runtime.onednn_primitives().kept, "primitives kept")""",
        expect={
            "-1": "5 primitives kept",
            "2": "2 primitives kept",
        },
    ),
}
