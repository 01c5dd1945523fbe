"""Explanations from a released background: effects of one row's values, partial dependence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp._optional import load_shap
from interpret_dp._validate import shortened
from interpret_dp.fitting.account import progress
from interpret_dp.lime.black_box import (
    PublicModel,
    Trial,
    example_row,
    places_of,
    tried_model,
    with_replaced_cells,
)
from interpret_dp.lime.outputs import Outputs, actual_values, open_query_rows
from interpret_dp.released.background import (
    Background,
    BackgroundColumn,
    Dependence,
    cells_at,
    public_generator,
)
from interpret_dp.schema import Categorical, Table

# Effects of the values of one row on any model's output, against rows of a released background.
#
# LIME. As in LIME, the row is perturbed: each value stays with probability one half, and is
# otherwise replaced by one drawn from the background. An additive model of the black box's outputs
# for these rows is fitted: each column has one effect if its value stays, and one in each cell
# that a replacement may fall into. The effect of a value is the difference between keeping it and
# the mean over its replacements.
#
# SHAP. The library shap sees a table of zeros and ones: whether a value of the row stays, or that
# of a row of the background takes its place. So rows may be in any container. Rows of the
# background are several outputs of one function to it, which gives the SHAP values against each of
# them. Their mean is the SHAP value against the background, and means with other weights show the
# error of its noise.
#
# Everything follows from the released background, the model and the explained row
# (post-processing). Sources: Ribeiro, Singh and Guestrin (2016); masks come with their
# complements, as in Covert and Lee (2021), "Improving KernelSHAP". Lundberg and Lee (2017);
# Strumbelj and Kononenko (2014) for permutations.

FloatArray = NDArray[np.float64]

_DRAWS = 64  # of the background, from its posterior


class BackgroundRows:
    """Public rows, with draws of the background's shares from their posterior.

    A draw of the shares makes some rows more common and others less. Means over the rows with these
    weights are those of a background of such shares, without further predictions of the model.

    Parameters
    ----------
    background : Background
    n_rows : int
    seed : int, default=0
        Explanations of one seed are the same in every call.

    Attributes
    ----------
    values : list of ndarray, shape (n_rows,) each
        Cells of the rows, column by column.
    cells : list of ndarray of int, shape (n_rows,) each
        Which cell of its column's histogram each is in.
    shares : list of ndarray of float64
        Of the cells of each column, as rows are drawn from them.
    share_changes : list of ndarray of float64, shape (n_draws, n_cells) each
        How much each draw of the shares differs from them.
    generator : Generator
        For further draws.
    """

    def __init__(self, background: Background, n_rows: int, seed: int = 0) -> None:
        self.generator = public_generator(seed)
        self.shares = background.shares()
        self.values: list[NDArray[Any]] = []
        self.cells: list[NDArray[np.int64]] = []
        self.share_changes: list[FloatArray] = []
        # One place in each of n equal strata: cells get their shares of the rows.
        ranks = background.places(n_rows, self.shares, self.generator).argsort(axis=0)
        places = (ranks.argsort(axis=0) + self.generator.random(ranks.shape)) / n_rows
        self._total_weight = np.zeros((_DRAWS, n_rows))
        for place, column in enumerate(background.columns):
            self.cells.append(cells_at(self.shares[place], places[:, place]))
            self.values.append(column.values(self.cells[place], self.generator.random(n_rows)))
            posterior = column.posterior(background.n_rows)
            uniforms = self.generator.random((2, _DRAWS, len(column.counts[column.counted])))
            drawn = column.drawable(posterior.draws(uniforms))
            self.share_changes.append(drawn - self.shares[place])
            self._total_weight += self.weight_change(place)

    def __len__(self) -> int:
        """Return the number of rows."""
        return self._total_weight.shape[1]

    def weight_change(self, place: int) -> FloatArray:
        """Return how much more often each row counts in each draw, because of one column.

        Returns
        -------
        ndarray of float64, shape (n_draws, n_rows)
            To first order in the changes of the shares, in which columns add up. Products of
            ratios, of which these are the first terms, have heavy tails where there are many
            columns.
        """
        shares = self.shares[place]
        ratios = self.share_changes[place] / np.where(shares > 0, shares, 1.0)
        return ratios[:, self.cells[place]]

    def weight_changes(self, without: int | None = None) -> FloatArray:
        """Return the sum of :meth:`weight_change` over all columns but one.

        Parameters
        ----------
        without : int, default=None
            A column whose values do not matter.
        """
        return self._total_weight - (0.0 if without is None else self.weight_change(without))


Ask = Callable[[NDArray[np.bool_], Sequence[NDArray[Any]]], FloatArray]
"""The model's output for copies of one row: which cells stay, and the values of the others."""

