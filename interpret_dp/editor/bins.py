"""Bins of a curve and cells of a heat map: their names, positions and selections.

Indices count as in ``AdditiveTerm.scores``. Of a curve 0 is the missing bin, the last is the
undeclared bin, and those between are the regular bins. Cells of a heat map count row by row, the
first feature's bins being the rows.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from interpret_dp._validate import check_int, check_sequence, enumerated
from interpret_dp.explanation.plots.axes import FeatureAxis, bin_texts
from interpret_dp.released import AdditiveFeature, AdditiveModel, Band, FeaturePair
from interpret_dp.schema import Categorical, Continuous

FloatArray = NDArray[np.float64]
Subject = AdditiveFeature | FeaturePair


class BinSelection(TypedDict, total=False):
    """Keywords that every operation takes: which bins, which classes, and where the mean goes."""

    between: tuple[float, float] | Mapping[str, tuple[float, float]] | None
    levels: Iterable[Any] | Mapping[str, Iterable[Any]] | None
    bins: int | slice | Sequence[int] | None
    classes: Any
    recentre: bool


@dataclass(frozen=True, eq=False)
class TermView:
    """All that a drawing of one term needs, as of one moment; public.

    Attributes
    ----------
    name : str
        Name of the term.
    kind : {"continuous", "ordinal", "nominal", "interaction"}
    labels : tuple of str, shape (n_codes,)
        Name of each bin: "missing" first, "undeclared" last. Of a heat map, that of each cell.
    edges : ndarray of float64, shape (n_codes - 1,), or None
        Borders of the regular bins in the feature's units; the outer ones are the declared
        bounds, of integers half a unit beyond them. None if the feature is categorical.
    weights : ndarray of float64, shape (n_codes,)
        Released number of rows per bin.
    original, last, current : ndarray of float64, shape (n_codes,) or (n_codes, n_classes)
        Scores as they were released, before the latest edit, and now. Of a model that was edited by
        an older version, ``original`` are those of the loaded model.
    band, current_band : Band or None
        Ends of the 95 % bands of ``original`` and ``current``; None where the noise is not known,
        as after an edit that is not linear.
    version : int
        Version of the session that this shows.

    Examples
    --------
    >>> from interpret_dp import DPExplainableBoostingClassifier
    >>> from interpret_dp.datasets import make_cohort
    >>> patients = make_cohort(500)
    >>> model = DPExplainableBoostingClassifier(schema=patients.schema, max_rounds=2)
    >>> session = model.fit(patients.X, patients.y).edit(author="Ada")
    >>> view = session.view("sex")
    >>> view.kind, view.labels
    ('nominal', ('missing', 'female', 'male', 'undeclared'))
    """

    name: str
    kind: str
    labels: tuple[str, ...]
    edges: FloatArray | None
    weights: FloatArray
    original: FloatArray
    last: FloatArray
    current: FloatArray
    band: Band | None
    current_band: Band | None
    version: int

    @property
    def is_edited(self) -> bool:
        """Whether any score differs from the released one."""
        return not np.array_equal(self.original, self.current)


def bin_edges(feature: AdditiveFeature) -> FloatArray:
    """Return the borders of a continuous feature's bins, shape (n_bins + 1,), in its units."""
    spec, cuts = feature.spec, feature.cuts
    if cuts is None or isinstance(spec, Categorical):
        raise ValueError(f"Feature {feature.name!r} is categorical; its bins have no borders.")
    lower, upper = spec.extent
    if not len(cuts):
        return np.array([lower, upper])
    # Cuts of a hand-made model may lie outside the declared bounds.
    return np.concatenate([[min(lower, cuts[0])], cuts, [max(upper, cuts[-1])]])


def bin_positions(feature: AdditiveFeature) -> FloatArray:
    """Return the centres of the regular bins in the feature's units; ranks of levels."""
    if feature.cuts is None:
        return np.arange(feature.n_codes - 2, dtype=np.float64)
    edges = bin_edges(feature)
    # Halving first keeps the sum of two huge borders finite.
    return np.asarray(edges[:-1] / 2 + edges[1:] / 2)


def scale_positions(feature: AdditiveFeature) -> FloatArray:
    """Return the centres on the declared scale, from 0 to 1 over the feature's whole range."""
    if feature.cuts is None:
        return np.asarray(bin_positions(feature) / max(feature.n_codes - 3, 1))
    edges, spec = bin_edges(feature), feature.spec
    if isinstance(spec, Continuous):
        edges = FeatureAxis(spec).at(edges)
    centres = edges[:-1] / 2 + edges[1:] / 2
    width = edges[-1] / 2 - edges[0] / 2
    return np.asarray((centres / 2 - edges[0] / 2) / width if width > 0 else centres * 0.0)


