"""A search for good hyperparameters that costs what one fit of the estimator costs."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, cast

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from interpret_dp._validate import check_real
from interpret_dp.accounting.guarantee import Guarantee
from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.accounting.repeated import LARGEST_MEAN, Repetitions, calibrated_run_mu
from interpret_dp.ebm.base import PrivateEBM
from interpret_dp.ebm.config import TrainerConfig
from interpret_dp.ebm.promise import promise_of
from interpret_dp.ebm.publishing import fitted_model
from interpret_dp.ebm.request import FitRequest, open_request, trainer_config
from interpret_dp.ebm.training import TrainedTerms, train
from interpret_dp.explanation.guarantee_card import ShowsGuarantee
from interpret_dp.fitting.pipelines import warn_of_learning_steps
from interpret_dp.fitting.rows import PrivateRows
from interpret_dp.release import PlannedRelease, PlannedSearch, ReleaseDoor, ReleasePlan
from interpret_dp.tune.candidates import candidates_of, with_settings
from interpret_dp.tune.scoring import Scoring, scoring_of

__all__ = ["DPRandomizedSearch"]

_SEARCH, _SCORE = "search", "score"
_MECHANISM = (
    "the best of a random number of fits (truncated negative binomial, shape {shape:g}, mean "
    "{mean:.4g}), each with discrete Gaussian noise on integer sums, exactly sampled"
)
_ASSUMPTION = "the number of fits and how long the search took are not published"


@dataclass(frozen=True)
class _Best:
    """What a search publishes of its best run."""

    candidate: int
    trained: TrainedTerms
    noisy_loss: int


@dataclass(frozen=True)
class _Space:
    """All candidates, ready to run; nothing in it but the request's rows is private."""

    estimators: tuple[Any, ...]
    configs: tuple[TrainerConfig, ...]
    request: FitRequest
    scoring: Scoring

    def request_of(self, candidate: int) -> FitRequest:
        return dataclasses.replace(self.request, config=self.configs[candidate])

    def fitted(self, candidate: int, trained: TrainedTerms, guarantee: Guarantee) -> Any:
        """Return a candidate's estimator with what a run released."""
        estimator = clone(self.estimators[candidate])
        request = self.request_of(candidate)
        estimator._publish(fitted_model(estimator, request, trained, guarantee))
        estimator.boosting_record_ = tuple(tuple(part) for part in trained.boosting.updates)
        return estimator

    def run(
        self, candidate: int, rows: PrivateRows, door: ReleaseDoor, guarantee: Guarantee
    ) -> tuple[int, _Best]:
        """Fit a candidate and release how well it does."""
        request = self.request_of(candidate)
        trained = train(
            rows, request.task, request.config, door, n_threads=request.n_threads, verbose=False
        )
        model = self.fitted(candidate, trained, guarantee)
        losses = self.scoring.losses(model, rows.table, rows.y)
        exact = np.array([[losses.sum(dtype=np.int64)]])
        noisy, _ = door.gaussian(_SCORE, exact, row_norm=LATTICE, aligned=True)
        return -int(noisy[0, 0]), _Best(candidate, trained, int(noisy[0, 0]))


def _has(method: str) -> Callable[[Any], bool]:
    return lambda search: hasattr(search.estimator, method)


