"""Released, public models: they hold no row, no exact count and nothing that was not paid for."""

from __future__ import annotations

from interpret_dp.released.additive_model import (
    AdditiveFeature,
    AdditiveModel,
    AdditiveTerm,
    FeaturePair,
)
from interpret_dp.released.edits import EditRecord

__all__ = ["AdditiveFeature", "AdditiveModel", "AdditiveTerm", "EditRecord", "FeaturePair"]
