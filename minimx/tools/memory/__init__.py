"""Who holds memory: summaries, checks for leaks, and the error of a full device.

The core asks for this package as the extension "memory reports".
"""

from minimx.tools.memory.leaks import LeakCheck
from minimx.tools.memory.report import largest_owners, out_of_memory
from minimx.tools.memory.summary import Summary

__all__ = ["LeakCheck", "Summary", "largest_owners", "out_of_memory"]
