"""Reading a released model of any kind back from its JSON file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from interpret_dp._documents import read_json
from interpret_dp.ebm.estimators import from_document
from interpret_dp.released.background import BACKGROUND_FORMAT
from interpret_dp.released.locally_linear import MAPS_FORMAT, LocallyLinearModel
from interpret_dp.released.origin import note_file

if TYPE_CHECKING:
    from interpret_dp.ebm.estimators import (
        DPExplainableBoostingClassifier,
        DPExplainableBoostingRegressor,
    )
    from interpret_dp.ledger import PrivacyLedger
    from interpret_dp.llm.estimator import DPLocallyLinearClassifier


def load_model(
    path: str | os.PathLike[str], ledger: PrivacyLedger | str | None = None
) -> DPExplainableBoostingClassifier | DPExplainableBoostingRegressor | DPLocallyLinearClassifier:
    """Load a model that ``save`` wrote, as a fitted estimator.

    Parameters
    ----------
    path : path
        A JSON file; it is validated, nothing in it is executed. Its ``format`` names the kind of
        model.
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

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from interpret_dp import DPExplainableBoostingClassifier, load_model
    >>> from interpret_dp.datasets import make_cohort
    >>> patients = make_cohort(1_000)
    >>> model = DPExplainableBoostingClassifier(schema=patients.schema)
    >>> with TemporaryDirectory() as folder:
    ...     model.fit(patients.X, patients.y).save(f"{folder}/model.json")
    ...     again = load_model(f"{folder}/model.json")
    >>> bool((again.predict(patients.X) == model.predict(patients.X)).all())
    True
    """
    document = read_json(path)
    written = document.get("format") if isinstance(document, dict) else None
    if written == BACKGROUND_FORMAT:
        raise ValueError(
            f"{os.fspath(path)!r} holds a background, which is no model. Use "
            "PrivateBackground.load(path)."
        )
    if written == MAPS_FORMAT:
        from interpret_dp.llm.estimator import DPLocallyLinearClassifier

        return DPLocallyLinearClassifier.from_released(
            LocallyLinearModel.from_dict(document), ledger
        )
    estimator = from_document(document, ledger)
    note_file(estimator.released_, path)
    return estimator
