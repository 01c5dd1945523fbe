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
from interpret_dp.lime.paper.coordinates import Points, differences
from interpret_dp.lime.paper.interactive import Queries
from interpret_dp.lime.paper.weighting import WeightTable

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
    """Return the explanations of one output that were computed on private rows, oldest first.

    Others are left out: one that was taken over from a near query may be wrong a step further on
    (Algorithm 3 of the paper, ``Flag``).
    """
    return [one for one in history if one.origin == "released" and one.output == output]


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
    has_rows = scales > _SMALLEST * max(float(scales.max(initial=0.0)), 1.0)
    scales, right = scales[has_rows], right[has_rows]
    pulls, squares = (left.T @ target)[has_rows] * scales, scales**2

    def solution(multiplier: float) -> Floats:
        return np.asarray(pulls / (squares + multiplier))

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
    """Explain queries by earlier explanations; costs nothing.

    Parameters
    ----------
    queries : Queries
    query_labels : sequence of int, shape (n_queries,)
        Label of each query, in steps of ``1 / LABEL_UNITS``; public.
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
    stands for the model, whose value at z_j need not be that. Here the labels are
    the model's own answers at earlier queries, which are public, as these are. The explanation is
    good where earlier queries are rows of the same kind as the explanation data.
    """
    explanations = []
    for at, (point, output) in enumerate(zip(queries.points, queries.outputs, strict=True)):
        earlier = released(history, output)
        if not earlier:
            raise ValueError(
                f"No explanation of output {output} was computed yet, so that there is nothing "
                "to explain it from. Explain some rows for which the model gives this output "
                "with another method first."
            )
        steps = differences(np.array([one.point for one in earlier]), point)
        squares = np.sum(steps.astype(np.int64) ** 2, axis=1)
        roots = np.sqrt(weights.of_squares(squares) / 2.0**weights.bits)
        labels = np.array([one.label for one in earlier]) / LABEL_UNITS
        if queries.anchors is not None:
            labels = (labels - query_labels[at] / LABEL_UNITS) / 2.0
        explanations.append(
            minimum_on_ball(steps / weights.unit * roots[:, np.newaxis], labels * roots)
        )
    return explanations
