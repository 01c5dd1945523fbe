"""Metrics of models on private rows: ranks, totals, calibration and deviance.

Each row falls into one cell: by its label and the model's logit, by the probability of its label,
or by the size of its error. So a row adds 1 to one count, and accuracy, log loss, area under the
curve or errors are post-processing of the noisy counts. Totals, calibration and figures by group
come from sums of bounded parts (docs/proofs/evaluation.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from interpret_dp._validate import describe_argument, did_you_mean, listed, shortened
from interpret_dp.accounting.guarantee import Guarantee
from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.backends import kernels, local
from interpret_dp.ebm.losses import LATER_NAMES
from interpret_dp.ebm.objectives import TweedieDeviance
from interpret_dp.ebm.outcomes import (
    bounds_of,
    predictions,
    ranks_of,
    released_predictions,
    released_ratios,
    targets_of,
    tenths_of,
)
from interpret_dp.fitting.account import gaussian_request, neighbourhood_of, refuse_unnamed_unit
from interpret_dp.fitting.rows import PrivateRows, open_rows
from interpret_dp.schema import Categorical, Continuous, FeatureSpec
from interpret_dp.schema.containers import kind_of, kinds_of, refuse_mismatches, target_mismatch
from interpret_dp.schema.encode import PLACES, encode_classes, encode_column, encode_times

if TYPE_CHECKING:
    import pandas as pd

    from interpret_dp.ebm.estimators import PrivateEBM
    from interpret_dp.ledger import PrivacyLedger


# Cells that all rows fall into, by what a model predicts of them.

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

# Few cells where figures weigh a row heavily: the noise of each counts as much as a row there.
_LOGIT_EDGES = np.concatenate(
    [-np.arange(6.0, 3.0, -0.5), np.arange(-3.0, 3.25, 0.25), np.arange(3.5, 6.5, 0.5)]
)
# Losses of the label in octaves: a probability of 2**-9 or less counts as that.
_LOSS_EDGES = np.concatenate([np.arange(8) / 8, np.arange(4, 12) / 4, np.arange(3.0, 10.0)])
_CERTAIN = 2**30
_PROBABILITY_EDGES = np.floor(_CERTAIN * 2.0 ** -_LOSS_EDGES[:0:-1]).astype(np.int64)
# Errors as shares of the target's range: a quarter of it or more counts as that.
_ERROR_EDGES = 2.0 ** (-np.arange(40, 7, -1) / 4)


def _label_shares(scores: Floats, labels: Integers) -> tuple[Integers, NDArray[np.bool_]]:
    """Return the probability of each row's label, from integers, and whether it is predicted.

    Parameters
    ----------
    scores : ndarray of float64, shape (n_rows, n_classes)
    labels : ndarray of int64, shape (n_rows,)
        -1 for a row without a label, of which the result means nothing.

    Returns
    -------
    shares : ndarray of int64, shape (n_rows,)
        In units of 1 / ``_CERTAIN``.
    is_right : ndarray of bool, shape (n_rows,)
    """
    odds = local.class_odds(scores)
    own = np.take_along_axis(odds, np.maximum(labels, 0)[:, np.newaxis], axis=1)[:, 0]
    return own * _CERTAIN // odds.sum(axis=1), odds.argmax(axis=1) == labels


class _LogitCells:
    """Two classes: label and logit."""

    _width = len(_LOGIT_EDGES) + 1
    n_cells = 2 * _width
    group_figure, error_scale = "accuracy", -1.0

    def __init__(self, model: Any) -> None:
        self._model = model
        logits = _middles(_LOGIT_EDGES)
        self.errors = np.concatenate([logits > 0, logits < 0]).astype(np.float64)

    def codes(self, rows: PrivateRows) -> Integers:
        labels = encode_classes(rows.y, Categorical(self._model.released_.classes))
        scores = self._model.decision_function(rows.table)
        places = np.searchsorted(_LOGIT_EDGES, scores, side="right")
        return np.where(labels < 0, -1, labels * self._width + places).astype(np.int64)

    def figures(self, counts: Floats) -> dict[str, float]:
        no, yes = counts.reshape(2, -1)
        logits = _middles(_LOGIT_EDGES)
        losses = np.logaddexp(0.0, logits), np.logaddexp(0.0, -logits)
        # Half of a pair counts where both are in one cell.
        below = np.cumsum(no) - no / 2
        pairs = max(no.sum(), 1.0) * max(yes.sum(), 1.0)
        return {
            "accuracy": _share(counts @ (1.0 - self.errors), counts),
            "log_loss": max(float(no @ losses[0] + yes @ losses[1]), 0.0) / _total(counts),
            "roc_auc": float(np.clip(yes @ below / pairs, 0.0, 1.0)),
        }


class _LossCells:
    """More classes, or one: the probability of the label, and whether it is the largest."""

    _width = len(_PROBABILITY_EDGES) + 1
    n_cells = 2 * _width
    group_figure, error_scale = "accuracy", -1.0
    errors = np.repeat([1.0, 0.0], _width)

    def __init__(self, model: Any) -> None:
        self._model = model

    def codes(self, rows: PrivateRows) -> Integers:
        classes = self._model.released_.classes
        labels = encode_classes(rows.y, Categorical(classes)).astype(np.int64)
        scores = np.zeros((rows.table.n_rows, len(classes)))
        if len(classes) > 1:
            scores[:] = self._model.decision_function(rows.table)
        share, is_right = _label_shares(scores, labels)
        places = np.searchsorted(_PROBABILITY_EDGES, share, side="right")
        return np.where(labels < 0, -1, is_right * self._width + places).astype(np.int64)

    def figures(self, counts: Floats) -> dict[str, float]:
        wrong, right = counts.reshape(2, -1)
        losses = np.log(2.0) * _middles(_LOSS_EDGES)[:0:-1]
        return {
            "accuracy": _share(right.sum(), counts),
            "log_loss": max(float((wrong + right) @ losses), 0.0) / _total(counts),
        }


class _ErrorCells:
    """A regression: the size of the error, as a share of the target's range."""

    n_cells = len(_ERROR_EDGES) + 1
    group_figure = "mean_absolute_error"

    def __init__(self, model: Any, target: Continuous) -> None:
        self._model, self._target = model, target
        self._range = target.upper - target.lower or 1.0
        self.error_scale = float(self._range * _ERROR_EDGES[-1])
        self.errors = _middles(_ERROR_EDGES) / _ERROR_EDGES[-1]
        self.errors[0] /= 2

    def codes(self, rows: PrivateRows) -> Integers:
        target = targets_of(self._model, rows)
        errors = np.abs(predictions(self._model, rows) - target) / self._range
        places = np.searchsorted(_ERROR_EDGES, errors, side="right")
        return np.where(np.isnan(target), -1, places).astype(np.int64)

    def figures(self, counts: Floats) -> dict[str, float]:
        sizes = self.error_scale * self.errors
        square = max(float(counts @ sizes**2), 0.0) / _total(counts)
        size = max(float(counts @ sizes), 0.0) / _total(counts)
        found = {"rmse": math.sqrt(square), "mean_absolute_error": size}
        is_squared = self._model.released_.parameters.get("objective", "rmse") == "rmse"
        return found | ({"deviance": square} if is_squared else {})


