"""DP-EBM estimators: drop-in replacements for ``interpret.privacy.DPExplainableBoosting*``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from interpret.privacy import (
    DPExplainableBoostingClassifier as _InterpretClassifier,
    DPExplainableBoostingRegressor as _InterpretRegressor,
)

from interpret_dp.ebm.base import PrivateEBM
from interpret_dp.ebm.interpret_api import predict_lazily
from interpret_dp.exceptions import warn_caller
from interpret_dp.fitting.tags import with_substitutes
from interpret_dp.released import AdditiveModel
from interpret_dp.schema.containers import is_dask

if TYPE_CHECKING:
    from interpret_dp.ledger import PrivacyLedger
    from interpret_dp.schema import Schema

FeatureTypes = Sequence[str | Sequence[str] | Sequence[float] | None]
Constraints = Sequence[int] | Mapping[str, int]
Interactions = int | float | str | Sequence[Sequence[int | str]] | None
_Class = TypeVar("_Class", bound=type)
Bounds = np.ndarray[Any, Any] | Mapping[int | str, tuple[float, float]]


def _with_parameters_of(other: type) -> Callable[[_Class], _Class]:
    """Append another class's parameters to those that the decorated class has beside them."""

    def decorate(cls: _Class) -> _Class:
        # Without docstrings, under python -OO, there is nothing to do.
        if cls.__doc__ is not None and other.__doc__ is not None:
            own, further = inspect.cleandoc(cls.__doc__), inspect.cleandoc(other.__doc__)
            entries = further.partition("Parameters\n----------\n")[2].partition("\n\n")[0]
            # The last one, which a regressor does not have.
            entries = entries.partition("\nclasses : ")[0]
            head, _, tail = own.partition("\n\nAttributes\n")
            cls.__doc__ = f"{head}\n{entries}\n\nAttributes\n{tail}"
        return cls

    return decorate


def _keep(estimator: Any, parameters: Mapping[str, Any]) -> None:
    """Keep all arguments of a constructor under their names, in place of interpret's defaults."""
    for name, value in parameters.items():
        if name not in ("self", "__class__"):
            setattr(estimator, name, value)


