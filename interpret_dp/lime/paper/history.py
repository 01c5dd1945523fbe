"""Earlier released explanations, kept with the points that they explain."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from interpret_dp.lime.labels import LABEL_UNITS
from interpret_dp.lime.paper.coordinates import Points, distances

__all__ = ["Explained", "joint_distances", "released"]


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
    coefficients: NDArray[np.float64] = field(repr=False)
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
) -> NDArray[np.float64]:
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
