"""Plan of a DP-EBM fit: the trainer itself, run on simulated or public rows and charged to nobody.

Noise follows from the number of rows, the budget, the schema and the target far more than from the
rows. So the very trainer fits rows that were drawn from the schema, with the noise that a fit has,
and its noise model says which effects would show.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp._validate import check_int, check_real
from interpret_dp.accounting.composition import GdpPair
from interpret_dp.accounting.gaussian import mu_of_budget
from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.datasets import Cohort, checked_guess, simulate_table
from interpret_dp.ebm.losses import LogLoss
from interpret_dp.ebm.noise.uncertainty import TermNoise
from interpret_dp.ebm.request import (
    EBMRequest,
    FitSettings,
    clip_and_error,
    excess_of,
    open_request,
)
from interpret_dp.ebm.trainer.binning import Bins
from interpret_dp.ebm.training import TrainedTerms, has_one_class, train
from interpret_dp.exceptions import PrivacyWarning, SchemaError, warn_caller
from interpret_dp.explanation.budget import BudgetState
from interpret_dp.explanation.plan import FitPlan, PlannedCurve, PlannedFit
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

FloatArray = NDArray[np.float64]

# So many rows are simulated at most; each then stands for several.
_MOST_ROWS = 8_000
_CORRELATION = 0.9  # of all numbers, for the wider end of what is planned
_HALF_WIDTH = NormalDist().inv_cdf(0.975)  # of a band, in deviations
# Half-widths of a band that an effect must have, so that the band excludes zero in 4 of 5 fits.
_EFFECT = 1.0 + NormalDist().inv_cdf(0.8) / _HALF_WIDTH
_TEST_SHARE = 0.2
# Parts of equally many rows. An effect of a number is one on the mean score of a part.
_PARTS = 8


class _UnpaidSession(ReleaseSession):
    """Session of a fit on public rows: its noise is that of a paid fit, and nobody is charged.

    It is never entered, so that every release but those below is refused.

    Parameters
    ----------
    request : EBMRequest
    seed : int
        Of the noise, which protects nobody.
    rows_each : float
        Rows for which each row stands.
    """

    def __init__(self, request: EBMRequest, seed: int, rows_each: float) -> None:
        super().__init__(request, "plan")
        self._randomness, self._rows_each = SeededRandomness(seed), rows_each
        self._excess = request.config.excess

    def gaussian(
        self, name: str, exact: NDArray[np.int64], *, row_norm: int, aligned: bool
    ) -> tuple[NDArray[np.int64], float]:
        """Return sums with noise; those of the target without, since it moves all widths alike."""
        scaled = np.rint(exact * self._rows_each).astype(np.int64)
        planned, limits = self._planned[name], self.neighbourhood
        sensitivity = limits.sensitivity(row_norm, aligned=aligned, of_total=planned.of_total)
        noisy, sigma = gaussian_mechanism(
            name,
            scaled,
            sensitivity=sensitivity,
            mu=planned.mu / self._excess,
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
    population: str = "rows",
    n_fits: int = 3,
    n_sites: int = 1,
    n_colluding: int = 1,
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
    population : {"rows", "people"}, default="rows"
    n_fits : int, default=3
        Fits of each size and epsilon, of which the median is taken.
    n_sites, n_colluding : int, default=1
        How many sites fit together, and how many of them may put together what they know with the
        coordinator, as :class:`interpret_dp.sites.Site` takes it: their noise is not counted on.

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
    On five of six public tables, with true rates and spreads, fits had 0.5 to 2.9 times the planned
    widths, and on all six 0.7 to 1.5 times those planned from a public fifth of the rows. Without
    ``like``, bands of a column in which most rows have one value are far narrower than planned;
    where a target is skewed, or a rare label depends on few features, bands are wider:
    ``benchmarks/NOTES.md``, "Planned widths of bands".

    Examples
    --------
    >>> from interpret_dp import Categorical, Integer, Schema
    >>> schema = Schema(
    ...     {"age": Integer(18, 95), "sex": Categorical(["f", "m"])},
    ...     target=Categorical(["no", "yes"]),
    ... )
    >>> planned = plan(schema, 2_000, [0.5, 2], delta=1e-6, rate=0.2, limit=4, n_fits=1)
    >>> [fit.fits_left for fit in planned.fits]
    [45, 3]
    """
    if not isinstance(schema, Schema):
        raise TypeError(f"schema is {schema!r} ({type(schema).__name__}); it must be a Schema.")
    # A list of one number or of several.
    sizes = [check_int("n_rows", size, low=2) for size in np.ravel(n_rows).tolist()]
    budgets = sorted(checked_budget(one, delta)[0] for one in np.ravel(epsilon).tolist())
    n_fits = check_int("n_fits", n_fits, low=1)
    excess = _excess(n_sites, n_colluding)
    if not sizes or not budgets:
        raise ValueError(f"n_rows is {n_rows!r} and epsilon is {epsilon!r}; give one each or more.")
    shares = None
    if like is None:
        shares = checked_guess(schema, rate, spread)[1]
        guess = f"target's spread {spread:g}" if rate is None else f"target's rate {rate}"
        source = f"Fitted on simulated rows, with the {guess} as guessed; no private row was read"
    else:
        _check_like(like, rate, spread)
        source = "Fitted on the rows of like=, which the caller declares public"
    is_class = isinstance(schema.target, Categorical)
    left = _budget_left(delta, limit, ledger, dataset)
    settings = FitSettings(
        task="classification" if is_class else "regression",
        delta=delta,
        schema=schema,
        neighboring=neighboring,
        population=population,
        excess=excess,
        ledger=PrivacyLedger.in_memory(),
        dataset="plan",
    )
    fits = []
    for size in sizes:
        given = schema, size, rate, spread, like, n_fits
        tables = list(_tables(*given, 0.0))
        correlated = list(_tables(*given, _CORRELATION)) if like is None else []
        for value in budgets:
            own = replace(settings, epsilon=value)
            fits.append(_planned(own, size, tables, correlated, left, shares))
    if schema.people is not None:
        source += f". The model speaks of {schema.people.speaks_of(population)}"
    if n_sites > 1:
        source += f". Noise of {n_sites} sites: {excess:.2f} times that of one place"
    return FitPlan(
        fits=tuple(fits),
        kinds={
            name: "numbers" if isinstance(spec, Continuous) else "levels"
            for name, spec in schema.features.items()
        },
        delta=float(delta),
        unit="log-odds" if is_class else "units of the target",
        source=source,
    )


