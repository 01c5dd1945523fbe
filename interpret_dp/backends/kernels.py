"""The loops over rows, compiled by numba, and the tables from which they read probabilities."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from interpret_dp._compiled import compiled
from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.backends.base import MAX_SCORE, CodeArray, Integers, Integers32

_CHUNK = 4096  # rows per pass: scores, residuals and codes of a chunk stay in the cache
TABLE_BITS = 12  # logits are looked up in steps of 2**12 / 2**20 = 1/256
_TABLE_HALF = 4096  # entries on each side of zero: logits from -16 to 16
#: Entries of a table of means; the weights of their residuals may follow.
MEANS = 4096


def sigmoid_table() -> Integers32:
    """Tabulate the probability of class 1 on the lattice, truncated into [0, LATTICE]."""
    logits = (np.arange(-_TABLE_HALF, _TABLE_HALF) + 0.5) * 2.0**TABLE_BITS / LATTICE
    return np.clip(np.floor(LATTICE / (1.0 + np.exp(-logits))), 0, LATTICE).astype(np.int32)


@compiled()
def _fill_cells(
    codes: CodeArray,
    group: Integers,
    widths: Integers,
    start: int,
    stop: int,
    cells: NDArray[np.uint16],
) -> None:
    """Write the cell of each row in the grid of a group's features, the first one slowest."""
    # Slices of one dimension: the compiler then needs no more than a register for 32 rows.
    column = codes[group[0], start:stop]
    for row in range(stop - start):
        cells[row] = column[row]
    for place in range(1, group.shape[0]):
        if group[place] < 0:
            break
        column = codes[group[place], start:stop]
        width = np.uint16(widths[group[place]])
        for row in range(stop - start):
            cells[row] = cells[row] * width + column[row]


@compiled()
def _add_updates(
    codes: CodeArray,
    widths: Integers,
    updated: Integers,
    updates: Integers32,
    saturate: bool,
    scores: Integers32,
    start: int,
    stop: int,
    cells: NDArray[np.uint16],
) -> None:
    chunk = scores[start:stop]
    for slot in range(updated.shape[0]):
        _fill_cells(codes, updated[slot], widths, start, stop, cells)
        change = updates[slot]
        if saturate:
            for row in range(stop - start):
                moved = int(chunk[row]) + int(change[cells[row]])
                chunk[row] = np.int32(min(max(moved, -MAX_SCORE), MAX_SCORE))
        else:
            for row in range(stop - start):
                chunk[row] += change[cells[row]]


@compiled()
def _sum_residuals(
    codes: CodeArray,
    widths: Integers,
    wanted: Integers,
    residuals: Integers32,
    start: int,
    stop: int,
    cells: NDArray[np.uint16],
    sums: Integers,
) -> None:
    for slot in range(wanted.shape[0]):
        _fill_cells(codes, wanted[slot], widths, start, stop, cells)
        total = sums[slot]
        for row in range(stop - start):
            total[cells[row]] += residuals[row]


@compiled()
def _weighted(residual: int, weight: int) -> int:
    """Multiply by a weight's share of LATTICE, truncated: no norm grows."""
    return abs(residual) * weight // LATTICE * (1 if residual > 0 else -1)


@compiled()
def _weigh(weights: Integers32, residuals: Integers32, start: int, stop: int) -> None:
    if weights.shape[0] == 0:  # every row has the largest weight
        return
    for row in range(start, stop):
        residuals[row - start] = _weighted(int(residuals[row - start]), int(weights[row]))


def _advance_by(rule: str) -> Callable[..., None]:
    """Return the loop over rows that adds updates to scores, then weighted residuals to sums.

    Parameters
    ----------
    rule : {"probability", "difference", "mean", "weighted mean", "gap"}
        The residual of a row: label minus probability, target minus score, target minus mean, the
        same times a function of the mean, or a function of target minus score, the last four of
        them clipped. numba drops the other rules.
    """
    is_probability, is_difference, is_mean, is_weighted = (
        rule == name for name in ("probability", "difference", "mean", "weighted mean")
    )

    @compiled()
    def advance(
        codes: CodeArray,
        widths: Integers,
        weights: Integers32,
        targets: NDArray[np.signedinteger],
        table: Integers32,
        lowest: int,
        largest: int,
        updated: Integers,
        updates: Integers32,
        saturate: bool,
        wanted: Integers,
        scores: Integers32,
        first: int,
        last: int,
        sums: Integers,
    ) -> None:
        residuals, cells = np.empty(_CHUNK, np.int32), np.empty(_CHUNK, np.uint16)
        for start in range(first, last, _CHUNK):
            stop = min(start + _CHUNK, last)
            _add_updates(codes, widths, updated, updates, saturate, scores, start, stop, cells)
            target, score = targets[start:stop], scores[start:stop]
            if is_probability:
                # In two loops, of which the first has no look-ups.
                for row in range(stop - start):
                    step = min(max(score[row] >> TABLE_BITS, -_TABLE_HALF), _TABLE_HALF - 1)
                    cells[row] = np.uint16(step + _TABLE_HALF)
                for row in range(stop - start):
                    residuals[row] = int(target[row]) * LATTICE - int(table[cells[row]])
            elif is_difference:
                for row in range(stop - start):
                    residual = int(target[row]) - int(score[row])
                    residuals[row] = min(max(residual, -largest), largest)
            elif is_mean or is_weighted:
                for row in range(stop - start):
                    entry = (int(score[row]) >> TABLE_BITS) - lowest
                    entry = min(max(entry, 0), MEANS - 1)
                    residual = int(target[row]) - int(table[entry])
                    if is_weighted:
                        residual = _weighted(residual, int(table[MEANS + entry]))
                    residuals[row] = min(max(residual, -largest), largest)
            else:
                for row in range(stop - start):
                    entry = ((int(target[row]) - int(score[row])) >> TABLE_BITS) - lowest
                    residual = int(table[min(max(entry, 0), table.shape[0] - 1)])
                    residuals[row] = min(max(residual, -largest), largest)
            _weigh(weights, residuals, start, stop)
            _sum_residuals(codes, widths, wanted, residuals, start, stop, cells, sums)

    return advance


