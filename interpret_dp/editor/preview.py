"""What an edit would do, before it is made."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from interpret_dp.released import AdditiveModel, EditRecord

__all__ = ["Preview"]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Preview:
    """What an edit would do; the session is as it was.

    Attributes
    ----------
    record : EditRecord
        What would be written into the history.
    before, after : ndarray of float64, shape (n_codes,) or (n_codes, n_classes)
        Scores of the term.
    intercept : ndarray of float64, shape (1,) or (n_classes,)
        Intercept after the edit.
    released : AdditiveModel
        The whole model after the edit.
    changed : bool
        Whether anything would change.
    """

    record: EditRecord
    before: FloatArray
    after: FloatArray
    intercept: FloatArray
    released: AdditiveModel
    changed: bool
