"""Algorithm 4: explanations from what was released before, without the private rows; free.

Everything here is post-processing: it sees queries, which are public, the black box's answers to
them, and released explanations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from interpret_dp.lime.ball import Spectrum, minimum_on_ball
from interpret_dp.lime.features import UNITS, Points, differences, distances
from interpret_dp.lime.fitted import LinearFit
from interpret_dp.lime.history import Explained, History
from interpret_dp.lime.moments import Queries
from interpret_dp.lime.weighting import WeightTable

__all__ = [
    "PREDICTORS",
    "PredictionCheck",
    "Predictor",
    "Proxies",
    "check_predictors",
    "explain_from_history",
    "joint_distances",
]

Floats = NDArray[np.float64]

# Of a longer history the nearest explanations are used: enough to lose nothing, and few enough
# for the work on a query to stay within some hundredths of a second. As rows, more of them count.
_MOST = 256
_MOST_ROWS = 1024
# Explanations differ smoothly over distances of this order: measured on adult, where 0.6 to 2.4
# differ little.
_SMOOTHNESS = 1.2
# Ratios of noise to signal among which the history itself decides.
_NUGGETS = 10.0 ** np.arange(-4.0, 1.5, 0.5)
# Explanations that are predicted from the others, to see which way of predicting is best.
_MOST_CHECKED = 16


def joint_distances(
    points: Points, labels: Floats, point: Points, label: float | None, unit: float
) -> Floats:
    """Return how far other queries are from one, for what their explanations depend on.

    Parameters
    ----------
    points : ndarray, shape (n_points, n_coordinates)
    labels : ndarray of float64, shape (n_points,)
        What the model says there, between -1 and 1.
    point : ndarray, shape (n_coordinates,)
    label : float or None
        What the model says at the point, if that is where explanations start
        (``Queries.anchors``); None if it does not matter.
    unit : float
        Units of a distance of 1.

    Returns
    -------
    ndarray of float64, shape (n_points,)
        In the distance of which 1 is the largest; half the difference of labels counts likewise.
    """
    apart = distances(points, point) / unit
    return apart if label is None else np.hypot(apart, (labels - label) / 2.0)


@dataclass(frozen=True)
class Proxies:
    """Released explanations of one output, as arrays; public.

    Attributes
    ----------
    points : ndarray, shape (n_proxies, n_coordinates)
    labels : ndarray of float64, shape (n_proxies,)
        What the model says there, between -1 and 1.
    coefficients, errors : ndarray of float64, shape (n_proxies, n_coordinates)
        Of their explanations.
    weights : WeightTable
    radius : float
        Of the ball of explanations.
    """

    points: Points
    labels: Floats
    coefficients: Floats
    errors: Floats
    weights: WeightTable
    radius: float = 1.0

    @classmethod
    def of_released(
        cls, released: Sequence[Explained], weights: WeightTable, radius: float = 1.0
    ) -> Proxies:
        """Return the arrays of at least one released explanation."""
        return cls(
            np.array([one.point for one in released]),
            np.array([one.label for one in released]) / UNITS,
            np.array([one.fit.coefficients for one in released]),
            np.array([one.fit.standard_errors for one in released]),
            weights,
            radius,
        )

    def __len__(self) -> int:
        """Return the number of explanations."""
        return len(self.points)

    def at(self, indices: NDArray[np.intp]) -> Proxies:
        """Return some of them."""
        return Proxies(
            self.points[indices],
            self.labels[indices],
            self.coefficients[indices],
            self.errors[indices],
            self.weights,
            self.radius,
        )

    def nearest(self, point: Points, label: float | None, most: int = _MOST) -> Proxies:
        """Return those nearest to a query, nearest first; of equal ones the oldest."""
        order = np.argsort(self._apart(point, label), kind="stable")
        return self.at(order[:most])

    def _apart(self, point: Points, label: float | None) -> Floats:
        return joint_distances(self.points, self.labels, point, label, self.weights.unit)

    def fit_nearest(self, point: Points, label: float | None) -> LinearFit:
        """Return the explanation of the nearest query."""
        index = int(np.argmin(self._apart(point, label)))
        return LinearFit(self.coefficients[index], self.errors[index])

    def fit_interpolated(self, point: Points, label: float | None) -> LinearFit:
        """Return the explanation that smooth change between queries makes likely.

        Kriging with a Gaussian kernel. How much noise to smooth away is decided by the history:
        every explanation is predicted from the others, and the ratio with the smallest errors is
        taken (Wahba 1990, chapter 4).
        """
        near = self.nearest(point, label)
        apart = np.array(
            [
                near._apart(own, None if label is None else float(near.labels[index]))
                for index, own in enumerate(near.points)
            ]
        )
        values, vectors = np.linalg.eigh(_kernel(apart))
        mean = near.coefficients.mean(axis=0)
        turned = vectors.T @ (near.coefficients - mean)
        errors, inverses = [], []
        for nugget in _NUGGETS:
            inverse = 1.0 / (np.maximum(values, 0.0) + nugget)
            left_out = (vectors * inverse) @ turned / ((vectors**2) @ inverse)[:, np.newaxis]
            errors.append(float(np.sum(left_out**2)))
            inverses.append(inverse)
        inverse = inverses[int(np.argmin(errors))]
        shares = vectors @ (inverse * (vectors.T @ _kernel(near._apart(point, label))))
        # What the kernel leaves over goes to the mean.
        shares += (1.0 - shares.sum()) / len(near)
        phi = shares @ near.coefficients
        return LinearFit(
            phi / max(1.0, float(np.linalg.norm(phi)) / self.radius),
            np.sqrt(shares**2 @ near.errors**2),
        )

    def fit_labels(self, point: Points, label: float | None) -> LinearFit:
        """Return the minimum of equation 8: queries stand for rows, with what the model says."""
        near = self.nearest(point, label, _MOST_ROWS)
        apart = differences(near.points, point)
        squares = np.sum(apart.astype(np.int64) ** 2, axis=1)
        roots = np.sqrt(self.weights.of_squares(squares) / 2.0**self.weights.bits)
        values = near.labels if label is None else (near.labels - label) / 2.0
        left, scales, right = np.linalg.svd(
            apart / self.weights.unit * roots[:, np.newaxis], full_matrices=False
        )
        # Directions in which no query lies stay at 0.
        spectrum = Spectrum(scales[::-1] ** 2, right[::-1].T)
        target = right.T @ (scales * (left.T @ (values * roots)))
        phi, _ = minimum_on_ball(spectrum, target, self.radius)
        return LinearFit(phi, np.zeros_like(phi))

    def without(self, index: int) -> Proxies:
        """Return all but one."""
        return self.at(np.delete(np.arange(len(self)), index))


Predictor = Callable[[Proxies, Points, float | None], LinearFit]

#: All ways to predict an explanation from others.
PREDICTORS: tuple[Predictor, ...] = (
    Proxies.fit_nearest,
    Proxies.fit_interpolated,
    Proxies.fit_labels,
)


@dataclass(frozen=True)
class PredictionCheck:
    """How well a predictor does at released explanations; public.

    Attributes
    ----------
    loss : float
        Mean squared difference of what prediction and explanation say about the other queries; to
        be compared with that of other predictors only.
    errors : ndarray of float64, shape (n_coordinates,)
        Root mean square difference of the coefficients, the noise of both included.
    """

    loss: float
    errors: Floats


def explain_from_history(
    queries: Queries,
    query_labels: Sequence[int],
    weights: WeightTable,
    history: History,
    radius: float = 1.0,
) -> list[LinearFit]:
    """Explain queries by what was released before; costs nothing.

    Parameters
    ----------
    queries : Queries
    query_labels : sequence of int, shape (n_queries,)
        What the model says of each query, in steps of ``1 / UNITS``; public.
    weights : WeightTable
    history : History
    radius : float, default=1
        Of the ball of explanations.

    Returns
    -------
    list of LinearFit, one a query
        Public. The standard errors are of predicting, noise included: the root mean square by
        which released explanations differ from what the others predict, and at least the noise
        that goes into the prediction.

    Raises
    ------
    ValueError
        If nothing was released for the output of a query.

    Notes
    -----
    Patel, Shokri and Zick (2022), Algorithm 4 and equation 8, which fits a linear function to
    earlier queries in place of rows. As printed its labels are phi_j . z_j; that is worse than
    explaining nothing (measured on adult: a loss of 0.19 against 0.077), because phi_j . (x - z_j)
    stands for the model, and nobody has said that its value at z_j is that. The model's own answers
    at earlier queries are public, as these are, and make the best labels: a loss of 0.0004 with
    300 earlier queries that were rows of the same kind as the explanation data. For queries of
    another kind, such as points spread evenly, they are worse than nothing, too, while a smooth
    interpolation of the explanations themselves does well (0.002 to 0.003), and with much noise or
    few queries the nearest explanation may be better than both. So each of the three is tried on
    the history itself, and the one that predicts it best is used.
    """
    fits = []
    ways: dict[int, tuple[Proxies, Predictor, Floats]] = {}
    for index, (point, output) in enumerate(zip(queries.points, queries.outputs, strict=True)):
        if output not in ways:
            released = history.released(output)
            if not released:
                raise ValueError(
                    f"No explanation of output {output} was computed yet, so that there is nothing "
                    "to explain it from. Explain some rows for which the model gives this output "
                    "with another method first."
                )
            ways[output] = _best_way(
                Proxies.of_released(released, weights, radius), queries.anchors is not None
            )
        proxies, predict, floor = ways[output]
        anchor = None if queries.anchors is None else query_labels[index] / UNITS
        fit = predict(proxies, point, anchor)
        fits.append(LinearFit(fit.coefficients, np.maximum(fit.standard_errors, floor)))
    return fits


def _best_way(proxies: Proxies, is_anchored: bool) -> tuple[Proxies, Predictor, Floats]:
    """Return the predictor that is best at the history itself, and its errors there."""
    if len(proxies) < 2:
        return proxies, Proxies.fit_nearest, np.zeros(proxies.points.shape[1])
    found = check_predictors(proxies, is_anchored)
    best = min(found, key=lambda predict: found[predict].loss)
    return proxies, best, found[best].errors


def check_predictors(proxies: Proxies, is_anchored: bool) -> dict[Predictor, PredictionCheck]:
    """Predict some released explanations from all others, and see how far off that is.

    Parameters
    ----------
    proxies : Proxies
        At least two.
    is_anchored : bool
        Whether explanations are of differences from what the model says at the query.
    """
    n_checked = min(len(proxies), _MOST_CHECKED)
    checked = np.linspace(0, len(proxies) - 1, n_checked).astype(int)
    found = {}
    for predict in PREDICTORS:
        misses, loss = [], 0.0
        for index in checked:
            others, point = proxies.without(int(index)), proxies.points[index]
            label = float(proxies.labels[index]) if is_anchored else None
            miss = predict(others, point, label).coefficients - proxies.coefficients[index]
            misses.append(miss)
            # What the two say differently about the other queries, weighted as rows are.
            apart = differences(others.points, point)
            squares = np.sum(apart.astype(np.int64) ** 2, axis=1)
            loss += float(np.mean(proxies.weights.of_squares(squares) * (apart @ miss) ** 2))
        found[predict] = PredictionCheck(loss, np.sqrt(np.mean(np.square(misses), axis=0)))
    return found


def _kernel(apart: Floats) -> Floats:
    kernel: Floats = np.exp(-0.5 * (apart / _SMOOTHNESS) ** 2)
    return kernel
