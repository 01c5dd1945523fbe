"""Earlier released explanations, and Algorithm 4, which explains from them without private rows.

Algorithm 4 is post-processing, and free: it sees queries, which are public, and the black box's
answers to them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from interpret_dp.lime.black_box import LABEL_UNITS
from interpret_dp.lime.paper.coordinates import Points, differences, distances
from interpret_dp.lime.paper.interactive import Queries
from interpret_dp.lime.paper.weighting import WeightTable

__all__ = ["Explained", "explain_from_history", "joint_distances", "minimum_on_ball", "released"]

Floats = NDArray[np.float64]

# Bisection of a bracket of 64-bit floats cannot need more.
_STEPS = 200
_SMALLEST = 1e-12


@dataclass(frozen=True)
class Explained:
    """One explanation.

    Attributes
    ----------
    point : ndarray of int16, shape (n_coordinates,)
        The query: the asker's own.
    output : int
        Which of the model's outputs is explained.
    label : int
        That output at the query, in steps of ``1 / LABEL_UNITS``; public, as the query is.
    coefficients : ndarray of float64, shape (n_coordinates,)
        phi, in the unit ball: how the model's output, mapped to -1 to 1, changes when a coordinate
        moves by a distance of 1. Public.
    method : str
    origin : {"released", "reused", "post-processed"}
        Computed on the private rows and paid for; taken over from a near query; or computed from
        earlier explanations.
    mu : float
        What it cost; 0 unless released.
    """

    point: Points = field(repr=False)
    output: int
    label: int
    coefficients: Floats = field(repr=False)
    method: str
    origin: str
    mu: float = 0.0


def released(history: Iterable[Explained], output: int) -> list[Explained]:
    """Return what was computed on the private rows for one output, oldest first.

    Others are left out: what was taken over for a near query is right there, and may be wrong a
    step further on (Algorithm 3 of the paper, ``Flag``).
    """
    return [one for one in history if one.origin == "released" and one.output == output]


def joint_distances(
    others: list[Explained], point: Points, label: int | None, unit: float
) -> Floats:
    """Return how far other queries are from one, for what their explanations depend on.

    Parameters
    ----------
    others : list of Explained
        At least one.
    point : ndarray of int16, shape (n_coordinates,)
    label : int or None
        What the model says at the point, if that is where explanations start
        (``Queries.anchors``); None if it does not matter.
    unit : float
        Units of a distance of 1.

    Returns
    -------
    ndarray of float64, shape (n_others,)
        In the distance of which 1 is the largest; half the difference of labels counts likewise.
    """
    apart = distances(np.array([one.point for one in others]), point) / unit
    if label is None:
        return apart
    labels = np.array([one.label for one in others])
    return np.hypot(apart, (labels - label) / (2.0 * LABEL_UNITS))


def minimum_on_ball(design: Floats, target: Floats) -> Floats:
    """Return the shortest minimum of ``||design phi - target||`` over ``||phi|| <= 1``.

    Parameters
    ----------
    design : ndarray of float64, shape (n_rows, n)
    target : ndarray of float64, shape (n_rows,)

    Returns
    -------
    ndarray of float64, shape (n,)
        Directions in which no row lies stay at 0.

    Notes
    -----
    With the singular values s of the design, phi is V s u'y / (s^2 + m), where m is 0 inside the
    ball and otherwise the number for which ||phi|| is 1; ||phi|| decreases in m, so that bisection
    finds it (Moré and Sorensen 1983).
    """
    left, scales, right = np.linalg.svd(design, full_matrices=False)
    kept = scales > _SMALLEST * max(float(scales.max(initial=0.0)), 1.0)
    pulls, squares, right = (left.T @ target)[kept] * scales[kept], scales[kept] ** 2, right[kept]

    def solution(multiplier: float) -> Floats:
        found: Floats = pulls / (squares + multiplier)
        return found

    if np.linalg.norm(solution(0.0)) <= 1.0:
        return np.asarray(solution(0.0) @ right)
    low, high = 0.0, float(np.linalg.norm(pulls))
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        is_long = np.linalg.norm(solution(middle)) > 1.0
        low, high = (middle, high) if is_long else (low, middle)
    return np.asarray(solution(high) @ right)


def explain_from_history(
    queries: Queries,
    query_labels: Sequence[int],
    weights: WeightTable,
    history: Sequence[Explained],
) -> list[Floats]:
    """Explain queries by what was released before; costs nothing.

    Parameters
    ----------
    queries : Queries
    query_labels : sequence of int, shape (n_queries,)
        What the model says of each query, in steps of ``1 / LABEL_UNITS``; public.
    weights : WeightTable
    history : sequence of Explained

    Returns
    -------
    list of ndarray of float64, shape (n_coordinates,) each
        Public.

    Raises
    ------
    ValueError
        If nothing was released for the output of a query.

    Notes
    -----
    Patel, Shokri and Zick (2022), Algorithm 4 and equation 8, which fits a linear function to
    earlier queries in place of rows. As printed its labels are phi_j . z_j; that is worse than
    explaining nothing (measured on adult: a loss of 0.19 against 0.077), because phi_j . (x - z_j)
    stands for the model, and nobody has said that its value at z_j is that. Here the labels are
    the model's own answers at earlier queries, which are public, as these are. The explanation is
    good where earlier queries are rows of the same kind as the explanation data.
    """
    found = []
    for at, (point, output) in enumerate(zip(queries.points, queries.outputs, strict=True)):
        known = released(history, output)
        if not known:
            raise ValueError(
                f"No explanation of output {output} was computed yet, so that there is nothing "
                "to explain it from. Explain some rows for which the model gives this output "
                "with another method first."
            )
        apart = differences(np.array([one.point for one in known]), point)
        squares = np.sum(apart.astype(np.int64) ** 2, axis=1)
        roots = np.sqrt(weights.of_squares(squares) / 2.0**weights.bits)
        labels = np.array([one.label for one in known]) / LABEL_UNITS
        if queries.anchors is not None:
            labels = (labels - query_labels[at] / LABEL_UNITS) / 2.0
        found.append(minimum_on_ball(apart / weights.unit * roots[:, np.newaxis], labels * roots))
    return found
