"""`mx.nd.contrib`: operators called `_contrib_*`, under their short names."""

from minimx.nd.rooms import open_room

open_room(__name__, "mx.nd.contrib", "_contrib_")
