"""The kinds of operation: parameters, requirements, and effect on a curve's scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp._documents import check_keys
from interpret_dp._validate import check_choice, check_int, check_real, did_you_mean
from interpret_dp.released.arrays import LARGEST_SCORE, isotonic, positive_weights

# The numerical part of the edits: projections and smoothing of one curve over its bins.
#
# Each function takes the scores of the selected bins in order. Those whose result is linear in the
# scores also return the matrix of that map, by which the covariance of the noise is carried along.

FloatArray = NDArray[np.float64]

# Length scales that are tried, as a share of the feature's range, and ratios of the variances of
# curve and noise.
_LENGTHS = np.geomspace(0.02, 2.0, 12)
_RATIOS = np.geomspace(1e-3, 1e4, 57)
# Keeps kernels invertible, and how far the covariance of the noise is trusted; both relative.
_JITTER = 1e-9
_APPROXIMATION = 1e-3


@dataclass(frozen=True)
class BinScores:
    """One class' scores of the selected bins, and what is known about them."""

    scores: FloatArray
    weights: FloatArray
    positions: FloatArray  # centres in the feature's units
    scaled: FloatArray  # centres on the declared scale, 0 to 1; (n_cells, 2) of a heat map
    covariance: FloatArray | None


# New scores, and the linear part of the map from the old ones, which carries their noise along: a
# matrix, or a factor such as 1.0 (all of the noise) or 0.0 (none); None if it is not linear.
Result = tuple[FloatArray, "FloatArray | float | None"]
Runner = Callable[[BinScores, Mapping[str, Any]], Result]


def convex(scores: FloatArray, weights: FloatArray, positions: FloatArray) -> FloatArray:
    """Return the convex curve of least weighted squared distance, shape (n_bins,).

    A convex curve is a straight line plus hinges with coefficients that are not negative. The line
    is projected out, and scipy's active-set solver ``nnls`` finds the hinges. Concave is minus the
    convex fit of minus the scores.
    """
    spans = positions[-1] - positions[0] if len(positions) else 0.0
    if len(scores) < 3 or spans <= 0:
        return scores
    points = (positions - positions[0]) / spans
    gaps = np.maximum(np.diff(points), np.finfo(float).tiny)
    if (np.diff(np.diff(scores) / gaps) >= 0).all():
        return scores
    from scipy.optimize import nnls

    relative = positive_weights(weights)
    root = np.sqrt(relative / relative.max())
    straight = _straight_lines(points, root)
    hinges = np.maximum(points[:, np.newaxis] - points[1:-1], 0.0)
    weighted = root[:, np.newaxis] * hinges
    bent = weighted - straight @ (straight.T @ weighted)
    lengths = np.maximum(np.linalg.norm(bent, axis=0), np.finfo(float).tiny)
    target = root * scores
    coefficients, _ = nnls(
        bent / lengths, target - straight @ (straight.T @ target), maxiter=30 * len(scores)
    )
    kinks = hinges @ (coefficients / lengths)
    rest = root * (scores - kinks)
    fitted: FloatArray = kinks + (straight @ (straight.T @ rest)) / root
    return fitted


def _straight_lines(points: FloatArray, root: FloatArray) -> FloatArray:
    """Return an orthonormal basis of the weighted straight lines, shape (n_bins, 2)."""
    basis, _ = np.linalg.qr(root[:, np.newaxis] * np.column_stack([np.ones_like(points), points]))
    return np.asarray(basis)


def _kernel(positions: FloatArray, length: float) -> FloatArray:
    """Matern kernel of order 3/2: curves whose slope has no jumps."""
    from sklearn.gaussian_process.kernels import Matern

    places = positions.reshape(len(positions), -1)  # two numbers each of a heat map's cells
    return np.asarray(Matern(length, nu=1.5)(places) + _JITTER * np.eye(len(places)))


def _noise_matrix(curve: BinScores, noise: float | None) -> FloatArray:
    """Return the covariance of the noise, with a thousandth of it as independent noise on top.

    The released covariance is a first-order figure: without that part, differences between bins
    that it says are almost free of noise would be kept at any price.
    """
    covariance = curve.covariance
    if covariance is None:
        weights = positive_weights(curve.weights)
        covariance = np.diag((noise or 0.0) ** 2 * weights.mean() / weights)
    matrix: FloatArray = covariance + _APPROXIMATION * np.trace(covariance) / len(
        covariance
    ) * np.eye(len(covariance))
    return matrix