def _excess(n_sites: int, n_colluding: int) -> float:
    """Return the noise of all sites over that of one place."""
    if check_int("n_sites", n_sites, low=1) == 1:
        return 1.0
    n_colluding = check_int("n_colluding", n_colluding, low=1, high=n_sites - 1)
    return excess_of(n_sites, n_sites - n_colluding)


def _check_like(like: Any, rate: Any, spread: Any) -> None:
    if not isinstance(like, tuple) or len(like) != 2:
        raise TypeError(
            f"like is of type {type(like).__name__}; it must be a pair (X, y) of public rows."
        )
    if (rate, spread) != (None, None):
        raise ValueError(
            f"rate is {rate!r} and spread is {spread!r}; with like= leave both out, since the rows "
            "have their own."
        )
    warn_caller(
        "like= is fitted without any charge, and its accuracy is exact: its rows must be public or "
        "simulated. For private rows use fit and private_metrics.",
        PrivacyWarning,
    )


def _budget_left(
    delta: float, limit: Any, ledger: Any, dataset: str | None
) -> BudgetState | float | None:
    """Return the account that a fit would be charged to, or the mu of a limit; None without one."""
    if limit is not None and ledger is not None:
        raise ValueError("limit and ledger were both given; give the one that is to be divided.")
    if limit is not None:
        return mu_of_budget(check_real("limit", limit, low=0, low_open=True), delta)
    if ledger is None:
        return None
    if dataset is None:
        raise ValueError("ledger was given without dataset=, the data set's name in it. Give both.")
    known = ledger_of(ledger, must_exist=True)
    if math.isinf(known.remaining(dataset, delta)):
        return None
    return BudgetState.of(known.to_dict(dataset)["datasets"][0])


def _fits_left(left: BudgetState | float | None, mu: float) -> int | None:
    if isinstance(left, BudgetState):
        return left.more_like(GdpPair(mu))
    return None if left is None else math.floor((left / mu) ** 2)


