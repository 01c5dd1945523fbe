"""Our part of interpret's live dashboard: privacy panel, privacy tab, and what terms are shown by.

Nothing here is imported until the first app of Dash is made; see ``hooks``.
"""

from __future__ import annotations
