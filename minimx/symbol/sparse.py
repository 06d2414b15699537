"""`mx.sym.sparse`: every operator; which kernel runs, the arrays' storage decides."""

from minimx.nd.rooms import open_room
from minimx.symbol.functions import FUNCTIONS

open_room(__name__, "mx.sym.sparse", "_sparse_", "", functions=FUNCTIONS)
