"""Simulated tables with known truth.

Nothing here is private. Simulated rows are made up, so this module may draw its own numbers; it is
the only one outside ``mechanisms`` that does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from interpret_dp._validate import check_choice, check_int, check_real
from interpret_dp.exceptions import SchemaError
from interpret_dp.schema import Categorical, Continuous, Integer, Schema
from interpret_dp.schema.encode import fine_edges

# A public module by itself, whose names the reference lists.
__all__ = ["Cohort", "Curve", "make_cohort", "simulate_table"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Curve:
    """The true shape function of one feature.

    Attributes
    ----------
    feature : str
        Name of the feature.
    shape : callable or mapping
        A function from an array of values to an array of scores, or the score of each level.
    missing : float
        Score of a missing value, before ``factor`` and ``offset``.
    factor : float
        Unit of the score: 1 for log-odds, the price of one log-odds unit for costs.
    offset : float
        Added last; it centres the curve over the cohort.

    Examples
    --------
    >>> import numpy as np
    >>> from interpret_dp.datasets import make_cohort
    >>> age = make_cohort(100).curves["age"]
    >>> age(np.array([20.0, 70.0])).round(2)
    array([-0.83,  0.29])
    """

    feature: str
    shape: Callable[[Floats], Floats] | Mapping[str, float]
    missing: float = 0.0
    factor: float = 1.0
    offset: float = 0.0

    def __call__(self, values: Any) -> Floats:
        """Return the scores of raw values, missing ones included.

        Parameters
        ----------
        values : array-like of shape (n,)
            Numbers or levels; None and NaN are missing.

        Returns
        -------
        ndarray of float64, shape (n,)
            Log-odds or currency, as ``factor`` says.

        Raises
        ------
        ValueError
            If a level is not one of the feature's levels.
        """
        column = pd.Series(values)
        if isinstance(self.shape, Mapping):
            unknown = sorted(set(column.dropna()) - set(self.shape))
            if unknown:
                raise ValueError(
                    f"{self.feature!r} has no level {unknown[0]!r}; its levels are "
                    f"{', '.join(map(repr, self.shape))}."
                )
            scores = column.map(dict(self.shape)).to_numpy(dtype=np.float64, na_value=np.nan)
        else:
            numbers = pd.to_numeric(column).to_numpy(dtype=np.float64, na_value=np.nan)
            scores = np.where(np.isnan(numbers), np.nan, self.shape(np.nan_to_num(numbers)))
        scores = np.where(np.isnan(scores), self.missing, scores)
        return np.asarray(self.factor * scores + self.offset, dtype=np.float64)


@dataclass(frozen=True)
class Cohort:
    """A simulated table with its public schema and the truth that it was drawn from.

    Attributes
    ----------
    X : DataFrame of shape (n_rows, 10)
        The features.
    y : Series of shape (n_rows,)
        "yes" or "no" (readmitted within 30 days), or the annual cost in currency units.
    schema : Schema
        Bounds and levels that a hospital could state without looking at its patients.
    curves : mapping of str to Curve
        The true shape function of each feature, centred so that its mean over the cohort's rows is
        zero, as an explainable boosting machine centres its terms.
    intercept : float
        Log-odds, or currency units, to which the curves add.

    Examples
    --------
    >>> from interpret_dp.datasets import make_cohort
    >>> cohort = make_cohort(100)
    >>> len(cohort.X), sorted(cohort.curves)[:3]
    (100, ['admission_type', 'age', 'bmi'])
    """

    X: pd.DataFrame
    y: pd.Series[Any]
    schema: Schema
    curves: Mapping[str, Curve]
    intercept: float

    def score(self, X: pd.DataFrame) -> Floats:
        """Return the true score (log-odds of "yes", or expected cost) of rows, shape (n,)."""
        effects = sum(curve(X[name]) for name, curve in self.curves.items())
        return np.asarray(self.intercept + effects, dtype=np.float64)


def _age_risk(years: Floats) -> Floats:
    return 1.6 / (1.0 + np.exp((62.0 - years) / 9.0))


def _blood_pressure_risk(mmhg: Floats) -> Floats:
    return np.minimum(((mmhg - 125.0) / 40.0) ** 2, 2.0)


def _stay_risk(days: Floats) -> Floats:
    return 0.5 * np.log1p(days)


def _creatinine_risk(mg_per_dl: Floats) -> Floats:
    # Patients are referred for treatment from 1.5 mg/dl on, which helps them.
    rising = 1.1 * np.log(np.clip(mg_per_dl, 0.5, 6.0))
    return rising - 0.8 * (mg_per_dl >= 1.5)


def _prior_admission_risk(number: Floats) -> Floats:
    return 0.6 * np.sqrt(np.minimum(number, 8.0))


_CURVES = (
    Curve("age", _age_risk),
    Curve("systolic_bp", _blood_pressure_risk),
    Curve("bmi", np.zeros_like),
    Curve("length_of_stay", _stay_risk),
    Curve("creatinine", _creatinine_risk, missing=-0.4),
    Curve("prior_admissions", _prior_admission_risk),
    Curve("sex", {"female": -0.1, "male": 0.1}),
    Curve("admission_type", {"elective": -0.4, "urgent": 0.1, "emergency": 0.4}),
    Curve("smoker", {"never": -0.2, "former": 0.1, "current": 0.4}, missing=0.1),
    Curve("insurance", {"public": 0.1, "private": -0.1, "none": 0.3}),
)
_LOG_ODDS_INTERCEPT = -3.9
_COST_INTERCEPT = 9_000.0
_COST_PER_LOG_ODD = 2_500.0
_COST_BOUNDS = (0.0, 50_000.0)


_FEATURES: Mapping[str, Continuous | Categorical] = {
    "age": Continuous(18, 95),
    "systolic_bp": Continuous(70, 220),
    "bmi": Continuous(12, 60),
    "length_of_stay": Continuous(0, 90, scale="log"),
    "creatinine": Continuous(0.2, 12, scale="log"),
    "prior_admissions": Continuous(0, 20),
    "sex": Categorical(["female", "male"]),
    "admission_type": Categorical(["elective", "urgent", "emergency"]),
    "smoker": Categorical(["never", "former", "current"]),
    "insurance": Categorical(["public", "private", "none"]),
}


def _draw_levels(
    rng: np.random.Generator, levels: tuple[Any, ...], probabilities: Floats
) -> NDArray[np.object_]:
    """Draw one level a row from an (n, len(levels)) matrix of probabilities."""
    below = np.cumsum(probabilities, axis=1)[:, :-1] < rng.random(len(probabilities))[:, None]
    drawn: NDArray[np.object_] = np.array(levels, dtype=object)[below.sum(axis=1)]
    return drawn


def _draw_features(rng: np.random.Generator, n_rows: int) -> pd.DataFrame:
    """Draw correlated features: age drives most of the others, as in a ward."""
    age = np.round(np.clip(18 + 77 * rng.beta(2.6, 1.8, n_rows), 18, 95))
    decades = (age - 60) / 10
    bmi = np.round(np.clip(rng.gamma(30, 0.9, n_rows), 12, 60), 1)
    pressure = 122 + 4 * decades + 0.9 * (bmi - 27) + rng.normal(0, 17, n_rows)
    ways = [0.4 - 0.04 * decades, np.full(n_rows, 0.25), 0.35 + 0.04 * decades]
    admission = _draw_levels(rng, ("elective", "urgent", "emergency"), np.column_stack(ways))
    stay = rng.lognormal(1.1 + 0.08 * decades + 0.35 * (admission == "emergency"), 0.8)
    creatinine = np.round(np.clip(rng.lognormal(np.log(0.95) + 0.07 * decades, 0.38), 0.2, 12), 2)
    measured = rng.random(n_rows) >= np.where(admission == "elective", 0.2, 0.06)
    habits = [0.5 - 0.02 * decades, 0.28 + 0.05 * decades, 0.22 - 0.03 * decades]
    smoker = _draw_levels(rng, ("never", "former", "current"), np.column_stack(habits))
    smoker[rng.random(n_rows) < 0.07] = None
    over_65 = (age >= 65)[:, None]
    insurance = np.where(over_65, [0.85, 0.14, 0.01], [0.3, 0.6, 0.1])
    return pd.DataFrame(
        {
            "age": age,
            "systolic_bp": np.round(np.clip(pressure, 70, 220)),
            "bmi": bmi,
            "length_of_stay": np.minimum(np.floor(stay), 90.0),
            "creatinine": np.where(measured, creatinine, np.nan),
            "prior_admissions": np.minimum(
                rng.negative_binomial(1.0, 1 / (1 + np.exp(-0.1 + 0.15 * decades))), 20
            ).astype(np.float64),
            "sex": _draw_levels(rng, ("female", "male"), np.full((n_rows, 2), 0.5)),
            "admission_type": admission,
            "smoker": smoker,
            "insurance": _draw_levels(rng, ("public", "private", "none"), insurance),
        }
    )


def make_cohort(
    n_rows: int = 20_000,
    *,
    seed: int = 0,
    task: Literal["classification", "regression"] = "classification",
) -> Cohort:
    """Simulate a hospital readmission cohort whose true curves are known.

    The truth is additive. Risk rises with age, is U-shaped in blood pressure, grows with the
    logarithm of the length of stay, drops at a creatinine of 1.5 mg/dl, where treatment starts,
    and does not depend on the body mass index, which is correlated with blood pressure all the
    same. Creatinine and smoking have missing values with a score of their own, so that the truth
    stays additive in what is seen.

    Parameters
    ----------
    n_rows : int, default=20_000
        Number of patients, at least 1.
    seed : int, default=0
        Seed of the simulation. It has nothing to do with privacy: the cohort is public.
    task : {"classification", "regression"}, default="classification"
        Readmission ("yes" with probability 1 / (1 + exp(-score)), about one in five), or annual
        cost (the score plus skewed noise of mean 0 and standard deviation 2,000, between the
        declared bounds 0 and 50,000).

    Returns
    -------
    Cohort
        Table, target, public schema, true curves and intercept.

    Raises
    ------
    TypeError
        If ``n_rows`` or ``seed`` is no integer.
    ValueError
        If ``n_rows`` is below 1, ``seed`` below 0, or ``task`` unknown.

    Examples
    --------
    >>> patients = make_cohort(1_000)
    >>> patients.X.shape, sorted(set(patients.y))
    ((1000, 10), ['no', 'yes'])
    >>> patients.schema.features["age"]
    Continuous(18, 95)
    """
    n_rows = check_int("n_rows", n_rows, low=1)
    rng = np.random.default_rng(check_int("seed", seed, low=0))
    check_choice("task", task, ("classification", "regression"))
    classification = task == "classification"
    X = _draw_features(rng, n_rows)

    factor = 1.0 if classification else _COST_PER_LOG_ODD
    intercept = _LOG_ODDS_INTERCEPT if classification else _COST_INTERCEPT
    curves = {}
    for raw in _CURVES:
        mean = factor * float(np.mean(raw(X[raw.feature])))
        curves[raw.feature] = Curve(raw.feature, raw.shape, raw.missing, factor, -mean)
        intercept += mean

    target: Continuous | Categorical
    score = intercept + sum(curve(X[name]) for name, curve in curves.items())
    if classification:
        target = Categorical(["no", "yes"])
        positive = rng.random(n_rows) < 1.0 / (1.0 + np.exp(-score))
        y = pd.Series(np.where(positive, "yes", "no"), name="readmitted")
    else:
        target = Continuous(*_COST_BOUNDS)
        noise = 1_000.0 * (rng.gamma(4.0, 1.0, n_rows) - 4.0)
        y = pd.Series(np.clip(score + noise, *_COST_BOUNDS), name="annual_cost")
    return Cohort(X, y, Schema(_FEATURES, target=target), curves, intercept)


# Points of a declared range between which quantiles are interpolated on the range's scale.
_QUANTILES = 512
_SIGNAL = 0.5  # share of the target's variance, on the scale of the score, that features explain


def simulate_table(
    schema: Schema,
    n_rows: int,
    *,
    rate: float | Sequence[float] | None = None,
    spread: float | None = None,
    correlation: float = 0.0,
    seed: int = 0,
) -> Cohort:
    """Simulate rows from a schema alone, with a target to which all features matter alike.

    Every number is spread evenly over its bounds, on the declared scale, and every level is as
    frequent as the others. The effect of each feature is linear in its normal score. Together they
    explain half of the variance of the target, or of a label's latent logistic variable.

    Parameters
    ----------
    schema : Schema
        With a target.
    n_rows : int
        Number of rows, at least 1.
    rate : float or sequence of float, default=None
        Of labels: the share of the second one, or the shares of all, in the order of the schema.
    spread : float, default=None
        Of a number: its standard deviation, at most half of the declared range. The mean is the
        middle of the range.
    correlation : float, default=0.0
        Correlation of the normal scores of any two numbers, from 0, below 1; levels have none.
    seed : int, default=0
        Seed of the simulation. It has nothing to do with privacy: the rows are made up.

    Returns
    -------
    Cohort
        Table, target, schema, true curves and intercept. Of more than two labels the curves are
        those of the last one against the first.

    Raises
    ------
    SchemaError
        If the schema declares no feature or no target.
    TypeError, ValueError
        If an argument has another type or is out of its range.

    Examples
    --------
    >>> from interpret_dp import Categorical, Integer, Schema
    >>> schema = Schema({"age": Integer(18, 95)}, target=Categorical(["no", "yes"]))
    >>> table = simulate_table(schema, 1_000, rate=0.2)
    >>> table.X.shape, sorted(set(table.y))
    ((1000, 1), ['no', 'yes'])
    """
    n_rows = check_int("n_rows", n_rows, low=1)
    correlation = check_real("correlation", correlation, low=0, high=1, high_open=True)
    rng = np.random.default_rng(check_int("seed", seed, low=0))
    target, guess = checked_guess(schema, rate, spread)
    common = rng.standard_normal(n_rows)
    columns: dict[str, Any] = {}
    curves = {}
    for place, (name, spec) in enumerate(schema.features.items()):
        shared = correlation if isinstance(spec, Continuous) else 0.0
        own = math.sqrt(1.0 - shared) * rng.standard_normal(n_rows)
        normal = math.sqrt(shared) * common + own
        columns[name], curves[name] = _column(name, spec, normal, -1.0 if place % 2 else 1.0)
    X = pd.DataFrame(columns)
    signal = np.sum([curve(X[name]) for name, curve in curves.items()], axis=0)
    deviation = max(float(np.std(signal)), 1e-12)
    if isinstance(target, Categorical):
        factor = math.sqrt(_SIGNAL / (1.0 - _SIGNAL)) * math.pi / math.sqrt(3.0) / deviation
        y, intercept = _labels(rng, target, guess, factor * signal)
    else:
        factor, intercept = math.sqrt(_SIGNAL) * guess / deviation, sum(target.extent) / 2.0
        noise = math.sqrt(1.0 - _SIGNAL) * guess * rng.standard_normal(n_rows)
        y = np.clip(intercept + factor * signal + noise, target.lower, target.upper)
    scaled = {
        name: Curve(name, curve.shape, curve.missing, factor, factor * curve.offset)
        for name, curve in curves.items()
    }
    return Cohort(X, pd.Series(y, name="target"), schema, scaled, intercept)


def checked_guess(schema: Schema, rate: Any, spread: Any) -> tuple[Any, Any]:
    """Return the target, and the share of each label or the standard deviation of a number.

    Parameters
    ----------
    schema : Schema
    rate, spread
        As `simulate_table` takes them.

    Raises
    ------
    SchemaError, ValueError
        If the schema has no target or feature, or the guess is missing or does not fit the target.
    """
    target = schema.target
    if target is None or not schema.features:
        raise SchemaError(
            "The schema must declare a target and at least one feature, from which rows are "
            "simulated. Declare Schema({...}, target=...)."
        )
    given, other, n_figures = spread, rate, 1
    if isinstance(target, Categorical):
        given, other, n_figures, limit = rate, spread, len(target.levels), 1.0
        wanted = "rate= as the share of the second label of two, or one share for each label"
    else:
        limit = (target.upper - target.lower) / 2.0
        wanted = f"spread= as the standard deviation, above 0 and at most {limit:g}"
    figures = np.ravel(np.nan if given is None else given)
    if len(figures) == 1 and n_figures == 2:
        figures = np.append(1.0 - figures, figures)
    is_usable = len(figures) == n_figures and all(0 < figure <= limit for figure in figures)
    if isinstance(target, Categorical):
        is_usable = is_usable and abs(figures.sum() - 1.0) < 1e-6
    if not is_usable or other is not None:
        raise ValueError(
            f"rate is {rate!r} and spread is {spread!r}; the target is {target!r}. Give {wanted}, "
            "and not the other one. It must be your own public guess."
        )
    return target, figures if isinstance(target, Categorical) else float(figures[0])


def _column(
    name: str, spec: Continuous | Categorical, normal: Floats, sign: float
) -> tuple[NDArray[Any], Curve]:
    """Return values at normal scores, and the curve that is linear in these, centred."""
    from scipy.special import ndtr, ndtri

    shape: Any
    if isinstance(spec, Categorical):
        n_levels = len(spec.levels)
        places = np.minimum((ndtr(normal) * n_levels).astype(np.int64), n_levels - 1)
        values = np.array(spec.levels, dtype=object)[places]
        scores = sign * ndtri((np.arange(n_levels) + 0.5) / n_levels)
        shape = dict(zip(spec.levels, scores.tolist(), strict=True))
    else:
        # At equal steps of the declared scale.
        inner = np.zeros(0) if isinstance(spec, Integer) else fine_edges(spec, _QUANTILES)
        grid = np.array([spec.lower, *inner, spec.upper])
        steps = np.linspace(0.0, 1.0, len(grid))
        values = np.interp(ndtr(normal), steps, grid)
        values = np.rint(values) if isinstance(spec, Integer) else values

        def shape(numbers: Floats) -> Floats:
            quantiles = np.clip(np.interp(numbers, grid, steps), 1e-3, 1.0 - 1e-3)
            return np.asarray(sign * ndtri(quantiles))

    return values, Curve(name, shape, offset=-float(np.mean(Curve(name, shape)(values))))


def _labels(
    rng: np.random.Generator, target: Categorical, shares: Floats, signal: Floats
) -> tuple[Any, float]:
    """Draw labels, and return them with the intercept of the last against the first."""
    from scipy.special import softmax

    logits = np.linspace(0.0, 1.0, len(shares)) * signal[:, np.newaxis]
    levels = np.log(shares)
    # The shares of the labels rise with their levels, so that few steps meet the shares.
    for _ in range(50):
        levels += np.log(shares / softmax(levels + logits, axis=1).mean(axis=0))
    labels = _draw_levels(rng, target.levels, softmax(levels + logits, axis=1))
    return labels, float(levels[-1] - levels[0])
