"""The engine on a virtual clock: declared costs in place of time, repeatable.

The core asks for it as the extension "virtual time" where MINIMX_CLOCK is `virtual`.
"""

from minimx.tools.virtual_time.simulation import Simulation
from minimx.tools.virtual_time.virtual import VirtualEngine

__all__ = ["Simulation", "VirtualEngine"]