class _RiskCells:
    """Survival: time, whether there was an event, and the hazard ratio among those released."""

    _times, _ratios = 16, 16
    n_cells = 2 * _times * _ratios
    group_figure, error_scale = "event_share", 1.0
    errors = np.repeat([0.0, 1.0], _times * _ratios)

    def __init__(self, model: Any) -> None:
        self._model, released = model, model.to_released()
        values, shares = released_ratios(released)
        below = np.cumsum(shares)
        places = np.searchsorted(below, np.arange(1, self._ratios) / self._ratios)
        self._cuts = np.log(values[np.minimum(places, len(values) - 1)])

    def codes(self, rows: PrivateRows) -> Integers:
        events, places = encode_times(rows.y, self._model.schema_.target.upper)
        risks = np.searchsorted(self._cuts, ranks_of(self._model, rows, events), side="right")
        times = places.astype(np.int64) * self._times // PLACES
        has_event = np.nan_to_num(events).astype(np.int64)
        codes = (has_event * self._times + times) * self._ratios + risks
        return np.where(np.isnan(events), -1, codes)

    def figures(self, counts: Floats) -> dict[str, float]:
        censored, events = counts.reshape(2, self._times, self._ratios)
        every = censored + events
        # By cell of time, how many rows of each cell of the ratio have a later one.
        later = np.cumsum(every[::-1], axis=0)[::-1] - every
        below = np.cumsum(later, axis=1) - later / 2
        pairs = max(float((events.sum(axis=1) * later.sum(axis=1)).sum()), 1.0)
        return {
            "concordance": float(np.clip((events * below).sum() / pairs, 0.0, 1.0)),
            "event_share": _share(events.sum(), counts),
        }


Cells = _LogitCells | _LossCells | _ErrorCells | _RiskCells
"""A partition of all rows by what a model predicts of them.

``codes`` returns each row's cell, shape (n_rows,), -1 without a target, which is private; and
``figures`` those that follow from released counts, shape (n_cells,). ``errors`` is each cell's
error, from 0 to 1: all rows' mean error times ``error_scale`` is ``group_figure``, but for a
constant."""


