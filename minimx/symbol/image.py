"""`mx.sym.image`: operators called `_image_*`, under their short names."""

from minimx.nd.rooms import open_room
from minimx.symbol.functions import FUNCTIONS

open_room(__name__, "mx.sym.image", "_image_", functions=FUNCTIONS)
