"""Our part of interpret's live dashboard; the only code that imports Dash.

Nothing here is imported until the first app of Dash is made; see ``app.hooks``.
"""

from __future__ import annotations
