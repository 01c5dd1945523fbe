"""A released surrogate of a black box: additive models whose terms are the explanations."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp._validate import check_int
from interpret_dp.accounting.composition import GdpPair
from interpret_dp.accounting.guarantee import Guarantee
from interpret_dp.ebm.estimators import DPExplainableBoostingRegressor
from interpret_dp.lime.fidelity import Fidelity
from interpret_dp.lime.patches import Patches
from interpret_dp.schema import Continuous, Table, open_table

__all__ = ["Surrogate", "SurrogateEffects"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class SurrogateEffects:
    """Local explanations read off a surrogate; public.

    Attributes
    ----------
    effects : ndarray of float64, shape (n_rows, n_features)
        What each feature of a row adds to the surrogate's prediction above its mean over the
        released bin weights, in units of the output. 0 for a feature without a term.
    standard_errors : ndarray of float64, shape (n_rows, n_features)
        What the added noise does to each; NaN where that is not known, as after an edit.
    intercepts : ndarray of float64, shape (n_rows,)
        Predictions without any effect: the surrogate's mean.
    """

    effects: Floats
    standard_errors: Floats
    intercepts: Floats

    @property
    def predictions(self) -> Floats:
        """What the surrogate says of each row, shape (n_rows,): intercept plus all effects."""
        total: Floats = self.intercepts + self.effects.sum(axis=1)
        return total


@dataclass(frozen=True)
class Surrogate:
    """A released additive model of a black box; public.

    Attributes
    ----------
    models : tuple of fitted DPExplainableBoostingRegressor
        One an output; for two complementary ones a single one, of the second. ``explain_global()``
        shows one and ``edit()`` edits it; ``dataclasses.replace(surrogate, models=...)`` then
        explains by what was edited.
    fidelity : Fidelity
        How well the models, as they were fitted, stand for the black box on the explanation data.
    guarantee : Guarantee
        The promise for all of it together.
    feature_names : tuple of str, shape (n_features,)
    bounds : Continuous
        Of the outputs.
    complementary : bool
        Whether the two outputs always add up to the sum of their bounds.
    patches : Patches or None
        How the features of an image are grouped.
    """

    models: tuple[DPExplainableBoostingRegressor, ...]
    fidelity: Fidelity
    guarantee: Guarantee
    feature_names: tuple[str, ...]
    bounds: Continuous
    complementary: bool = False
    patches: Patches | None = None

    @property
    def cost(self) -> GdpPair:
        """What the ledger was charged for fits and fidelity together."""
        return GdpPair(self.guarantee.mu or 0.0)

    @property
    def n_outputs(self) -> int:
        """How many outputs can be explained."""
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
            Nothing is clipped, so that a prediction may lie outside the bounds of the outputs.

        Raises
        ------
        TypeError, ValueError, SchemaError
            If the columns are not those of the fit, or there is no such output.
        """
        wanted = np.array(
            [check_int("outputs", one, low=0, high=self.n_outputs - 1) for one in outputs],
            dtype=np.intp,
        )
        table = open_table(X, self.feature_names)
        if table.n_rows != len(wanted):
            raise ValueError(
                f"outputs has {len(wanted)} entries for {table.n_rows} rows; it must say for each "
                "row which output to explain."
            )
        rows = table if self.patches is None else self.patches.table(table)
        n_features = len(self._term_names)
        effects = np.zeros((len(wanted), n_features))
        errors, intercepts = np.zeros_like(effects), np.zeros(len(wanted))
        for output in np.unique(wanted):
            own = wanted == output
            model = self.models[0 if self.complementary else output]
            found = _effects(model, rows.rows(own), self._term_names)
            if self.complementary and output == 0:
                found = _complement(found, self.bounds)
            effects[own], errors[own] = found.effects, found.standard_errors
            intercepts[own] = found.intercepts
        if self.patches is not None:
            effects, errors = self.patches.spread(effects), self.patches.spread(errors)
        return SurrogateEffects(effects, errors, intercepts)

    @property
    def _term_names(self) -> tuple[str, ...]:
        return self.feature_names if self.patches is None else self.patches.names


def _effects(
    model: DPExplainableBoostingRegressor, rows: Table, names: Sequence[str]
) -> SurrogateEffects:
    """Return the terms of one model at the rows, centred by its own weights."""
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
    intercepts = np.full(rows.n_rows, float(model.intercept_) + float(means.sum()))
    return SurrogateEffects(effects, errors, intercepts)


def _complement(found: SurrogateEffects, bounds: Continuous) -> SurrogateEffects:
    """Return the explanations of lower + upper minus the output."""
    return SurrogateEffects(
        -found.effects, found.standard_errors, (bounds.lower - found.intercepts) + bounds.upper
    )
