"""The shape-function editor as a card of interpret's dashboard."""

from __future__ import annotations
