"""What a selection means for any term: bins of a curve (bins.py), or cells of a heat map.

Cells count as in ``AdditiveTerm.scores``: row by row, the first feature's bins being the rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp.editor.bins import (
    bin_labels,
    bin_positions,
    checked_indices,
    range_text,
    scale_positions,
    select_bins,
)
from interpret_dp.released import AdditiveFeature, FeaturePair

__all__ = ["Subject", "code_labels", "code_positions", "codes_text", "select_codes"]

FloatArray = NDArray[np.float64]
Subject = AdditiveFeature | FeaturePair

# Far beyond any smoothing length: nothing relates one level of a nominal feature to another.
_APART = 1e6


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
    between, levels : default=None
        Of a curve as :func:`~interpret_dp.editor.bins.select_bins` takes them. Of a heat map
        mappings by the name of the feature, such as ``{"age": (40, 60)}``; both may be given, and
        a feature that is not named is selected whole.
    bins : int, slice or sequence of int, default=None
        Indices themselves.
    everything : bool, default=False
        What no selection means: everything, or all but the missing and the unseen bins.

    Raises
    ------
    TypeError, ValueError
        If the selection does not suit the term, or is empty.
    """
    if not isinstance(subject, FeaturePair):
        return select_bins(
            subject, between=between, levels=levels, bins=bins, everything=everything
        )
    if bins is not None:
        if between is not None or levels is not None:
            raise ValueError(
                "bins was given together with between or levels; at most one selection is "
                "allowed. Leave one out."
            )
        return checked_indices(subject.name, bins, subject.n_codes)
    ranges, names = (
        _by_feature(subject, what, given)
        for what, given in (
            ("between", between),
            ("levels", levels),
        )
    )
    sides = [
        select_bins(
            feature,
            between=ranges.get(feature.name),
            levels=names.get(feature.name),
            everything=everything,
        )
        for feature in (subject.first, subject.second)
    ]
    width = subject.second.n_codes
    return tuple(row * width + column for row in sides[0] for column in sides[1])


def _by_feature(pair: FeaturePair, what: str, given: Any) -> Mapping[str, Any]:
    if given is None:
        return {}
    known = (pair.first.name, pair.second.name)
    if not isinstance(given, Mapping) or not set(given) <= set(known):
        raise ValueError(
            f"{what} is {given!r}; for {pair.name!r} it must be a mapping by feature "
            f"({known[0]!r}, {known[1]!r}), such as {{{known[0]!r}: ...}}."
        )
    return given


def code_labels(subject: Subject) -> tuple[str, ...]:
    """Return the name of every bin or cell, shape (n_codes,)."""
    if not isinstance(subject, FeaturePair):
        return bin_labels(subject)
    firsts, seconds = bin_labels(subject.first), bin_labels(subject.second)
    return tuple(f"{first} & {second}" for first in firsts for second in seconds)


def code_positions(subject: Subject, codes: NDArray[np.int64]) -> tuple[FloatArray, FloatArray]:
    """Return where bins or cells stand, in the feature's units and on its scale from 0 to 1.

    Of cells, places on both scales, shape (n_chosen, 2), twice: they have no common unit.
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
        return np.asarray(_APART * bin_positions(feature))
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