class DPRandomizedSearch(ShowsGuarantee, BaseEstimator):  # type: ignore[misc]
    """Private search over hyperparameters; the winner has the estimator's own guarantee.

    A random number of times, settings are drawn, the estimator is fitted with them and scored on
    its rows with noise. Only the fit with the highest score is published. The whole search is
    (epsilon, delta)-differentially private for the *estimator's* epsilon and delta, so each fit
    has less of both: a search pays off only where the settings matter more than that
    (docs/tune.md).

    Parameters
    ----------
    estimator : DPExplainableBoostingClassifier or DPExplainableBoostingRegressor
        Unfitted. Its epsilon, delta, schema, ledger and data set are those of the search. Its
        schema must declare all columns and the target.
    param_distributions : mapping, or list of mappings
        Lists or distributions (with ``rvs``) by parameter, as scikit-learn's RandomizedSearchCV
        takes them. Public: choose them without looking at the rows. Allowed are the parameters
        in :data:`interpret_dp.tune.candidates.TUNABLE`.
    mean_fits : float, default=5.0
        Mean of the number of fits, above 1 and at most 1,000. More fits find better settings, and
        each has a smaller budget.
    shape : float, default=1.0
        Of the truncated negative binomial law of that number, between 0 (logarithmic: cheaper,
        and more often a single fit) and 1 (geometric).
    scoring : str, default=None
        Classification: ``"neg_log_loss"`` (None) or ``"accuracy"``. Regression:
        ``"neg_mean_squared_error"`` (None) or ``"neg_mean_absolute_error"``. Bounded: a
        probability below 1/64 counts as that, an error above a quarter of the target's range as
        that.
    score_budget_frac : float, default=0.1
        Share of each run's budget (of mu squared) for its score.

    Attributes
    ----------
    best_estimator_ : fitted estimator
        The winner; its ``guarantee_`` is that of the whole search.
    best_params_ : dict
        Its settings.
    best_score_ : float
        Its noisy score. Too good on average, being the best of several on the rows of the fit: pay
        for :func:`interpret_dp.private_metrics` on other rows to quote one.
    guarantee_ : Guarantee
    classes_ : ndarray
        Of a classification.

    Notes
    -----
    Private: the rows, the number of fits, all other fits, and how often each setting was tried.
    Liu and Talwar (2019); Papernot and Steinke (2022). The cost in Gaussian differential privacy,
    and its proof: docs/proofs/private_selection.md.

    Examples
    --------
    >>> from interpret_dp import DPExplainableBoostingClassifier, DPRandomizedSearch
    >>> from interpret_dp.datasets import make_cohort
    >>> patients = make_cohort(1_000)
    >>> model = DPExplainableBoostingClassifier(schema=patients.schema, epsilon=4.0)
    >>> search = DPRandomizedSearch(model, {"max_leaves": [2, 4]}, mean_fits=2)
    >>> search.fit(patients.X, patients.y).best_params_["max_leaves"] in (2, 4)
    True
    >>> search.best_estimator_.guarantee_.epsilon  # of the whole search
    4.0
    """

    def __init__(
        self,
        estimator: Any,
        param_distributions: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        *,
        mean_fits: float = 5.0,
        shape: float = 1.0,
        scoring: str | None = None,
        score_budget_frac: float = 0.1,
    ) -> None:
        self.estimator = estimator
        self.param_distributions = param_distributions
        self.mean_fits = mean_fits
        self.shape = shape
        self.scoring = scoring
        self.score_budget_frac = score_budget_frac

    def fit(self, X: Any, y: Any, unit: Any = None) -> Self:
        """Search on private rows and charge the ledger once, for the whole.

        Parameters
        ----------
        X, y, unit
            As the estimator's ``fit`` takes them. Private.

        Returns
        -------
        self

        Raises
        ------
        TypeError, ValueError, SchemaError, LedgerError
            If a parameter, the form of the data or the declaration is wrong; nothing was spent.
        BudgetExceededError
            If the data set's budget does not cover the search; nothing was spent.
        ReleaseError
            If the computation failed. What was charged is in the message.
        """
        warn_of_learning_steps()
        space = self._opened(X, y, unit)
        request = space.request
        planned = self._guarantee(request, None)
        with ReleaseDoor(
            request.ledger,
            request.dataset,
            request.plan,
            request.randomness,
            neighbourhood=request.neighbourhood,
            explainer=f"{type(self).__name__}({type(self.estimator).__name__})",
            epsilon=request.epsilon,
            delta=request.delta,
        ) as door:
            rows = request.rows.drawn(request.neighbourhood.max_rows, door.public_choices)
            _, best = door.search(_SEARCH, lambda index: space.run(index, rows, door, planned))
        self.guarantee_ = self._guarantee(request, door.head)
        self.best_estimator_ = space.fitted(best.candidate, best.trained, self.guarantee_)
        names = {name for part in self._parts() for name in part}
        parameters = self.best_estimator_.get_params(deep=False)
        self.best_params_ = {name: parameters[name] for name in sorted(names)}
        self.best_score_ = space.scoring.score(best.noisy_loss, best.trained.n_rows)
        if hasattr(self.best_estimator_, "classes_"):
            self.classes_ = self.best_estimator_.classes_
        self.n_features_in_ = self.best_estimator_.n_features_in_
        return self

    def _opened(self, X: Any, y: Any, unit: Any) -> _Space:
        """Check everything that can be checked without reading a row, and plan the search."""
        if not isinstance(self.estimator, PrivateEBM):
            raise TypeError(
                f"estimator is of type {type(self.estimator).__name__}; it must be a "
                "DPExplainableBoostingClassifier or DPExplainableBoostingRegressor. Others "
                "have no search: their runs cannot share one reservation."
            )
        if self.estimator.composition != "gdp":  # type: ignore[attr-defined]
            raise ValueError(
                f"The estimator's composition is {self.estimator.composition!r}; "  # type: ignore[attr-defined]
                "a search accounts for its runs by 'gdp' alone."
            )
        mean = check_real("mean_fits", self.mean_fits, low=1, low_open=True, high=LARGEST_MEAN)
        repetitions = Repetitions.of_mean(mean, check_real("shape", self.shape, low=0, high=1))
        share = check_real(
            "score_budget_frac",
            self.score_budget_frac,
            low=0,
            high=1,
            low_open=True,
            high_open=True,
            mend="It is the share of each run's budget for its score; 0.1 suits most tables.",
        )
        request = open_request(self.estimator, X, y, unit=unit, declared_only=True)
        settings = candidates_of(self.param_distributions, request.randomness.public)
        estimators = tuple(with_settings(self.estimator, each) for each in settings)
        run = calibrated_run_mu(request.config.mu, repetitions)
        n_terms = len(request.task.columns)
        configs = tuple(
            trainer_config(each, run * math.sqrt(1.0 - share), n_terms, request.task.pairs)
            for each in estimators
        )
        score = PlannedRelease(_SCORE, run * math.sqrt(share), 1)
        trainings = (config.plan().releases for config in configs)
        plans = tuple((*cast("tuple[PlannedRelease, ...]", each), score) for each in trainings)
        search = PlannedSearch(_SEARCH, run, 1, repetitions=repetitions, candidates=plans)
        request = dataclasses.replace(request, plan=ReleasePlan((search,)))
        return _Space(estimators, configs, request, scoring_of(self.scoring, request.task.target))

    def _parts(self) -> Sequence[Mapping[str, Any]]:
        space = self.param_distributions
        return [space] if isinstance(space, Mapping) else space

    def _guarantee(self, request: FitRequest, head: str | None) -> Guarantee:
        promise = promise_of(request, head)
        return dataclasses.replace(
            promise,
            mechanism=_MECHANISM.format(shape=self.shape, mean=self.mean_fits),
            assumptions=(*promise.assumptions, _ASSUMPTION),
        )

    # ------------------------------------------------------------------- the winner's answers

    def predict(self, X: Any) -> Any:
        """Return the winner's predictions, shape (n_rows,).

        Parameters
        ----------
        X : DataFrame, array or list of rows, shape (n_rows, n_features)
            Rows to predict; nothing protects them, and nothing is charged.
        """
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_.predict(X)

    @available_if(_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """Return the winner's class probabilities, shape (n_rows, n_classes)."""
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_.predict_proba(X)

    @available_if(_has("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Any:
        """Return the winner's logits."""
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_.decision_function(X)

    def __sklearn_tags__(self) -> Any:
        """Return the tags of the estimator that is searched for."""
        tags = super().__sklearn_tags__()
        own = get_tags(self.estimator)
        tags.estimator_type = own.estimator_type
        tags.classifier_tags, tags.regressor_tags = own.classifier_tags, own.regressor_tags
        tags.input_tags = own.input_tags
        return tags
