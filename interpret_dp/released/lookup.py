"""Lookup tables of a released additive model: its shape functions as DataFrames.

A prediction is the link's inverse of the intercept plus one looked-up score a term. The tables are
another form of the released model: making them reads no row and costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp.released.additive_model import AdditiveModel
from interpret_dp.released.intervals import Band
from interpret_dp.released.terms import AdditiveFeature, AdditiveTerm, FeaturePair
from interpret_dp.schema.declarations import integers_text

if TYPE_CHECKING:
    import pandas as pd


def lookup_tables(model: AdditiveModel) -> dict[str, pd.DataFrame]:
    """Return one lookup table a term, and one with the intercept and the link.

    Parameters
    ----------
    model : AdditiveModel

    Returns
    -------
    dict of str to DataFrame
        For each term, under the name of its feature, one row a bin, in order:

        ``bin``
            Label: ``missing``, the interval, the integers from the first to the last, the level, or
            ``unseen``.
        ``lower``, ``upper``
            A continuous feature's value v is in the bin with ``lower <= v < upper``. The first
            bin starts at minus infinity and the last ends at infinity, because values outside
            the declared bounds are clipped into them. NaN for other bins.
        ``level``
            The declared level, in its own type; None for other bins.
        ``kind``
            ``missing``, ``bin`` or ``unseen``. Only a categorical feature has an unseen bin: a
            continuous one reads what is no number as missing.
        ``score``, ``standard_deviation``, ``band_lower``, ``band_upper``
            In units of the link's scale: logits, units of a regression's target, or their
            logarithms where the link is "log". The standard deviation is that of what the
            added noise leaves unknown; the ends are those of the 95 % noise band
            (:meth:`AdditiveTerm.band`). NaN where the noise is not known (as after some edits);
            bins with too few rows have a wide deviation and no band.
            For more than two classes ``score_0``, ``standard_deviation_0`` and so on, in the
            order of the classes.
        ``weight``
            Released (noisy) number of rows.

        Of a pair of features, under ``"first & second"``, one row a cell, with the columns
        ``bin_first``, ``lower_first``, ``upper_first``, ``level_first``, ``kind_first`` and the
        same of the second feature in place of the first five.

        And under :func:`intercept_key` (``"intercept"``), one row a score: ``class`` (what the
        score speaks for: the second of two classes, each of several, None in a regression),
        ``link`` and ``score``.

    Notes
    -----
    Released: everything, as post-processing of the model.
    """
    import pandas as pd

    suffixes = score_suffixes(model)
    tables = {}
    for term in model.terms:
        subject = model.subject(term)
        if isinstance(subject, FeaturePair):
            columns, rows = _cells(subject)
        else:
            columns = _bins(subject)
            rows = np.arange(len(columns["bin"]))
        for name, values in _numbers_of(term, suffixes).items():
            columns[name] = values[rows]
        for name in columns:
            if name.startswith("level"):
                columns[name] = pd.Series(columns[name], dtype=object)
        tables[subject.name] = pd.DataFrame(columns)
    classes: tuple[Any, ...] = (None,)
    if model.classes is not None:
        classes = model.classes if len(suffixes) > 1 else model.classes[-1:]
    tables[intercept_key(model)] = pd.DataFrame(
        {
            "class": pd.Series(classes, dtype=object),
            "link": model.link,
            "score": model.intercept,
        }
    )
    return tables


def intercept_key(model: AdditiveModel) -> str:
    """Return the key of the intercept's table: ``intercept``, in brackets if a term has it."""
    taken = set(model.term_names)
    key = "intercept"
    while key in taken:
        key = f"({key})"
    return key


def score_suffixes(model: AdditiveModel) -> list[str]:
    """Return the suffixes of the columns of each score: empty if there is one."""
    n_scores = len(model.intercept)
    return [""] if n_scores == 1 else [f"_{index}" for index in range(n_scores)]


def _bins(feature: AdditiveFeature) -> dict[str, Any]:
    return _continuous_bins(feature) if feature.cuts is not None else _levels(feature)


def _cells(pair: FeaturePair) -> tuple[dict[str, Any], NDArray[np.intp]]:
    """Return the columns that say which cell a row of the table is, and the cells' numbers."""
    sides = [_bins(feature) for feature in (pair.first, pair.second)]
    sizes = [len(side["bin"]) for side in sides]
    # A continuous feature has no unseen bin in the table, as in its own.
    numbers = np.arange(pair.n_codes).reshape(pair.shape)[: sizes[0], : sizes[1]].ravel()
    places = np.indices(sizes).reshape(2, -1)
    columns = {
        f"{name}_{which}": [values[place] for place in places[axis]]
        for axis, which in enumerate(("first", "second"))
        for name, values in sides[axis].items()
    }
    return columns, numbers


def _continuous_bins(feature: AdditiveFeature) -> dict[str, Any]:
    edges = [-np.inf, *np.asarray(feature.cuts).tolist(), np.inf]
    lower, upper = edges[:-1], edges[1:]
    if feature.integers is not None:
        intervals = [integers_text(*bounds) for bounds in feature.integers]
    else:
        intervals = [f"[{low:.6g}, {high:.6g})" for low, high in zip(lower, upper, strict=True)]
    return {
        "bin": ["missing", *intervals],
        "lower": [np.nan, *lower],
        "upper": [np.nan, *upper],
        "level": [None] * (len(intervals) + 1),
        "kind": ["missing", *["bin"] * len(intervals)],
    }


def _levels(feature: AdditiveFeature) -> dict[str, Any]:
    labels = feature.labels
    nothing = np.full(len(labels) + 2, np.nan)
    return {
        "bin": ["missing", *labels, "unseen"],
        "lower": nothing,
        "upper": nothing,
        "level": [None, *getattr(feature.spec, "levels", ()), None],
        "kind": ["missing", *["bin"] * len(labels), "unseen"],
    }


def _numbers_of(term: AdditiveTerm, suffixes: list[str]) -> dict[str, NDArray[np.float64]]:
    deviations, unknown = term.standard_deviations, np.full_like(term.scores, np.nan)
    band = term.band() or Band(unknown, unknown)
    arrays = {
        "score": term.scores,
        "standard_deviation": unknown if deviations is None else deviations,
        "band_lower": band.lower,
        "band_upper": band.upper,
    }
    columns: dict[str, NDArray[np.float64]] = {}
    for name, array in arrays.items():
        by_score = array.reshape(len(array), len(suffixes))
        columns |= {f"{name}{suffix}": by_score[:, k] for k, suffix in enumerate(suffixes)}
    return columns | {"weight": term.weights}