class DPExplainableBoostingClassifier(PrivateEBM, _InterpretClassifier):
    """Differentially private explainable boosting classifier, for two classes and more.

    Subclasses interpret's class of the same name and can take its place: same constructor
    parameters, same fitted attributes, same explanations.

    Parameters
    ----------
    feature_names : list of str, default=None
        Names of the columns; by default those of the DataFrame.
    feature_types : list, default=None
        For each column ``"continuous"``, ``"nominal"``, ``"ordinal"``, a list of ordered levels, or
        ``"auto"`` or None: then its dtype says whether it holds numbers. ``schema`` says the same
        and more.
    max_bins : int, default=64
        Most bins of a continuous feature, 2 to 65,535. Noisy counts merge bins, so fewer remain at
        small epsilon.
    exclude : list of str, int or 1-tuples of them, or pairs, default=None
        Features that get no term; they cost nothing. Pairs that are not to be chosen.
    validation_size, outer_bags
        Only 0 and 1: the noise is known, so error bands need no held-out rows and no bags, which
        would divide the budget.
    learning_rate : float, default=None
        Score per unit of mean residual that one update moves. None: by a rule in public numbers
        (:class:`interpret_dp.ebm.config.TrainerConfig`).
    max_rounds : int, default=None
        Rounds of boosting; the second half's extrapolated iterates are averaged.
        None: by the rule.
    max_leaves : int, default=None
        Leaves of each round's partition of an ordered feature. None: by the rule.
    n_jobs : int, default=-1
        Threads that sum over rows, as joblib counts them. The result does not depend on it.
    random_state : int, default=None
        For tests only: any value but None voids the promise, with a warning.
    epsilon, delta : float, default=1.0, 1e-5
        The promise for everything that the fit publishes.
    composition : {"gdp", "classic"}, default="gdp"
        ``"gdp"`` composes Gaussian releases exactly. ``"classic"`` is the strong composition
        formula of the paper: more noise for the same promise.
    bin_budget_frac : float, default=0.1
        Share of the budget (of mu squared) for the histograms: half for finding bins, half for
        counting the rows of each.
    privacy_bounds : array of shape (n_features, 2) or mapping, default=None
        Public (minimum, maximum) of the continuous columns, as interpret takes them.
    privacy_weight_max : float, default=None
        Public maximum of ``sample_weight``. None: estimated privately if weights are given, out of
        the fit's budget.
    neighboring : {"add_or_remove_one", "replace_one"}, default="add_or_remove_one"
        Which tables are neighbours: those that differ by the presence of one unit, or by its
        content. The second is the weaker promise per epsilon as defined here (it does not hide
        how many units there are) and needs up to twice the noise.
    monotone_constraints : list of int, or mapping of str to int, default=None
        1 for a column whose curve is to increase, -1 to decrease, 0 for any shape: one entry a
        column, as interpret takes them, or by name, as scikit-learn does. After each round such a
        curve is replaced by the nearest monotone one, which costs no privacy and removes noise; its
        missing and unseen bins have no place in the order. For two classes and regressions, and
        columns that have an order.
    schema : Schema, default=None
        Public declaration of the columns and of the class labels. Whatever neither it nor the
        arguments above declare is released privately, out of the fit's budget: frequent levels
        and labels with a tenth of delta, rough bounds without (docs/proofs). Up to 12.5 % of the
        budget (of mu squared) goes there: 7.5 % to columns, and 2.5 % each to the target and to an
        unknown ``privacy_weight_max``. What is declared costs nothing and is exact. Columns of
        numbers are taken as continuous and all others as nominal, by their dtype.
    ledger : PrivacyLedger or str, default=None
        Where the fit is charged; a string is the ledger's URL. None: the in-memory ledger of the
        process, which records without a limit while it has no budget.
        A cross-validation of scikit-learn charges each fold, and no fold knows of the next: compare
        ``ledger.remaining(dataset, delta)`` with the cost of all folds before.
    dataset : str, default=None
        Name of the data set in the ledger; required with a ledger. Without one it is written into
        the guarantee, and nothing is kept.
    verbose : bool, default=False
        Show a progress bar with rounds and time, never a loss.
    interactions : list of pairs, int, float or str, default=0
        Pairs of features that get a heat map of their own, as interpret's other EBMs take them:
        ``[("age", "bmi"), (0, 3)]`` by name or index, which costs nothing to choose; or a number
        of them, a share of the number of features (0.5) or a multiple (``"3x"``), chosen privately
        for 5 % of the boosting's budget. Every pair takes a share of the budget as a term does,
        and so from all other terms: the default is none, since noise is what limits a private
        fit. Its grid is coarse, by a rule in released numbers. Two classes and regressions only;
        categorical features need at most 64 declared levels.
    backend : {"auto", "local", "dask"}, default="auto"
        Where rows are summed. ``"dask"`` takes Dask DataFrames and arrays, on the workers of the
        current ``distributed`` client or, without one, on threads of this process; needs the
        extra ``dask``. ``"auto"`` takes it for Dask collections, and this process's memory for all
        else. Noise is drawn here in any case, and the result does not depend on it.
    population : {"rows", "people"}, default="rows"
        Whom the model speaks of where ``schema.unit`` is declared. ``"rows"``: of the rows that
        ``max_rows`` leaves, and on average of up to ``total_rows`` rows a person.
        ``"people"``: of people, whose rows have a weight of 1 together; noise then does not grow
        with ``max_rows``. All columns must be declared.
    classes : sequence of str, int, float or bool, default=None
        The class labels, where ``schema`` does not declare the target. They must be public
        knowledge, and then cost nothing.

    Attributes
    ----------
    guarantee_ : Guarantee
        The promise, its assumptions, and the ledger's head.
    released_ : AdditiveModel
        Everything the fit published, as one immutable value.
    schema_ : Schema
        The declaration in force.
    boosting_record_ : tuple of tuple of TermUpdate
        For each feature's term, the public record of every round: partition, step and
        noise.
    pair_record_ : tuple of ndarray
        For each pair, the gain of its cells, which is that of every round.
    classes_ : ndarray of shape (n_classes,)
        The declared labels, or those found privately, sorted.
    standard_deviations_ : list of ndarray
        Root of the expected squared distance of each score from that of the same fit without noise:
        right on average over bins, and wide for levels with too few rows. Bands that are right in
        each bin are ``band()`` of each of ``released_.terms``, and the deviation of the noise
        itself is ``noise_deviations``.
    bin_weights_, bag_weights_ : list of ndarray, ndarray
        Released (noisy) numbers of rows.
    noise_scale_binning_, noise_scale_boosting_ : float
        Standard deviation of the noise of the weight of a bin (in rows; up to 1.4 times as much for
        one that was merged of many fine ones) and of a sum of the last rounds (in score).
    total_error_ : float or None
        Of a regression: standard deviation of the mean prediction about the rows' mean.

    Notes
    -----
    Nori et al. (2021), with the corrections of docs/proofs. Private: the rows, their number, and
    which levels occur. Released: every fitted attribute.

    Examples
    --------
    >>> from interpret_dp import DPExplainableBoostingClassifier, PrivacyLedger
    >>> from interpret_dp.datasets import make_cohort
    >>> patients = make_cohort(2_000)
    >>> ledger = PrivacyLedger.in_memory()
    >>> budget = ledger.create_budget("ward", epsilon=4, delta=1e-6)
    >>> model = DPExplainableBoostingClassifier(
    ...     epsilon=1.0, delta=1e-6, schema=patients.schema, ledger=ledger, dataset="ward"
    ... ).fit(patients.X, patients.y)
    >>> model.predict_proba(patients.X[:3]).shape
    (3, 2)
    >>> model.guarantee_.epsilon, round(ledger.remaining("ward"), 3)
    (1.0, 3.798)
    """

    _task = "classification"

    @with_substitutes
    def __init__(
        self,
        feature_names: Sequence[str | None] | None = None,
        feature_types: FeatureTypes | None = None,
        max_bins: int = 64,
        exclude: Sequence[Any] | None = None,
        validation_size: int | float | None = 0,
        outer_bags: int = 1,
        learning_rate: float | None = None,
        max_rounds: int | None = None,
        max_leaves: int | None = None,
        n_jobs: int | None = -1,
        random_state: int | None = None,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        composition: str = "gdp",
        bin_budget_frac: float = 0.1,
        privacy_bounds: Bounds | None = None,
        privacy_weight_max: float | None = None,
        neighboring: str = "add_or_remove_one",
        monotone_constraints: Constraints | None = None,
        schema: Schema | None = None,
        ledger: PrivacyLedger | str | None = None,
        dataset: str | None = None,
        verbose: bool = False,
        interactions: Interactions = 0,
        backend: str = "auto",
        population: str = "rows",
        classes: Sequence[Any] | None = None,
    ) -> None:
        parameters = locals()
        super().__init__()
        _keep(self, parameters)

    def predict_proba(self, X: Any, init_score: Any = None) -> Any:
        """Return class probabilities, shape (n_rows, n_classes); cells are read by the schema.

        Parameters
        ----------
        X : DataFrame, array or list of rows, shape (n_rows, n_features)
            Rows to predict; nothing protects them, and nothing is charged.
        init_score : array-like, shape (n_rows,), default=None
            Scores to start from, as interpret's estimators take them.
        """
        if is_dask(X):
            return predict_lazily(self, "predict_proba", X, init_score)
        return super().predict_proba(self._readable(X), init_score)

    def decision_function(self, X: Any, init_score: Any = None) -> Any:
        """Return logits of the second class, shape (n_rows,), or of all of more classes.

        Parameters
        ----------
        X : DataFrame, array or list of rows, shape (n_rows, n_features)
            Rows to predict; nothing protects them, and nothing is charged.
        init_score : array-like, shape (n_rows,), default=None
            Scores to start from, as interpret's estimators take them.
        """
        if is_dask(X):
            return predict_lazily(self, "decision_function", X, init_score)
        return super().decision_function(self._readable(X), init_score)


