"""The benchmark problems: public tables, what is declared about them, splits and metrics."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from benchmarks.tables import load_benchmark
from interpret_dp import PrivacyWarning, Schema

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "DELTA",
    "EPSILONS",
    "PROBLEMS",
    "PUBLISHED",
    "PUBLISHED_DELTA",
    "TABLES",
    "TEST_FRACTION",
    "Problem",
    "Split",
    "load_problem",
    "metric_of",
]

DELTA = 1e-6
EPSILONS = (0.1, 0.5, 1.0, 2.0, 4.0, 8.0)
TEST_FRACTION = 0.2

TABLES = (
    "adult",
    "credit_fraud",
    "telco",
    "california_housing",
    "elevators",
    "pol",
    "wine_quality",
)
"""Problems on which the reference is measured: the public tables of Nori et al. (2021), Table 1."""

PUBLISHED = {
    "adult_complete": {0.01: 0.787, 0.02: 0.831, 0.03: 0.849, 0.1: 0.876, 0.5: 0.893},
    "abalone": {0.05: 2.92, 0.1: 2.75, 0.2: 2.66, 0.3: 2.62, 0.5: 2.58},
}
"""Scores by epsilon of S-BDT (Peinemann et al., arXiv 2309.12041): boosted trees whose settings
were chosen for each epsilon, on 80/20 splits."""
PUBLISHED_DELTA = 5e-8

PROBLEMS = (*TABLES, *PUBLISHED)

_CLASSIFICATION = ("adult", "credit_fraud", "adult_complete", "telco")


@dataclass(frozen=True)
class Split:
    """Training and test rows of one split; every engine gets the same."""

    X_train: pd.DataFrame
    y_train: pd.Series[Any]
    X_test: pd.DataFrame
    y_test: pd.Series[Any]


@dataclass(frozen=True)
class Problem:
    """A table with its public declaration.

    Attributes
    ----------
    name : str
    X : DataFrame, shape (n_rows, n_features)
    y : Series, shape (n_rows,)
    schema : Schema
        The file's minima and maxima and its sorted levels, taken as public; no log scales.
    task : {"classification", "regression"}
    delta : float
    epsilons : tuple of float
        What is measured unless other epsilons are asked for.
    """

    name: str
    X: pd.DataFrame
    y: pd.Series[Any]
    schema: Schema
    task: Literal["classification", "regression"]
    delta: float = DELTA
    epsilons: tuple[float, ...] = EPSILONS

    def split(self, number: int) -> Split:
        """Draw the 80/20 split with ``random_state=number``."""
        from sklearn.model_selection import train_test_split

        X_train, X_test, y_train, y_test = train_test_split(
            self.X, self.y, test_size=TEST_FRACTION, random_state=number
        )
        return Split(X_train, y_train, X_test, y_test)

    def score(self, y: pd.Series[Any], predicted: NDArray[np.float64]) -> float:
        """Measure predictions.

        Parameters
        ----------
        y : Series, shape (n_rows,)
        predicted : ndarray of float64, shape (n_rows,)
            Probability of the second class, or predicted target.
        """
        if self.task == "regression":
            return math.sqrt(float(np.mean((y.to_numpy() - predicted) ** 2)))
        from sklearn.metrics import roc_auc_score

        return float(roc_auc_score(y, predicted))


def metric_of(name: str) -> str:
    """AUROC (higher is better) or RMSE (lower is better)."""
    return "AUROC" if name in _CLASSIFICATION else "RMSE"


def load_problem(name: str) -> Problem:
    """Load a table and declare what its file says.

    Parameters
    ----------
    name : str
        One of ``PROBLEMS``. ``adult_complete`` is adult without the rows with missing values.
    """
    X, y = load_benchmark(name.removesuffix("_complete"))
    if name.endswith("_complete"):
        X = X.dropna()
        y = y.loc[X.index]
    task: Literal["classification", "regression"] = (
        "classification" if name in _CLASSIFICATION else "regression"
    )
    with warnings.catch_warnings():
        # The tables are public.
        warnings.simplefilter("ignore", PrivacyWarning)
        schema = Schema.draft(X.assign(target=y), target="target", task=task)
    if name in PUBLISHED:
        return Problem(name, X, y, schema, task, PUBLISHED_DELTA, tuple(PUBLISHED[name]))
    return Problem(name, X, y, schema, task)