_ROWS = 4_096  # lime asks about 5,000
_ROWS_PER_PARAMETER = 8
_RIDGE = 1.0
_ROUNDING = 1e-12  # of the outputs: smaller differences count as none


@dataclass(frozen=True)
class LocalFit:
    """An additive model of a black box around one row; public.

    Attributes
    ----------
    effects : ndarray of float64, shape (n_columns,)
        Mean change of the output if the row's value replaces one of the background.
    standard_errors : ndarray of float64, shape (n_columns,)
        From the sampling of rows, and from the noise of the background.
    baseline : float
        Prediction of the fit where all values are of the background.
    fidelity : float or None
        Share of the variance of the outputs that the fit explains; 1 if they do not vary. None:
        nothing was fitted.
    """

    effects: FloatArray
    standard_errors: FloatArray
    baseline: float
    fidelity: float | None

    @property
    def prediction(self) -> float:
        """Prediction of the fit for the row itself."""
        return self.baseline + float(self.effects.sum())

    @property
    def shown(self) -> dict[str, float] | None:
        """Description of the fit in figures."""
        if self.fidelity is None:
            return None
        return {"prediction": self.prediction, "fidelity": self.fidelity}


class Perturbations:
    """Replacements for the values of any row: the same ones for all rows that are explained.

    Parameters
    ----------
    background : Background
    seed : int, default=0
        Of the rows and draws. Explanations of one seed are the same in every call.

    Attributes
    ----------
    is_original : ndarray of bool, shape (n, n_columns)
        Which values of the explained row a perturbed row has.
    values : list of ndarray, shape (n,) each
        Values of the other cells, column by column.
    """

    meaning = "of this value, against typical ones"

    def __init__(self, background: Background, seed: int = 0) -> None:
        n_columns = len(background.columns)
        n_rows = max(_ROWS, _ROWS_PER_PARAMETER * (n_columns + 1))
        rows = BackgroundRows(background, n_rows, seed)
        half = rows.generator.random((n_rows // 2, n_columns)) < 0.5
        self.is_original = np.concatenate((half, ~half))
        self.values = rows.values
        most_groups = n_rows // _ROWS_PER_PARAMETER // n_columns - 1
        # Of the groups of each column's cells, in each draw of the background.
        self._share_changes: list[FloatArray] = []
        self._weight_changes = np.zeros(rows.weight_changes().shape)
        blocks = [np.ones((n_rows, 1)), self.is_original.astype(np.float64)]
        contrasts = [np.zeros((n_columns, 1)), np.eye(n_columns)]
        for place, shares in enumerate(rows.shares):
            is_replaced = ~self.is_original[:, place]
            self._weight_changes += rows.weight_change(place) * is_replaced
            groups = _groups(shares, most_groups)
            blocks.append(groups[rows.cells[place]] * is_replaced[:, np.newaxis])
            contrast = np.zeros((n_columns, groups.shape[1]))
            contrast[place] = -(shares @ groups)
            contrasts.append(contrast)
            self._share_changes.append(rows.share_changes[place] @ groups)
        design = np.concatenate(blocks, axis=1)
        ridge = np.zeros(design.shape[1])
        ridge[1 + n_columns :] = _RIDGE
        self._design = design
        self._solve = np.linalg.solve(design.T @ design + np.diag(ridge), design.T)
        self._contrasts = np.concatenate(contrasts, axis=1)
        self._effects = self._contrasts @ self._solve

    def __len__(self) -> int:
        """Return the number of perturbed rows."""
        return len(self.is_original)

    def explain(self, ask: Ask) -> LocalFit:
        """Return the fit to the model's outputs for the perturbed rows."""
        return self.fit(ask(self.is_original, self.values))

    def fit(self, outputs: FloatArray) -> LocalFit:
        """Return the fit to the model's outputs for the perturbed rows.

        Parameters
        ----------
        outputs : ndarray of float64, shape (n,)

        Notes
        -----
        The fit is a linear function of the outputs. Two errors are added: that of the sampled rows,
        from the residuals (White 1980), and that of the noise. Each draw of the background from its
        posterior gives the rows other weights, and the replacements of a column other shares: how
        the effects differ between draws is the error that the noise causes.
        """
        largest = float(np.abs(outputs).max())
        if np.ptp(outputs) <= _ROUNDING * largest:
            nothing = np.zeros(len(self._contrasts))
            return LocalFit(nothing, nothing, float(outputs.mean()), 1.0)
        coefficients = self._solve @ outputs
        residuals = outputs - self._design @ coefficients
        effects = self._contrasts @ coefficients
        freedom = len(outputs) / (len(outputs) - len(coefficients))
        influences = self._effects * residuals
        sampling_variance = freedom * (influences**2).sum(axis=1)
        shifts = influences @ self._weight_changes.T
        first = 1 + len(self._share_changes)
        for place, changes in enumerate(self._share_changes):
            last = first + changes.shape[1]
            shifts[place] -= changes @ coefficients[first:last]
            first = last
        return LocalFit(
            effects,
            np.sqrt(sampling_variance + shifts.var(axis=1)),
            float(coefficients[0] + coefficients[1 : 1 + len(effects)].sum() - effects.sum()),
            1.0 - float(residuals.var()) / float(outputs.var()),
        )


def _groups(shares: FloatArray, most: int) -> FloatArray:
    """Return which group each cell is in, one column a group: at most so many, of similar shares.

    No group at all where rows are too few for it; the effects are then the same, with more noise.
    """
    possible = np.flatnonzero(shares)
    if min(most, len(possible)) < 2:
        return np.zeros((len(shares), 0))
    middles = shares[possible].cumsum() - shares[possible] / 2.0
    number = np.arange(len(possible)) if len(possible) <= most else np.floor(middles * most)
    number = np.unique(number, return_inverse=True)[1]
    groups = np.zeros((len(shares), int(number.max()) + 1))
    groups[possible, number] = 1.0
    return groups


_GROUPS = 32  # of rows of the background, each with a permutation of the columns and its reverse
_ROWS_PER_GROUP = 32


class ShapValues:
    """SHAP values against rows of a background: the same ones for all rows that are explained.

    Parameters
    ----------
    background : Background
    seed : int, default=0
        Of the rows.

    Raises
    ------
    ModuleNotFoundError
        If shap is not installed.
    """

    meaning = "SHAP value, against rows of the background"

    def __init__(self, background: Background, seed: int = 0) -> None:
        self._shap = load_shap()
        self._rows = BackgroundRows(background, _GROUPS * _ROWS_PER_GROUP, seed)
        self._weight_changes = self._rows.weight_changes()

    def explain(self, ask: Ask) -> LocalFit:
        """Return the SHAP values of one row; they add up to its output minus the baseline.

        Parameters
        ----------
        ask : callable
            Returns the model's output for copies of the row: which cells stay, shape (n,
            n_columns), and the values of the others, column by column.

        Notes
        -----
        Each group of rows has a permutation of its own, so the sampling error over groups is that
        of rows and permutations. Interactions of two columns need no permutation but one and its
        reverse. The error of the noise is that of the mean with other weights of the rows.
        """
        # shap seeds and uses NumPy's global generator, which is the user's.
        state = np.random.get_state()  # noqa: NPY002
        try:
            parts = [self._explain_group(ask, group) for group in range(_GROUPS)]
        finally:
            np.random.set_state(state)  # noqa: NPY002
        values = np.concatenate([group for group, _ in parts], axis=1)
        baseline = float(np.mean([base for _, base in parts]))
        effects = values.mean(axis=1)
        means = np.array([group.mean(axis=1) for group, _ in parts])
        shifts = (values - effects[:, np.newaxis]) @ self._weight_changes.T / len(self._rows)
        variances = means.var(axis=0, ddof=1) / _GROUPS + shifts.var(axis=1)
        return LocalFit(effects, np.sqrt(variances), baseline, None)

    def _explain_group(self, ask: Ask, group: int) -> tuple[FloatArray, float]:
        """Return SHAP values against each row of a group, and the mean output over these rows."""
        in_group = slice(group * _ROWS_PER_GROUP, (group + 1) * _ROWS_PER_GROUP)
        usual = [cells[in_group] for cells in self._rows.values]

        def outputs(is_original: FloatArray) -> FloatArray:
            values: Sequence[Any] = [np.tile(cells, len(is_original)) for cells in usual]
            predictions = ask(np.repeat(is_original > 0.5, _ROWS_PER_GROUP, axis=0), values)
            return predictions.reshape(len(is_original), _ROWS_PER_GROUP)

        n_columns = len(usual)
        masker = self._shap.maskers.Independent(np.zeros((1, n_columns)))
        explainer = self._shap.PermutationExplainer(outputs, masker, seed=group)
        row = np.ones((1, n_columns))
        explanation = explainer(row, max_evals=2 * n_columns + 1, silent=True)
        return explanation.values[0], float(np.mean(explanation.base_values))


# Partial dependence of a black box on each column, over rows of a released background.
#
# For each column, the model predicts rows of the background in which the column's value is replaced
# by one of each cell in turn. The mean prediction, cell by cell, is the partial dependence
# (Friedman 2001). The same rows serve for all cells of a column, so that differences
# between cells have little sampling error.
#
# All of it follows from the released background and the model (post-processing).

_PER_COLUMN = 4_096  # rows that the model predicts
_FEWEST_ROWS, _MOST_ROWS = 32, 1_024  # of the background, in each cell


def partial_dependence(
    background: Background, ask: Ask, *, seed: int = 0, verbose: bool = False
) -> Dependence:
    """Return the partial dependence of a model on each column.

    Parameters
    ----------
    background : Background
    ask : callable
        Returns the model's outputs, shape (n, n_outputs), for copies of a row: which cells stay,
        shape (n, n_columns), and the other cells, column by column. No cell stays here.
    seed : int, default=0
        Of the rows. Curves of one seed are the same in every call.
    verbose : bool
        Show a progress bar over the columns.
    """
    rows = BackgroundRows(background, _MOST_ROWS, seed)
    outputs = ask(_none_original(rows.values), rows.values)
    intercept, unexplained = outputs.mean(axis=0), outputs - outputs.mean(axis=0)
    total = float((unexplained**2).sum())
    curves, variances = [], []
    for place in progress(range(len(background.columns)), verbose=verbose, desc="Columns"):
        curve, variance = _curve(background, rows, place, ask)
        unexplained = unexplained - curve[rows.cells[place]]
        curves.append(curve)
        variances.append(variance)
    residual = float((unexplained**2).sum())
    return Dependence(intercept, curves, variances, 1.0 - residual / total if total > 0 else 1.0)


def _curve(
    background: Background, rows: BackgroundRows, place: int, ask: Ask
) -> tuple[FloatArray, FloatArray]:
    """Return the partial dependence on one column, and its error variance.

    Two errors are added: that of the sampled rows, and that of the noise. A draw of the background
    from its posterior gives the rows other weights, and the cells other shares, so that the mean of
    the curve moves.
    """
    column = background.columns[place]
    codes = np.flatnonzero(column.is_drawn)
    n_rows = int(np.clip(_PER_COLUMN // len(codes), _FEWEST_ROWS, _MOST_ROWS))
    cells = np.repeat(codes, n_rows)
    values = [np.tile(column_values[:n_rows], len(codes)) for column_values in rows.values]
    # One value in each of n equal parts of a cell: a step of the model inside it is not missed.
    parts = rows.generator.permuted(np.tile(np.arange(n_rows), (len(codes), 1)), axis=1).ravel()
    values[place] = column.values(cells, (parts + rows.generator.random(len(cells))) / n_rows)
    outputs = ask(_none_original(values), values).reshape(len(codes), n_rows, -1)
    effects = outputs - np.tensordot(rows.shares[place][codes], outputs, axes=1)
    effects[np.abs(effects) <= _ROUNDING * np.abs(outputs).max()] = 0.0
    curve = effects.mean(axis=1)
    residuals = effects - curve[:, np.newaxis]
    sampling = (residuals**2).sum(axis=1) / (n_rows * (n_rows - 1))
    weights = rows.weight_changes(without=place)[:, :n_rows]
    shifts = np.einsum("dn,cno->dco", weights, residuals) / n_rows
    shifts -= (rows.share_changes[place][:, codes] @ curve)[:, np.newaxis]
    shape = (column.feature.n_codes, curve.shape[1])
    all_cells, variance = np.zeros(shape), np.zeros(shape)
    all_cells[codes], variance[codes] = curve, sampling + shifts.var(axis=0)
    return all_cells, variance


def _none_original(values: Sequence[NDArray[Any]]) -> NDArray[np.bool_]:
    return np.zeros((len(values[0]), len(values)), dtype=bool)


def ice_lines(background: Background, ask: Ask) -> list[FloatArray]:
    """Return a model's outputs for one row with one value replaced by one of each cell (ICE).

    Parameters
    ----------
    background : Background
    ask : callable
        As :func:`partial_dependence` takes it.

    Returns
    -------
    list of ndarray of float64, shape (n_codes, n_outputs) each
        One for each column, with mean 0 under the shares of its cells.
    """
    drawn = [np.flatnonzero(column.is_drawn) for column in background.columns]
    replaced = np.repeat(np.arange(len(drawn)), [len(codes) for codes in drawn])
    is_original = replaced[:, np.newaxis] != np.arange(len(drawn))
    values = []
    for place, column in enumerate(background.columns):
        cells = np.full(len(replaced), drawn[place][0])
        cells[replaced == place] = drawn[place]
        values.append(column.values(cells, np.full(len(cells), 0.5)))
    outputs = ask(is_original, values)
    lines = []
    for place, shares in enumerate(background.shares()):
        column_outputs = outputs[replaced == place]
        line = np.zeros((background.columns[place].feature.n_codes, outputs.shape[1]))
        line[drawn[place]] = column_outputs - shares[drawn[place]] @ column_outputs
        lines.append(line)
    return lines


_MOST_LINES = 10  # of single rows, of all classes together


def explain_rows(
    private: Any,
    method_of: Callable[[Background], Perturbations | ShapValues],
    model: Any,
    X: Any,
    y: Any = None,
    explained_class: Any = None,
    *,
    name: str,
    verbose: bool = False,
) -> Any:
    """Return interpret's explanation of some rows.

    Parameters
    ----------
    private : PrivateBackground
    method_of : callable
        From the background, without what the model refuses, to Perturbations or ShapValues of it.
    model, X, y, explained_class
        As :meth:`~interpret_dp.lime.background.PrivateBackground.explain_local` takes them.
    name : str
    verbose : bool
        Show a progress bar over the rows.
    """
    background = private.to_released()
    opened = open_query_rows(X, background.names, background.schema)
    n_rows = opened.table.n_rows
    box = PublicModel.of(model)
    predictions = box.outputs(opened.X, n_rows)
    outputs = Outputs.of_predictions(box, model, predictions)
    explained = outputs.explained(explained_class, predictions)
    predicted = predictions[np.arange(n_rows), explained]
    actual = actual_values(y, outputs, explained)
    places = places_of(opened.X, background.names)
    background = _without_refused(background, box, opened.X, private._said)
    method = method_of(background)
    records = []
    for row in progress(range(n_rows), verbose=verbose, desc="Rows"):
        fit = method.explain(partial(_output, box, opened.X, places, row, explained[row]))
        record = _record(opened.table, row, fit, float(predicted[row]), float(actual[row]))
        record |= {"output": outputs.text(explained[row]), "meaning": method.meaning}
        records.append(record)
    from interpret_dp.explanation.local_objects import local_explanation

    return local_explanation(
        records,
        privacy=private.privacy_spend_,
        name=name,
        feature_names=background.names,
        feature_types=[column.feature.kind for column in background.columns],
    )


def _record(
    table: Table, row: int, fit: LocalFit, predicted: float, actual: float
) -> dict[str, Any]:
    """Return one row's explanation, in the form of interpret's own local explanations."""
    cells = [table.column(place)[row] for place in range(len(table.names))]
    return {
        "type": "univariate",
        "names": list(table.names),
        "scores": fit.effects.tolist(),
        "values": [cell.item() if isinstance(cell, np.generic) else cell for cell in cells],
        "standard_errors": fit.standard_errors.tolist(),
        "perf": {
            "is_classification": False,
            "actual": actual,
            "predicted": predicted,
            "actual_score": actual,
            "predicted_score": predicted,
        },
        "extra": {"names": ["Baseline"], "scores": [fit.baseline], "values": [1]},
        "predicted": predicted,
        "fit": fit.shown,
    }


def explain_model(
    private: Any,
    model: Any,
    explained_class: Any = None,
    rows: Any = None,
    *,
    name: str,
    verbose: bool = False,
) -> Any:
    """Return interpret's explanation of a model as a whole: its partial dependence on each column.

    Parameters
    ----------
    private : PrivateBackground
    model, explained_class, rows
        As :meth:`~interpret_dp.lime.background.PrivateBackground.explain_global` takes them.
    name : str
    verbose : bool
        Show a progress bar over the columns.
    """
    box, background = PublicModel.of(model), private.to_released()
    if rows is None:
        n_rows, (X, predictions) = 0, _accepted_row(background, box, model, private._example)
    else:
        opened = open_query_rows(rows, background.names, background.schema)
        n_rows, X = opened.table.n_rows, opened.X
        predictions = box.outputs(X, n_rows)
    places = places_of(X, background.names)
    background = _without_refused(background, box, X, private._said)
    outputs = Outputs.of_predictions(box, model, predictions)
    if explained_class is None and predictions.shape[1] > 2:
        explained = list(range(predictions.shape[1]))
    else:
        explained = [outputs.explained(explained_class, predictions)[0]]
    outputs_at = [partial(_output, box, X, places, row, explained) for row in range(max(n_rows, 1))]
    n_lines = min(n_rows, max(1, _MOST_LINES // len(explained)))
    from interpret_dp.explanation.local_objects import dependence_explanation

    dependence = partial_dependence(background, outputs_at[0], verbose=verbose)
    return dependence_explanation(
        background,
        dependence,
        lines=[ice_lines(background, outputs_at[row]) for row in range(n_lines)],
        output=outputs.text(explained[0] if len(explained) == 1 else None),
        classes=None if len(explained) == 1 else outputs.classes,
        privacy=private.privacy_spend_,
        name=name,
    )


def _accepted_row(
    background: Background, box: PublicModel, model: Any, example: Any
) -> tuple[Any, FloatArray]:
    """Return a row that the model accepts, in the first form that it takes, and its outputs.

    The forms are an array if it was fitted without names, that of the released data, a DataFrame of
    numbers and texts, and one with categories.
    """
    row, fitted = background.sample(1, 0), getattr(model, "__self__", model)
    has_names = hasattr(fitted, "feature_names_in_") or not hasattr(fitted, "n_features_in_")
    coded = {c.feature.name: "category" for c in background.columns if c.feature.cuts is None}
    forms: list[Any] = [row, example_row(row.astype(coded), background.schema.features)]
    if example is not None:
        forms.insert(0, example)
    if not has_names:
        forms.insert(0, row.to_numpy())
    trial = _trial(background, box)
    errors = []
    for form in forms:
        try:
            return trial.accepted_row(form)
        except Exception as error:
            errors.append(error)
    mend = f"It has {shortened(background.names)}. Pass rows= if the model reads other columns."
    with tried_model("a row of the background", mend):
        raise errors[0]


def _trial(background: Background, box: PublicModel) -> Trial:
    """Return the trial of a model on the levels and missing cells that rows are drawn from."""
    values = [c.values(_tried(c), np.zeros(len(_tried(c)))) for c in background.columns]
    return Trial(box.outputs, background.names, values)


def _tried(column: BackgroundColumn) -> NDArray[np.int64]:
    codes = np.flatnonzero(column.is_drawn)
    return codes if isinstance(column.feature.spec, Categorical) else codes[codes == 0]


def _without_refused(
    background: Background, box: PublicModel, X: Any, said: set[str]
) -> Background:
    """Return the background without levels and missing cells that the model refuses.

    Raises
    ------
    ValueError
        If it refuses all levels of a column.
    """
    is_accepted = _trial(background, box).accepted_values(X, said)
    if all(accepted.all() for accepted in is_accepted):
        return background
    columns = []
    for column, accepted in zip(background.columns, is_accepted, strict=True):
        columns.append(replace(column, refused=tuple(_tried(column)[~accepted].tolist())))
        if not columns[-1].is_drawn[1:].any():
            raise ValueError(
                f"The model refuses all declared levels of column {column.feature.name!r}. Pass a "
                "model that accepts one."
            )
    return replace(background, columns=tuple(columns))


def _output(
    model: PublicModel,
    X: Any,
    places: Sequence[int],
    row: int,
    output: int | Sequence[int],
    is_original: NDArray[np.bool_],
    values: Sequence[NDArray[Any]],
) -> Any:
    """Return the model's output for copies of one row in which some cells are replaced."""
    rows = with_replaced_cells(X, row, places, is_original, values)
    with tried_model("a row with values of the background", "Declare values that it accepts."):
        return model.outputs(rows, len(is_original))[:, output]
