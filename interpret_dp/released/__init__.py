"""Released, public models: they hold no row, no exact count and nothing that was not paid for."""

from __future__ import annotations

from interpret_dp.released.additive_model import AdditiveModel, EditRecord
from interpret_dp.released.summary import ModelSummary, summarise
from interpret_dp.released.terms import AdditiveFeature, AdditiveTerm, Band, FeaturePair

__all__ = [
    "AdditiveFeature",
    "AdditiveModel",
    "AdditiveTerm",
    "Band",
    "EditRecord",
    "FeaturePair",
    "ModelSummary",
    "summarise",
]