def cells_of(model: Any) -> Cells:
    """Return the cells that suit a fitted model's target."""
    target = model.schema_.target
    if model.released_.baseline is not None:
        return _RiskCells(model)
    if isinstance(target, Continuous):
        return _ErrorCells(model, target)
    if model.released_.classes is not None and len(model.released_.classes) == 2:
        return _LogitCells(model)
    return _LossCells(model)


def _middles(edges: Floats) -> Floats:
    """Return the middle of each cell; cells at the ends count as their edge."""
    return np.asarray(np.concatenate(([edges[0]], (edges[1:] + edges[:-1]) / 2, [edges[-1]])))


def _total(counts: Floats) -> float:
    return max(float(counts.sum()), 1.0)


def _share(part: Any, counts: Floats) -> float:
    return float(np.clip(part / _total(counts), 0.0, 1.0))


# Totals, calibration and deviance of a model on private rows, from sums of bounded parts.
#
# A row falls into one tenth of the predictions, by cuts that follow from the released model. It
# adds to the tenth 1, its prediction and its target, and its target and deviance to sums of all
# rows, each with a fixed weight. So the norm of a row is bounded (docs/proofs/evaluation.md).

# Of a row's count, prediction and target in its tenth, its target in the total, and its deviance.
_WEIGHTS = np.array([0.25, 0.375, 1.0, 0.75, 0.75])
# The total is that of its own sum and of the tenths', by their precisions.
_OWN_SUM = 10 * _WEIGHTS[3] ** 2 / (10 * _WEIGHTS[3] ** 2 + _WEIGHTS[2] ** 2)
_MOST_EVENTS = 4.0  # a row that expects more, one of 50 at the true hazards, counts as this


