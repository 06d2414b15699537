"""`mx.sym.sparse`: every operator; which kernel runs, the arrays' storage decides."""

from minimx.nd.namespaces import install_namespace
from minimx.symbol.functions import FUNCTIONS

install_namespace(__name__, "mx.sym.sparse", "_sparse_", "", functions=FUNCTIONS)