def range_text(feature: AdditiveFeature, bins: Sequence[int]) -> str:
    """Return a selection in words: "between 40 and 60", "for 'a' and 'b'", "in 3 bins"."""
    last = feature.n_codes - 1
    regular = [index for index in bins if 0 < index < last]
    special = [name for index, name in ((0, "missing"), (last, "undeclared")) if index in bins]
    parts = []
    if len(regular) == last - 1:
        parts = ["for all values"]
    elif regular and feature.cuts is None:
        names = [repr(feature.labels[index - 1]) for index in regular]
        parts = [f"for {enumerated(names)}" if len(names) <= 4 else f"for {len(names)} levels"]
    elif regular:
        has_gaps = regular[-1] - regular[0] + 1 > len(regular)
        ends = range_ends(feature, regular[0] - 1, regular[-1] - 1)
        inside = f"in {len(regular)} bins " if has_gaps else ""
        parts = [f"{inside}{between_text(*ends)}"]
    if special:
        parts.append(f"for {enumerated(special)} values")
    return " and ".join(parts)


def range_ends(feature: AdditiveFeature, first: int, last: int) -> tuple[str, str]:
    """Return the outer values of a range of regular bins of a number, as texts.

    Parameters
    ----------
    feature : AdditiveFeature
    first, last : int
        Regular bins, counted from 0.
    """
    if feature.integers is not None:
        return f"{feature.integers[first][0]:,}", f"{feature.integers[last][1]:,}"
    edges = bin_edges(feature)
    return f"{edges[first]:.4g}", f"{edges[last + 1]:.4g}"


def between_text(low: str, high: str) -> str:
    """Return a range in words: "between 40 and 60", or "at 40" if both ends are one value."""
    return f"at {low}" if low == high else f"between {low} and {high}"


def _between(feature: AdditiveFeature, between: Any) -> list[int]:
    if feature.cuts is None:
        raise ValueError(
            f"between was given for {feature.name!r}, which is categorical. Use levels=[...], "
            f"with levels among {_shown(feature.labels)}."
        )
    try:
        low, high = (float(end) for end in between)
    except (TypeError, ValueError):
        raise TypeError(
            f"between is {between!r}; it must be two numbers in units of {feature.name!r}, such as "
            "(40, 60)."
        ) from None
    if math.isnan(low) or math.isnan(high) or low > high:
        raise ValueError(f"between is ({low:g}, {high:g}); the first must not be above the second.")
    edges = bin_edges(feature)
    if high < edges[0] or low > edges[-1]:
        values = (edges[0], edges[-1])
        if feature.integers is not None:
            values = (feature.integers[0][0], feature.integers[-1][1])
        raise ValueError(
            f"between is ({low:g}, {high:g}), which holds no bin of {feature.name!r}: its values "
            f"lie between {values[0]:g} and {values[1]:g}."
        )
    first = int(np.searchsorted(feature.cuts, low, side="right"))
    # A bin that begins where the range ends has no part in it, unless the range is that point.
    last = int(np.searchsorted(feature.cuts, high, side="left" if high > low else "right"))
    return list(range(first + 1, last + 2))


def _levels(feature: AdditiveFeature, levels: Any) -> list[int]:
    spec = feature.spec
    if not isinstance(spec, Categorical):
        raise ValueError(
            f"levels were given for {feature.name!r}, which is continuous. Use between=(a, b), in "
            "its own units."
        )
    chosen = []
    for level in check_sequence("levels", levels, f"levels, such as [{levels!r}]"):
        index = label_index(spec.levels, level)
        if index is None:
            raise ValueError(
                f"{feature.name!r} has no level {level!r}; its levels are "
                f"{_shown(spec.levels)}. The missing and undeclared bins are bins=0 and "
                f"bins={feature.n_codes - 1}."
            )
        chosen.append(index + 1)
    return chosen


def class_column(model: AdditiveModel, argument: str, label: Any) -> int:
    """Return the column of the scores that belongs to a class."""
    if model.classes is None or len(model.intercept) == 1:
        raise ValueError(
            f"{argument} is {label!r}; only a model of more than two classes has a curve for each. "
            "Leave it out."
        )
    column = label_index(model.classes, label)
    if column is None:
        classes = ", ".join(map(repr, model.classes))
        raise ValueError(f"{argument} is {label!r}; the classes are {classes}.")
    return column


def label_index(labels: Sequence[Any], label: Any) -> int | None:
    """Return the position of a level or class, or None; the text "1" is not the number 1."""
    for index, declared in enumerate(labels):
        if isinstance(declared, str) == isinstance(label, str) and declared == label:
            return index
    return None


def _checked_indices(subject: Subject, bins: Any) -> list[int]:
    """Return the caller's indices of bins or cells."""
    last = subject.n_codes - 1
    if isinstance(bins, slice):
        try:
            bins = range(subject.n_codes)[bins]
        except TypeError:
            raise TypeError(f"bins is {bins!r}; a slice must be made of integers.") from None
    if isinstance(bins, numbers.Integral):
        bins = [bins]
    mend = f"Bins of {subject.name!r} count from 0 (missing) to {last} (undeclared)."
    return [
        check_int("an index in bins", index, low=0, high=last, mend=mend)
        for index in check_sequence("bins", bins, "indices, one index, or a slice")
    ]


def _shown(levels: Sequence[Any]) -> str:
    names = ", ".join(repr(level) for level in levels[:12])
    return names if len(levels) <= 12 else f"{names} and {len(levels) - 12} more"


