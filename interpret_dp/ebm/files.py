"""Reading a released additive model back from its JSON file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from interpret_dp._documents import read_json
from interpret_dp.released import AdditiveModel

if TYPE_CHECKING:
    from interpret_dp.ebm.estimators import (
        DPExplainableBoostingClassifier,
        DPExplainableBoostingRegressor,
    )
    from interpret_dp.ledger import PrivacyLedger

__all__ = ["from_document", "load_model"]


def load_model(
    path: str | os.PathLike[str], ledger: PrivacyLedger | str | None = None
) -> DPExplainableBoostingClassifier | DPExplainableBoostingRegressor:
    """Load an additive model that ``save`` wrote, as a fitted estimator.

    Parameters
    ----------
    path : path
        A JSON file; it is validated, nothing in it is executed.
    ledger : PrivacyLedger or str, default=None
        Where the data set's account can be read, for the privacy line of explanations.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file is not a model of this package, was changed after it was written, or is
        incomplete or contradicts itself. A file of a version before seals is only checked for
        the latter two.
    """
    return from_document(read_json(path), ledger)


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
