"""`mx.nd.image`: operators called `_image_*`, under their short names."""

from minimx.nd.namespaces import install_namespace

install_namespace(__name__, "mx.nd.image", "_image_")
