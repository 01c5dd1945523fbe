"""Reading a released model back from its JSON file."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from interpret_dp.released import AdditiveModel

if TYPE_CHECKING:
    from interpret_dp.ebm.estimators import (
        DPExplainableBoostingClassifier,
        DPExplainableBoostingRegressor,
    )
    from interpret_dp.ledger import PrivacyLedger

__all__ = ["load_model"]


def load_model(
    path: str | os.PathLike[str], ledger: PrivacyLedger | str | None = None
) -> DPExplainableBoostingClassifier | DPExplainableBoostingRegressor:
    """Load a model that :meth:`save` wrote, as a fitted estimator.

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
    from interpret_dp.ebm.estimators import (
        DPExplainableBoostingClassifier,
        DPExplainableBoostingRegressor,
    )

    with open(path, encoding="utf-8") as file:
        try:
            document = json.load(file)
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            raise ValueError(f"{os.fspath(path)!r} is not a JSON file: {error}.") from error
    model = AdditiveModel.from_dict(document)
    kind = (
        DPExplainableBoostingClassifier
        if model.task == "classification"
        else DPExplainableBoostingRegressor
    )
    return kind.from_released(model, ledger)
