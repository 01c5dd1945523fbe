"""``python -m interpret_dp`` is the command ``interpret-dp``."""

from __future__ import annotations

import sys

from interpret_dp.cli import main

if __name__ == "__main__":
    sys.exit(main())
