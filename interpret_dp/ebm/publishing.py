"""From trained arrays to the released model, and from that to interpret's attributes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp.accounting.guarantee import Guarantee
from interpret_dp.ebm.losses import link_of
from interpret_dp.ebm.noise.uncertainty import Expected
from interpret_dp.ebm.request import FitRequest
from interpret_dp.ebm.training import TrainedTerms
from interpret_dp.fitting.init_score import INIT_SCORE_CONDITION
from interpret_dp.released import AdditiveFeature, AdditiveModel, AdditiveTerm, FeaturePair
from interpret_dp.schema import Categorical, Continuous, Schema

SAVED_PARAMETERS = {
    **{"max_bins": "integer", "max_rounds": "integer or null", "max_leaves": "integer or null"},
    **{"learning_rate": "number or null", "epsilon": "number", "delta": "number"},
    **{"bin_budget_frac": "number", "privacy_weight_max": "number or null"},
    **{"composition": "text", "neighboring": "text", "objective": "text"},
    "population": "text",
    "monotone_constraints": "list or object or null",
    "interactions": "integer or number or text or list or null",
}
"""Constructor parameters that a file holds, and their kinds."""

# What is known of a term's noise.
_NOISE = (
    *("covariance", "variances", "noisy_scores"),
    *("posterior_mean", "posterior_covariance", "posterior_variances"),
)


def fitted_model(
    estimator: Any, request: FitRequest, trained: TrainedTerms, guarantee: Guarantee
) -> AdditiveModel:
    """Return the released model of a fit."""
    target = request.task.target
    cuts = {column: b.cuts for column, b in zip(request.task.columns, trained.bins, strict=True)}
    # A feature without a term needs no bins; one bin over everything keeps interpret's layout.
    columns = request.task.columns
    pair_cuts = {columns[k]: cuts_of_pairs for k, cuts_of_pairs in trained.pair_cuts.items()}
    features = tuple(
        AdditiveFeature(
            name,
            spec,
            None if isinstance(spec, Categorical) else cuts.get(index, np.zeros(0)),
            pair_cuts.get(index),
        )
        for index, (name, spec) in enumerate(request.schema.features.items())
    )
    terms = tuple(
        AdditiveTerm(
            column,
            scores,
            b.weights,
            noise.covariance,
            noise.variances,
            **_denoised_fields(expected),
        )
        for column, scores, b, noise, expected in zip(
            request.task.columns,
            trained.scores,
            trained.bins,
            trained.noise,
            trained.expected,
            strict=True,
        )
    )
    terms += tuple(
        AdditiveTerm(
            columns[pair.first],
            pair.scores.ravel(),
            pair.weights.ravel(),
            pair.noise.covariance,
            pair.noise.variances,
            partner=columns[pair.second],
        )
        for pair in trained.pairs
    )
    return AdditiveModel(
        task=estimator._task,
        schema=request.schema,
        features=features,
        terms=terms,
        intercept=trained.intercept,
        classes=target.levels if isinstance(target, Categorical) else None,
        has_log_link=link_of(request.task.objective) == "log",
        target=request.target_name,
        n_rows=trained.n_rows,
        noise_scale_binning=trained.count_noise,
        noise_scale_boosting=trained.update_noise,
        rounds=request.config.n_rounds,
        guarantee=guarantee,
        parameters=_json_parameters(estimator),
        total_error=trained.total_error,
        clipped=_clipped(trained, [features[column].name for column in columns]),
        needs_init_score=INIT_SCORE_CONDITION in request.conditions,
        correlations=tuple(
            (features[columns[i]].name, features[columns[j]].name, value)
            for i, j, value in trained.correlations
        ),
    )


def _clipped(
    trained: TrainedTerms, names: Sequence[str]
) -> tuple[tuple[str | None, float, float], ...]:
    """Return the shares of rows beyond the bounds of each term's feature and of the target."""
    shares = [(name, b.clipped) for name, b in zip(names, trained.bins, strict=True)]
    return tuple((name, *own) for name, own in [*shares, (None, trained.clipped)] if own)


def _denoised_fields(expected: Expected | None) -> dict[str, Any]:
    """Return the fields of a term that describe its denoising."""
    if expected is None:
        return {}
    return {
        "noisy_scores": expected.noisy_scores,
        "posterior_mean": expected.mean,
        "posterior_covariance": expected.covariance,
        "posterior_variances": expected.variances,
    }