@_with_parameters_of(DPExplainableBoostingClassifier)
class DPExplainableBoostingRegressor(PrivateEBM, _InterpretRegressor):
    """Differentially private explainable boosting regressor.

    Subclasses interpret's class of the same name and can take its place. Residuals are clipped at
    0.75 to 1.75 released standard deviations of the target, fewer where there is more noise, and
    at half of its range at most (interpret's own class bounds the residual by the range, which does
    not hold: docs/proofs/dp_ebm.md).

    Parameters
    ----------
    privacy_target_min, privacy_target_max : float, default=None
        Public bounds of the target; ``schema`` with a Continuous target says the same.
    objective : {"rmse", "poisson_deviance", "gamma_deviance"}, default="rmse"
        What is minimised, by interpret's names. ``"poisson_deviance"`` is for counts and
        ``"gamma_deviance"`` for positive amounts: scores are then logarithms, terms multiply the
        mean, and ``predict`` returns means. ``"poisson"`` and ``"gamma"``, as interpret's
        development branch calls them, mean the same, and so do the names of losses of your own
        (:func:`interpret_dp.ebm.losses.register_loss`). Targets outside the bounds count as the
        bounds, which must not be negative; for gamma deviance the lower one must be declared above
        0. Residuals of counts are clipped at three standard deviations of the target, and at a
        quarter of the range at most; those of gamma deviance at twice the mean. A given
        ``learning_rate`` is the share of a Newton step.

    Attributes
    ----------
    min_target_, max_target_ : float
        The declared bounds, or those found privately.
    link_ : {"identity", "log"}
        Scale of the scores.

    See Also
    --------
    DPExplainableBoostingClassifier : All other attributes are alike.

    Examples
    --------
    >>> from interpret_dp import DPExplainableBoostingRegressor
    >>> from interpret_dp.datasets import make_cohort
    >>> patients = make_cohort(2_000, task="regression")
    >>> model = DPExplainableBoostingRegressor(epsilon=1.0, delta=1e-6, schema=patients.schema)
    >>> model.fit(patients.X, patients.y).predict(patients.X[:3]).shape
    (3,)
    >>> float(model.min_target_), float(model.max_target_)  # declared, not looked up
    (0.0, 50000.0)
    """

    _task = "regression"

    @with_substitutes
    def __init__(
        self,
        feature_names: Sequence[str | None] | None = None,
        feature_types: FeatureTypes | None = None,
        max_bins: int = 64,
        exclude: Sequence[Any] | None = None,
        validation_size: int | float | None = 0,
        outer_bags: int = 1,
        learning_rate: float | None = None,
        max_rounds: int | None = None,
        max_leaves: int | None = None,
        n_jobs: int | None = -1,
        random_state: int | None = None,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        composition: str = "gdp",
        bin_budget_frac: float = 0.1,
        privacy_bounds: Bounds | None = None,
        privacy_target_min: float | None = None,
        privacy_target_max: float | None = None,
        privacy_weight_max: float | None = None,
        neighboring: str = "add_or_remove_one",
        monotone_constraints: Constraints | None = None,
        objective: str = "rmse",
        schema: Schema | None = None,
        ledger: PrivacyLedger | str | None = None,
        dataset: str | None = None,
        verbose: bool = False,
        interactions: Interactions = 0,
        backend: str = "auto",
        population: str = "rows",
    ) -> None:
        parameters = locals()
        super().__init__()
        _keep(self, parameters)


def from_document(
    document: Any, ledger: PrivacyLedger | str | None
) -> DPExplainableBoostingClassifier | DPExplainableBoostingRegressor:
    """Return the estimator of an additive model's document.

    Raises
    ------
    ValueError
        If the document is not such a model, or is incomplete or contradicts itself.

    Warns
    -----
    UserWarning
        If it is a regression without a released total, as of older versions.
    """
    model = AdditiveModel.from_dict(document)
    objective = str(model.parameters.get("objective", "rmse")).removesuffix("_deviance")
    fits_mean = model.task == "regression" and objective in ("rmse", "poisson", "gamma")
    if fits_mean and model.total_error is None:
        warn_caller(
            "This regression released no total, as versions before 0.2.0.dev2 did not. Where few "
            "rows hold much of the total, as of costs, its predictions add up to too little, by up "
            "to a half. Compare their sum with a total that you know before you use it.",
        )
    kind = (
        DPExplainableBoostingClassifier
        if model.task == "classification"
        else DPExplainableBoostingRegressor
    )
    return kind.from_released(model, ledger)
