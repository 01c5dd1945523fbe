"""Explanations of released models, each with what it cost."""

from __future__ import annotations

from interpret_dp.explanation.plan import PlannedCurve, PlannedFit
from interpret_dp.explanation.spend import PrivacySpend

__all__ = ["PlannedCurve", "PlannedFit", "PrivacySpend"]
