"""What is right about local explanations: exact moments, best explanations and losses.

Loss is equation 4 of Patel, Shokri and Zick (2022): the mean over rows of the local loss above that
of the best explanation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.lime_setting import C, Indices, Task
from interpret_dp.lime.adaptive import (
    PHI_UNITS,
    ExplanationData,
    Queries,
    exact_moments,
    minimum_on_ball,
)
from interpret_dp.lime.black_box import LABEL_UNITS
from interpret_dp.lime.coordinates import differences

__all__ = ["Truth", "local_weights", "truth_of"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Truth:
    """Exact moments of the mean loss around rows, and the best explanations.

    Attributes
    ----------
    second : ndarray, shape (n_queries, n_coordinates, n_coordinates)
    first : ndarray, shape (n_queries, n_coordinates)
    best : ndarray, shape (n_queries, n_coordinates)
    """

    second: Floats
    first: Floats
    best: Floats

    def __len__(self) -> int:
        """Return the number of queries."""
        return len(self.first)

    def _raw(self, phis: Floats) -> Floats:
        quadratic = np.einsum("qi,qij,qj->q", phis, self.second, phis, optimize=True)
        found: Floats = quadratic - 2 * np.einsum("qi,qi->q", self.first, phis)
        return found

    def losses(self, phis: Floats) -> Floats:
        """Return equation 4 of one explanation a query."""
        return self._raw(phis) - self._raw(self.best)

    @property
    def best_losses(self) -> Floats:
        """The losses of the best explanations, less what no explanation changes."""
        return self._raw(self.best)

    def part(self, n_queries: int) -> Truth:
        """Return what is right for the first queries."""
        return Truth(self.second[:n_queries], self.first[:n_queries], self.best[:n_queries])


def truth_of(task: Task, chosen: Indices, *, centered: bool = False) -> Truth:
    """Return what is right around rows.

    Parameters
    ----------
    task : Task
    chosen : ndarray of int, shape (n_queries,)
        Which rows are explained.
    centered : bool
        Whether half of how outputs differ from that at the query is explained.

    Raises
    ------
    RuntimeError
        If equation 1 as it is printed, in floating point, gives other losses at the first query.
    """
    labels = tuple(int(task.labels[row]) for row in chosen)
    asked = Queries(task.points[chosen], (0,) * len(chosen), labels, centered)
    data = ExplanationData(task.points, task.labels[:, np.newaxis])
    n_coordinates = task.points.shape[1]
    second = np.empty((len(chosen), n_coordinates, n_coordinates))
    first, best = np.empty((2, len(chosen), n_coordinates))
    scale = task.weights.scale * len(task)
    for at in range(len(asked)):
        [sums] = exact_moments(data, asked.at([at]), task.weights)
        second[at], first[at] = sums.second / scale, sums.first / scale / PHI_UNITS
        best[at] = _best(second[at], first[at])
    truth = Truth(second, first, best)
    printed = _printed_gain(task, int(chosen[0]), best[0], centered=centered)
    if not np.isclose(truth.best_losses[0], printed, rtol=0.01):
        raise RuntimeError(
            f"The loss of an explanation is {truth.best_losses[0]:.6g}, and {printed:.6g} by "
            "equation 1 of the paper."
        )
    return truth


def _best(second: Floats, first: Floats) -> Floats:
    """Return the explanation in the unit ball with the least loss."""
    values, vectors = np.linalg.eigh(second)
    kept = values > 1e-12 * values.max()
    roots, own = np.sqrt(values[kept]), vectors[:, kept].T
    return minimum_on_ball(roots[:, np.newaxis] * own, own @ first / roots)


def local_weights(task: Task, row: int) -> Floats:
    """Return equation 5 as it is printed, over the number of rows, for all rows around one."""
    distances = np.linalg.norm(apart_of(task, row), axis=1)
    with np.errstate(divide="ignore"):
        found: Floats = np.minimum(1.0, C / (2 * distances * (distances + 1))) / len(task)
    return found


def apart_of(task: Task, row: int) -> Floats:
    """Return the way from one row to all rows, in units of the largest distance."""
    found: Floats = differences(task.points, task.points[row]) / task.weights.unit
    return found


def _printed_gain(task: Task, row: int, phi: Floats, *, centered: bool) -> float:
    """Return by how much phi changes equation 1 against no explanation at all."""
    outputs = task.labels / LABEL_UNITS
    if centered:
        outputs = (outputs - outputs[row]) / 2
    errors = (apart_of(task, row) @ phi - outputs) ** 2 - outputs**2
    return float(local_weights(task, row) @ errors)
