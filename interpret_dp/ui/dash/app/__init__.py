"""The privacy panel and the privacy tab of interpret's dashboard, and the way into its apps."""

from __future__ import annotations