def choose_smoothing(curve: BinScores, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the length, amplitude and noise of largest marginal likelihood.

    The scores are taken as a constant, plus a Gaussian process, plus the known noise. If the
    covariance of the noise is not known, it is taken as independent, with variances inversely
    proportional to the weights and of a size that is chosen along with the rest.

    Parameters
    ----------
    curve : BinScores
    parameters : mapping
        ``length`` is the length scale to keep; None to choose it.

    Returns
    -------
    dict
        ``length``: length scale of the curve, as a share of the feature's range on its declared
        scale. ``amplitude``: standard deviation of the curve around its mean, in units of score.
        ``noise``: standard deviation of the noise of a bin of average weight; None if its
        covariance is known.
    """
    from scipy.linalg import eigh

    scores, length = curve.scores, parameters["length"]
    size = len(scores)
    is_known = curve.covariance is not None
    noise = _noise_matrix(curve, 1.0)
    typical = float(np.trace(noise)) / size
    if typical <= 0.0 or (scores == scores[0]).all():
        # No noise was added, or there is nothing to smooth: the curve is kept as it is.
        amplitude = 1.0 + 1e3 * float(np.std(scores))
        return {"length": length or 1.0, "amplitude": amplitude, "noise": None}
    best = -np.inf
    settings: dict[str, Any] = {"length": 1.0, "amplitude": 1.0, "noise": None}
    ratios = _RATIOS[:, np.newaxis]
    for candidate in _LENGTHS if length is None else np.array([length]):
        # In these coordinates kernel and noise are both diagonal, so that every ratio of their
        # sizes costs O(n_bins).
        values, vectors = eigh(_kernel(curve.scaled, float(candidate)), noise)
        variances = 1.0 + ratios * typical * np.maximum(values, 0.0)
        ones, observed = vectors.sum(axis=0), vectors.T @ scores
        information = (ones**2 / variances).sum(axis=1)
        mean = (ones * observed / variances).sum(axis=1) / information
        squares = ((observed - mean[:, np.newaxis] * ones) ** 2 / variances).sum(axis=1)
        scale = np.ones_like(squares) if is_known else squares / (size - 1)
        # Restricted likelihood: the constant was estimated from the same scores.
        likelihoods = -0.5 * (
            np.log(variances).sum(axis=1)
            + np.log(information)
            + (size - 1) * np.log(scale)
            + squares / scale
        )
        index = int(np.argmax(likelihoods))
        if likelihoods[index] > best:
            best, own = float(likelihoods[index]), float(scale[index])
            settings = {
                "length": float(candidate),
                "amplitude": float(np.sqrt(_RATIOS[index] * typical * own)),
                "noise": None if is_known else float(np.sqrt(own)),
            }
    return settings


def smooth(curve: BinScores, parameters: Mapping[str, Any]) -> Result:
    """Return the posterior mean of the curve given the scores, and the matrix of that map.

    Generalised least squares for the constant, kriging for the rest (Rasmussen and Williams,
    Gaussian Processes for Machine Learning, 2006, section 2.7).
    """
    scores, size = curve.scores, len(curve.scores)
    if (scores == scores[0]).all():
        return scores, np.eye(size)
    kernel = parameters["amplitude"] ** 2 * _kernel(curve.scaled, parameters["length"])
    total = kernel + _noise_matrix(curve, parameters["noise"])
    total = total + (_JITTER * np.trace(total) / size + np.finfo(float).tiny) * np.eye(size)
    inverse = np.linalg.inv(total)
    mean_row = inverse.sum(axis=0) / inverse.sum()
    constant = np.tile(mean_row, (size, 1))
    matrix = constant + kernel @ inverse @ (np.eye(size) - constant)
    return matrix @ scores, matrix


SELECTION = ("between", "levels", "bins", "classes", "recentre")
"""Arguments that every operation takes."""

_REQUIRED = object()


@dataclass(frozen=True)
class Parameter:
    """One parameter of an operation.

    Attributes
    ----------
    check : callable
        Returns a value as a plain JSON value, given the number of selected bins, or raises.
    default : object
        What the caller may leave out. If ``check`` refuses it, it leaves the choice to the scores,
        class by class.
    per_class : bool
        Whether an operation keeps a list with one value a class.
    split : callable, default=None
        Divides the caller's value among the classes; the same for all if None.
    is_argument : bool, default=True
        Whether the caller may give it at all.
    is_optional : bool, default=False
        Whether it may be None, and is absent from a file then.
    """

    check: Callable[[Any, int], Any]
    default: Any = _REQUIRED
    per_class: bool = False
    split: Callable[[Any, int, int], list[Any]] | None = None
    is_argument: bool = True
    is_optional: bool = False


@dataclass(frozen=True)
class Recipe:
    """One kind of operation: its effect, its text and its requirements.

    ``resolve`` decides the per-class parameters from the scores of one class.
    """

    run: Runner
    text: Callable[[Mapping[str, Any]], str]
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    needs: str = "nothing"  # or "order", "distance"
    smallest: int = 1
    largest: int = 2**16
    everything: bool = False
    resolve: Callable[[BinScores, Mapping[str, Any]], dict[str, Any]] | None = None


def given_parameters(
    kind: str, arguments: Mapping[str, Any], n_bins: int, n_classes: int
) -> dict[str, Any]:
    """Return the caller's arguments as parameters; undecided ones stay so.

    Raises
    ------
    TypeError, ValueError
        If one is unknown, missing or out of range.
    """
    known = {name: p for name, p in KINDS[kind].parameters.items() if p.is_argument}
    for name in arguments:
        if name not in known:
            names = ", ".join((*known, *SELECTION))
            raise TypeError(
                f"{kind} has no argument {name!r}; it has {names}.{did_you_mean(name, known)}"
            )
    parameters: dict[str, Any] = {}
    for name, parameter in known.items():
        value = arguments.get(name, parameter.default)
        if value is _REQUIRED:
            raise TypeError(f"{kind} needs the argument {name!r}.")
        if parameter.is_optional and value is None:
            continue
        if parameter.split is not None:
            parameters[name] = parameter.split(value, n_bins, n_classes)
            continue
        is_default = isinstance(value, type(parameter.default)) and value == parameter.default
        checked = value if is_default else parameter.check(value, n_bins)
        parameters[name] = [checked] * n_classes if parameter.per_class else checked
    return parameters


def checked_parameters(kind: str, parameters: Any, n_bins: int, n_classes: int) -> dict[str, Any]:
    """Return the parameters that a file recorded, all of them decided.

    Raises
    ------
    TypeError, ValueError
        If one is unknown, missing, undecided or out of range.
    """
    known = KINDS[kind].parameters
    optional = [name for name, parameter in known.items() if parameter.is_optional]
    required = [name for name in known if name not in optional]
    check_keys(f"parameters of {kind}", parameters, required, optional)
    checked: dict[str, Any] = {}
    for name, value in parameters.items():
        parameter = known[name]
        if not parameter.per_class:
            checked[name] = parameter.check(value, n_bins)
        elif isinstance(value, list) and len(value) == n_classes:
            checked[name] = [parameter.check(entry, n_bins) for entry in value]
        else:
            raise ValueError(
                f"{name} must be a list with one value for each of {n_classes} classes"
            )
    return checked


def of_class(kind: str, parameters: Mapping[str, Any], position: int) -> dict[str, Any]:
    """Return the parameters of one of the selected classes."""
    recipe = KINDS[kind].parameters
    return {
        name: value[position] if recipe[name].per_class else value
        for name, value in parameters.items()
    }


def _real(name: str, **limits: Any) -> Callable[[Any, int], float]:
    return lambda value, n_bins: check_real(name, value, **limits)


def _choice(name: str, *allowed: str) -> Callable[[Any, int], str]:
    return lambda value, n_bins: check_choice(name, value, allowed)


# ------------------------------------------------------------------------------------- shapes


def _check_direction(increasing: Any, n_bins: int) -> bool:
    if not isinstance(increasing, bool):
        raise ValueError(
            f"increasing is {increasing!r}; it must be True, False or 'auto' (the nearer one)."
        )
    return increasing


def _resolve_direction(curve: BinScores, parameters: Mapping[str, Any]) -> dict[str, Any]:
    chosen = parameters["increasing"]
    if chosen == "auto":
        weights = positive_weights(curve.weights)
        rising, falling = (
            float(weights @ (curve.scores - isotonic(curve.scores, weights, increasing=way)) ** 2)
            for way in (True, False)
        )
        chosen = rising <= falling
    return {"increasing": chosen}


def _monotone(curve: BinScores, parameters: Mapping[str, Any]) -> Result:
    return isotonic(curve.scores, curve.weights, increasing=parameters["increasing"]), None


def _monotone_text(parameters: Mapping[str, Any]) -> str:
    directions = set(parameters["increasing"])
    if len(directions) > 1:
        return "made monotone"
    return "made increasing" if directions == {True} else "made decreasing"


def _convex(curve: BinScores, parameters: Mapping[str, Any]) -> Result:
    return convex(curve.scores, curve.weights, curve.positions), None


def _concave(curve: BinScores, parameters: Mapping[str, Any]) -> Result:
    return -convex(-curve.scores, curve.weights, curve.positions), None


_LENGTH = _real(
    "length",
    low=0.0,
    high=100.0,
    low_open=True,
    mend="It is a share of the feature's range; None chooses it.",
)


def _check_noise(noise: Any, n_bins: int) -> float | None:
    return None if noise is None else check_real("noise", noise, low=0.0)


def _smoothing_text(parameters: Mapping[str, Any]) -> str:
    shares = sorted({f"{length:.2g}" for length in parameters["length"]})
    return f"smoothed (length {' or '.join(shares)} of the range)"


def _check_steps(steps: Any, n_bins: int) -> int:
    return check_int(
        "steps", steps, low=2, high=n_bins, mend="A step holds one selected bin or more."
    )


def _line(curve: BinScores, parameters: Mapping[str, Any]) -> Result:
    method, steps = parameters["method"], parameters.get("steps")
    if method == "fit" and steps is not None:
        raise ValueError(
            f"steps is {steps} with method='fit'; steps lead from one end to the other. Use "
            "method='ends', or leave steps out."
        )
    positions = curve.positions
    points = (positions - positions[0]) / (positions[-1] - positions[0])
    root = np.sqrt(positive_weights(curve.weights))
    straight = _straight_lines(points, root)
    if steps is not None:
        points = np.minimum(np.floor(points * steps), steps - 1) / (steps - 1)

    def fit(scores: FloatArray) -> FloatArray:
        if method == "ends":
            return np.asarray((1.0 - points) * scores[0] + points * scores[-1])
        return np.asarray(straight @ (straight.T @ (root * scores)) / root)

    if curve.covariance is None:
        return fit(curve.scores), None
    return fit(curve.scores), np.column_stack([fit(unit) for unit in np.eye(len(curve.scores))])


def _line_text(parameters: Mapping[str, Any]) -> str:
    if parameters["method"] == "fit":
        return "replaced by a fitted line"
    steps = parameters.get("steps")
    return "interpolated" if steps is None else f"interpolated in {steps} steps"


# ------------------------------------------------------------------------------------- levels


def _align(curve: BinScores, parameters: Mapping[str, Any]) -> Result:
    shares = np.zeros(len(curve.scores))
    if parameters["to"] == "mean":
        weights = positive_weights(curve.weights)
        shares = weights / weights.sum()
    else:
        shares[0 if parameters["to"] == "left" else -1] = 1.0
    matrix = None if curve.covariance is None else np.tile(shares, (len(shares), 1))
    if (curve.scores == curve.scores[0]).all():
        return curve.scores, matrix
    return np.full_like(curve.scores, shares @ curve.scores), matrix


def _flatten(curve: BinScores, parameters: Mapping[str, Any]) -> Result:
    return _align(curve, {"to": "mean"})


def _align_text(parameters: Mapping[str, Any]) -> str:
    goals = {"left": "its first bin", "right": "its last bin", "mean": "its mean"}
    return f"aligned to {goals[parameters['to']]}"


def _check_scores(scores: Any, n_bins: int) -> list[float]:
    if not isinstance(scores, list) or len(scores) != n_bins:
        raise ValueError(f"scores must be a list with one number for each of {n_bins} bins")
    return [check_real("a score", score) for score in scores]


def _split_scores(scores: Any, n_bins: int, n_classes: int) -> list[list[float]]:
    try:
        array = np.array(scores, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(
            f"scores is {scores!r}; it must be a number, or one for each selected bin."
        ) from None
    if array.shape == (n_bins,):
        array = array[:, np.newaxis]
    if array.shape not in {(), (n_bins, 1), (n_bins, n_classes)}:
        per_class = f", or have shape ({n_bins}, {n_classes})" if n_classes > 1 else ""
        raise ValueError(
            f"scores has shape {array.shape}; it must be a number, or one for each of the "
            f"{n_bins} selected bins{per_class}. Select as many bins as there are scores."
        )
    if not np.isfinite(array).all():
        raise ValueError("scores has values that are not finite; all must be.")
    columns: list[list[float]] = np.broadcast_to(array, (n_bins, n_classes)).T.tolist()
    return columns


def _set(curve: BinScores, parameters: Mapping[str, Any]) -> Result:
    return np.array(parameters["scores"], dtype=np.float64), 0.0


def _set_text(parameters: Mapping[str, Any]) -> str:
    values = {value for column in parameters["scores"] for value in column}
    return f"set to {values.pop():.4g}" if len(values) == 1 else "set to given scores"


def _shift(curve: BinScores, parameters: Mapping[str, Any]) -> Result:
    return curve.scores + parameters["by"], 1.0


def _scale(curve: BinScores, parameters: Mapping[str, Any]) -> Result:
    return curve.scores * parameters["factor"], parameters["factor"]


def _cap(curve: BinScores, parameters: Mapping[str, Any]) -> Result:
    return np.clip(curve.scores, -parameters["magnitude"], parameters["magnitude"]), None


def _remove(curve: BinScores, parameters: Mapping[str, Any]) -> Result:
    return np.zeros(len(curve.scores)), 0.0


KINDS: Mapping[str, Recipe] = MappingProxyType(
    {
        "make_monotone": Recipe(
            _monotone,
            _monotone_text,
            {"increasing": Parameter(_check_direction, "auto", per_class=True)},
            needs="order",
            smallest=2,
            resolve=_resolve_direction,
        ),
        "make_convex": Recipe(
            _convex, "made convex".format_map, needs="distance", smallest=3, largest=2048
        ),
        "make_concave": Recipe(
            _concave, "made concave".format_map, needs="distance", smallest=3, largest=2048
        ),
        "smooth": Recipe(
            smooth,
            _smoothing_text,
            {
                "length": Parameter(_LENGTH, None, per_class=True),
                "amplitude": Parameter(
                    _real("amplitude", low=0.0, low_open=True, high=LARGEST_SCORE),
                    per_class=True,
                    is_argument=False,
                ),
                "noise": Parameter(_check_noise, per_class=True, is_argument=False),
            },
            needs="order",
            smallest=3,
            largest=2048,  # the cost grows with the third power
            resolve=choose_smoothing,
        ),
        "interpolate": Recipe(
            _line,
            _line_text,
            {
                "method": Parameter(_choice("method", "ends", "fit"), "ends"),
                "steps": Parameter(_check_steps, None, is_optional=True),
            },
            "order",
            smallest=3,
        ),
        "flatten": Recipe(_flatten, "flattened".format_map),
        "align": Recipe(
            _align, _align_text, {"to": Parameter(_choice("to", "left", "right", "mean"))}
        ),
        "set_scores": Recipe(
            _set,
            _set_text,
            {"scores": Parameter(_check_scores, per_class=True, split=_split_scores)},
        ),
        "shift": Recipe(_shift, "shifted by {by:+.4g}".format_map, {"by": Parameter(_real("by"))}),
        "scale": Recipe(
            _scale, "scaled by {factor:.4g}".format_map, {"factor": Parameter(_real("factor"))}
        ),
        "cap": Recipe(
            _cap,
            "capped at {magnitude:.4g} in magnitude".format_map,
            {"magnitude": Parameter(_real("magnitude", low=0.0))},
            everything=True,
        ),
        "remove_effect": Recipe(_remove, "effect removed".format_map, everything=True),
    }
)
"""All kinds of operations, by the name of the session's method."""
