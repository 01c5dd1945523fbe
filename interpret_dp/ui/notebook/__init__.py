"""The shape-function editor as widgets of a notebook."""

from __future__ import annotations
