"""A released surrogate of a black box: additive models whose terms are the explanations."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp._validate import check_int
from interpret_dp.accounting.guarantee import Guarantee
from interpret_dp.ebm.estimators import (
    DPExplainableBoostingClassifier,
    DPExplainableBoostingRegressor,
)
from interpret_dp.lime.fidelity import Fidelity
from interpret_dp.lime.outputs import Outputs
from interpret_dp.lime.patches import Patches
from interpret_dp.schema import Continuous, Table, open_table

Floats = NDArray[np.float64]
_Model = DPExplainableBoostingClassifier | DPExplainableBoostingRegressor


@dataclass(frozen=True)
class SurrogateEffects:
    """Local explanations of a surrogate; public.

    Attributes
    ----------
    effects : ndarray of float64, shape (n_rows, n_features)
        What each feature of a row adds to the surrogate's score above its mean over the released
        bin weights: in log-odds of a probability, else in units of the output. 0 for a feature
        without a term.
    standard_errors : ndarray of float64, shape (n_rows, n_features)
        What the added noise does to each; NaN where that is not known, as after an edit.
    intercepts : ndarray of float64, shape (n_rows,)
        Scores without any effect: the surrogate's mean.
    predictions : ndarray of float64, shape (n_rows,)
        Predictions of the surrogate: the intercept plus all effects, in units of the output and
        within its bounds.
    """

    effects: Floats
    standard_errors: Floats
    intercepts: Floats
    predictions: Floats


@dataclass(frozen=True)
class Surrogate:
    """A released additive model of a black box; public.

    Attributes
    ----------
    models : tuple of fitted DPExplainableBoostingClassifier or DPExplainableBoostingRegressor
        One an output; for two complementary ones a single one, of the second. A classifier's scores
        are the log-odds of that output, against all else. ``explain_global()``
        shows one and ``edit()`` edits it; ``dataclasses.replace(surrogate, models=...)`` then
        explains by what was edited.
    fidelity : Fidelity
        How well the models, as they were fitted, stand for the black box on the explanation data.
    guarantee : Guarantee
        The promise for all of it together.
    feature_names : tuple of str, shape (n_features,)
    bounds : Continuous
        Of the outputs.
    outputs : Outputs
        What they are called.
    complementary : bool
        Whether the two outputs always add up to the sum of their bounds.
    patches : Patches or None
        How the features of an image are grouped.
    """

    models: tuple[_Model, ...]
    fidelity: Fidelity
    guarantee: Guarantee
    feature_names: tuple[str, ...]
    bounds: Continuous
    outputs: Outputs
    complementary: bool = False
    patches: Patches | None = None

    @property
    def has_logits(self) -> bool:
        """Whether the outputs are probabilities, and the scores of the models their log-odds."""
        return self.outputs.classes is not None

    @property
    def n_outputs(self) -> int:
        """Number of outputs that can be explained."""
        return 2 if self.complementary else len(self.models)

    def explain(self, X: Any, outputs: Sequence[int]) -> SurrogateEffects:
        """Explain rows, as often as you like: free.

        Parameters
        ----------
        X : Table, DataFrame, ndarray or list of rows, shape (n_rows, n_features)
            Public.
        outputs : sequence of int, shape (n_rows,)
            Which output to explain at each row.

        Returns
        -------
        SurrogateEffects

        Raises
        ------
        TypeError, ValueError, SchemaError
            If the columns are not those of the fit, or there is no such output.
        """
        outputs_at = np.array(
            [check_int("outputs", output, low=0, high=self.n_outputs - 1) for output in outputs],
            dtype=np.intp,
        )
        table = open_table(X, self.feature_names)
        if table.n_rows != len(outputs_at):
            raise ValueError(
                f"outputs has {len(outputs_at)} entries for {table.n_rows} rows; it must say "
                "for each row which output to explain."
            )
        rows = table if self.patches is None else self.patches.table(table)
        n_features = len(self._term_names)
        effects = np.zeros((len(outputs_at), n_features))
        errors, intercepts = np.zeros_like(effects), np.zeros(len(outputs_at))
        for output in np.unique(outputs_at):
            has_output = outputs_at == output
            model = self.models[0 if self.complementary else output]
            local = _effects(model, rows.rows(has_output), self._term_names)
            if self.complementary and output == 0:
                local = (-local[0], local[1], self._sum_of_outputs - local[2])
            effects[has_output], errors[has_output], intercepts[has_output] = local
        scores = intercepts + effects.sum(axis=1)
        if self.patches is not None:
            effects, errors = self.patches.spread(effects), self.patches.spread(errors)
        return SurrogateEffects(effects, errors, intercepts, self._predictions(scores))

    def _predictions(self, scores: Floats) -> Floats:
        if not self.has_logits:
            return np.clip(scores, self.bounds.lower, self.bounds.upper)
        return np.asarray(1.0 / (1.0 + np.exp(-np.clip(scores, -500.0, 500.0))))

    @property
    def _sum_of_outputs(self) -> float:
        """Sum of the scores of two complementary outputs."""
        return 0.0 if self.has_logits else self.bounds.lower + self.bounds.upper

    @property
    def _term_names(self) -> tuple[str, ...]:
        return self.feature_names if self.patches is None else self.patches.names


def _effects(model: _Model, rows: Table, names: Sequence[str]) -> tuple[Floats, Floats, Floats]:
    """Return the terms of one model, centred by its weights, their errors and the intercepts."""
    at = [names.index(name) for name in model.term_names_]
    effects = np.zeros((rows.n_rows, len(names)))
    errors = np.zeros_like(effects)
    means = np.array(
        [
            scores @ weights / weights.sum()
            for scores, weights in zip(model.term_scores_, model.bin_weights_, strict=True)
        ]
    )
    effects[:, at] = model.eval_terms(rows) - means
    # interpret's look-up of scores per bin serves for standard deviations as well. They are those
    # of centred scores: the fit centres by the same weights.
    probe = copy.copy(model)
    probe.term_scores_ = [
        np.full_like(term.scores, np.nan)
        if term.noise_deviations is None
        else term.noise_deviations
        for term in model.to_released().terms
    ]
    errors[:, at] = probe.eval_terms(rows)
    intercepts = np.full(rows.n_rows, float(np.ravel(model.intercept_)[0]) + float(means.sum()))
    return effects, errors, intercepts
