"""Curves of survival from a released baseline, and how well hazard ratios rank survival times."""

from __future__ import annotations

import bisect
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from interpret_dp._validate import check_real

FloatArray = NDArray[np.float64]


class SurvivalCurves(NamedTuple):
    """Curves of survival, one a row.

    Attributes
    ----------
    times : ndarray of float64, shape (n_times,)
    survival, lower, upper : ndarray of float64, shape (n_rows, n_times)
        Probability of no event up to each time, and its band.
    """

    times: FloatArray
    survival: FloatArray
    lower: FloatArray
    upper: FloatArray


def edges_of_time(baseline: FloatArray, latest: float) -> FloatArray:
    """Return the times at which a baseline is released, evenly spread over the root of time."""
    return np.asarray(latest * np.linspace(0.0, 1.0, baseline.shape[1]) ** 2)


def survival_curves(
    baseline: FloatArray, latest: float, scores: FloatArray, times: Any, confidence: float
) -> SurvivalCurves:
    """Return curves of survival.

    Parameters
    ----------
    baseline : ndarray of float64, shape (2, n_edges)
        Of :class:`~interpret_dp.released.AdditiveModel`.
    latest : float
        End of the last cell of time.
    scores : ndarray of float64, shape (n_rows, 2)
        Logarithm of each hazard ratio, and its standard deviation.
    times : array-like of float, shape (n_times,), or None
        From 0 to ``latest``; None: the edges of the cells.
    confidence : float
        Of the band, between 0 and 1.

    Raises
    ------
    ValueError
        If a time is none from 0 to ``latest``, or ``confidence`` is out of range.
    """
    confidence = check_real("confidence", confidence, low=0, high=1, low_open=True, high_open=True)
    edges = edges_of_time(baseline, latest)
    wanted = np.asarray(edges if times is None else times, dtype=np.float64).reshape(-1)
    if not ((wanted >= 0.0) & (wanted <= latest)).all():
        raise ValueError(
            f"times is {times!r}; it must hold numbers from 0 to {latest:g}, the declared end of "
            "the study. Nothing is known of later times."
        )
    # Between edges as between the places of the fit.
    roots = np.sqrt(wanted / latest), np.sqrt(edges / latest)
    cumulative, deviations = (np.interp(*roots, row) for row in baseline)
    with np.errstate(divide="ignore"):
        logs = np.log(cumulative) + scores[:, :1]
    reach = NormalDist().inv_cdf(0.5 + confidence / 2.0) * np.hypot(deviations, scores[:, 1:])
    survival, upper, lower = (
        np.exp(-np.exp(np.minimum(logs + shift, 700.0))) for shift in (0.0, -reach, reach)
    )
    return SurvivalCurves(wanted, survival, lower, upper)


def concordance(signed: FloatArray, ratios: FloatArray) -> float:
    """Return the share of comparable pairs that hazard ratios rank as survival times do.

    A pair is comparable if the earlier time is one of an event. Equal ratios count half. This is
    Harrell's C, with rows that are censored at the time of an event taken as later.

    Parameters
    ----------
    signed : ndarray of float64, shape (n_rows,)
        Times, negative where censored.
    ratios : ndarray of float64, shape (n_rows,)

    Returns
    -------
    float
        NaN where no pair is comparable.

    Raises
    ------
    ValueError
        If there are not as many times as ratios.
    """
    if len(signed) != len(ratios):
        raise ValueError(
            f"y has {len(signed)} rows and X {len(ratios)}; they must have the same number of "
            "rows. Pass the times of exactly the rows of X."
        )
    later: list[float] = []
    here: list[float] = []  # events at the present time, which do not rank each other
    time, right, pairs = np.inf, 0.0, 0
    for k in np.lexsort((signed >= 0, -np.abs(signed))):
        if abs(signed[k]) != time:
            for ratio in here:
                bisect.insort(later, ratio)
            time, here = abs(signed[k]), []
        ratio = float(ratios[k])
        if signed[k] >= 0:
            right += (bisect.bisect_left(later, ratio) + bisect.bisect_right(later, ratio)) / 2
            pairs += len(later)
            here.append(ratio)
        else:
            bisect.insort(later, ratio)
    return right / pairs if pairs else float("nan")
