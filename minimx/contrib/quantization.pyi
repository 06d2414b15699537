# For type checkers: the alias of `minimx.aliases`.
from minimx.quantization import *
from minimx.quantization import _LayerHistogramCollector as _LayerHistogramCollector
from minimx.quantization import (
    _LayerOutputMinMaxCollector as _LayerOutputMinMaxCollector,
)