# ---------------------------------------------------------------------------- bins or cells

# Far beyond any smoothing length: nothing relates one level of a nominal feature to another.
_UNRELATED = 1e6


def select_codes(
    subject: Subject,
    *,
    between: Any = None,
    levels: Any = None,
    bins: Any = None,
    everything: bool = False,
) -> tuple[int, ...]:
    """Return the indices of the selected bins or cells, increasing and unique.

    Parameters
    ----------
    subject : AdditiveFeature or FeaturePair
    between : pair of float, default=None
        Every bin that overlaps this range of a continuous feature; ends may be infinite.
    levels : iterable, default=None
        Levels of a categorical feature, as they are declared.

        Of a heat map both are mappings by the name of the feature, such as ``{"age": (40, 60)}``;
        both may be given, and a feature that is not named is selected whole.
    bins : int, slice or sequence of int, default=None
        Indices themselves.
    everything : bool, default=False
        What no selection means: everything, or all but the missing and the undeclared bins.

    Raises
    ------
    TypeError, ValueError
        If more than one is given, one does not suit the term, or nothing is selected.
    """
    selections = {"between": between, "levels": levels, "bins": bins}
    names = [name for name, value in selections.items() if value is not None]
    if len(names) > 1 and (bins is not None or not isinstance(subject, FeaturePair)):
        raise ValueError(
            f"{' and '.join(names)} were given; at most one selection is allowed. Leave one out."
        )
    if bins is not None:
        chosen: Sequence[int] = _checked_indices(subject, bins)
    elif isinstance(subject, FeaturePair):
        ranges = _by_feature(subject, "between", between)
        kept = _by_feature(subject, "levels", levels)
        rows, columns = (
            select_codes(
                feature,
                between=ranges.get(feature.name),
                levels=kept.get(feature.name),
                everything=everything,
            )
            for feature in (subject.first, subject.second)
        )
        chosen = [row * subject.second.n_codes + column for row in rows for column in columns]
    elif between is not None:
        chosen = _between(subject, between)
    elif levels is not None:
        chosen = _levels(subject, levels)
    else:
        edge = 0 if everything else 1
        chosen = range(edge, subject.n_codes - edge)
    if not chosen:
        raise ValueError(
            f"The selection {names[0] if names else 'of regular bins'} of {subject.name!r} is "
            "empty, so that there is nothing to edit. Select at least one bin; leave the selection "
            "out for the whole curve."
        )
    return tuple(sorted(set(chosen)))


def _by_feature(pair: FeaturePair, argument: str, value: Any) -> Mapping[str, Any]:
    if value is None:
        return {}
    first, second = pair.first.name, pair.second.name
    if not isinstance(value, Mapping) or not set(value) <= {first, second}:
        raise ValueError(
            f"{argument} is {value!r}; for {pair.name!r} it must be a mapping by feature "
            f"({first!r}, {second!r}), such as {{{first!r}: ...}}."
        )
    return value


def code_labels(subject: Subject) -> tuple[str, ...]:
    """Return the name of every bin or cell, shape (n_codes,)."""
    if not isinstance(subject, FeaturePair):
        return tuple(bin_texts(subject))
    firsts, seconds = bin_texts(subject.first), bin_texts(subject.second)
    return tuple(f"{first} & {second}" for first in firsts for second in seconds)


def code_positions(subject: Subject, codes: NDArray[np.int64]) -> tuple[FloatArray, FloatArray]:
    """Return the positions of bins or cells, in the feature's units and on its scale from 0 to 1.

    Of cells, positions on both scales, shape (n_chosen, 2), twice: they have no common unit.
    """
    if not isinstance(subject, FeaturePair):
        inner = np.clip(codes - 1, 0, subject.n_codes - 3)
        return bin_positions(subject)[inner], scale_positions(subject)[inner]
    places = np.column_stack(
        [
            _scale_of(feature)[np.clip(side - 1, 0, feature.n_codes - 3)]
            for feature, side in zip(
                (subject.first, subject.second), np.divmod(codes, subject.shape[1]), strict=True
            )
        ]
    )
    return places, places


def _scale_of(feature: AdditiveFeature) -> FloatArray:
    if feature.kind == "nominal":
        return np.asarray(_UNRELATED * bin_positions(feature))
    return scale_positions(feature)


def codes_text(subject: Subject, codes: Sequence[int]) -> str:
    """Return a selection in words: "between 40 and 60", or "where 'age' is ..." of a heat map."""
    if not isinstance(subject, FeaturePair):
        return range_text(subject, codes)
    if list(codes) == subject.regular:
        return "for all values"
    width = subject.second.n_codes
    rows, columns = sorted({c // width for c in codes}), sorted({c % width for c in codes})
    if len(rows) * len(columns) != len(codes):
        return f"in {len(codes)} cells"
    sides = zip((subject.first, subject.second), (rows, columns), strict=True)
    return " and ".join(
        f"{range_text(feature, side)} of {feature.name!r}" for feature, side in sides
    )
