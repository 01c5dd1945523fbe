"""Boosting's curves while they grow, monotone constraints, and the released result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp._validate import check_int, describe_argument, did_you_mean
from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.ebm.config import BoostingSettings, TrainerConfig
from interpret_dp.ebm.losses import Start
from interpret_dp.ebm.trainer.binning import Bins
from interpret_dp.ebm.trainer.partitions import (
    TermUpdate,
    centred,
    centred_change,
    without_common_part,
)
from interpret_dp.exceptions import SchemaError
from interpret_dp.released.arrays import isotonic
from interpret_dp.schema import Categorical, FeatureSpec

# Monotone constraints: which terms have one, and the projection of a curve.
#
# After each update a constrained term is replaced by the nearest monotone curve, by the released
# bin weights. That is post-processing of released numbers and costs nothing. The average of
# monotone curves is monotone, and so are its multiples and shifts, so the released curve is
# monotone as well.

FloatArray = NDArray[np.float64]

_ALLOWED = "1 (increasing), -1 (decreasing) or 0 (free)"


def constrained_directions(
    constraints: Any, names: Sequence[str], specs: Sequence[FeatureSpec], target: FeatureSpec | None
) -> tuple[int, ...]:
    """Return the direction of each column, shape (n_columns,): 1, -1 or 0.

    Parameters
    ----------
    constraints : sequence of int, mapping of str to int, or None
        One direction a column, as interpret takes them, or directions by name, as scikit-learn's
        histogram boosting does; columns that a mapping does not name are free.
    names, specs : sequence, shape (n_columns,)
        Columns of the table and their declarations.
    target : Continuous, Categorical or None
        None if the labels are not declared.

    Raises
    ------
    TypeError, ValueError
        If a direction or a name is none, or there is not one direction a column.
    SchemaError
        If a column has no order, or there are or could be more than two classes.
    """
    if constraints is None:
        return (0,) * len(names)
    directions = tuple(
        check_int(f"monotone_constraints[{name!r}]", direction, low=-1, high=1, mend=f"{_ALLOWED}.")
        for name, direction in _by_name(constraints, names).items()
    )
    if not any(directions):
        return directions
    if target is None or (isinstance(target, Categorical) and len(target.levels) > 2):
        raise SchemaError(
            "monotone_constraints was given for a classifier whose classes are "
            + ("not declared" if target is None else f"{list(target.levels)}")
            + "; one class' score says nothing of its probability where there are more than two. "
            "Declare two labels, Schema(..., target=Categorical([label, label])), or leave "
            "monotone_constraints out."
        )
    for name, spec, direction in zip(names, specs, directions, strict=True):
        if direction and isinstance(spec, Categorical) and not spec.ordered:
            raise SchemaError(
                f"monotone_constraints[{name!r}] is {direction}, and the levels of {name!r} have "
                "no order; it must be 0. Declare Categorical([level, ...], ordered=True) if they "
                "have one."
            )
    return directions


def _by_name(constraints: Any, names: Sequence[str]) -> dict[str, Any]:
    """Return the given direction of each column, in the table's order."""
    if isinstance(constraints, Mapping):
        unknown = [name for name in constraints if name not in names]
        if unknown:
            raise ValueError(
                f"monotone_constraints names {unknown!r}; its keys must be among the columns "
                f"{list(names)!r}.{did_you_mean(unknown[0], names)}"
            )
        return {name: constraints.get(name, 0) for name in names}
    is_list = isinstance(constraints, Sequence | np.ndarray) and not isinstance(constraints, str)
    if not is_list or (isinstance(constraints, np.ndarray) and constraints.ndim == 0):
        raise TypeError(
            f"{describe_argument('monotone_constraints', constraints)}; it must be a "
            f"list with {_ALLOWED} for each column, or a mapping of names to these."
        )
    if len(constraints) != len(names):
        raise ValueError(
            f"monotone_constraints has {len(constraints)} entries; it must have one for each of "
            f"the {len(names)} columns {list(names)!r}. A mapping of names to directions need not "
            "name them all."
        )
    return dict(zip(names, constraints, strict=True))


def monotone_change(
    scores: FloatArray, change: FloatArray, weights: FloatArray, direction: int
) -> FloatArray:
    """Return the change that takes a monotone curve to the projection of its update.

    Parameters
    ----------
    scores, change : ndarray of float64, shape (n_codes, 1)
        Integers on the lattice: a monotone curve, and what an update adds to it.
    weights : ndarray of float64, shape (n_codes,)
        Released bin weights, above 0 between the missing and the unseen bin, which have no place in
        the order and move freely.
    direction : {1, -1}

    Returns
    -------
    ndarray of float64, shape (n_codes, 1)
        Integers, no larger in size than the largest of ``change``: the projection of the curve
        itself is the curve, and projecting makes no score's move larger than the largest of
        ``change``. The weighted mean stays, but for rounding.
    """
    moved = scores + change
    moved[1:-1, 0] = isotonic(moved[1:-1, 0], weights[1:-1], increasing=direction > 0)
    # Rounding keeps an order.
    return np.asarray(np.rint(moved) - scores)


@dataclass(frozen=True)
class Averaged:
    """Weights of a term's iterates in its released curve.

    Attributes
    ----------
    rounds : int
        How many of its last iterates are averaged.
    extrapolation : float
        How often the change that led to each of them counts once more: 0 for plain averages, and
        1 / share - 1 for those of full steps, of which only a share was made.
    """

    rounds: int
    extrapolation: float = 0.0

    def counts(self, n_updates: int) -> FloatArray:
        """Return the weight of each iterate, and of its last change but for ``extrapolation``."""
        counts = np.zeros(n_updates)
        if self.rounds > 0:
            counts[-self.rounds :] = 1.0 / self.rounds
        return counts


