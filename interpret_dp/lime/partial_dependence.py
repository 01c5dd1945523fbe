"""Partial dependence of a black box on each column, over rows of a released background.

For each column, the model predicts rows of the background in which the column's value is replaced
by one of each cell in turn. The mean prediction, cell by cell, is the partial dependence (Friedman
2001). The same rows serve for all cells of a column, so that differences
between cells have little sampling error.

All of it follows from the released background and the model (post-processing).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp.fitting.progress import progress
from interpret_dp.lime.local_effects import Ask, BackgroundRows
from interpret_dp.released.background import Background

FloatArray = NDArray[np.float64]

_PER_COLUMN = 4_096  # rows that the model predicts
_FEWEST_ROWS, _MOST_ROWS = 32, 1_024  # of the background, in each cell
_ROUNDING = 1e-12  # of the outputs: a column that the model does not use has a flat curve


@dataclass(frozen=True)
class Dependence:
    """Curves of a model; public.

    Attributes
    ----------
    intercept : ndarray of float64, shape (n_outputs,)
        Mean output over rows of the background.
    curves, variances : list of ndarray of float64, shape (n_codes, n_outputs) each
        Partial dependence on each column, with mean 0 under the shares of its cells, and its error
        variance; 0 in cells that no row is drawn from.
    fidelity : float
        Share of the variance of the outputs, over rows of the background, that the sum of all
        curves explains; 1 if they do not vary.
    """

    intercept: FloatArray
    curves: list[FloatArray]
    variances: list[FloatArray]
    fidelity: float


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