def _tables(
    schema: Schema,
    size: int,
    rate: Any,
    spread: Any,
    like: tuple[Any, Any] | None,
    n_fits: int,
    correlation: float,
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
        if schema.people is not None:
            ids = np.arange(drawn) // schema.people.max_rows
            X = X.assign(**dict.fromkeys(schema.people.columns, ids))
        yield _Rows(X, table.y, size / drawn, table)


def _planned(
    settings: FitSettings,
    size: int,
    tables: Sequence[_Rows],
    correlated: Sequence[_Rows],
    left: BudgetState | float | None,
    shares: FloatArray | None,
) -> PlannedFit:
    """Fit every table and return what the fits show."""
    fitted = [_trained(settings, rows, seed) for seed, rows in enumerate(tables)]
    more = [_trained(settings, rows, seed) for seed, rows in enumerate(correlated)]
    (request, first), names = fitted[0], _term_names(fitted[0][0])
    widths, effects = _bands([terms for _, terms in fitted], names)
    mu = mu_of_budget(settings.epsilon, settings.delta)
    held_out = zip(fitted, tables, strict=True)
    errors = [terms.total_error for _, terms in fitted if terms.total_error is not None]
    if request.config.has_rate and (errors or len(first.intercept) == 1):
        errors = [clip_and_error(own, terms.boosting.start)[1] for own, terms in fitted]
    scores = [_score(*fit, rows) for fit, rows in held_out if rows.X_test is not None]
    together = _bands([terms for _, terms in more], names) if more else (None, None)
    return PlannedFit(
        n_rows=size,
        epsilon=float(settings.epsilon),
        mu=mu,
        widths=widths,
        effects=effects,
        correlated_widths=together[0],
        correlated_effects=together[1],
        level_rows=max(1.0, FEWEST_ROWS * first.count_noise),
        label_rows=_label_rows(request, size, shares),
        total_error=float(np.median(errors)) if errors else None,
        fits_left=_fits_left(left, mu),
        score=_summary(scores),
        curve=_curve(first, request, tables[0]),
    )


def _trained(settings: FitSettings, rows: _Rows, seed: int) -> tuple[EBMRequest, TrainedTerms]:
    """Train on public rows; no session is entered, and no ledger is read or written."""
    request = open_request(settings, rows.X, rows.y)
    if request.declaring.is_needed:
        raise SchemaError(
            "The schema is incomplete, and a fit would spend a part of its budget to complete it. "
            "Declare every column and the target's labels or bounds, and then plan."
        )
    if has_one_class(request.task):
        raise SchemaError("The target has one label; a fit needs two. Declare the others.")
    session = _UnpaidSession(request, seed, rows.rows_each)
    private = request.limited_rows(session)
    task, threads = request.task, request.n_threads
    trained = train(private, task, request.config, session, n_threads=threads, verbose=False)
    return request, trained


def _term_names(request: EBMRequest) -> list[str]:
    names = list(request.schema.features)
    return [names[column] for column in request.task.columns]


def _bands(
    fits: Sequence[TrainedTerms], names: Sequence[str]
) -> tuple[dict[str, float], dict[str, float]]:
    """Return the half-width and the smallest effect of each feature, the medians over the fits."""
    bands = [[_band(*both) for both in zip(fit.noise, fit.bins, strict=True)] for fit in fits]
    figures = np.median(bands, axis=0)
    widths, effects = (dict(zip(names, column.tolist(), strict=True)) for column in figures.T)
    return widths, effects


def _band(noise: TermNoise, bins: Bins) -> tuple[float, float]:
    """Return the median half-width over the rows, and the effect that shows in 4 of 5 fits.

    The effect of a number is one on the mean score over an eighth of the rows. Bins are finer where
    there is less noise, and finer bins have wider bands, so effects in single bins would not show
    what a budget buys. With few rounds and high noise a curve shows only a part of an effect; the
    part is that of an effect which rises evenly over the rows.
    """
    weights: FloatArray = np.maximum(bins.weights, 0.0)
    total = max(float(weights.sum()), 1e-300)
    places = (np.cumsum(weights) - weights / 2.0) / total
    deviations = _deviations(noise.diagonal)
    width = _HALF_WIDTH * _median(deviations, weights)
    smallest = width
    if bins.cuts is not None and noise.covariance is not None:
        parts = np.minimum((_PARTS * places).astype(int), _PARTS - 1)
        share = (parts == np.arange(_PARTS)[:, np.newaxis]) * weights
        masses = share.sum(axis=1)
        means = share / np.maximum(masses, 1e-300)[:, np.newaxis]
        variances = np.diagonal(means @ noise.covariance @ means.T, axis1=-2, axis2=-1)
        smallest = _HALF_WIDTH * _median(_deviations(variances.T), masses)
    shown = 1.0
    if noise.response is not None:
        ramp = places - 0.5
        response = noise.response if noise.response.ndim == 2 else noise.response.mean(axis=0)
        square = max(float(weights @ ramp**2), 1e-300)
        shown = float(weights @ (ramp * (response @ ramp))) / square
    return width, _EFFECT * smallest / shown if shown > 0 else math.inf


def _median(values: FloatArray, weights: FloatArray) -> float:
    """Return the weighted median."""
    order = np.argsort(values)
    sums = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(sums, sums[-1] / 2.0)])


