"""The trainer's choices about pairs, by rules in public quantities (docs/accuracy.md)."""

from __future__ import annotations

import math
from itertools import combinations

from interpret_dp._validate import check_int

__all__ = [
    "MOST_LEVELS",
    "MOST_RANKED",
    "SELECTION_GROUPS",
    "candidate_count",
    "most_cells",
    "pair_grid",
    "pair_shares",
]

#: Levels that a categorical feature may have to be in a pair, so that the cells stay few.
MOST_LEVELS = 64
#: Pairs are chosen among so many features at most, those of the largest released importances: 300
#: candidates.
MOST_RANKED = 25
#: Bins of each feature when pairs are compared: coarse, for a strong interaction shows on few
#: cells, and every cell takes noise of the sample.
SELECTION_GROUPS = 4

_SELECTION_SHARE = 0.05
_GRID = 0.44
_FEWEST, _MOST = 2, 16
_MOST_NOISE = 0.1
_FEWEST_ROWS = 100  # of a cell, on average


def pair_shares(
    binning: float, boosting: float, *, n_features: int, n_pairs: int, n_chosen: int
) -> dict[str, float]:
    """Split shares of mu squared between features and pairs.

    Parameters
    ----------
    binning, boosting : float
        What all histograms, and all of boosting, get.
    n_features, n_pairs, n_chosen : int
        Terms of one feature, of two, and how many of the latter are chosen privately.

    Returns
    -------
    dict of str to float
        Every histogram gets the same, and so does every term in boosting. Choosing takes 5 % of
        what boosting would have: enough to find the pairs that matter, as simulations show.
    """
    if not n_pairs:
        return {"bins": binning, "boosting": boosting}
    of_pairs = n_pairs / (n_features + n_pairs)
    shares = {"bins": binning * (1.0 - of_pairs), "pair bins": binning * of_pairs}
    if n_chosen:
        shares["pair selection"] = _SELECTION_SHARE * boosting
        boosting -= shares["pair selection"]
    if boosting > 0:
        shares |= {"boosting": boosting * (1.0 - of_pairs), "pairs": boosting * of_pairs}
    return shares


def pair_grid(noise_level: float) -> int:
    """Return how many bins each continuous feature has in its pairs, 2 to 16.

    Parameters
    ----------
    noise_level : float
        Noise of the mean of all rows' residuals over all rounds of one pair, in units of the
        clipping bound, corrected for the curvature of the loss.

    Notes
    -----
    On g x g cells the bias is of order 1/g and the standard error of order ``noise_level * g**2``:
    their squares balance at g proportional to ``noise_level**(-1/3)``.
    """
    return min(max(round(_GRID * math.pow(noise_level, -1 / 3)), _FEWEST), _MOST)


def most_cells(noise_level: float, n_rows: float) -> float:
    """Return up to how many cells a pair can have one bin for each value of an integer.

    Parameters
    ----------
    noise_level : float
        As for :func:`pair_grid`.
    n_rows : float
        Released number of rows.

    Notes
    -----
    If rows are spread evenly over the cells, the noise of a cell's mean residual is at most a
    tenth of the clipping bound (``python -m benchmarks.integers``), and a cell has 100 rows or
    more, since its sampling error does not fall with epsilon.
    """
    return min(_MOST_NOISE / noise_level, n_rows / _FEWEST_ROWS)


def candidate_count(n_eligible: int, n_excluded: int = 0) -> int:
    """Return how many pairs there are to choose among, at least.

    Parameters
    ----------
    n_eligible : int
        Features that can be in a pair.
    n_excluded : int
        Pairs of them that must not be chosen.
    """
    ranked = min(check_int("n_eligible", n_eligible, low=0), MOST_RANKED)
    return max(math.comb(ranked, 2) - n_excluded, 0)


def all_pairs(features: list[int]) -> list[tuple[int, int]]:
    """Return the pairs of some features, each with the smaller index first."""
    return list(combinations(sorted(features), 2))
