"""Checks and decisions before the first row is read, and the release ``rate`` after training."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp._validate import check_choice, check_int, check_real, check_sequence
from interpret_dp.accounting.gaussian import classic_mu, mu_of_budget
from interpret_dp.accounting.guarantee import Guarantee
from interpret_dp.accounting.lattice import LATTICE, Neighbourhood
from interpret_dp.accounting.plans import ReleasePlan
from interpret_dp.backends.base import Integers
from interpret_dp.backends.local import MEANS_ABOVE, class_odds, exposure_logs, means_at
from interpret_dp.ebm.config import TrainerConfig
from interpret_dp.ebm.interactions import (
    NO_PAIRS,
    PairTask,
    column_of,
    excluded_pairs,
    pair_task,
)
from interpret_dp.ebm.losses import RegressionLoss, Start
from interpret_dp.ebm.objectives import checked_objective, class_of, link_of
from interpret_dp.ebm.shape import errors_of_mean
from interpret_dp.ebm.trainer.curves import constrained_directions
from interpret_dp.ebm.training import (
    TrainedTerms,
    TrainingTask,
    has_one_class,
    row_exposures,
    row_weights,
)
from interpret_dp.exceptions import SchemaError
from interpret_dp.fitting.account import checked_budget, neighbourhood_of, thread_count
from interpret_dp.fitting.declaring import Declared, DeclaringTask
from interpret_dp.fitting.estimator import EstimatorSettings, FitRequest, open_data
from interpret_dp.fitting.rows import INIT_SCORE_CONDITION, PrivateRows, open_init_score
from interpret_dp.release import ReleaseSession, Sharing, stopping
from interpret_dp.released import AdditiveModel
from interpret_dp.schema import (
    Categorical,
    Continuous,
    FeatureSpec,
    Schema,
    encode_classes,
    encode_target,
)
from interpret_dp.schema.containers import kind_of, kinds_of, name_of_column
from interpret_dp.schema.declarations import UndeclaredCategorical, UndeclaredContinuous
from interpret_dp.schema.partial import partial_schema_from_arguments

# Whom a fit is right for on average: which rows it reads, and the total over more of them.
#
# A person with many rows has at most ``max_rows`` in training, so people with many rows count for
# less than their share. Where a unit declares ``total_rows``, one more release moves the intercept
# until predictions are right on average over so many rows of each person
# (docs/proofs/dp_ebm.md).

FloatArray = NDArray[np.float64]

# A row adds its residual, and a number of a quarter of its bound at most.
_QUARTER = LATTICE // 4
# Under a log link predictions count up to so many times their mean.
_WIDEST = 4.0
# People with many rows may move the mean by so many standard deviations of the target.
_LARGEST_SHORTFALL = 0.25
# No class is taken to be rarer than predicted by more than this factor.
_LARGEST_FACTOR = 8.0


def clip_and_error(request: EBMRequest, start: Start) -> tuple[float, float]:
    """Return the clip of the residuals, and the error of the mean over ``total_rows`` rows.

    Parameters
    ----------
    request : EBMRequest
        With this release in its plan.
    start : Start
        Of the fit, with the released shape of a regression's target.

    Returns
    -------
    clip, error : float
        In units of the target, or of a probability.
    """
    row_norm = _row_norm(2)
    norm = request.neighbourhood.sensitivity(row_norm, aligned=False, of_total=True) / LATTICE
    noise = request.config.noise_of_total(start.n_rows, norm, "rate")
    loss = start.loss
    if not isinstance(loss, RegressionLoss) or loss.shape is None:
        return 1.0, noise
    unit = loss.shape.mean if loss.is_relative else 1.0
    clips, start_error = loss.clips(), _LARGEST_SHORTFALL * loss.shape.spread / unit
    errors = errors_of_mean(loss.shape, clips, noise, loss.gaps, start=start_error)
    best = int(np.argmin(errors))
    return unit * float(clips[best]), unit * float(errors[best])


def with_rate(
    request: EBMRequest,
    model: AdditiveModel,
    trained: TrainedTerms,
    session: ReleaseSession,
    fitted: Callable[[AdditiveModel], Any],
) -> AdditiveModel:
    """Return the model with the intercept that is right over ``total_rows`` rows of each unit.

    Parameters
    ----------
    request : EBMRequest
        Its rows are all rows.
    model : AdditiveModel
        As trained; returned as it is where the plan has no such release.
    trained : TrainedTerms
    session : ReleaseSession
        Open.
    fitted : callable
        From a model to an estimator that predicts with it, and has no ledger: workers need none,
        and it may be of this process alone.

    Notes
    -----
    One release has the sums of the residuals and of their slopes by the score, from which follows
    one step of Newton's method. It is shrunk by the share of the shortfall that is noise.
    """
    task, start = request.task, trained.boosting.start
    loss, most = start.loss, request.neighbourhood.total_rows
    if not request.config.has_rate or most is None or has_one_class(task):
        return model
    mean = None
    if isinstance(loss, RegressionLoss):
        if loss.shape is None:
            return model  # a range of one value leaves nothing to learn
        # Of a row, not of a unit of exposure.
        mean = model.mean_prediction * (model.exposure or 1.0) if loss.link == "log" else None
    clip, error = clip_and_error(request, start)
    rows = request.rows.limited(most, session.public_choices)
    exact = rows.total(_sums, fitted(model), task, clip, mean)
    row_norm = _row_norm(len(model.classes or ()))
    noisy, sigma = session.gaussian("rate", exact[np.newaxis], row_norm=row_norm, aligned=False)
    residuals, slopes = np.split(noisy[0] / LATTICE, 2)
    deviation = sigma / LATTICE
    noise_share = len(residuals) * deviation**2 / max(float(residuals @ residuals), 1e-300)
    residuals = residuals * max(0.0, 1.0 - noise_share)
    slopes = np.maximum(slopes, deviation)
    if isinstance(loss, RegressionLoss):
        n_rows = float(slopes[0]) * (4.0 if mean is None else 4.0 * _WIDEST)
        shift = np.array([loss.shift(clip * float(residuals[0]) / n_rows, mean or 1.0)])
    else:
        shift = _of_classes(residuals, slopes, start.level)
    return replace(
        model,
        intercept=model.intercept + shift,
        total_error=error / (model.exposure or 1.0) if len(residuals) == 1 else None,
    )


def _row_norm(n_classes: int) -> int:
    """Bound the norm of what a row adds: of residuals 1, of slopes 1/4.

    Of more than two classes sqrt(2) and 1/2: p (1 - p) is 1/4 at most, and adds up to less than 1.
    """
    square = 17 * LATTICE**2 // 16 if n_classes < 3 else 9 * LATTICE**2 // 4
    return math.isqrt(square) + 1


def _of_classes(residuals: FloatArray, slopes: FloatArray, level: FloatArray) -> FloatArray:
    """Return the change of the intercept.

    If all rows had the same probabilities, the step would be exact; otherwise it is of first order.
    """
    is_binary = len(level) == 1
    logs = np.concatenate([[0.0], level]) if is_binary else level
    shares = np.exp(logs - logs.max())
    shares /= shares.sum()
    if is_binary:
        residuals, slopes = np.array([-1.0, 1.0]) * residuals, np.repeat(slopes, 2)
    # If rows had the mean score, the slopes would be those of so many of them.
    n_rows = slopes / (shares * (1.0 - shares))
    moved = np.maximum(shares + residuals / n_rows, shares / _LARGEST_FACTOR)
    change = np.log(moved / moved.sum() / shares)
    return np.asarray(change[1:] - change[0] if is_binary else change - change.mean())


def _sums(
    private: PrivateRows, model: Any, task: TrainingTask, clip: float, mean: float | None
) -> Integers:
    """Return the private sums of residuals and slopes, in lattice units; a row decides its own.

    Parameters
    ----------
    private : PrivateRows
    model : PrivateEBM
        Fitted.
    task : TrainingTask
    clip : float
        Bound of a regression's residual, in units of the target.
    mean : float or None
        Mean prediction under a log link; None under others.
    """
    table, init = private.table, private.init_scores
    exposures = row_exposures(private, task)
    own = {} if init is None else {"init_score": init if init.shape[1] > 1 else init[:, 0]}
    if isinstance(task.target, Categorical):
        labels = encode_classes(private.y, task.target, table.n_rows).astype(np.int64)
        scores = model.decision_function(table, **own)
        values, has_target = _of_labels(scores, labels), labels >= 0
    else:
        target = encode_target(private.y, task.target, table.n_rows)
        if mean is None:
            predicted, slope = np.asarray(model.predict(table, **own)), np.ones(table.n_rows)
        else:
            scores = model.predict_with_uncertainty(table)[:, 0]
            if exposures is not None and task.largest_exposure is not None:
                logs = exposure_logs()[exposures] / LATTICE
                scores = scores + (logs + math.log(task.largest_exposure))
            room = 1.0 if exposures is None else MEANS_ABOVE
            predicted = means_at(scores, task.target.lower, room * task.target.upper)
            slope = np.minimum(predicted / mean / _WIDEST, 1.0)
        has_target = ~np.isnan(target) & (exposures is None or exposures > 0)
        fraction = np.clip(np.nan_to_num(target - predicted) / clip, -1.0, 1.0)
        numbers = np.stack([fraction * LATTICE, slope * _QUARTER], axis=1)
        # A mean beyond all floats is not a number, and must not become the largest integer.
        values = np.trunc(np.nan_to_num(numbers)).astype(np.int64)
    weights = row_weights(private, task.largest_weight)
    if weights is not None:
        # As the kernels weigh residuals: truncated towards zero, so that no norm grows.
        large = weights.astype(np.int64)[:, np.newaxis]
        values = np.sign(values) * (np.abs(values) * large // LATTICE)
    return np.asarray(values[has_target].sum(axis=0))


def _of_labels(scores: FloatArray, labels: Integers) -> Integers:
    """Return label minus probability of each class, then p (1 - p); of two classes the second."""
    if scores.ndim == 1:
        scores = np.stack([np.zeros_like(scores), scores], axis=1)
    odds = class_odds(scores)
    shares = odds * LATTICE // odds.sum(axis=1, keepdims=True)
    residuals = LATTICE * (labels[:, np.newaxis] == np.arange(scores.shape[1])) - shares
    first = 1 if scores.shape[1] == 2 else 0
    slopes = shares * (LATTICE - shares) // LATTICE
    return np.hstack([residuals[:, first:], slopes[:, first:]])


_MECHANISM = "discrete Gaussian noise on integer sums, exactly sampled; one mu split by squares"
_CHOICE = "; pairs chosen by the exponential mechanism, exactly sampled"
_EDITS = "edits of the curves are not chosen by looking at rows that are not public"
_WEIGHTS = "the largest sample weight is public and was not read off the rows"
_EXPOSURE = "the largest exposure is public and was not read off the rows"
_WIDEST_TARGET = 1e100
# A mean of one unit is the target's over the exposure: with both at their limits still a number
# that a released model holds.
_WIDEST_EXPOSURE = 1e15
_RULE = "None leaves it to the trainer's own rule."
_RATE = f"Curves of a larger one would swing ever wider. {_RULE}"


Constraints = Sequence[int] | Mapping[str, int]
Interactions = int | float | str | Sequence[Sequence[int | str]] | None
Bounds = np.ndarray[Any, Any] | Mapping[int | str, tuple[float, float]]


@dataclass(frozen=True, kw_only=True)
class FitSettings(EstimatorSettings):
    """Parameters of an estimator, as it was given them; :func:`open_request` checks them.

    Attributes
    ----------
    task : {"classification", "regression"}
    max_bins, ...
        As :class:`~interpret_dp.ebm.estimators.DPExplainableBoostingClassifier` and
        :class:`~interpret_dp.ebm.estimators.DPExplainableBoostingRegressor` name them, with their
        defaults.
    excess : float
        Noise of all sites together, over that of one place; a fit asks its site.
    """

    task: str
    max_bins: int = 64
    exclude: Sequence[Any] | None = None
    validation_size: int | float | None = 0
    outer_bags: int = 1
    learning_rate: float | None = None
    max_rounds: int | None = None
    max_leaves: int | None = None
    composition: str = "gdp"
    bin_budget_frac: float = 0.1
    privacy_bounds: Bounds | None = None
    privacy_target_min: float | None = None
    privacy_target_max: float | None = None
    privacy_weight_max: float | None = None
    privacy_exposure_max: float | None = None
    monotone_constraints: Constraints | None = None
    objective: str = "rmse"
    interactions: Interactions = 0
    population: str = "rows"
    excess: float = 1.0


@dataclass(frozen=True, kw_only=True)
class EBMRequest(FitRequest):
    """A checked fit of a DP-EBM.

    Attributes
    ----------
    settings : FitSettings
    task : TrainingTask
    config : TrainerConfig
    n_threads : int
    target_name : str or None
        Name of the target's column, which is public as names of columns are.
    """

    settings: FitSettings
    task: TrainingTask
    config: TrainerConfig
    n_threads: int
    target_name: str | None

    @property
    def public_settings(self) -> str:
        """Settings that all sites must have alike, beside plan and schema, as a text."""
        return repr((self.task, self.config))

    def promise(self) -> Guarantee:
        """Return the guarantee, before it is charged: bill and promise must agree."""
        choice = _CHOICE if self.config.n_chosen_pairs and self.site is None else ""
        has_weights = self.rows.weights is not None
        is_declared = has_weights and self.declaring.declared_weight is not None
        maxima = [*([_WEIGHTS] if is_declared else [])]
        if self.rows.exposure is not None:
            maxima.append(_EXPOSURE)
        return self.guarantee(_MECHANISM + choice, (*self.assumptions(_EDITS), *maxima))

    def completed(self, declared: Declared) -> EBMRequest:
        """Return the request with what was found out inside the session."""
        task = replace(
            self.task,
            specs=_specs(declared.schema, self.task.columns),
            target=_in_class_order(declared.schema.target),
            largest_weight=declared.largest_weight,
        )
        return replace(self, schema=declared.schema, task=task)


@stopping
def open_request(
    settings: FitSettings,
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    init_score: Any = None,
    exposure: Any = None,
    unit: Any = None,
    site: Sharing | None = None,
    reads_dask: bool = False,
) -> EBMRequest:
    """Check an estimator's parameters and the form of the data, never a value in a row.

    Parameters
    ----------
    settings : FitSettings
    X, y, sample_weight, init_score, exposure, unit, site
        As ``fit`` takes them.
    reads_dask : bool
        Whether the caller can do without rows in memory.

    Raises
    ------
    TypeError, ValueError, SchemaError, LedgerError
        If a parameter, the table's form or the declaration is wrong. Nothing was spent.
    """
    epsilon, delta = checked_budget(settings.epsilon, settings.delta)
    _refuse_bags(settings)
    _check_verbose(settings.verbose)
    largest_exposure = _largest_exposure(settings, exposure, init_score)
    own = {"sample_weight": sample_weight, "init_score": init_score, "exposure": exposure}
    if has_log_exposure := largest_exposure is not None and exposure is None:
        own |= {"init_score": None, "exposure": init_score}
    data = open_data(settings, X, y, **own, unit=unit, reads_dask=reads_dask)
    names = data.rows.table.names
    declaring = _declaring_task(settings, data.rows)
    schema = declaring.without_rows()
    columns = tuple(names.index(name) for name in declaring.terms)
    gap = declaring.partial.target_gap
    target = None if isinstance(gap, UndeclaredCategorical) else schema.target
    directions = constrained_directions(
        settings.monotone_constraints, names, tuple(schema.features.values()), target
    )
    task = TrainingTask(
        _specs(schema, columns),
        columns,
        _in_class_order(schema.target),
        tuple(directions[column] for column in columns),
        _objective(settings),
        declaring.largest_weight,
        largest_exposure,
        has_log_exposure,
    )
    pairs = pair_task(
        settings.interactions,
        names,
        columns,
        task.specs,
        undeclared=tuple(declaring.partial.gaps),
        excluded=excluded_pairs(settings.exclude, names),
        constrained=[column for column in columns if directions[column]],
        objective=task.objective,
    )
    task = replace(task, pairs=pairs)
    target = None if gap is not None else task.target
    given, n_rows = data.given, data.rows.table.n_rows
    start = open_init_score(given["init_score"], given["X"], n_rows, target, task=settings.task)
    rows = data.on_workers(replace(data.rows, start=start), settings, target)
    population = _population(settings, declaring)
    neighbourhood = neighbourhood_of(settings.neighboring, data.privacy_unit, population=population)
    mu = _mu_of(settings, epsilon, declaring.gaussian_delta(delta))
    config = trainer_config(settings, declaring.training_mu(mu, delta), len(columns), task.pairs)
    config, neighbourhood = _with_rate(_at_sites(config, site), neighbourhood, settings.task)
    return EBMRequest.opened_for(
        settings,
        given["unit"],
        declaring=declaring,
        plan=ReleasePlan((*declaring.plan(mu, delta), *config.plan().releases)),
        neighbourhood=neighbourhood,
        rows=rows,
        site=site,
        epsilon=epsilon,
        delta=delta,
        task=task,
        config=config,
        n_threads=thread_count(settings.n_jobs),
        target_name=name_of_column(given["y"]),
        conditions=() if init_score is None else (INIT_SCORE_CONDITION,),
    )


def _at_sites(config: TrainerConfig, site: Sharing | None) -> TrainerConfig:
    """Return the settings with the noise of all sites."""
    if site is None:
        return config
    return replace(config, excess=site.max_sites * excess_of(site.n_sites, site.n_shares))


def excess_of(n_sites: int, n_shares: int) -> float:
    """Return the noise of all sites over that of so many, which suffices."""
    return math.sqrt(n_sites / n_shares)


def _with_rate(
    config: TrainerConfig, neighbourhood: Neighbourhood, of_task: str
) -> tuple[TrainerConfig, Neighbourhood]:
    """Return both with the release over more rows of a person, where a total is put right."""
    if of_task == "regression" and (config.n_baselines or not config.has_total):
        # A quantile is no mean, and a loss of one's own need not be least at the mean. Rows of a
        # person have one time.
        neighbourhood = replace(neighbourhood, total_rows=None)
    return replace(config, has_rate=neighbourhood.total_rows is not None), neighbourhood


def _largest_exposure(settings: FitSettings, exposure: Any, init_score: Any) -> float | None:
    """Return the declared maximum of the exposures; None if none are given.

    Under a log link ``init_score`` holds their logarithms.
    """
    has_log_link = link_of(_objective(settings)) == "log"
    has_given = exposure is not None or init_score is not None
    if has_given and class_of(_objective(settings))[0].n_baselines:
        raise ValueError(
            f"exposure or init_score was given with {settings.objective!r}, where the time of each "
            "row is its exposure. Leave it out."
        )
    if exposure is None and (init_score is None or not has_log_link):
        if settings.privacy_exposure_max is not None:
            raise ValueError(
                f"privacy_exposure_max is {settings.privacy_exposure_max!r}, and no exposure was "
                "given. Pass exposure=... to fit, or leave privacy_exposure_max out."
            )
        return None
    if not has_log_link:
        of = settings.objective if settings.task == "regression" else settings.task
        raise ValueError(
            f"exposure was given with {of!r}; it needs a log link. Use "
            "objective='poisson_deviance', or pass it as a column of X."
        )
    if exposure is not None and init_score is not None:
        raise ValueError(
            "exposure and init_score were given; pass one of them. Under a log link init_score is "
            "the logarithm of the exposure."
        )
    if callable(getattr(init_score, "predict", None)):
        raise TypeError(
            f"init_score is of type {type(init_score).__name__}; under a log link it must be an "
            "array of logarithms. Pass numpy.log(model.predict(X))."
        )
    if settings.privacy_exposure_max is None:
        raise ValueError(
            "privacy_exposure_max is None, and exposures were given (or init_score, which holds "
            "their logarithms); their maximum must be declared. Set it to the largest exposure "
            "that a row may have, such as 1.0 for a year."
        )
    return check_real(
        "privacy_exposure_max",
        settings.privacy_exposure_max,
        low=1 / _WIDEST_EXPOSURE,
        high=_WIDEST_EXPOSURE,
        mend="It is the largest exposure that a row may have, which must be public knowledge.",
    )


def _objective(settings: FitSettings) -> str:
    """Return the objective of a regression; a classification has one, the log loss."""
    return checked_objective(settings.objective) if settings.task == "regression" else "rmse"


def _population(settings: FitSettings, declaring: DeclaringTask) -> str:
    mend = "'people' gives all rows of a person a weight of 1 together."
    population = check_choice("population", settings.population, ("rows", "people"), mend=mend)
    if population == "people" and declaring.is_needed:
        raise SchemaError(
            "population is 'people', and something is not declared; it would be released from rows "
            "that count alike. Declare every column, the target and, with weights, "
            "privacy_weight_max."
        )
    return population


def _mu_of(settings: FitSettings, epsilon: float, delta: float) -> float:
    composition = check_choice(
        "composition",
        settings.composition,
        ("gdp", "classic"),
        mend="'gdp' adds less noise for the same promise.",
    )
    return (mu_of_budget if composition == "gdp" else classic_mu)(epsilon, delta)


def _declaring_task(settings: FitSettings, rows: PrivateRows) -> DeclaringTask:
    """Read the declaration from the arguments and the dtypes."""
    table = rows.table
    partial = partial_schema_from_arguments(
        table.names,
        kinds_of(table),
        kind_of(rows.y),
        settings.feature_types,
        settings.privacy_bounds,
        settings.privacy_target_min,
        settings.privacy_target_max,
        settings.schema,
        settings.classes,
        task=settings.task,
    )
    loss = class_of(_objective(settings))[0]
    partial = loss.with_target(partial)
    if loss.n_baselines and kind_of(rows.y).cells == "bools":
        raise SchemaError(
            f"The target's type is bool, and objective is {loss.name!r}, which needs times. Pass "
            "the time of each event, and minus the time of each censored row."
        )
    _check_target_width(partial.target)
    columns = _included_columns(table.names, settings.exclude)
    return DeclaringTask(
        partial,
        table.names,
        tuple(table.names[column] for column in columns),
        has_weights=rows.weights is not None,
        declared_weight=_declared_weight(settings.privacy_weight_max),
    )


def _declared_weight(maximum: float | None) -> float | None:
    if maximum is None:
        return None
    return check_real(
        "privacy_weight_max",
        maximum,
        low=1 / _WIDEST_TARGET,
        high=_WIDEST_TARGET,
        mend="It is the largest weight that a row may have, which must be public knowledge.",
    )


def _check_target_width(target: object) -> None:
    """Refuse bounds whose squares the released variances could not hold."""
    if not isinstance(target, Continuous | UndeclaredContinuous):
        return
    sizes = [abs(bound) for bound in (target.lower, target.upper) if bound is not None]
    if isinstance(target, Continuous):
        sizes.append(target.upper - target.lower)
    if any(size and not 1 / _WIDEST_TARGET <= size <= _WIDEST_TARGET for size in sizes):
        raise SchemaError(
            f"The target's bounds are {target.lower!r} and {target.upper!r}; they and their "
            f"distance must be 0 or between {1 / _WIDEST_TARGET:g} and {_WIDEST_TARGET:g} in size. "
            "Change the unit of the target."
        )


def _specs(schema: Schema, columns: Sequence[int]) -> tuple[FeatureSpec, ...]:
    specs = tuple(schema.features.values())
    return tuple(specs[column] for column in columns)


def _in_class_order(target: FeatureSpec | None) -> FeatureSpec:
    """Return labels in scikit-learn's order; numbers first, so that they stay so beside text."""
    if target is None:
        raise SchemaError(
            "The schema has no target, and a fit needs one. Declare Schema(..., target=...)."
        )
    if not isinstance(target, Categorical):
        return target
    return Categorical(sorted(target.levels, key=lambda label: (isinstance(label, str), label)))


