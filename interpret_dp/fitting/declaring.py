"""Filling the gaps of a declaration inside the session: private levels, labels and bounds.

Everything released here is paid for out of the fit's budget, before training begins.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from interpret_dp.accounting.composition import (
    SELECTIONS_SHARE,
    GdpPair,
    compose_repeated,
    gaussian_part,
)
from interpret_dp.accounting.lattice import LATTICE, Neighbourhood
from interpret_dp.accounting.plans import PlannedRelease, PlannedSelection, ReleasePlan
from interpret_dp.exceptions import SchemaError, UndeclaredWarning, warn_caller
from interpret_dp.fitting.rows import PrivateRows
from interpret_dp.mechanisms import Selection, active_randomness
from interpret_dp.mechanisms.additive import occupied_range, rows_to_be_found
from interpret_dp.release import ReleaseSession
from interpret_dp.schema import Categorical, Continuous, FeatureSpec, Integer, Schema
from interpret_dp.schema.cells import (
    FloatArray,
    Values,
    category_values,
    cells_of,
    chunks,
    is_category_coded,
    is_interval,
    level_key,
    numbers_of,
)
from interpret_dp.schema.declarations import (
    MAX_BINS,
    MAX_CLASSES,
    NO_LEVEL,
    ColumnArgument,
    Level,
    UndeclaredCategorical,
    UndeclaredContinuous,
    bounds_integers,
    level_label,
)
from interpret_dp.schema.partial import Gap, PartialSchema

# Counts of what occurs in a column that is not declared: of values, and of magnitudes.
#
# The counts are private, and so is which values occur. Counts of values go to partition selection,
# counts on the fixed public grid of magnitudes into a noisy histogram that shows in which range the
# numbers lie, and neither goes elsewhere. What a cell counts as depends on that cell alone.


def count_occurring(values: Values) -> dict[str | float, int]:
    """Count the rows of each value that could be declared as a level. Private.

    Parameters
    ----------
    values : ndarray or pandas extension array, shape (n_rows,)
        A private column.

    Returns
    -------
    dict of str or float to int
        Number of rows by :func:`~interpret_dp.schema.cells.level_key`. A row is counted at most
        once: not at all if its cell is missing or could not be a level, such as a list, an
        infinity, or a number of 2**53 and beyond; or if it is an interval of pandas.
    """
    total: Counter[Any] = Counter()
    if is_category_coded(values):
        codes = np.asarray(values.codes)
        counts = np.bincount(codes[codes >= 0], minlength=len(values.categories)).tolist()
        for cell, count in zip(category_values(values), counts, strict=True):
            if count:
                total[_countable_key(cell)] += count
    else:
        for rows in chunks(len(values)):
            total += _count_chunk(values[rows])
    return {key: count for key, count in total.items() if _could_be_level(key)}


def _count_chunk(values: Values) -> Counter[Any]:
    if values.dtype.kind in "biuf":
        # Adding zero turns -0.0 into 0.0, which are one key.
        numbers, counts = np.unique(numbers_of(values) + 0.0, return_counts=True)
        return Counter(dict(zip(numbers.tolist(), counts.tolist(), strict=True)))
    cells = cells_of(values).tolist()
    if set(map(type, cells)) <= {str}:
        return Counter(cells)
    with np.errstate(all="ignore"):
        return Counter(map(_countable_key, cells))


def _countable_key(cell: object) -> object:
    # Edges of intervals may have been read off the rows: undeclared ones are never released.
    return None if is_interval(cell) else level_key(cell)


def _could_be_level(key: object) -> bool:
    """Return whether a schema could declare this value; the rule of :class:`Categorical`."""
    try:
        Categorical([key])
    except (SchemaError, TypeError):
        return False
    return True


def number_kind(values: Values) -> str | None:
    """Return how the column's type writes numbers: ``"b"``, ``"i"``, ``"f"``, or None if by value.

    Parameters
    ----------
    values : ndarray or pandas extension array
        Only its type is looked at.
    """
    if is_category_coded(values):
        return None
    return {"b": "b", "i": "i", "u": "i", "f": "f"}.get(values.dtype.kind)


def levels_of_keys(keys: Sequence[str | float], kind: str | None) -> list[Level]:
    """Write released values as levels, in the given order.

    Parameters
    ----------
    keys : sequence of str or float
        Released; public.
    kind : str or None
        As :func:`number_kind` returns it. None writes whole numbers as integers.

    Returns
    -------
    list of str, int, float or bool
        A value that would be written like an earlier one (``"1"`` after ``1``) is left out.
    """
    levels: dict[str, Level] = {}
    for key in keys:
        # One object a text: in a pickle, whether two names are one object shows, and the keys are
        # the very objects of some rows.
        level = sys.intern(key) if isinstance(key, str) else _number(key, kind)
        levels.setdefault(level_label(level), level)
    return list(levels.values())


def _number(key: float, kind: str | None) -> Level:
    if kind == "b":
        return bool(key)
    if kind == "f":
        return float(key)
    return int(key) if key.is_integer() else float(key)


SMALLEST_EXPONENT = -64
"""Numbers closer to zero than two to this power count as zero."""

LARGEST_EXPONENT = 64
"""Numbers of two to this power or more count as just below it."""


@dataclass(frozen=True)
class MagnitudeGrid:
    """Bins between signed powers of two, each octave cut into equal steps, and one bin at zero.

    Parameters
    ----------
    steps : int
        Bins per octave, at least 1: at 4, the octave from 4 to 8 has bins 4 to 5, 5 to 6 ...

    Notes
    -----
    Bins are in the order of their values: ``2 * n_signed + 1`` of them, zero in the middle.
    """

    steps: int = 1

    @property
    def n_signed(self) -> int:
        """Number of bins on each side of zero."""
        return (LARGEST_EXPONENT - SMALLEST_EXPONENT) * self.steps

    @property
    def n_bins(self) -> int:
        """Number of bins."""
        return 2 * self.n_signed + 1

    def bounds(self, first: int, last: int) -> tuple[float, float]:
        """Return the smallest and the largest value of a range of bins.

        Parameters
        ----------
        first, last : int
            Indices from 0, the last one included.

        Returns
        -------
        tuple of float
            Outer edges; the bin at zero counts as exactly 0.
        """
        # Adding zero turns -0.0 into 0.0.
        lower = 0.0 - self._outward(self.n_signed - first)
        return lower, self._outward(last - self.n_signed)

    def _outward(self, position: int) -> float:
        """Return the edge of a bin that points away from zero if ``position`` is above 0.

        Positions count from the bin at zero, away from it; one on the other side of zero, below
        0, has its edge next to zero, with the opposite sign.
        """
        if position == 0:
            return 0.0
        edge = position if position > 0 else -position - 1
        octave, step = divmod(edge, self.steps)
        size = math.ldexp(1.0 + step / self.steps, SMALLEST_EXPONENT + octave)
        return size if position > 0 else -size

    def counts(self, values: Values) -> npt.NDArray[np.int64]:
        """Count cells per bin, shape (n_bins,). Private.

        Each cell is placed by a rule that sees that cell alone. Cells that are missing, infinite
        or not numbers are not counted.

        Parameters
        ----------
        values : ndarray or pandas extension array, shape (n_rows,)
            A private column.
        """
        total = np.zeros(self.n_bins, dtype=np.int64)
        for rows in chunks(len(values)):
            numbers = numbers_of(values[rows])
            codes = self._codes(numbers[np.isfinite(numbers)])
            total += np.bincount(codes, minlength=self.n_bins)
        return total

    def _codes(self, numbers: FloatArray) -> npt.NDArray[np.int64]:
        # fraction is from 0.5 up to, but not including, 1; both outputs are exact.
        fraction, exponent = np.frexp(np.abs(numbers))
        octave = exponent.astype(np.int64) - 1 - SMALLEST_EXPONENT
        step = np.floor((2.0 * fraction - 1.0) * self.steps).astype(np.int64)
        position = np.clip(octave * self.steps + step, -1, self.n_signed - 1) + 1
        position[numbers == 0.0] = 0
        signed: npt.NDArray[np.int64] = np.where(numbers < 0.0, -position, position)
        return signed + self.n_signed


# Shares of mu squared. An undeclared target gets as much as a third of all features together: a
# label that is not found cannot be predicted, and a regression's noise grows with its range.
_TARGET_SHARE = 0.025
_FEATURES_SHARE = 0.075

_FEATURE_GRID = MagnitudeGrid(steps=1)
# The range of a regression's target scales all of its noise, so that it is worth finer steps.
_TARGET_GRID = MagnitudeGrid(steps=4)
_WIDE = 2.0**30
_WEIGHT_IF_UNKNOWN = 1.0
_NAMES_SHOWN = 8

# Where something is counted: the number of a column, or one of these.
_Place = int | str
_TARGET, _WEIGHTS = "target", "weights"


@dataclass(frozen=True)
class DeclaringTask:
    """Gaps in a schema that a fit fills before it trains; public.

    Attributes
    ----------
    partial : PartialSchema
    names : tuple of str
        Columns of the table.
    terms : tuple of str
        Columns that get a term. Others are never looked at: an undeclared one gets a declaration
        that fits anything.
    has_weights : bool
        Whether rows have weights.
    declared_weight : float or None
        Their public maximum, if there is one.
    """

    partial: PartialSchema
    names: tuple[str, ...]
    terms: tuple[str, ...]
    has_weights: bool = False
    declared_weight: float | None = None

    @property
    def gaps(self) -> dict[str, Gap]:
        """Undeclared columns that get a term."""
        return {name: gap for name, gap in self.partial.gaps.items() if name in self.terms}

    @property
    def is_needed(self) -> bool:
        """Whether anything is to be released."""
        return bool(self.gaps) or self.partial.target_gap is not None or self.lacks_weight

    @property
    def lacks_weight(self) -> bool:
        """Whether rows have weights of which the maximum is not public."""
        return self.has_weights and self.declared_weight is None

    @property
    def largest_weight(self) -> float:
        """Maximum of the weights as far as it is declared; 1 without weights."""
        declared = self.declared_weight if self.has_weights else None
        return _WEIGHT_IF_UNKNOWN if declared is None else declared

    @property
    def _n_selections(self) -> int:
        gaps: list[Gap | None] = [*self.gaps.values(), self.partial.target_gap]
        return sum(isinstance(gap, UndeclaredCategorical) for gap in gaps)

    def gaussian_delta(self, delta: float) -> float:
        """Return what selections leave of ``delta`` for the Gaussian part of the whole fit.

        A tenth of delta goes to the selections, in equal parts, if there are any.
        """
        own = GdpPair(0.0, self._selection_delta(delta))
        return gaussian_part(delta, compose_repeated([(own, self._n_selections)]).delta)

    def _selection_delta(self, delta: float) -> float:
        return SELECTIONS_SHARE * delta / max(self._n_selections, 1)

    def plan(self, mu: float, delta: float) -> tuple[PlannedRelease, ...]:
        """Return the releases that fill the gaps.

        Parameters
        ----------
        mu : float
            Gaussian part of the whole fit's budget. The target gets 2.5 % of its square, and so
            does the largest weight; each feature gets 7.5 % divided by the number of terms. What
            is declared costs nothing.
        delta : float
            Of the whole fit.
        """
        own = self._selection_delta(delta)
        each = mu * math.sqrt(_FEATURES_SHARE / len(self.terms))
        kinds = [isinstance(gap, UndeclaredCategorical) for gap in self.gaps.values()]
        of_target = mu * math.sqrt(_TARGET_SHARE)
        gap = self.partial.target_gap
        selections = [
            ("labels", of_target, int(isinstance(gap, UndeclaredCategorical))),
            ("levels", each, sum(kinds)),
        ]
        sums = [
            ("target bounds", of_target, int(isinstance(gap, UndeclaredContinuous))),
            ("largest weight", of_target, int(self.lacks_weight)),
            ("bounds", each, len(kinds) - sum(kinds)),
        ]
        return (
            *(PlannedSelection(*part, own) for part in selections if part[2]),
            *(PlannedRelease(*part) for part in sums if part[2]),
        )

    def training_mu(self, mu: float, delta: float) -> float:
        """Return what the releases of :meth:`plan` leave of ``mu`` for the training."""
        spent = sum(part.count * part.mu**2 for part in self.plan(mu, delta))
        return math.sqrt(mu**2 - spent)

    def without_rows(self) -> Schema:
        """Return the schema with which nothing is known about the gaps."""
        fallbacks = {name: _unknown_feature(gap) for name, gap in self.partial.gaps.items()}
        gap = self.partial.target_gap
        return self.partial.completed(fallbacks, None if gap is None else _unknown_target(gap))


@dataclass(frozen=True)
class Declared:
    """Schema after its gaps were filled; public.

    Attributes
    ----------
    schema : Schema
        A target of fewer than two labels has one level, which calls for a constant model.
    largest_weight : float
        Above 0; 1 without weights.
    """

    schema: Schema
    largest_weight: float


def declare(task: DeclaringTask, rows: PrivateRows, session: ReleaseSession) -> Declared:
    """Release what is undeclared and return what is then known.

    Parameters
    ----------
    task : DeclaringTask
    rows : PrivateRows
        At most as many of each unit as the session's neighbourhood says.
    session : ReleaseSession
        Open, with the plan of ``task``.

    Notes
    -----
    A row has one cell a column. So it changes one count of a column's levels or magnitudes by 1,
    which is what one row adds to each release (docs/proofs/partition_selection.md and
    docs/proofs/approximate_bounds.md).
    """
    grids = _counting_grids(task)
    # All from one pass over the rows, which may be on disk.
    exact = rows.total(_counted, tuple(grids.items())) if grids else []
    counts = dict(zip(grids, exact, strict=True))
    target: FeatureSpec | None = None
    gap = task.partial.target_gap
    if isinstance(gap, UndeclaredCategorical):
        kind, selection = number_kind(rows.y), session.select("labels", counts[_TARGET])
        keys = _of_one_type(selection, _most_frequent(selection, MAX_CLASSES))
        unknown: Level = 0 if kind == "i" else NO_LEVEL
        target = Categorical(levels_of_keys(keys, kind) or [unknown])
    elif gap is not None:
        bounds = _released_bounds("target bounds", counts[_TARGET], _TARGET_GRID, session)
        target = _unknown_target(gap) if bounds is None else _between(gap, *bounds)
    largest_weight = task.largest_weight
    if task.lacks_weight:
        bounds = _released_bounds("largest weight", counts[_WEIGHTS], _TARGET_GRID, session)
        if bounds is not None and bounds[1] > 0:
            largest_weight = bounds[1]
    filled: dict[str, FeatureSpec] = {}
    for name, spec in task.partial.gaps.items():
        filled[name] = _unknown_feature(spec)
        if name not in task.terms:
            continue
        column = task.names.index(name)
        if isinstance(spec, UndeclaredCategorical):
            kind = number_kind(rows.table.column(column))
            keys = _most_frequent(session.select("levels", counts[column]), MAX_BINS)
            levels = levels_of_keys(_in_order(keys, spec.order or ()), kind) or [NO_LEVEL]
            filled[name] = Categorical(levels, ordered=spec.ordered)
        else:
            bounds = _released_bounds("bounds", counts[column], _FEATURE_GRID, session)
            if bounds is not None:
                filled[name] = _between(spec, *bounds)
    return Declared(task.partial.completed(filled, target), largest_weight)


def _counting_grids(task: DeclaringTask) -> dict[_Place, MagnitudeGrid | None]:
    """Return the grid of the magnitudes to count in each place; None counts the values."""
    grids: dict[_Place, MagnitudeGrid | None] = {}
    gap = task.partial.target_gap
    if gap is not None:
        grids[_TARGET] = None if isinstance(gap, UndeclaredCategorical) else _TARGET_GRID
    if task.lacks_weight:
        grids[_WEIGHTS] = _TARGET_GRID
    for name, spec in task.gaps.items():
        is_nominal = isinstance(spec, UndeclaredCategorical)
        grids[task.names.index(name)] = None if is_nominal else _FEATURE_GRID
    return grids


def _counted(rows: PrivateRows, grids: Sequence[tuple[_Place, MagnitudeGrid | None]]) -> list[Any]:
    """Return the counts of each place: an array, or a mapping from values. Private."""
    counts: list[Any] = []
    beside: dict[_Place, Values] = {_TARGET: rows.y, _WEIGHTS: rows.weights}
    for place, grid in grids:
        values = beside[place] if place in beside else rows.table.column(int(place))
        counts.append(count_occurring(values) if grid is None else grid.counts(values))
    return counts


def _in_order(keys: Sequence[str | float], order: Sequence[Any]) -> list[str | float]:
    """Return the keys in a given order, the others behind them."""
    places = {key: place for place, key in enumerate(order)}
    return sorted(keys, key=lambda key: places.get(key, len(places)))


def _most_frequent(selection: Selection, most: int) -> list[str | float]:
    """Return the keys of the largest released counts, in their order."""
    kept = np.sort(np.argsort(-selection.counts, kind="stable")[:most])
    return [selection.keys[at] for at in kept]


def _of_one_type(selection: Selection, keys: Sequence[str | float]) -> list[str | float]:
    """Return the numbers or the texts, whichever more rows have: classes are of one type."""
    counts = dict(zip(selection.keys, selection.counts.tolist(), strict=True))
    of_texts = sum(counts[key] for key in keys if isinstance(key, str))
    is_text = 2 * of_texts >= sum(counts[key] for key in keys)
    return [key for key in keys if isinstance(key, str) is is_text]


def _released_bounds(
    name: str, counts: NDArray[np.int64], grid: MagnitudeGrid, session: ReleaseSession
) -> tuple[float, float] | None:
    exact = counts * LATTICE
    noisy, sigma = session.gaussian(name, exact[np.newaxis], row_norm=LATTICE, aligned=True)
    occupied = occupied_range(noisy[0], sigma)
    return None if occupied is None else grid.bounds(*occupied)


def _between(
    gap: UndeclaredContinuous, lower: float, upper: float, scale: str = "linear"
) -> Continuous:
    """Return bounds of which the declared one, if there is one, stays as it is."""
    is_integer = gap.is_integer and scale == "linear"
    if is_integer:
        lower, upper = _whole_between(lower, upper)
    if gap.lower is not None:
        lower, upper = gap.lower, max(gap.lower, upper)
    if gap.upper is not None:
        lower, upper = min(lower, gap.upper), gap.upper
    # The grid reaches farther than integers have floats of their own.
    spec = Integer if is_integer and bounds_integers(lower, upper) else Continuous
    return spec(lower, upper, scale)


def _whole_between(lower: float, upper: float) -> tuple[float, float]:
    """Return the outermost integers within bounds of the grid, of which the outer edge is open."""
    first = math.ceil(lower) if lower >= 0 else math.floor(lower) + 1
    last = math.floor(upper) if upper <= 0 else math.ceil(upper) - 1
    # Between two neighbours there is none.
    return float(first), float(max(first, last))


def _unknown_feature(gap: Gap) -> FeatureSpec:
    if isinstance(gap, UndeclaredCategorical):
        return Categorical([NO_LEVEL], ordered=gap.ordered)
    return _between(gap, -_WIDE, _WIDE, "symlog")


def _unknown_target(gap: Gap) -> FeatureSpec:
    """Return what serves where not even the magnitude is known: bounds of standardised numbers.

    Wide bounds would be no safer, only worse: noise is made for the range.
    """
    if isinstance(gap, UndeclaredCategorical):
        return Categorical([NO_LEVEL])
    middle = gap.lower if gap.lower is not None else gap.upper if gap.upper is not None else 0.0
    return _between(gap, middle - 1.0, middle + 1.0)


_said: set[str] = set()


def warn_of_gaps(task: DeclaringTask, plan: ReleasePlan, neighbourhood: Neighbourhood) -> None:
    """Say before a fit what is undeclared, what that costs, and how many rows it takes.

    Parameters
    ----------
    task : DeclaringTask
    plan : ReleasePlan
        Of the whole fit.
    neighbourhood : Neighbourhood

    Warns
    -----
    UndeclaredWarning
        Names the columns and shows how to declare them, once for each text: searches and
        cross-validations fit many times. The number of rows that a level or label needs follows
        from the budget alone.
    """
    # An audit compares what two fits say, and a text is said once.
    if not task.is_needed or active_randomness() is not None:
        return
    sensitivity, most = neighbourhood.sensitivity(LATTICE, aligned=True), neighbourhood.max_rows
    needed = {
        part.name: rows_to_be_found(most, sensitivity, part.mu, part.delta)
        for part in plan.releases
        if isinstance(part, PlannedSelection)
    }
    text = _undeclared_text(task, needed)
    if text not in _said:
        _said.add(text)
        warn_caller(text, UndeclaredWarning)


def _undeclared_text(task: DeclaringTask, needed: Mapping[str, int]) -> str:
    gaps, target = task.gaps, task.partial.target_gap
    shown = [f"{name!r}: {_example(gap)}" for name, gap in list(gaps.items())[:_NAMES_SHOWN]]
    hidden = len(gaps) - len(shown)
    columns = ", ".join([*shown, *(["..."] if hidden else [])])
    what = [f"{len(gaps)} column{'s' if len(gaps) > 1 else ''}"] if gaps else []
    mends = [f"Schema({{{columns}}})"] if gaps else []
    if isinstance(target, UndeclaredCategorical):
        what.append("the class labels")
        mends.append("classes=[label, ...]")
    elif target is not None:
        what.append("the target")
        mends.append(f"Schema(..., target={_example(target)})")
    if task.lacks_weight:
        what.append("sample_weight")
        mends.append("privacy_weight_max=...")
    limits = [f"a {part.removesuffix('s')} needs about {n:,} rows" for part, n in needed.items()]
    if any(isinstance(gap, UndeclaredContinuous) for gap in (*gaps.values(), target)):
        limits.append("bounds are rough")
    drop = " Drop identifiers: X.drop(columns=[...])." if gaps else ""
    return (
        f"Not declared: {', '.join(what)}. This is estimated privately, out of the fit's own "
        f"budget: {', '.join(limits)}. Declaring public knowledge costs nothing: "
        f"{', '.join(mends)}.{drop} The attribute schema_ of the "
        "model or background shows what was found."
    )


def _example(gap: Gap) -> str:
    if isinstance(gap, UndeclaredContinuous):
        return ColumnArgument("continuous", None, gap.lower, gap.upper, gap.is_integer).example()
    return ColumnArgument("ordinal" if gap.ordered else "nominal").example()
