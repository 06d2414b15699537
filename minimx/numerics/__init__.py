"""`mx.numerics`: how large the numbers of a network are, while it trains. Ours.

    with mx.Record() as record, mx.numerics.watch(net, trainer, interval=10):
        ...                                   # train
    NumericsMonitor(record)                   # from minimx_widgets

Reading order: `minimx.core.dtypes.Layout` (which powers of two a type has),
`operators/kernels/arrays/exponents.py` (numbers counted by power of two),
`histogram.py` (what becomes of them in another type, or under another loss scale;
pure), `watch.py` (looks at a network that trains), `read.py` (the looks that a record
remembers).
"""

from __future__ import annotations

from minimx.numerics.histogram import ZONES, Histogram, merged
from minimx.numerics.read import Look, looks
from minimx.numerics.watch import Watch, watch

__all__ = ["ZONES", "Histogram", "Look", "Watch", "looks", "merged", "watch"]