advance_binary = _advance_by("probability")
advance_regression = _advance_by("difference")
advance_poisson = _advance_by("mean")
advance_weighted = _advance_by("weighted mean")
advance_gap = _advance_by("gap")


@compiled()
def advance_multiclass(
    codes: CodeArray,
    weights: Integers32,
    labels: NDArray[np.int16],
    table: Integers,
    updated: Integers,
    updates: Integers32,
    wanted: Integers,
    scores: Integers32,
    first: int,
    last: int,
    sums: Integers,
) -> None:
    """Add updates to the scores, then ``weight * (onehot(label) - softmax)`` to the sums."""
    n_classes = scores.shape[1]
    residuals = np.empty(n_classes, np.int64)
    for row in range(first, last):
        for slot in range(updated.shape[0]):
            code = codes[updated[slot], row]
            for k in range(n_classes):
                moved = int(scores[row, k]) + int(updates[slot, code, k])
                scores[row, k] = np.int32(min(max(moved, -MAX_SCORE), MAX_SCORE))
        highest = int(scores[row].max())
        total = 0
        for k in range(n_classes):
            entry = min((highest - int(scores[row, k])) >> TABLE_BITS, table.shape[0] - 1)
            residuals[k] = table[entry]
            total += residuals[k]
        for k in range(n_classes):
            # Truncation: the probabilities add up to at most LATTICE, as the norm needs.
            residuals[k] = -(residuals[k] * LATTICE // total)
        residuals[labels[row]] += LATTICE
        if weights.shape[0] > 0:
            for k in range(n_classes):
                residuals[k] = _weighted(residuals[k], int(weights[row]))
        for slot in range(wanted.shape[0]):
            code = codes[wanted[slot], row]
            for k in range(n_classes):
                sums[slot, code, k] += residuals[k]


_MANTISSAS = 4096


def logarithms(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return logarithms by a table and a short series; of 0 some finite number.

    Additions and products of floats alone: the last bit of NumPy's own logarithm may depend on
    where in an array a number stands.
    """
    mantissas, exponents = np.frexp(np.nan_to_num(numbers))
    centres = 0.5 + (np.arange(_MANTISSAS) + 0.5) / (2 * _MANTISSAS)
    places = np.trunc((mantissas - 0.5) * (2 * _MANTISSAS))
    places = np.clip(places, 0, _MANTISSAS - 1).astype(np.int64)
    gap = (mantissas - centres[places]) / centres[places]
    return np.asarray(exponents * math.log(2.0) + np.log(centres)[places] + gap - gap * gap / 2)


def exponentials(logs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return exponentials of numbers up to 700 in size, by a table and a short series."""
    step = math.log(2.0) / _MANTISSAS
    steps = np.rint(logs / step)
    gap = logs - steps * step
    places = steps.astype(np.int64)
    fractions = np.exp(np.arange(_MANTISSAS) * step)[places % _MANTISSAS]
    return np.asarray(np.ldexp(fractions, places // _MANTISSAS) * (1.0 + gap + gap * gap / 2))


Deviance: TypeAlias = Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]


def _poisson(target: NDArray[np.float64], predicted: NDArray[np.float64]) -> NDArray[np.float64]:
    ratio = logarithms(target) - logarithms(predicted)
    return 2.0 * (target * ratio - target + predicted)


def _gamma(target: NDArray[np.float64], predicted: NDArray[np.float64]) -> NDArray[np.float64]:
    ratio = logarithms(predicted) - logarithms(target)
    return 2.0 * (ratio + target / predicted - 1.0)


def tweedie_deviance(power: float) -> Deviance:
    """Return the deviance of a variance in proportion to that power of the mean."""

    def deviance(
        target: NDArray[np.float64], predicted: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        rest, logs = 2.0 - power, logarithms(predicted)
        own = np.where(target > 0, exponentials(rest * logarithms(target)), 0.0)
        present = exponentials(rest * logs)
        slope = target * exponentials((1.0 - power) * logs)
        return np.asarray(2.0 * ((own / rest - slope) / (1.0 - power) + present / rest))

    return deviance


DEVIANCES: dict[str, Deviance] = {"poisson_deviance": _poisson, "gamma_deviance": _gamma}


def exponential_table() -> Integers:
    """Tabulate exp(-d) for score gaps d from 0 to 16 on the lattice, truncated."""
    gaps = (np.arange(_TABLE_HALF) + 0.5) * 2.0**TABLE_BITS / LATTICE
    table: Integers = np.floor(LATTICE * np.exp(-gaps)).astype(np.int64)
    return table