def _deviations(variances: FloatArray) -> FloatArray:
    """Return the deviation of each bin, the mean over more than two labels."""
    squares = variances if variances.ndim == 1 else variances.mean(axis=1)
    return np.asarray(np.sqrt(np.maximum(squares, 0.0)))


def _label_rows(request: EBMRequest, size: int, shares: FloatArray | None) -> float | None:
    """Return the fewest rows of the rarer of two labels whose curves can be denoised."""
    if shares is None or np.size(shares) != 2:
        return None
    norm = request.neighbourhood.sensitivity(LATTICE, aligned=False) / LATTICE

    def suffices(rows: int) -> bool:
        sums = np.array([size - rows, rows], dtype=np.float64)
        start = LogLoss().start(sums, 1.0, norm, request.config, False)
        return request.config.can_denoise(start.n_rows, start.scale)

    candidates = range(1, size // 2 + 1)
    place = bisect_left(candidates, True, key=suffices)
    return float(candidates[place]) if place < len(candidates) else math.inf


def _curve(terms: TrainedTerms, request: EBMRequest, rows: _Rows) -> PlannedCurve | None:
    """Return the first feature that is a number, in a fit of one score a row."""
    for k, (name, spec) in enumerate(zip(_term_names(request), request.task.specs, strict=True)):
        cuts = terms.bins[k].cuts
        if cuts is None or not isinstance(spec, Continuous) or terms.scores[k].ndim > 1:
            continue
        expected, x = terms.expected[k], np.array([spec.lower, *cuts, spec.upper])
        noisy = terms.scores[k] if expected.noisy_scores is None else expected.noisy_scores
        truth = None
        if rows.truth is not None:
            truth = _sign(request) * rows.truth.curves[name]((x[:-1] + x[1:]) / 2.0)
        half_width = _HALF_WIDTH * _deviations(terms.noise[k].diagonal)
        return PlannedCurve(name, x, noisy[1:-1], half_width[1:-1], truth)
    return None


def _sign(request: EBMRequest) -> float:
    """Return -1 where scores are those of the label that the schema names first."""
    declared, target = request.schema.target, request.task.target
    if not isinstance(declared, Categorical) or not isinstance(target, Categorical):
        return 1.0
    return 1.0 if declared.levels[-1] == target.levels[-1] else -1.0


def _score(request: EBMRequest, terms: TrainedTerms, rows: _Rows) -> tuple[str, float]:
    """Return the accuracy of a fit on the rows that were held out, by name."""
    from sklearn.metrics import accuracy_score, roc_auc_score, root_mean_squared_error

    specs = request.task.specs
    edges = [request.config.fine_edges(spec) for spec in specs]
    codes = encode_features(open_table(rows.X_test), request.task.columns, specs, edges)
    score = terms.intercept + sum(
        scores[b.code_map[code]].reshape(len(code), -1)
        for scores, b, code in zip(terms.scores, terms.bins, codes, strict=True)
    )
    if not isinstance(request.task.target, Categorical):
        return "rmse", float(root_mean_squared_error(rows.y_test, score[:, 0]))
    levels = np.array(request.task.target.levels, dtype=object)
    if len(levels) == 2:
        return "auroc", float(roc_auc_score(rows.y_test == levels[1], score[:, 0]))
    predicted = levels[score.argmax(axis=1)].astype(str)
    return "accuracy", float(accuracy_score(rows.y_test.astype(str), predicted))


def _summary(scores: Sequence[tuple[str, float]]) -> dict[str, float]:
    """Return the mean of the accuracies and their standard deviation."""
    if not scores:
        return {}
    name, values = scores[0][0], [value for _, value in scores]
    return {name: float(np.mean(values)), f"{name}_spread": float(np.std(values))}
