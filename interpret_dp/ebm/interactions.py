"""Pairs of features that a fit is to learn: interpret's ``interactions``, checked before a row.

Named pairs cost nothing to choose. A number asks for a private choice, which is paid for.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from interpret_dp._validate import describe_argument, did_you_mean
from interpret_dp.ebm.config import MOST_LEVELS, MOST_RANKED, all_pairs
from interpret_dp.ebm.objectives import class_of
from interpret_dp.exceptions import SchemaError
from interpret_dp.schema import Categorical, FeatureSpec

Pair = tuple[int, int]

_FORMS = (
    "It must be a list of pairs of names or indices such as [('age', 'bmi'), (0, 3)], a number of "
    "pairs to choose such as 2, a share of the number of features below 1 such as 0.5, or a "
    "multiple such as '3x'."
)


@dataclass(frozen=True)
class PairTask:
    """Which pairs are to be learned; public. Features are numbered as the terms are.

    Attributes
    ----------
    named : tuple of pairs of int
        Pairs that are known before the fit.
    n_chosen : int
        How many are to be chosen privately.
    eligible : tuple of int
        Features that may be chosen.
    excluded : frozenset of pairs of int
        Pairs that may not, the smaller index first.
    """

    named: tuple[Pair, ...] = ()
    n_chosen: int = 0
    eligible: tuple[int, ...] = ()
    excluded: frozenset[Pair] = frozenset()

    @property
    def n_pairs(self) -> int:
        """Number of terms of two features."""
        return len(self.named) + self.n_chosen

    def candidates(self, ranked: Sequence[int]) -> list[Pair]:
        """Return the pairs of some features that may be chosen."""
        return [pair for pair in all_pairs(list(ranked)) if pair not in self.excluded]


NO_PAIRS = PairTask()


def pair_task(
    interactions: Any,
    names: Sequence[str],
    columns: Sequence[int],
    specs: Sequence[FeatureSpec],
    *,
    undeclared: Sequence[str],
    excluded: frozenset[Pair],
    constrained: Collection[int] = (),
    objective: str = "rmse",
) -> PairTask:
    """Check ``interactions`` and return what it asks for.

    Parameters
    ----------
    interactions : int, float, str, None or list of pairs
        As interpret's estimators take it.
    names : sequence of str
        Columns of the table.
    columns, specs
        Column and declaration of each term.
    undeclared : sequence of str
        Columns without a declaration.
    excluded : frozenset of pairs of int
        Columns that must not make a pair, the smaller index first.
    constrained : collection of int
        Columns of terms that are kept monotone: a pair would undo that.
    objective : str
        What a regression minimises.

    Raises
    ------
    TypeError, ValueError, SchemaError
        If it has another form, names a feature that cannot be in a pair, or asks for pairs where
        there is no choice.
    """
    wanted = _cleaned(interactions, len(names))
    if wanted == 0:
        return NO_PAIRS
    if not class_of(objective)[0].fits_mean:
        raise ValueError(
            f"interactions is given with objective={objective!r}; pairs of quantiles are not "
            "offered yet. Leave interactions out, or use objective='rmse'."
        )
    kinds = dict(zip(columns, specs, strict=True))
    own = {column: place for place, column in enumerate(columns)}

    def obstacle(column: int) -> str:
        return _obstacle(kinds.get(column), names[column] in undeclared, column in constrained)

    if not isinstance(wanted, int):
        pairs = _named(wanted, names)
        for pair in pairs:
            for column in pair:
                if why := obstacle(column):
                    raise SchemaError(f"interactions names {names[column]!r}, which {why}.")
        kept = [pair for pair in pairs if _sorted(pair) not in excluded]
        task = PairTask(tuple((own[a], own[b]) for a, b in kept))
    else:
        eligible = tuple(own[column] for column in columns if not obstacle(column))
        barred = frozenset(_sorted((own[a], own[b])) for a, b in excluded if a in own and b in own)
        task = _chosen(wanted, eligible, barred)
    _check_names(task, [names[column] for column in columns])
    return task


def excluded_pairs(exclude: Any, names: Sequence[str]) -> frozenset[Pair]:
    """Return the pairs of columns in interpret's ``exclude``, the smaller index first."""
    items = exclude if isinstance(exclude, Sequence) and not isinstance(exclude, str) else ()
    pairs = [item for item in items if isinstance(item, tuple | list) and len(item) == 2]
    return frozenset(_sorted(pair) for pair in _named(pairs, names, what="exclude"))