def trainer_config(
    settings: FitSettings, mu: float, n_terms: int, pairs: PairTask = NO_PAIRS
) -> TrainerConfig:
    """Return the settings of an estimator's training with this budget; checks its parameters."""
    share = check_real(
        "bin_budget_frac",
        settings.bin_budget_frac,
        low=0,
        high=1,
        low_open=True,
        high_open=True,
        mend="It is the share of the budget for the histograms; 0.1 suits most tables.",
    )
    loss = class_of(_objective(settings))[0]
    rounds, leaves, rate = settings.max_rounds, settings.max_leaves, settings.learning_rate
    if rate is not None:
        rate = check_real("learning_rate", rate, low=0, high=2, low_open=True, mend=_RATE)
    return TrainerConfig(
        mu=mu,
        n_terms=n_terms,
        max_bins=check_int("max_bins", settings.max_bins, low=2, high=65_535),
        rounds=None if rounds is None else _count("max_rounds", rounds, 0, 100_000),
        leaves=None if leaves is None else _count("max_leaves", leaves, 1, 65_535),
        learning_rate=rate,
        binning_share=share,
        n_pairs=pairs.n_pairs,
        n_chosen_pairs=pairs.n_chosen,
        n_shapes=loss.n_shapes if settings.task == "regression" else 0,
        fits_mean=loss.fits_mean,
        n_baselines=loss.n_baselines,
        target_parts=loss.target_parts,
        excess=settings.excess,
    )


