"""Reading a released additive model back from its JSON file."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from interpret_dp.released import AdditiveModel

if TYPE_CHECKING:
    from interpret_dp.ebm.estimators import (
        DPExplainableBoostingClassifier,
        DPExplainableBoostingRegressor,
    )
    from interpret_dp.ledger import PrivacyLedger

__all__ = ["from_document", "load_model", "read_document"]


def load_model(
    path: str | os.PathLike[str], ledger: PrivacyLedger | str | None = None
) -> DPExplainableBoostingClassifier | DPExplainableBoostingRegressor:
    """Load an additive model that :meth:`save` wrote, as a fitted estimator.

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
        If the file is not a model of this package, or is incomplete or contradicts itself.
    """
    return from_document(read_document(path), ledger)


def read_document(path: str | os.PathLike[str]) -> Any:
    """Return what a JSON file holds.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If it is not a JSON file.
    """
    with open(path, encoding="utf-8") as file:
        try:
            return json.load(file)
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            raise ValueError(f"{os.fspath(path)!r} is not a JSON file: {error}.") from error
        except RecursionError:
            raise ValueError(
                f"{os.fspath(path)!r} is nested too deep for a model. Restore the file."
            ) from None


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
