"""`mx.sym.linalg`: operators called `_linalg_*`, under their short names."""

from minimx.nd.rooms import open_room
from minimx.symbol.functions import FUNCTIONS

open_room(__name__, "mx.sym.linalg", "_linalg_", functions=FUNCTIONS)
