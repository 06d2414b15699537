"""`python -m minimx` is the command `minimx`."""

from __future__ import annotations

import sys

from minimx.commands.cli import main

if __name__ == "__main__":
    sys.exit(main())