class Curves:
    """Shape functions while they grow, on the score lattice."""

    def __init__(self, weights: list[FloatArray], n_scores: int, directions: Sequence[int]) -> None:
        self.directions, self.weights = directions, weights
        self.scores = [np.zeros((len(own), n_scores)) for own in weights]
        self.updates: list[list[TermUpdate]] = [[] for _ in weights]
        self._changes = [np.zeros_like(scores) for scores in self.scores]
        self.begin_average()

    def add(self, term: int, update: TermUpdate, noisy: FloatArray, largest: float) -> FloatArray:
        """Move a term by its noisy leaf sums; return the integer change per bin and score."""
        sums = without_common_part(noisy)
        change = np.rint(centred_change(update, self.weights[term], sums))
        change = np.clip(change, -largest, largest)
        if self.directions[term]:
            change = monotone_change(
                self.scores[term], change, self.weights[term], self.directions[term]
            )
        self.scores[term] += change
        self._changes[term] = change
        self.updates[term].append(update)
        return change

    def begin_average(self) -> None:
        """Begin an average."""
        self.n_averaged = 0
        self._sums = [np.zeros_like(scores) for scores in self.scores]
        self._moves = [np.zeros_like(scores) for scores in self.scores]

    def add_to_average(self) -> None:
        """Add the curves and their last changes to the average."""
        self.n_averaged += 1
        for totals, ones in ((self._sums, self.scores), (self._moves, self._changes)):
            for total, one in zip(totals, ones, strict=True):
                total += one

    def averaging(self, extrapolation: float) -> tuple[Averaged, ...]:
        """Return how each term is averaged: extrapolated, unless it is kept monotone.

        An extrapolated monotone curve need not be monotone.
        """
        return tuple(
            Averaged(self.n_averaged, 0.0 if direction else extrapolation)
            for direction in self.directions
        )

    def averages(self, extrapolation: float = 0.0) -> list[FloatArray]:
        """Return averages in units of score, centred on the released weights.

        Changes that were cut off are not. Bins that never moved have no noise, and stay at zero
        all the same; of a curve that is kept monotone all move, to stay in order.
        """
        means = zip(self.means(extrapolation), self.weights, self.directions, strict=True)
        return [
            centred(mean, weights, (mean != 0).any(axis=1) | (direction != 0))
            for mean, weights, direction in means
        ]

    def means(self, extrapolation: float = 0.0) -> list[FloatArray]:
        """Return averages in units of score; without any, the curves as they are."""
        if not self.n_averaged:
            return [scores / LATTICE for scores in self.scores]
        averaged = zip(self._sums, self._moves, self.averaging(extrapolation), strict=True)
        return [
            (total + own.extrapolation * moves) / (self.n_averaged * LATTICE)
            for total, moves, own in averaged
        ]


@dataclass(frozen=True)
class BoostingResult:
    """Released result of boosting, in units of score.

    Attributes
    ----------
    scores : list of ndarray of float64, shape (n_codes, n_scores) each
        Averaged shape functions, centred.
    trained : list of ndarray of float64, shape (n_codes, n_scores) each
        The same without extrapolation: about what rows were scored with.
    intercept : ndarray of float64, shape (n_scores,)
    updates : list of list of TermUpdate
        For each term, its updates in order of rounds.
    averaged : tuple of Averaged
        For each term.
    pruned : frozenset of int
        Terms that showed nothing but noise after half of the rounds: the others were trained as if
        they were zero from then on. ``scores`` and ``trained`` are their averages until then.
    noise : float
        Standard deviation of the noise of a residual sum, in residuals.
    step : float
        Score per unit of mean residual of the last updates.
    total_step : float
        Sum of the steps of all rounds.
    level_noise : float
        Standard deviation of the noise of the intercept in one round, in units of score.
    start : Start
        That of the last rounds: a squared error may have a narrower bound then.
    """

    scores: list[FloatArray]
    trained: list[FloatArray]
    intercept: FloatArray
    updates: list[list[TermUpdate]]
    averaged: tuple[Averaged, ...]
    start: Start
    noise: float = 0.0
    step: float = 0.0
    total_step: float = 0.0
    level_noise: float = 0.0
    pruned: frozenset[int] = frozenset()


@dataclass(frozen=True)
class BoostingTask:
    """Input of boosting beside the rows; all of it public.

    Attributes
    ----------
    bins : sequence of Bins, one per term
    is_ordered : sequence of bool, one per term
    directions : sequence of {1, -1, 0}, one per term
        Of terms that are kept monotone: increasing or decreasing.
    movable : sequence of int
        Terms to update. The others stay zero.
    config : TrainerConfig
    start : Start
        Loss, number of rows, and score from which every row starts.
    weight_noise : float
        Standard deviation of the noise of a bin's weight; 0 where weights were shrunk.
    """

    bins: Sequence[Bins]
    is_ordered: Sequence[bool]
    directions: Sequence[int]
    movable: Sequence[int]
    config: TrainerConfig
    start: Start
    weight_noise: float

    def settings(self, n_kept: int | None = None, *, late: bool = False) -> BoostingSettings:
        """Return the settings of the first rounds, or of the late ones with the kept terms."""
        config = replace(self.config, n_kept=n_kept)
        return config.boosting(self.start.n_rows, self.start.scale, late=late)
