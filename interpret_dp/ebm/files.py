"""A fitted estimator from a released additive model's document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interpret_dp.released import AdditiveModel

if TYPE_CHECKING:
    from interpret_dp.ebm.estimators import (
        DPExplainableBoostingClassifier,
        DPExplainableBoostingRegressor,
    )
    from interpret_dp.ledger import PrivacyLedger

__all__ = ["from_document"]


def from_document(
    document: Any, ledger: PrivacyLedger | str | None
) -> DPExplainableBoostingClassifier | DPExplainableBoostingRegressor:
    """Return the estimator of an additive model's document.

    Raises
    ------
    ValueError
        If the document is not such a model, or is incomplete or contradicts itself.
    """
    from interpret_dp.ebm.estimators import (
        DPExplainableBoostingClassifier,
        DPExplainableBoostingRegressor,
    )

    model = AdditiveModel.from_dict(document)
    kind = (
        DPExplainableBoostingClassifier
        if model.task == "classification"
        else DPExplainableBoostingRegressor
    )
    return kind.from_released(model, ledger)
