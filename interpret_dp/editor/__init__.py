"""Editing the shape functions of a released model: post-processing, so it costs no privacy.

Everything here works on released numbers alone and never sees a row. The one exception is the
module ``public_rows``: metrics on rows that the caller declares public.
"""

from __future__ import annotations

from interpret_dp.editor.autosave import Autosave, EarlierEdits
from interpret_dp.editor.bins import TermView
from interpret_dp.editor.operations import Operation, Preview
from interpret_dp.editor.recipes import KINDS
from interpret_dp.editor.session import EditSession
from interpret_dp.editor.verdict import Bump, Suggestion, Verdict

__all__ = [
    "KINDS",
    "Autosave",
    "Bump",
    "EarlierEdits",
    "EditSession",
    "Operation",
    "Preview",
    "Suggestion",
    "TermView",
    "Verdict",
]