class Calibration:
    """Sums of one model over private rows, and the figures that follow from noisy ones.

    Parameters
    ----------
    model : DPExplainableBoosting*
        Fitted: a regression, or of two classes.

    Attributes
    ----------
    row_norm : int
        Bound on the L2 norm of what a row adds to the sums, in lattice units.
    labels : list of int
        The last tenth in each group of predictions: 1 to 10, unless the model has few predictions.
    scale : ndarray of float64, shape (3,)
        Mean prediction, and the largest distances of predictions and of targets from it.
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        released = model.to_released()
        lower, upper = bounds_of(model)
        values, shares = released_predictions(released, lower, upper)
        edges, self.labels = tenths_of(values, shares)
        self._cuts, self._low, self._width = edges[1:-1], edges[:-1], np.diff(edges)
        if released.baseline is not None:
            # By hazard ratio: numbers of events are expected up to a time that the event decides.
            ratios, self.labels = tenths_of(*released_ratios(released))
            self._cuts, self._low = np.log(ratios[1:-1]), np.zeros(len(self.labels))
            self._width = np.minimum(ratios[1:] * released.largest_exposure, _MOST_EVENTS)
            edges = np.array([0.0, self._width[-1]])
        # Targets are measured from the mean prediction.
        self._centre = float(np.clip(shares @ values, lower, upper))
        self._half = max(upper - self._centre, self._centre - lower) or 1.0
        reach = max(self._centre - edges[0], edges[-1] - self._centre) or 1.0
        self.scale = np.array([self._centre, reach, self._half])
        self._deviance = _deviance_of(str(released.parameters.get("objective")))
        used = _WEIGHTS[: 4 if self._deviance is None else 5]
        if self._deviance is not None:
            extremes, centre = np.array([lower, upper]), np.full(2, self._centre)
            self._largest = float(self._deviance(extremes, centre).max())
        self.row_norm = _norm(used)

    def gaps(self, rows: PrivateRows) -> Floats:
        """Return how far predictions and targets are from the mean prediction; private.

        Returns
        -------
        ndarray of float64, shape (n_rows, 2)
            In units of :attr:`scale`, cut to -1 and 1; NaN without a target.
        """
        responses = np.stack([predictions(self._model, rows), self._targets(rows)], axis=1)
        return np.asarray(np.clip((responses - self._centre) / self.scale[1:], -1.0, 1.0))

    def parts(self, rows: PrivateRows) -> tuple[Integers, Integers]:
        """Return each row's group, shape (n_rows,), and what it adds, shape (n_rows, 5); private.

        The group is -1, and the parts mean nothing, without a target.
        """
        predicted, target = predictions(self._model, rows), self._targets(rows)
        ranks = ranks_of(self._model, rows, predicted)
        groups = np.searchsorted(self._cuts, ranks, side="right")
        width = np.where(self._width > 0, self._width, 1.0)[groups]
        parts = np.ones((len(groups), 5))
        parts[:, 1] = np.clip((predicted - self._low[groups]) / width, 0.0, 1.0)
        parts[:, 2] = parts[:, 3] = np.clip((target - self._centre) / self._half, -1.0, 1.0)
        parts[:, 4] = 0.0
        if self._deviance is not None:
            parts[:, 4] = np.clip(self._deviance(target, predicted) / self._largest, 0.0, 1.0)
        whole = np.trunc(np.nan_to_num(parts) * (_WEIGHTS * LATTICE)).astype(np.int64)
        return np.where(np.isnan(target), -1, groups).astype(np.int64), whole

    def _targets(self, rows: PrivateRows) -> Floats:
        """Return targets, 1 for the second class; NaN where there is none. Private."""
        if isinstance(self._model.schema_.target, Continuous):
            return targets_of(self._model, rows)
        labels = encode_classes(rows.y, Categorical(self._model.released_.classes))
        return np.where(labels < 0, np.nan, labels)

    def sums(self, rows: PrivateRows, kept: NDArray[np.bool_]) -> Integers:
        """Return the sums over the kept rows with a target, shape (3 n_groups + 2,); private."""
        groups, parts = self.parts(rows)
        used = kept & (groups >= 0)
        sums = np.zeros((len(self.labels), 3), dtype=np.int64)
        np.add.at(sums, groups[used], parts[used, :3])
        return np.concatenate((sums.ravel(), parts[used, 3:].sum(axis=0)))

    def figures(self, sums: Floats) -> tuple[dict[str, float], Floats]:
        """Return figures of released sums, and of each group count, prediction and target.

        Parameters
        ----------
        sums : ndarray of float64, shape (3 n_groups + 2,)
            In units of rows.

        Returns
        -------
        figures : dict of str to float
        groups : ndarray of float64, shape (n_groups, 3)
            Count, mean prediction and mean target.
        """
        counts, shares, gaps = (sums[:-2].reshape(-1, 3) / _WEIGHTS[:3]).T
        predicted = self._low * counts + self._width * shares
        gap = _OWN_SUM * sums[-2] / _WEIGHTS[3] + (1 - _OWN_SUM) * gaps.sum()
        total = self._centre * counts.sum() + self._half * gap
        found = {"predicted_over_observed": float(predicted.sum() / total) if total else math.nan}
        if self._deviance is not None:
            mean = sums[-1] / _WEIGHTS[4] / max(counts.sum(), 1.0)
            found["deviance"] = self._largest * max(float(mean), 0.0)
        rows = np.maximum(counts, 1.0)
        observed = self._centre * counts + self._half * gaps
        return found, np.stack([counts, predicted / rows, observed / rows], axis=1)


# Figures by group: a row adds to the sums of its own group alone, so that their number does not
# matter for its norm. They have no tenths, whose noise would be that of all ten in each group.

# Of a row's count, prediction, target and error in its group.
_GROUP_WEIGHTS = np.array([0.5, 0.375, 1.0, 0.5])
_MOST_GROUPS = 32


class GroupSums:
    """Sums of one model over the rows of each level of a feature, and their figures.

    Parameters
    ----------
    cells : Cells
    calibration : Calibration or None
        None for more than two classes: their targets have no total.
    spec : Categorical
        The feature's declaration. Rows of no level are a group of their own, the last.

    Attributes
    ----------
    labels : list of str, int, float or bool, shape (n_groups,)
    row_norm : int
        Bound on the L2 norm of what a row adds to the sums, in lattice units.
    """

    def __init__(self, cells: Cells, calibration: Calibration | None, spec: Categorical) -> None:
        self._cells, self._calibration, self._spec = cells, calibration, spec
        self.labels = [*spec.levels, "(missing or undeclared)"]
        self.row_norm = _norm(_GROUP_WEIGHTS[[0, 3]] if calibration is None else _GROUP_WEIGHTS)

    def sums(self, rows: PrivateRows, by: str, codes: Integers) -> Integers:
        """Return the sums over rows, shape (n_groups, 4); private.

        Parameters
        ----------
        rows : PrivateRows
        by : str
            The feature.
        codes : ndarray of int64, shape (n_rows,)
            Cells; -1 for rows that are left out.
        """
        levels = encode_column(rows.table.column(rows.table.names.index(by)), self._spec, 1)
        # The last group is that of undeclared levels, and of missing ones: -1.
        groups = levels.astype(np.int64) - 1
        parts = np.ones((len(codes), 4))
        parts[:, 1:3], parts[:, 3] = 0.0, self._cells.errors[codes]
        if self._calibration is not None:
            parts[:, 1:3] = np.nan_to_num(self._calibration.gaps(rows))
        whole = np.trunc(parts * (_GROUP_WEIGHTS * LATTICE)).astype(np.int64)
        sums = np.zeros((len(self.labels), 4), dtype=np.int64)
        np.add.at(sums, groups[codes >= 0], whole[codes >= 0])
        return sums

    def figures(
        self, sums: Floats, noise: float, counts: Floats, every: Mapping[str, float]
    ) -> dict[str, Floats]:
        """Return figures of released sums, each of shape (..., n_groups).

        Parameters
        ----------
        sums : ndarray of float64, shape (..., n_groups, 4)
            In units of rows.
        noise : float
            Standard deviation of the noise of each.
        counts : ndarray of float64, shape (n_cells,)
            Released counts of all rows.
        every : mapping of str to float
            Their figures, to which those of a group without rows shrink.
        """
        n_rows, shares, gaps, errors = np.moveaxis(sums / _GROUP_WEIGHTS, -1, 0)
        rows = np.maximum(n_rows, _SEEN * noise / _GROUP_WEIGHTS[0])
        found = {"n_rows": n_rows}
        if self._calibration is not None:
            centre, reach, half = self._calibration.scale
            predicted, gap = reach * shares, half * gaps
            found |= {"predicted": centre + predicted / rows, "observed": centre + gap / rows}
            found["difference"] = (predicted - gap) / rows
            # Minus one, a ratio has the noise of the difference.
            total = centre * n_rows + gap
            least = _SEEN * noise * math.hypot(centre / _GROUP_WEIGHTS[0], half / _GROUP_WEIGHTS[2])
            total = np.where(np.abs(total) > least, total, math.copysign(least, centre))
            found["predicted_over_observed"] = 1.0 + (predicted - gap) / total
        cells, name = self._cells, self._cells.group_figure
        excess = (errors - _share(counts @ cells.errors, counts) * n_rows) / rows
        return found | {name: every[name] + cells.error_scale * excess}


def _norm(weights: Floats) -> int:
    """Return the norm of a row whose parts are at most these weights, in lattice units."""
    return math.isqrt(sum(int(w * LATTICE) ** 2 for w in weights)) + 1


def _deviance_of(objective: str) -> kernels.Deviance | None:
    """Return the deviance of targets and predictions that an objective minimises, if it has one."""
    name, _, setting = objective.partition(":")
    name = LATER_NAMES.get(name, name)
    if name == "survival_cox":
        name = "poisson_deviance"
    if name == "tweedie_deviance":
        power = setting.partition("=")[2]
        return kernels.tweedie_deviance(float(power) if power else TweedieDeviance.variance_power)
    return kernels.DEVIANCES.get(name)


_MECHANISM = "discrete Gaussian noise on a histogram and sums of predictions, exactly sampled"
# Of mu squared: the histogram then has a fifth more noise than alone.
_SHARE_OF_SUMS = 0.3
# Of mu squared: all other figures then have an eighth more noise than without groups.
_SHARE_OF_GROUPS = 0.2
_SIMULATIONS = 200
_SEEN = 3.0  # deviations of its noise that the count of a tenth or a group needs


@dataclass(frozen=True)
class PrivateMetrics:
    """Figures of models on private rows, released; public.

    Attributes
    ----------
    table : DataFrame
        One row a model; its columns are the figures.
    standard_errors : DataFrame
        Of the same form: what the added noise alone does to each figure. Sampling error is not
        included.
    calibration : DataFrame
        A line for each tenth of each model's predictions: ``model``, ``tenth``, mean ``predicted``
        and ``observed``, and the ``standard_error`` of their difference. Tenths are those of the
        released distribution of predictions. NaN where noise could be all rows; empty for more
        than two classes. Where many rows have one prediction, ``tenth`` is the last that a line
        covers.
    by_group : DataFrame
        A line for each level of ``by`` and each model, and a last one for rows of no level:
        ``model``, ``group``, ``n_rows``, figures, and the standard error of each, which is named
        after it, as ``n_rows_standard_error``. ``difference`` is the mean ``predicted`` minus the
        mean ``observed``. No group is left out, and no number is NaN or infinite: a count or a
        total below three times its noise is divided by as if it were three times its noise. So
        in small groups differences shrink to 0 and ratios to 1, as their standard errors do.
        Figures are not cut to their range. Empty without ``by``.
    n_rows : float
        Released number of rows with a target.
    guarantee : Guarantee

    Examples
    --------
    >>> from interpret_dp import DPExplainableBoostingClassifier, private_metrics
    >>> from interpret_dp.datasets import make_cohort
    >>> patients = make_cohort(500)
    >>> model = DPExplainableBoostingClassifier(schema=patients.schema, max_rounds=2)
    >>> others = make_cohort(500, seed=1)
    >>> models = {"risk": model.fit(patients.X, patients.y)}
    >>> metrics = private_metrics(models, others.X, others.y, epsilon=0.5, delta=1e-6)
    >>> metrics.guarantee.epsilon
    0.5
    """

    table: pd.DataFrame
    standard_errors: pd.DataFrame
    calibration: pd.DataFrame
    by_group: pd.DataFrame
    n_rows: float
    guarantee: Guarantee

    def _repr_html_(self) -> str:
        """Show figures, standard errors, calibration, groups and the guarantee in a notebook."""
        html = str(_with_errors(self.table, self.standard_errors).to_html())
        if len(self.calibration):
            html += str(self.calibration.round(4).to_html(index=False))
        if len(self.by_group):
            lines = self.by_group.set_index(["model", "group"])
            half = lines.shape[1] // 2  # figures first
            figures, errors = lines.iloc[:, :half], lines.iloc[:, half:]
            errors = errors.set_axis(figures.columns, axis=1)
            html += str(_with_errors(figures, errors).to_html())
        return html + self.guarantee._repr_html_()


def _with_errors(figures: pd.DataFrame, errors: pd.DataFrame) -> pd.DataFrame:
    return figures.round(4).astype(str) + " ± " + errors.round(4).astype(str)


def private_metrics(
    models: Mapping[str, PrivateEBM],
    X: Any,
    y: Any,
    *,
    epsilon: float,
    delta: float,
    by: str | None = None,
    exposure: Any = None,
    ledger: PrivacyLedger | str | None = None,
    dataset: str | None = None,
    neighboring: str = "add_or_remove_one",
    unit: Any = None,
) -> PrivateMetrics:
    """Release how well models predict private rows; charged to the ledger before a row is read.

    Parameters
    ----------
    models : mapping of str to fitted DPExplainableBoosting*
        By the names that the table shows, such as those of an editing session before and after.
        They share ``epsilon``, and must be of one task, with the same target. One of them must
        have the columns of all the others.
    X, y : as ``fit`` takes them
        Private. The models' own training rows will do: their data set is then charged again.
    epsilon, delta : float
        The promise for everything that is returned.
    by : str, default=None
        A feature of the models with at most 32 levels, such as "sex": figures of the rows of each
        level are released too, within the same budget. All other figures then have an eighth more
        noise. Models that must not use the feature are fitted with ``exclude=["sex"]``. Levels are
        those of the model with most columns.
    exposure : array-like, shape (n_rows,), default=None
        Private; required where models were fitted with exposures, and read as ``fit`` reads it.
        Tenths are then those of predictions as if exposures were spread evenly.
    ledger : PrivacyLedger or str, default=None
        Where it is charged; None: the in-memory ledger of the process.
    dataset : str, default=None
        Name of the rows' data set in the ledger; required with a ledger.
    neighboring : {"add_or_remove_one", "replace_one"}
    unit : array-like, shape (n_rows,), or "rows", default=None
        Identifiers of people, as ``fit`` takes them; the first model's ``schema_.unit`` holds.

    Returns
    -------
    PrivateMetrics
        Of the rows that ``max_rows`` leaves, where the schema declares a unit. For two classes
        accuracy, log loss and the area under the ROC curve; for more, accuracy and log loss; for a
        regression the root mean squared and the mean absolute error, and the mean deviance of its
        objective. They are computed from cells: logits beyond 6 or -6 count as these, probabilities
        below 2**-9 as 2**-9, and errors above a quarter of the target's range as a quarter. A
        deviance counts as at most that of the target's bounds from the mean prediction. Of a model
        of survival, concordance leaves out pairs within one of 16 cells of time, and a row that
        expects more than four events counts as four. For two classes and regressions also all
        predictions over all targets, 1 if the total is right; not of quantiles. By group: the
        number of rows, and accuracy or mean absolute error; and but for more classes than two also
        means of predictions and targets, their difference, and the ratio of the totals.

    Raises
    ------
    TypeError, ValueError, SchemaError, LedgerError
        If an argument or the form of the data is wrong; nothing was spent.
    BudgetExceededError
        If the data set's budget does not cover it; nothing was spent.
    ReleaseError
        If the computation failed. What was charged is in the message.

    Examples
    --------
    >>> from interpret_dp import DPExplainableBoostingClassifier, private_metrics
    >>> from interpret_dp.datasets import make_cohort
    >>> patients = make_cohort(1_000)
    >>> model = DPExplainableBoostingClassifier(schema=patients.schema)
    >>> session = model.fit(patients.X, patients.y).edit()
    >>> record = session.make_monotone("age")
    >>> others = make_cohort(1_000, seed=1)
    >>> metrics = private_metrics({"before": model, "after": session.model}, others.X, others.y,
    ...                           epsilon=0.5, delta=1e-6)
    >>> metrics.guarantee.epsilon
    0.5

    Is the model right for each sex?

    >>> metrics = private_metrics({"risk": model}, others.X, others.y, epsilon=0.5, delta=1e-6,
    ...                           by="sex")
    >>> list(metrics.by_group["group"])
    ['female', 'male', '(missing or undeclared)']
    """
    first = _checked(models)
    features = _features_of_all(models)
    spec = None if by is None else _checked_groups(by, features)
    _check_exposure(models, exposure)
    of_rows = {"sample_weight": None, "unit": unit, "exposure": exposure}
    rows, privacy_unit = open_rows(X, y, feature_names=[*features], schema=first.schema_, **of_rows)
    target_faults = target_mismatch(kind_of(rows.y), first.schema_.target, first._task)
    for model in models.values():
        # Once a model reads the rows they are paid for.
        specs = [model.schema_.features.get(name) for name in rows.table.names]
        refuse_mismatches(rows.table.names, kinds_of(rows.table), specs, target_faults)
    neighbourhood = neighbourhood_of(neighboring, privacy_unit)
    refuse_unnamed_unit(ledger, unit, first.schema_)
    kinds = {label: cells_of(model) for label, model in models.items()}
    # Of regressions and models of two classes.
    calibrations = {
        label: Calibration(model)
        for label, model in models.items()
        if len(model.released_.classes or (0, 1)) == 2 and not _is_quantile(model)
    }
    share = 0.0 if by is None else _SHARE_OF_GROUPS
    of_sums = (1.0 - share) * _SHARE_OF_SUMS if calibrations else 0.0
    planned = {"metrics": (1.0 - share - of_sums, len(kinds))}
    planned |= {"calibration": (of_sums, len(calibrations))} if calibrations else {}
    planned |= {"groups": (share, len(kinds))} if by is not None else {}
    request = gaussian_request(
        planned,
        epsilon=epsilon,
        delta=delta,
        ledger=ledger,
        dataset=dataset,
        neighbourhood=neighbourhood,
    )
    guarantee = request.guarantee(_MECHANISM)
    found = {}
    with request.opened("private_metrics") as session:
        kept = rows.used_rows(neighbourhood.max_rows, session.public_choices)
        for label, cells in kinds.items():
            codes = np.where(kept, cells.codes(rows), -1)
            exact = LATTICE * np.bincount(codes[codes >= 0], minlength=cells.n_cells)[np.newaxis]
            noisy, sigma = session.gaussian("metrics", exact, row_norm=LATTICE, aligned=True)
            found[label] = _Released(cells, noisy[0] / LATTICE, sigma / LATTICE)
            if by is not None and spec is not None:
                groups = GroupSums(cells, calibrations.get(label), spec)
                exact = groups.sums(rows, by, codes)[np.newaxis]
                # Targets of two rows may lie on either side of the mean prediction.
                noisy, sigma = session.gaussian(
                    "groups", exact, row_norm=groups.row_norm, aligned=False
                )
                of_groups = groups, noisy[0] / LATTICE, sigma / LATTICE
                found[label] = found[label]._replace(groups=of_groups)
        for label, calibration in calibrations.items():
            exact = calibration.sums(rows, kept)[np.newaxis]
            noisy, sigma = session.gaussian(
                "calibration", exact, row_norm=calibration.row_norm, aligned=False
            )
            sums = noisy[0] / LATTICE, sigma / LATTICE
            found[label] = found[label]._replace(calibration=calibration, sums=sums)
    guarantee = replace(guarantee, ledger_head=session.head)
    return _figures(found, request.randomness.public, guarantee)


def _checked(models: Mapping[str, PrivateEBM]) -> PrivateEBM:
    """Return the first model, after checking that the others predict the same thing."""
    from interpret_dp.ebm.estimators import PrivateEBM

    if not isinstance(models, Mapping) or not models:
        raise TypeError(
            f"models is of type {type(models).__name__}; it must be a mapping from names to fitted "
            'models, such as {"before": model, "after": session.model}.'
        )
    for name, model in models.items():
        if not isinstance(model, PrivateEBM) or not hasattr(model, "has_fitted_"):
            raise TypeError(
                f"models[{name!r}] is of type {type(model).__name__}; it must be a fitted "
                "DPExplainableBoostingClassifier or DPExplainableBoostingRegressor."
            )
    first, *others = models.values()
    for model in others:
        if model.schema_.target != first.schema_.target:
            raise ValueError(
                f"The models' targets are {first.schema_.target!r} and {model.schema_.target!r}; "
                "they must be the same. Compare models of one target."
            )
    return first


def _is_quantile(model: PrivateEBM) -> bool:
    """Whether predictions are no means, so that their total is that of nothing."""
    return str(model.released_.parameters.get("objective", "")).startswith("quantile")


def _check_exposure(models: Mapping[str, PrivateEBM], exposure: Any) -> None:
    """Raise ValueError unless all models take exposures, or none does, as it is given."""
    for name, model in models.items():
        takes_exposure = model.released_.exposure is not None and model.released_.baseline is None
        if takes_exposure != (exposure is not None):
            how = "without" if exposure is not None else "with"
            mend = "Leave exposure out" if exposure is not None else "Pass exposure=..."
            raise ValueError(
                f"models[{name!r}] was fitted {how} exposures. {mend}, and evaluate models of the "
                "other kind separately."
            )


def _checked_groups(by: Any, features: Mapping[str, FeatureSpec]) -> Categorical:
    """Return the declaration of the feature whose levels are the groups."""
    spec = features.get(by) if isinstance(by, str) else None
    if isinstance(spec, Categorical) and len(spec.levels) <= _MOST_GROUPS:
        return spec
    declared = "" if spec is None else f", declared as {spec!r}"
    allowed = [name for name, other in features.items() if isinstance(other, Categorical)]
    raise ValueError(
        f"{describe_argument('by', by)}{declared}; it must be the name of a categorical feature "
        f"with at most {_MOST_GROUPS} levels, and the models have {shortened(allowed)}."
        f"{did_you_mean(by, allowed)} Declare Categorical(levels) for the column and fit the "
        "models with it; exclude=[...] keeps it out of their terms."
    )


def _features_of_all(models: Mapping[str, PrivateEBM]) -> Mapping[str, FeatureSpec]:
    """Return the features of the model that has most, after checking that it has the others' too.

    A union of columns would have no order, and rows without names are read by their order.
    """
    widest = max(models, key=lambda name: len(models[name].schema_.features))
    columns = models[widest].schema_.features
    for name, model in models.items():
        lacking = [column for column in model.schema_.features if column not in columns]
        if lacking:
            raise ValueError(
                f"models[{name!r}] has {listed(lacking)}, but models[{widest!r}] has not; one of "
                "the models must have the columns of all the others. Evaluate the two separately."
            )
    return columns


class _Released(NamedTuple):
    """What was released of one model, in rows, with the deviation of its noise."""

    cells: Cells
    counts: Floats
    noise: float
    calibration: Calibration | None = None
    sums: tuple[Floats, float] = (np.zeros(0), 0.0)
    groups: tuple[GroupSums, Floats, float] | None = None

    def figures(self) -> tuple[dict[str, float], Floats]:
        """Return the figures, and of each tenth count, mean prediction and mean target."""
        found = self.cells.figures(self.counts)
        if self.calibration is None:
            return found, np.zeros((0, 3))
        more, tenths = self.calibration.figures(self.sums[0])
        return found | more, tenths

    def noised(self, rng: np.random.Generator) -> _Released:
        """Return the same with more noise, of the size that it has."""
        sums, noise = self.sums
        return self._replace(
            counts=self.counts + self.noise * rng.standard_normal(len(self.counts)),
            sums=(sums + noise * rng.standard_normal(len(sums)), noise),
        )

    def by_group(self, every: Mapping[str, float], rng: np.random.Generator) -> dict[str, Any]:
        """Return groups, their figures, and what noise of its size does to each; none without."""
        if self.groups is None:
            return {"group": [], "n_rows": []}
        groups, sums, noise = self.groups
        draws = sums + noise * rng.standard_normal((_SIMULATIONS, *sums.shape))
        found, simulated = (
            groups.figures(part, noise, self.counts, every) for part in (sums, draws)
        )
        errors = {f"{name}_standard_error": part.std(axis=0) for name, part in simulated.items()}
        return {"group": groups.labels, **found, **errors}


def _figures(
    found: Mapping[str, _Released], rng: np.random.Generator, guarantee: Guarantee
) -> PrivateMetrics:
    """Compute the figures of what was released, and what noise of its size does to them."""
    import pandas as pd

    table, errors, totals, lines, groups = {}, {}, [], [], []
    for label, released in found.items():
        # Counts as released, negative ones too: then the noise of many empty cells cancels.
        totals.append(max(float(released.counts.sum()), 0.0))
        table[label], tenths = released.figures()
        simulated = [released.noised(rng).figures() for _ in range(_SIMULATIONS)]
        errors[label] = {
            figure: float(np.std([one[figure] for one, _ in simulated])) for figure in table[label]
        }
        if released.calibration is not None:
            draws = np.array([means for _, means in simulated])
            gaps = (draws[:, :, 2] - draws[:, :, 1]).std(axis=0)
            tenths[tenths[:, 0] <= _SEEN * draws[:, :, 0].std(axis=0)] = np.nan
            means = tenths[:, 1], tenths[:, 2], gaps + 0 * tenths[:, 0]
            labels = released.calibration.labels
            lines += [(label, *line) for line in zip(labels, *means, strict=True)]
        groups.append(pd.DataFrame({"model": label, **released.by_group(table[label], rng)}))
    columns = ["model", "tenth", "predicted", "observed", "standard_error"]
    tables = pd.DataFrame(table).T, pd.DataFrame(errors).T, pd.DataFrame(lines, columns=columns)
    by_group = pd.concat(groups, ignore_index=True)
    return PrivateMetrics(*tables, by_group, float(np.mean(totals)), guarantee)