def _count(name: str, value: Any, low: int, high: int) -> int:
    return check_int(name, value, low=low, high=high, mend=_RULE)


def _refuse_bags(settings: FitSettings) -> None:
    given: list[tuple[Any, int]] = [(settings.outer_bags, 1), (settings.validation_size, 0)]
    if not all(isinstance(value, numbers.Real) and value == allowed for value, allowed in given):
        raise ValueError(
            f"outer_bags is {settings.outer_bags!r} and validation_size is "
            f"{settings.validation_size!r}; they must be 1 and 0. Bags would divide the budget "
            "and held-out rows would be wasted: the noise is known, so standard_deviations_ has "
            "the error bands without either."
        )


def _check_verbose(verbose: Any) -> None:
    """Refuse what is neither true nor false, before a session is open that hides the reason."""
    if not isinstance(verbose, bool | np.bool_ | int | np.integer):
        raise TypeError(
            f"verbose is {verbose!r}; it must be True, to show rounds and time, or False."
        )


def _included_columns(names: Sequence[str], exclude: Any) -> tuple[int, ...]:
    """Return the columns that get a term."""
    dropped = set()
    items = check_sequence("exclude", () if exclude is None else exclude, "names or indices")
    for item in items:
        if isinstance(item, tuple | list) and len(item) == 2:
            continue  # a pair: excluded_pairs
        feature = item[0] if isinstance(item, tuple | list) and len(item) == 1 else item
        dropped.add(column_of(feature, names, "exclude", ", or a pair of them"))
    included = tuple(index for index in range(len(names)) if index not in dropped)
    if not included:
        raise ValueError(
            "exclude leaves no feature; keep at least one, or release the mean of the target with "
            "a library for private statistics."
        )
    return included
