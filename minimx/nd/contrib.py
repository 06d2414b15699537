"""`mx.nd.contrib`: operators called `_contrib_*`, under their short names."""

from __future__ import annotations

from minimx.nd.contrib_functions import (  # noqa: F401
    isfinite,
    isinf,
    isnan,
    rand_zipfian,
)
from minimx.nd.contrib_updates import (  # noqa: F401 (offered here)
    adamw_update,
    mp_adamw_update,
    multi_adamw_update,
    multi_lamb_update,
    multi_mp_adamw_update,
    multi_mp_lamb_update,
)
from minimx.nd.control import cond, foreach, while_loop  # noqa: F401
from minimx.nd.namespaces import install_namespace

install_namespace(__name__, "mx.nd.contrib", "_contrib_")
