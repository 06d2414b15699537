"""`mx.nd.image`: operators called `_image_*`, under their short names."""

from minimx.nd.rooms import open_room

open_room(__name__, "mx.nd.image", "_image_")