def _cleaned(interactions: Any, n_features: int) -> int | Sequence[Any]:
    """Return a number of pairs, or a list of them, by interpret's rule."""
    wrong = f"{describe_argument('interactions', interactions)}. {_FORMS}"
    if interactions is None:
        return 0
    if isinstance(interactions, bool | np.bool_):
        raise TypeError(wrong)
    if isinstance(interactions, int | float | np.number):
        try:
            number = float(interactions)
        except OverflowError:
            raise ValueError(wrong) from None
        is_share = isinstance(interactions, float | np.floating)
        if not math.isfinite(number) or number < 0 or (is_share and number >= 1.0):
            raise ValueError(wrong)
        return math.ceil(n_features * number) if is_share else int(number)
    if isinstance(interactions, str):
        text = interactions.strip().lower()
        try:
            factor = float(text.removesuffix("x"))
        except ValueError:
            factor = math.nan
        if not text.endswith("x") or not math.isfinite(factor) or factor < 0:
            raise ValueError(wrong)
        return math.ceil(n_features * factor)
    if not isinstance(interactions, Sequence | np.ndarray) or _is_single(interactions):
        raise TypeError(wrong)
    return list(interactions) or 0


def _is_single(item: Any) -> bool:
    """Whether it is an array of no axes, which has no length."""
    return isinstance(item, np.ndarray) and item.ndim == 0


def _named(items: Sequence[Any], names: Sequence[str], what: str = "interactions") -> list[Pair]:
    """Return pairs of columns in interpret's order of terms, without repetitions."""
    pairs: dict[Pair, Pair] = {}
    for item in items:
        if not isinstance(item, Sequence | np.ndarray) or isinstance(item, str) or _is_single(item):
            raise TypeError(
                f"{what} has {item!r}; each entry must be a pair of names or indices, such as "
                "('age', 'bmi')."
            )
        if len(item) != 2:
            raise ValueError(
                f"{what} has {tuple(item)!r}, which names {len(item)} features; it must name two. "
                "Terms of more features are not offered: the noise on so many cells would drown "
                "them. Name their pairs instead."
            )
        first, second = (column_of(entry, names, what) for entry in item)
        if first == second:
            raise ValueError(
                f"{what} has {tuple(item)!r}, which names one feature twice; it must name two. "
                "Every feature has a term of its own already."
            )
        pairs.setdefault(_sorted((first, second)), (first, second))
    return [pairs[key] for key in sorted(pairs)]


def column_of(entry: Any, names: Sequence[str], what: str, also: str = "") -> int:
    """Return the index of the feature that an entry of an argument names, or raise ValueError."""
    if isinstance(entry, str) and entry in names:
        return list(names).index(entry)
    is_number = isinstance(entry, int | float | np.number) and not isinstance(entry, bool)
    if is_number and float(entry).is_integer() and -len(names) <= entry < len(names):
        return int(entry) % len(names)
    raise ValueError(
        f"{what} names the feature {entry!r}; it must be the name or index of one of "
        f"{', '.join(map(repr, names))}{also}.{did_you_mean(entry, names)}"
    )


def _sorted(pair: Pair) -> Pair:
    return (min(pair), max(pair))


def _obstacle(spec: FeatureSpec | None, is_undeclared: bool, is_constrained: bool) -> str:
    """Return why a feature cannot be in a pair; empty if it can."""
    if spec is None:
        return "has no term of its own, because exclude names it. Take it out of exclude"
    if is_constrained:
        return (
            "monotone_constraints keeps monotone; a pair would undo that. Leave it out of one of "
            "the two"
        )
    if not isinstance(spec, Categorical):
        return ""
    if is_undeclared:
        return (
            "has levels that are not declared, so that the number of cells would not be public. "
            "Declare Categorical([level, ...]) for it in the schema"
        )
    if len(spec.levels) > MOST_LEVELS:
        return (
            f"has {len(spec.levels)} levels, and at most {MOST_LEVELS} are allowed in a pair. "
            "Declare coarser levels"
        )
    return ""


def _chosen(wanted: int, eligible: tuple[int, ...], barred: frozenset[Pair]) -> PairTask:
    """Return the requested number of pairs, which is at most that of the candidates."""
    barred = frozenset(pair for pair in barred if set(pair) <= set(eligible))
    task = PairTask(eligible=eligible, excluded=barred)
    every = math.comb(len(eligible), 2) - len(barred)
    available = max(math.comb(min(len(eligible), MOST_RANKED), 2) - len(barred), 0)
    if not available:
        raise ValueError(
            f"interactions asks for {wanted} pairs, but no pair can be chosen: {len(eligible)} "
            "features can be in one. Features with declared bounds, or with at most "
            f"{MOST_LEVELS} declared levels, can; leave interactions out, or declare more of them."
        )
    if wanted >= every == available:
        # With nothing to choose, the choice is free.
        return PairTask(tuple(task.candidates(eligible)))
    return PairTask((), min(wanted, available), eligible, barred)


def _check_names(task: PairTask, names: Sequence[str]) -> None:
    """Refuse a feature that is called as a pair is: terms go by their names."""
    suspects = {name for name in names if " & " in name}
    if not suspects:
        return
    pairs = task.named or tuple(all_pairs(list(task.eligible)))
    taken = {f"{names[a]} & {names[b]}" for a, b in pairs} & suspects
    if taken:
        raise SchemaError(
            f"A feature is called {min(taken)!r}, which is the name of a pair of features. Rename "
            "it in the table."
        )