def current_model(estimator: Any) -> AdditiveModel:
    """Return a fitted estimator's model as it is now, edits by interpret's methods included.

    What is known of a term's noise is kept only while its scores are those of the fit.
    """
    base: AdditiveModel = estimator.released_
    schema = Schema(
        {name: base.schema.features[name] for name in estimator.feature_names_in_},
        target=base.schema.target,
        unit=base.schema.unit,
    )
    has_one_class = base.classes is not None and len(base.classes) == 1
    fitted = dict(zip(base.term_names, base.terms, strict=True))
    names = estimator.feature_names_in_
    terms = []
    for indices, scores, weights in zip(
        estimator.term_features_, estimator.term_scores_, estimator.bin_weights_, strict=True
    ):
        original = fitted[" & ".join(names[index] for index in indices)]
        feature, partner = (*indices, None)[:2]
        if partner is not None:
            scores, weights = scores.ravel(), weights.ravel()
        is_as_fitted = np.array_equal(scores, original.scores)
        known = (
            {name: getattr(original, name) for name in _NOISE}
            if is_as_fitted
            else {"covariance": None}
        )
        before = original.released or (None if is_as_fitted else original)
        if before is not None:
            moved = np.zeros(len(base.intercept)) if original.moved is None else original.moved
            before = replace(before, feature=feature, partner=partner)
            known |= {"released": before, "moved": moved}
        terms.append(AdditiveTerm(feature, scores, weights, partner=partner, **known))
    return replace(
        base,
        schema=schema,
        features=current_features(estimator),
        terms=tuple(terms),
        # That of a model with one class is interpret's sign, minus infinity.
        intercept=base.intercept if has_one_class else np.ravel(estimator.intercept_),
        guarantee=estimator.guarantee_,
        correlations=tuple(entry for entry in base.correlations if set(entry[:2]) <= set(names)),
        clipped=tuple(entry for entry in base.clipped if entry[0] in (*names, None)),
    )


def current_features(estimator: Any) -> tuple[AdditiveFeature, ...]:
    """Return the features that are still in a fitted estimator, with their bins."""
    known = estimator.released_.schema.features
    # interpret's sweep takes the bins of a feature without a term away.
    return tuple(
        AdditiveFeature(
            name,
            known[name],
            (bins[0] if bins else np.zeros(0)) if kind == "continuous" else None,
            bins[1] if kind == "continuous" and len(bins) > 1 else None,
        )
        for name, kind, bins in zip(
            estimator.feature_names_in_, estimator.feature_types_in_, estimator.bins_, strict=True
        )
    )


def interpret_bounds(feature: AdditiveFeature) -> tuple[float, float]:
    """Return ``feature_bounds_`` of one feature: NaN for a categorical one."""
    spec = feature.spec
    return (np.nan, np.nan) if isinstance(spec, Categorical) else (spec.lower, spec.upper)


def interpret_bins(feature: AdditiveFeature) -> list[NDArray[np.float64] | dict[str, int]]:
    """Return ``bins_`` of one feature: cut points, or the bin of each level's name.

    Those of its own term come first, then those of its pairs if they are others.
    """
    if feature.cuts is None:
        return [{label: index for index, label in enumerate(feature.labels, start=1)}]
    own = [feature.cuts, feature.pair_cuts]
    return [np.array(cuts) for cuts in own if cuts is not None]


def interpret_table(model: AdditiveModel, term: AdditiveTerm, flat: Any) -> Any:
    """Return figures of a term's bins as interpret lays them out: those of a pair as a table."""
    if flat is None:
        return None
    subject = model.subject(term)
    if not isinstance(subject, FeaturePair):
        return np.array(flat)
    return np.array(flat).reshape(*subject.shape, *np.shape(flat)[1:])


def interpret_target_bounds(model: AdditiveModel) -> tuple[float, float]:
    """Return ``min_target_`` and ``max_target_`` of a regression: the declared bounds."""
    target = model.schema.target
    if not isinstance(target, Continuous):
        raise ValueError("A regression's schema must declare its target as Continuous.")
    return target.lower, target.upper


def _json_parameters(estimator: Any) -> dict[str, Any]:
    """Return the parameters that a file keeps; names, types and bounds are in the schema."""
    given = estimator.get_params(deep=False)
    return {name: plain_value(given[name]) for name in SAVED_PARAMETERS if name in given}


def plain_value(value: Any) -> Any:
    """Return a constructor parameter as JSON can hold it."""
    if isinstance(value, np.ndarray | np.generic):
        return plain_value(value.tolist())
    if isinstance(value, Mapping):
        return {str(key): plain_value(entry) for key, entry in value.items()}
    if isinstance(value, Sequence | set | frozenset) and not isinstance(value, str):
        return [plain_value(entry) for entry in value]
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return float(value) if isinstance(value, Real) else str(value)
