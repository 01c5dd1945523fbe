"""Screens: our parts of interpret's dashboard (``dash``), and the editor in a notebook.

Both editors share the buttons in ``actions`` and the plot in ``figure``. Everything here shows
released numbers; no screen sees a row of the private table.
"""

from __future__ import annotations
