"""Plan of a DP-EBM fit: the trainer itself, run on simulated or public rows and charged to nobody.

The widths of noise bands follow from the number of rows, the budget, the schema and the target far
more than from the rows. So the very trainer fits rows that were drawn from the schema, with the
noise that a fit has, and its noise model says how wide the bands are.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp._validate import check_int, check_real, check_sequence
from interpret_dp.accounting.gaussian import mu_of_budget
from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.datasets import Cohort, check_spread, class_shares, simulate_table
from interpret_dp.ebm.estimators import (
    DPExplainableBoostingClassifier,
    DPExplainableBoostingRegressor,
)
from interpret_dp.ebm.losses import LogLoss
from interpret_dp.ebm.request import FitRequest, open_request
from interpret_dp.ebm.training import TrainedTerms, has_one_class, train
from interpret_dp.exceptions import PrivacyWarning, SchemaError
from interpret_dp.explanation.plan import EFFECT, FitPlan, PlannedCurve, PlannedFit
from interpret_dp.fitting.account import checked_budget, ledger_of
from interpret_dp.ledger import PrivacyLedger
from interpret_dp.mechanisms import SeededRandomness
from interpret_dp.mechanisms.additive import gaussian_mechanism
from interpret_dp.release import ReleaseSession
from interpret_dp.released.terms import FEWEST_ROWS
from interpret_dp.schema import Categorical, Continuous, Schema
from interpret_dp.schema.containers import open_table
from interpret_dp.schema.encode import encode_features

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["plan"]

FloatArray = NDArray[np.float64]

# So many rows are simulated at most; each then stands for several.
_MOST_ROWS = 8_000
_CORRELATION = 0.9  # of all numbers, for the wider end of what is planned
_HALF_WIDTH = NormalDist().inv_cdf(0.975)  # of a band, in deviations
_TEST_SHARE = 0.2


class _UnpaidSession(ReleaseSession):
    """Session of a fit on public rows: its noise is that of a paid fit, and nobody is charged.

    It is never entered, so that every release but those below is refused.

    Parameters
    ----------
    request : FitRequest
    seed : int
        Of the noise, which protects nobody.
    rows_each : float
        Rows for which each row stands.
    """

    def __init__(self, request: FitRequest, seed: int, rows_each: float) -> None:
        super().__init__(request, "plan")
        self._randomness, self._rows_each = SeededRandomness(seed), rows_each

    def gaussian(
        self, name: str, exact: NDArray[np.int64], *, row_norm: int, aligned: bool
    ) -> tuple[NDArray[np.int64], float]:
        """Return sums with noise; those of the target without, since it moves all widths alike."""
        scaled = np.rint(exact * self._rows_each).astype(np.int64)
        noisy, sigma = gaussian_mechanism(
            name,
            scaled,
            sensitivity=self.neighbourhood.sensitivity(row_norm, aligned=aligned),
            mu=self._planned[name].mu,
            randomness=self._randomness,
        )
        return (scaled if name == "target" else noisy), sigma


@dataclass(frozen=True)
class _Rows:
    """Public rows of one fit, with the true curves if they are known."""

    X: pd.DataFrame
    y: Any
    rows_each: float
    truth: Cohort | None = None
    X_test: Any = None
    y_test: Any = None


def plan(
    schema: Schema,
    n_rows: int | Sequence[int],
    epsilon: float | Sequence[float] = (0.1, 0.5, 1.0, 2.0),
    *,
    delta: float,
    rate: float | Sequence[float] | None = None,
    spread: float | None = None,
    like: tuple[Any, Any] | None = None,
    limit: float | None = None,
    ledger: PrivacyLedger | str | None = None,
    dataset: str | None = None,
    neighboring: str = "add_or_remove_one",
    n_fits: int = 3,
) -> FitPlan:
    """Return what fits of a DP-EBM would show at several budgets, before a private row is read.

    Costs no privacy. The trainer fits rows that are drawn from the schema, with the noise that a
    private fit has: ``n_rows``, ``rate`` and ``spread`` are your own public guesses. Never read
    them off the private rows.

    Parameters
    ----------
    schema : Schema
        Complete, with a target. A unit's ``max_rows`` counts.
    n_rows : int or sequence of int
        Sizes of the table; at least 2 each.
    epsilon : float or sequence of float, default=(0.1, 0.5, 1.0, 2.0)
    delta : float
        Of every fit.
    rate : float or sequence of float, default=None
        Of labels: the share of the second one, or the shares of all, in the order of the schema.
    spread : float, default=None
        Of a number: its standard deviation.
    like : (DataFrame, array-like), default=None
        Features and target of **public** or simulated rows that resemble the private ones. They are
        fitted in place of rows from the schema, so that bins, correlations and effects are theirs,
        and a fifth is held out to measure the accuracy to expect. **Never private rows**: that
        would be a fit that nobody pays for, with exact scores.
    limit : float, default=None
        Epsilon of a budget at ``delta``, to say how many such fits it has room for.
    ledger : PrivacyLedger or str, default=None
        The same, of what is left in a ledger. It is read, never written.
    dataset : str, default=None
        Name of the data set in the ledger.
    neighboring : {"add_or_remove_one", "replace_one"}, default="add_or_remove_one"
    n_fits : int, default=3
        Fits of each size and epsilon, of which the median is taken.

    Returns
    -------
    FitPlan
        The same for the same arguments.

    Raises
    ------
    SchemaError
        If the schema is incomplete, or has no target or one label.
    TypeError, ValueError
        If an argument has another type or is out of its range.
    LedgerError
        If the ledger has no budget for the data set.

    Warns
    -----
    PrivacyWarning
        With ``like``, since it cannot be seen that the rows are public.

    Notes
    -----
    On five of six public tables, with true rates and spreads, fits had 0.6 to 2.2 times the planned
    widths, and 0.6 to 1.4 times those planned from a public fifth of the rows. Where most rows of a
    column have one value, bands of these rows are far narrower than planned; where a rare label
    depends on few features, wider: ``benchmarks/NOTES.md``, "Planned widths of bands".

    Examples
    --------
    >>> from interpret_dp import Categorical, Integer, Schema
    >>> schema = Schema(
    ...     {"age": Integer(18, 95), "sex": Categorical(["f", "m"])},
    ...     target=Categorical(["no", "yes"]),
    ... )
    >>> planned = plan(schema, 2_000, [0.5, 2], delta=1e-6, rate=0.2, limit=4, n_fits=1)
    >>> [fit.fits_left for fit in planned.fits]
    [40, 3]
    """
    sizes = [check_int("n_rows", size, low=2) for size in _listed("n_rows", n_rows)]
    budgets = [checked_budget(one, delta) for one in _listed("epsilon", epsilon)]
    n_fits = check_int("n_fits", n_fits, low=1)
    _check_target(schema, rate, spread, like)
    left = _mu_left(delta, limit, ledger, dataset)
    kind: Any = DPExplainableBoostingRegressor
    shares = None
    if isinstance(schema.target, Categorical):
        kind = DPExplainableBoostingClassifier
        shares = class_shares(schema.target, rate) if like is None else None
    scratch = PrivacyLedger.in_memory()
    fits = []
    for size in sizes:
        tables = list(_tables(schema, size, rate, spread, like, n_fits))
        correlated = []
        if like is None:
            correlated = list(_tables(schema, size, rate, spread, like, n_fits, _CORRELATION))
        for value, _ in budgets:
            estimator = kind(
                epsilon=value,
                delta=delta,
                schema=schema,
                neighboring=neighboring,
                ledger=scratch,
                dataset="plan",
            )
            fits.append(_planned(estimator, size, tables, correlated, left, shares))
    return FitPlan(
        fits=tuple(fits),
        kinds={
            name: "numbers" if isinstance(spec, Continuous) else "levels"
            for name, spec in schema.features.items()
        },
        delta=float(delta),
        unit="log-odds" if isinstance(schema.target, Categorical) else "units of the target",
        metric="" if like is None else _metric(schema),
        source=_source(rate, spread, like),
    )


def _listed(name: str, value: Any) -> list[Any]:
    if isinstance(value, int | float | np.number):
        return [value]
    values = check_sequence(name, value, "numbers")
    if not values:
        raise ValueError(f"{name} is {value!r}; it must hold at least one number.")
    return values


def _check_target(schema: Any, rate: Any, spread: Any, like: Any) -> None:
    """Refuse a schema that is incomplete, and guesses that do not fit its target."""
    if not isinstance(schema, Schema):
        raise TypeError(f"schema is {schema!r} ({type(schema).__name__}); it must be a Schema.")
    if schema.target is None or not schema.features:
        raise SchemaError(
            "The schema must declare a target and at least one feature to plan a fit. Declare "
            "Schema({...}, target=...)."
        )
    is_classification = isinstance(schema.target, Categorical)
    unused = spread if is_classification else rate
    if unused is not None or (like is not None and (rate, spread) != (None, None)):
        names = "rate goes with labels, spread with a number, and neither with like="
        raise ValueError(f"rate is {rate!r} and spread is {spread!r}; {names}. Leave one out.")
    if like is not None:
        if not isinstance(like, tuple) or len(like) != 2:
            raise TypeError(
                f"like is of type {type(like).__name__}; it must be a pair (X, y) of public rows."
            )
        warnings.warn(
            "like= is fitted without any charge, and its accuracy is exact: its rows must be "
            "public or simulated. For private rows use fit and private_metrics.",
            PrivacyWarning,
            stacklevel=3,
        )
    elif isinstance(schema.target, Categorical):
        class_shares(schema.target, rate)
    else:
        check_spread(schema.target, spread)


def _mu_left(delta: float, limit: Any, ledger: Any, dataset: str | None) -> float | None:
    """Return the mu that a budget has left; None without one."""
    if limit is not None and ledger is not None:
        raise ValueError("limit and ledger were both given; give the one that is to be divided.")
    if limit is not None:
        return mu_of_budget(check_real("limit", limit, low=0, low_open=True), delta)
    if ledger is None:
        return None
    if dataset is None:
        raise ValueError("ledger was given without dataset=, the data set's name in it. Give both.")
    left = ledger_of(ledger, must_exist=True).remaining(dataset, delta)
    if math.isinf(left):
        return None
    return mu_of_budget(left, delta) if left > 0 else 0.0


def _source(rate: Any, spread: Any, like: Any) -> str:
    if like is not None:
        return "Fitted on the rows of like=, which the caller declares public"
    guess = f"target's spread {spread:g}" if rate is None else f"target's rate {rate}"
    return f"Fitted on simulated rows, with the {guess} as guessed; no private row was read"


def _metric(schema: Schema) -> str:
    if not isinstance(schema.target, Categorical):
        return "rmse"
    return "auroc" if len(schema.target.levels) == 2 else "accuracy"


def _tables(
    schema: Schema,
    size: int,
    rate: Any,
    spread: Any,
    like: tuple[Any, Any] | None,
    n_fits: int,
    correlation: float = 0.0,
) -> Iterator[_Rows]:
    """Yield the rows of each fit."""
    import pandas as pd

    for seed in range(n_fits):
        if like is not None:
            X, y = pd.DataFrame(like[0]), np.asarray(like[1])
            # Some rows of the fit stand for several where the public table is smaller.
            order = SeededRandomness(seed).public.permutation(len(X))
            n_test = max(1, round(_TEST_SHARE * len(X)))
            test, rest = order[:n_test], order[n_test:][:size]
            held_out = X.iloc[test], y[test]
            yield _Rows(X.iloc[rest], y[rest], size / max(len(rest), 1), None, *held_out)
            continue
        drawn = min(size, _MOST_ROWS)
        table = simulate_table(
            schema, drawn, rate=rate, spread=spread, correlation=correlation, seed=seed
        )
        X = table.X
        if schema.unit is not None:
            X = X.assign(**{schema.unit.column: np.arange(drawn) // schema.unit.max_rows})
        yield _Rows(X, table.y, size / drawn, table)


def _planned(
    estimator: Any,
    size: int,
    tables: Sequence[_Rows],
    correlated: Sequence[_Rows],
    left: float | None,
    shares: FloatArray | None,
) -> PlannedFit:
    """Fit every table and return what the fits show."""
    fitted = [_trained(estimator, rows, seed) for seed, rows in enumerate(tables)]
    request, first = fitted[0]
    names = _term_names(request)
    mu = mu_of_budget(estimator.epsilon, estimator.delta)
    more = [_trained(estimator, rows, seed)[1] for seed, rows in enumerate(correlated)]
    scores = [
        _score(*pair, rows)
        for pair, rows in zip(fitted, tables, strict=True)
        if rows.X_test is not None
    ]
    return PlannedFit(
        n_rows=size,
        epsilon=float(estimator.epsilon),
        mu=mu,
        widths=_medians([_widths(terms) for _, terms in fitted], names),
        correlated_widths=_medians([_widths(terms) for terms in more], names) if more else None,
        effects=_medians([_effects(terms) for _, terms in fitted], names),
        correlated_effects=_medians([_effects(terms) for terms in more], names) if more else None,
        level_rows=max(1.0, FEWEST_ROWS * first.count_noise),
        label_rows=_label_rows(request, size, shares),
        fits_left=None if left is None else math.floor((left / mu) ** 2),
        score=None if not scores else (float(np.mean(scores)), float(np.std(scores))),
        curve=_curve(first, request, tables[0]),
    )


def _trained(estimator: Any, rows: _Rows, seed: int) -> tuple[FitRequest, TrainedTerms]:
    """Train on public rows; no session is entered, and no ledger is asked for anything."""
    request = open_request(estimator, rows.X, rows.y)
    if request.declaring.is_needed:
        raise SchemaError(
            "The schema is incomplete, and a fit would spend a part of its budget to complete it. "
            "Declare every column and the target's labels or bounds, and then plan."
        )
    if has_one_class(request.task):
        raise SchemaError("The target has one label; a fit needs two. Declare the others.")
    session = _UnpaidSession(request, seed, rows.rows_each)
    private = request.rows.limited(request.neighbourhood.max_rows, session.public_choices)
    task, threads = request.task, request.n_threads
    trained = train(private, task, request.config, session, n_threads=threads, verbose=False)
    return request, trained


def _term_names(request: FitRequest) -> list[str]:
    names = list(request.schema.features)
    return [names[column] for column in request.task.columns]


def _medians(of_fits: Sequence[list[float]], names: Sequence[str]) -> dict[str, float]:
    return dict(zip(names, np.median(of_fits, axis=0).tolist(), strict=True))


def _widths(terms: TrainedTerms) -> list[float]:
    """Return the half-width of each feature: the median over its rows."""
    return [
        _HALF_WIDTH * _weighted_median(_deviations(noise.diagonal), bins.weights)
        for noise, bins in zip(terms.noise, terms.bins, strict=True)
    ]


def _effects(terms: TrainedTerms) -> list[float]:
    """Return the effect of each feature whose band is without zero in 4 of 5 fits.

    A curve of few rounds and high noise shows a part of an effect only: what it makes of one that
    rises evenly over the rows.
    """
    effects = []
    for width, noise, bins in zip(_widths(terms), terms.noise, terms.bins, strict=True):
        shares: FloatArray = np.maximum(bins.weights, 0.0) / max(float(bins.weights.sum()), 1e-300)
        ramp = np.cumsum(shares) - shares / 2.0 - 0.5
        shown = 1.0
        if noise.response is not None:
            response = noise.response if noise.response.ndim == 2 else noise.response.mean(axis=0)
            shown = float(shares @ (ramp * (response @ ramp))) / max(
                float(shares @ ramp**2), 1e-300
            )
        effects.append(EFFECT * width / shown if shown > 0 else math.inf)
    return effects


def _deviations(variances: FloatArray) -> FloatArray:
    """Return the deviation of each bin, the mean over more than two labels."""
    squares = variances if variances.ndim == 1 else variances.mean(axis=1)
    return np.asarray(np.sqrt(np.maximum(squares, 0.0)))


def _weighted_median(values: FloatArray, weights: FloatArray) -> float:
    order = np.argsort(values)
    sums = np.cumsum(np.maximum(weights, 0.0)[order])
    return float(values[order][np.searchsorted(sums, sums[-1] / 2.0)])


def _label_rows(request: FitRequest, size: int, shares: FloatArray | None) -> float | None:
    """Return the fewest rows of the rarer of two labels whose curves can be denoised."""
    if shares is None or len(shares) != 2:
        return None
    norm = request.neighbourhood.sensitivity(LATTICE, aligned=False) / LATTICE

    def suffices(rows: int) -> bool:
        sums = np.array([size - rows, rows], dtype=np.float64)
        start = LogLoss().start(sums, 1.0, norm, request.config, False)
        return request.config.can_denoise(start.n_rows, start.scale)

    low, high = 0, size // 2
    if not suffices(high):
        return math.inf
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if suffices(middle) else (middle, high)
    return float(high)


def _curve(terms: TrainedTerms, request: FitRequest, rows: _Rows) -> PlannedCurve | None:
    """Return the first feature that is a number, in a fit of one score a row."""
    for k, (name, spec) in enumerate(zip(_term_names(request), request.task.specs, strict=True)):
        cuts = terms.bins[k].cuts
        if cuts is None or not isinstance(spec, Continuous) or terms.scores[k].ndim > 1:
            continue
        expected, x = terms.expected[k], np.array([spec.lower, *cuts, spec.upper])
        noisy = terms.scores[k] if expected is None else expected.noisy_scores
        truth = None
        if rows.truth is not None:
            truth = _sign(request) * rows.truth.curves[name]((x[:-1] + x[1:]) / 2.0)
        half_width = _HALF_WIDTH * _deviations(terms.noise[k].diagonal)
        return PlannedCurve(name, x, noisy[1:-1], half_width[1:-1], truth)
    return None


def _sign(request: FitRequest) -> float:
    """Return -1 where scores are those of the label that the schema names first."""
    declared, target = request.schema.target, request.task.target
    if not isinstance(declared, Categorical) or not isinstance(target, Categorical):
        return 1.0
    return 1.0 if declared.levels[-1] == target.levels[-1] else -1.0


def _score(request: FitRequest, terms: TrainedTerms, rows: _Rows) -> float:
    """Return the accuracy of a fit on the rows that were held out."""
    from sklearn.metrics import accuracy_score, roc_auc_score, root_mean_squared_error

    specs = request.task.specs
    edges = [request.config.fine_edges(spec) for spec in specs]
    codes = encode_features(open_table(rows.X_test), request.task.columns, specs, edges)
    score = terms.intercept + sum(
        scores[b.code_map[code]].reshape(len(code), -1)
        for scores, b, code in zip(terms.scores, terms.bins, codes, strict=True)
    )
    if not isinstance(request.task.target, Categorical):
        return float(root_mean_squared_error(rows.y_test, score[:, 0]))
    levels = np.array(request.task.target.levels, dtype=object)
    if len(levels) > 2:
        return float(
            accuracy_score(rows.y_test.astype(str), levels[score.argmax(axis=1)].astype(str))
        )
    return float(roc_auc_score(rows.y_test == levels[1], score[:, 0]))
