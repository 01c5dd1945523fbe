"""One DP-LLM training: features, clipped gradients, noisy steps, and the scores' temperature.

Everything after the release is post-processing: Adam, the decay of its rate, the running average,
the temperature of the scores and the weights that an interruption leaves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from interpret_dp.accounting.gaussian import bisected
from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.accounting.plans import SampledSteps
from interpret_dp.fitting.account import progress
from interpret_dp.llm import config
from interpret_dp.llm.config import TrainingRows, TrainingSettings, finite_rows, rounded_rows
from interpret_dp.llm.request import CENTRE, GRADIENTS
from interpret_dp.release import ReleaseSession
from interpret_dp.released.arrays import softmax

if TYPE_CHECKING:
    from interpret_dp.llm.opacus_engine import OpacusSums


# Temperature of the class scores of pixels, computed from released and public numbers alone.
#
# Clipping makes scores too large. Where every gradient is cut to one length, training follows a
# loss that stays linear until the probability of a row's own class is almost 1, like the hinge
# loss, and scores grow until then. The clipping norm and the length of rows in training are
# public, so that the clipped gradient of a row with any label follows from the released maps. If
# the true scores are those of the maps over a temperature, training is at rest where the mean of
# these gradients along the scores is 0. One temperature solves that equation
# (docs/proofs/dp_llm.md).

Doubles: TypeAlias = NDArray[np.float64]
Singles: TypeAlias = NDArray[np.float32]
Integers: TypeAlias = NDArray[np.int64]

_ROWS_AT_ONCE = 2_000
# Where no temperature in this range solves the equation, training ended before it was at rest.
_LARGEST = 10.0


def temperature(
    weights: Doubles,
    biases: Doubles,
    settings: TrainingSettings,
    public: np.random.Generator,
) -> float:
    """Return the number by which to divide class scores: 1 to 10; post-processing.

    Parameters
    ----------
    weights : ndarray, shape (n_maps, n_classes, dimension)
        Released; of the centred features, as trained.
    biases : ndarray, shape (n_maps, n_classes)
    settings : TrainingSettings
    public : numpy.random.Generator
        Of simulated rows. They have the length of rows in training and random directions.
    """
    dimension = weights.shape[2]
    n_rows = min(_ROWS_AT_ONCE, config.rows_at_a_time(biases.size, dimension))
    rows = public.standard_normal((n_rows, dimension))
    rows *= settings.feature_length / math.sqrt(dimension)
    values = (rows @ weights.transpose(0, 2, 1) + biases[:, np.newaxis]).transpose(1, 2, 0)
    beta = settings.inverse_temperature
    shares = softmax(beta * values)
    scores = (shares * values).sum(axis=2)
    slopes = shares * (1.0 + beta * (values - scores[:, :, np.newaxis]))
    # Squared length of the gradient by the maps of each class, for an error of 1.
    squares = (slopes**2).sum(axis=2) * (np.square(rows).sum(axis=1, keepdims=True) + 1.0)
    p = softmax(scores)
    # One column a label: the errors are p, less 1 at the label.
    of_any_label = (p**2 * squares).sum(axis=1, keepdims=True)
    norms = np.sqrt(np.maximum(of_any_label + (1.0 - 2.0 * p) * squares, 1e-300))
    along_scores = (p * scores).sum(axis=1, keepdims=True) - scores
    gradients = along_scores * np.minimum(1.0, settings.clip_norm / norms)

    def mean_gradient(log_temperature: float) -> float:
        return float((softmax(scores / math.exp(log_temperature)) * gradients).sum())

    low, high = 0.0, math.log(_LARGEST)
    if mean_gradient(low) >= 0 or mean_gradient(high) < 0:
        return 1.0
    return math.exp(bisected(lambda point: mean_gradient(point) < 0, valid=low, invalid=high))


# Projections of the inputs, and the centre of features that all maps share.
#
# Projections are public: random ones for each map, or one smooth basis for all maps. The features
# of one projection are computed once, and may be centred.
#
# The mean of the features is uninformative about classes, and yet it is most of the length of an
# image: clipping would shorten a row because of it, and noise would outweigh the differences
# between classes. A small share of the budget buys the mean and the spread; steps then see
# features that are centred and of one length on average, whatever the contrast of the images.

# Bound on a row's length over that of standardised inputs; longer rows are shortened in the sums.
LONGEST = 1.5
# Room for the rounding of a row's length, before its values are truncated to the lattice.
_ROOM = 1.0 - 1e-9
# Values are said to fill too little of their bounds if their spread, over that of even values, may
# be below the first number and is surely below the second one.
_NARROW, _SURELY_NARROW = 0.02, 0.25
_DEVIATIONS = 3.0
# Entries beyond so many bounds are cut, and beyond fewer where there are many of them.
_WIDEST = 16
_ROWS = 4096


@dataclass(frozen=True)
class Frame:
    """Centre and scale of features; released.

    Attributes
    ----------
    centre : ndarray of shape (dimension,)
    scale : float
        Training sees (features - centre) * scale.
    is_narrow : bool
        Whether values may fill next to none, and surely little, of their declared bounds.
    noise : float
        Standard deviation of the noise of each entry of ``centre``, before that was shrunk.
    signal_share : float
        What ``centre`` was shrunk by.
    """

    centre: Doubles
    scale: float
    is_narrow: bool
    noise: float
    signal_share: float


def projected_features(inputs: Singles, projection: Singles) -> Singles:
    """Return R x of each row, shape (n_rows, dimension); a row decides its own."""
    features = np.empty((len(inputs), len(projection)), dtype=np.float32)
    for start in range(0, len(inputs), _ROWS):
        rows = slice(start, start + _ROWS)
        features[rows] = config.exact_rows(inputs[rows], projection.T)
    return features


def released_frame(
    features: Singles,
    projection: Singles | None,
    n_columns: int,
    session: ReleaseSession,
    *,
    length: float,
) -> Frame:
    """Release the number of rows and the sums of features and squared lengths, in one release.

    Parameters
    ----------
    features : ndarray of float32, shape (n_rows, dimension)
        Private.
    projection : ndarray, shape (dimension, n_inputs), or None
        Public; of it the features are.
    n_columns : int
        Standardised columns: about the mean squared length of a row of inputs.
    session : ReleaseSession
        Open; ``CENTRE`` is in its plan.
    length : float
        Root mean square length that centred rows are to have.

    Notes
    -----
    A row adds (u, |u|^2, 1) with u its features over a public bound, shortened to length 1 and
    truncated to the lattice: at most the root of 3. What follows is post-processing: the mean is
    shrunk by the share of its length that is noise (James and Stein).
    """
    widest = 1.0 if projection is None else float(np.linalg.norm(projection, 2))
    bound = LONGEST * widest * math.sqrt(n_columns)
    exact = _lattice_sums(features, bound)
    noisy, sigma = session.gaussian(
        CENTRE, exact[np.newaxis], row_norm=math.isqrt(3 * LATTICE**2) + 1, aligned=False
    )
    deviation = sigma / LATTICE
    *sums, squares, count = (noisy[0] / LATTICE).tolist()
    # A count below its own noise is uninformative, except that there are few rows.
    n_rows = max(count, deviation)
    length_of_sums = math.hypot(*sums)
    noise = deviation * math.sqrt(len(sums))
    signal_share = max(0.0, 1.0 - (noise / length_of_sums) ** 2) if length_of_sums > 0 else 0.0
    mean = signal_share * np.array(sums) / max(n_rows, length_of_sums)
    square = float(mean @ mean)
    spread = min(max(squares / n_rows - square, deviation / n_rows), 1.0)
    # The noise of the squares, and that of the mean along itself.
    margin = _DEVIATIONS * deviation / n_rows * math.sqrt(1.0 + 4.0 * square)
    low, high = (LONGEST * math.sqrt(max(0.0, spread + side)) for side in (-margin, margin))
    is_narrow = low < _NARROW and high < _SURELY_NARROW
    scale = length / (bound * math.sqrt(spread))
    return Frame(bound * mean, scale, is_narrow, bound * deviation / n_rows, signal_share)


def _lattice_sums(features: Singles, bound: float) -> Integers:
    """Return the private sums in lattice units, shape (dimension + 2,); a row decides its own."""
    total = np.zeros(features.shape[1] + 2, dtype=np.int64)
    # Whatever the dimension, it times the square of this is below 2**63, so that the squares of a
    # row's integers are added up exactly. Up to 2**23, only rows beyond the bound are cut.
    widest = min(_WIDEST * LATTICE, math.isqrt((2**63 - 1) // max(1, features.shape[1])))
    for start in range(0, len(features), _ROWS):
        # Integers first, so that the length of a row is exact, and so that row's alone.
        part = features[start : start + _ROWS].astype(np.float64)
        units = finite_rows(np.rint(part * (LATTICE / bound)))
        np.clip(units, -widest, widest, out=units)
        squares = np.square(units.astype(np.int64)).sum(axis=1, keepdims=True)
        lengths = np.sqrt(squares) / LATTICE
        rows = units * (_ROOM / np.maximum(lengths, 1.0))
        second = np.square(np.minimum(lengths, 1.0)) * (_ROOM * LATTICE)
        total[:-1] += np.trunc(np.hstack([rows, second])).astype(np.int64).sum(axis=0)
    total[-1] = len(features) * LATTICE
    return total


def public_projections(
    n_inputs: int,
    settings: TrainingSettings,
    image_shape: tuple[int, ...] | None,
    public: np.random.Generator,
) -> Singles | None:
    """Return the projections, shape (n_maps or 1, dimension, n_inputs); None for none.

    Parameters
    ----------
    n_inputs : int
    settings : TrainingSettings
    image_shape : tuple of int, or None
        Of the rows, if they are images.
    public : numpy.random.Generator
        Of random projections; cosines need none.

    Notes
    -----
    Entries have variance 1/2 on average, as Gaussian ones; on that scale, which the paper leaves
    out, it learns.
    """
    dimension = settings.projection_dim
    if dimension is None:
        return None
    if settings.projection == "cosine" and image_shape is not None:
        entries = _cosines(image_shape, dimension, settings.smoothing)[np.newaxis]
        return np.asarray(np.sqrt(0.5) * entries, dtype=np.float32)
    # Every row has the length that Gaussian ones have on average.
    entries = public.standard_normal((settings.n_maps, dimension, n_inputs))
    if settings.smoothing > 0 and image_shape is not None:
        from scipy.ndimage import gaussian_filter

        blur = (0, 0, settings.smoothing, settings.smoothing, *(0 for _ in image_shape[2:]))
        images = entries.reshape(settings.n_maps, dimension, *image_shape)
        entries = gaussian_filter(images, blur, mode="constant").reshape(entries.shape)
        entries *= np.sqrt(n_inputs) / np.linalg.norm(entries, axis=2, keepdims=True)
    if settings.projection == "orthonormal":
        entries = np.sqrt(n_inputs) * np.stack([np.linalg.qr(r.T)[0].T for r in entries])
    # Bytes, so that products of integers with them are exact and fast.
    units = np.rint(np.sqrt(0.5) * entries * 2**config.PROJECTION_BITS)
    return np.asarray(np.clip(units, -127, 127) / 2**config.PROJECTION_BITS, dtype=np.float32)


def _cosines(image_shape: tuple[int, ...], dimension: int, smoothing: float) -> Doubles:
    """Return the cosines of lowest frequency, blurred: orthogonal rows, shorter as they get finer.

    An image's cosines are products of one a side (and one over its channels), the type-II cosine
    transform's; low means a small sum of the squares of waves a pixel.
    """
    waves = np.meshgrid(*(np.arange(n) for n in image_shape), indexing="ij")
    pitches = [wave.ravel() / length for wave, length in zip(waves, image_shape, strict=True)]
    lowest = np.argsort(sum(pitch**2 for pitch in pitches), kind="stable")[:dimension]
    basis = np.ones((len(lowest), 1))
    for axis, length in enumerate(image_shape):
        of_axis = np.cos(np.pi * np.outer(pitches[axis][lowest], np.arange(length) + 0.5))
        of_axis /= np.linalg.norm(of_axis, axis=1, keepdims=True)
        basis = (basis[:, :, np.newaxis] * of_axis[:, np.newaxis]).reshape(len(lowest), -1)
    angles = sum((np.pi * pitch[lowest]) ** 2 for pitch in pitches[:2])
    # What a Gaussian blur of this deviation does to a wave.
    basis *= np.exp(-0.5 * smoothing**2 * np.asarray(angles))[:, np.newaxis]
    return np.asarray(basis * np.sqrt(basis.size / np.square(basis).sum()))


# Sums of clipped gradients in closed form, in integers that are exact in any order.
#
# With p the predicted probabilities, the gradient of the cross-entropy of one example by the value
# g_km is c_km = (p_k - y_k) s_km (1 + beta (g_km - f_k)); by the weights of map (k, m) it is
# c_km P_m, with P_m = R_m x. So its squared norm is sum_km c_km^2 (||P_m||^2 + 1), and a sum of
# clipped gradients is a matrix product of c and x, then one with R_m: nothing of size
# batch x parameters is ever made.
#
# Rows are integers (``integers``). A step's weights are rounded to integers as well, so that values
# are exact, and the c of a row to integers whose norm, with that of the row, is checked. So a row
# adds the same integers beside any others, of a norm that no rounding can raise
# (docs/proofs/dp_llm.md).


# A bound on a row of usual length leaves 13 bits for its coefficients.
_NORM_BITS = 30
# Bits of products of weights and rows, summed over the inputs: below the 53 of double precision.
_PRODUCT_BITS = 52
# Hidden rows, which projections make short, have no larger coefficients.
_MOST = 2.0**18
# Sums of squares in double precision are right to 2**-30 for MOST_INPUTS numbers.
_ROUNDED_UP, _SURELY = 1.0 + 2.0**-30, 1.0 - 2.0**-30
# Values, inputs and rows of a part: few enough to stay in a cache.
_CACHED_VALUES, _CACHED_INPUTS, _FEWEST_ROWS, _MOST_ROWS = 40_000, 2**18, 64, 1024
# Sums of so many parts stay below 2**53: coefficients have 18 bits, columns 15 and rows 10.
_PARTS_OF_A_SUM = 1024
# They are multiplied by projections, of 7 bits, in two halves: high ones of 27 bits, and low ones.
_LOW_BITS = 26


def map_gradients(values: Singles, classes: Integers, inverse_temperature: float) -> Singles:
    """Return the gradient of each example's cross-entropy by the values of the maps.

    Parameters
    ----------
    values : ndarray of float32, shape (n_maps, n_classes, n_rows)
        g, the values of the maps.
    classes : ndarray of int64, shape (n_rows,)
        -1 for none.
    inverse_temperature : float

    Returns
    -------
    ndarray, same shape as ``values``
    """
    # In place, since a step's time is that of its passes over the values.
    shares = values - values.max(axis=0)
    shares *= inverse_temperature
    np.exp(shares, out=shares)
    shares /= shares.sum(axis=0)
    scores = (shares * values).sum(axis=0)
    errors = np.exp(scores - scores.max(axis=0))
    errors /= errors.sum(axis=0)
    errors[classes, np.arange(len(classes))] -= 1.0
    errors *= classes >= 0
    slopes = values - scores
    slopes *= inverse_temperature
    slopes += 1.0
    slopes *= shares
    slopes *= errors
    return np.asarray(slopes)


def clipped_integers(
    gradients: Singles,
    units: Singles,
    squares: Doubles,
    largest_norm: float,
) -> Doubles:
    """Return the clipped gradients of each row by the maps' values, as integers.

    Parameters
    ----------
    gradients : ndarray of float32, shape (n_maps, n_classes, n_rows)
    units : ndarray of float32, shape (n_rows,)
        Integers for each 1 of a gradient that is not clipped.
    squares : ndarray of float64, shape (n_maps or 1, n_rows)
        Bounds on the squared norms of what a coefficient of 1 adds.
    largest_norm : float
        Bound on the norm of what a row adds.

    Notes
    -----
    Whatever the gradients are: the norm is that of the integers. Rows that rounding to the nearest
    makes too long are truncated, and what is still too long, or no number, is dropped.
    """
    scaled = gradients * units
    # Rounded, since squares of tiny numbers are subnormal, which processors are slow at.
    lengths = np.sqrt((np.square(np.rint(scaled)).sum(axis=1) * squares).sum(axis=0))
    scaled *= np.minimum(1.0, config.CLIP_SHARE * largest_norm / lengths).astype(np.float32)
    np.clip(scaled, -_MOST, _MOST, out=scaled)
    integers = np.rint(scaled).astype(np.float64)

    def is_long() -> NDArray[np.bool_]:
        norms = (np.square(integers).sum(axis=1) * squares).sum(axis=0)
        return np.asarray(~(norms <= _SURELY * largest_norm**2))

    if is_long().any():
        integers = np.where(is_long(), np.trunc(scaled), integers)
        integers = np.where(is_long(), 0.0, integers)
    return np.asarray(integers)


class ClosedForm:
    """Sums of clipped gradients of a locally linear model.

    Parameters
    ----------
    rows : TrainingRows
    projections : ndarray, shape (n_maps, dimension, n_inputs), or None
        Multiples of 2**-PROJECTION_BITS, up to 127 of them in size, of at most
        ``MOST_PROJECTED`` inputs.
    inverse_temperature : float
    clip_norm : float
        Bound on the norm of what one example adds.

    Attributes
    ----------
    row_norm : int
        Bound on the norm of the integers that a row adds; it stands for ``clip_norm``.
    """

    def __init__(
        self,
        rows: TrainingRows,
        projections: Singles | None,
        inverse_temperature: float,
        clip_norm: float,
    ) -> None:
        # A row without a label, which adds nothing, fills up parts.
        empty = [0] * rows.inputs.shape[1] + [1]
        self._columns = np.vstack([rounded_rows(rows.inputs), np.array([empty], dtype=np.int16)])
        self._classes = np.append(rows.classes, -1)
        self._inverse_temperature = inverse_temperature
        self._projections, self._grid, self._fineness = projections, None, 1
        stretch = 1.0
        if projections is not None:
            self._fineness = 2**config.PROJECTION_BITS
            self._grid = np.rint(projections * float(self._fineness)).astype(np.float64)
            stretch = math.sqrt(max(1.0, float(np.square(projections).sum(axis=1).mean())))
        self.row_norm = 2 ** (_NORM_BITS + math.ceil(math.log2(self._fineness * stretch)))
        self._unit = self.row_norm / clip_norm / self._fineness
        self._squares = self._squared_norms()

    def lattice_sum(self, weights: Singles, biases: Singles, positions: Integers) -> Integers:
        """Return the sum of the clipped gradients of the rows at ``positions``, in integers.

        Parameters
        ----------
        weights : ndarray of float32, shape (n_maps, n_classes, dimension)
            Before projection.
        biases : ndarray of float32, shape (n_maps, n_classes)
        positions : ndarray of int64, shape (n_sampled,)

        Returns
        -------
        ndarray of int64, shape (n_parameters,)
            By the weights, then by the biases; one is ``clip_norm / row_norm``. Private.
        """
        n_maps, n_classes, _ = weights.shape
        matrix, unit = self._integer_matrix(weights, biases)
        # Parts always have the same shape, whatever the size of the sample.
        size = min(_CACHED_VALUES // biases.size, _CACHED_INPUTS // matrix.shape[1], _MOST_ROWS)
        size = max(size, _FEWEST_ROWS) // _FEWEST_ROWS * _FEWEST_ROWS
        filling = np.full(-len(positions) % size, len(self._columns) - 1)
        parts = np.concatenate([positions, filling]).reshape(-1, size)
        total = np.zeros(weights.size + biases.size, dtype=np.int64)
        for start in range(0, len(parts), _PARTS_OF_A_SUM):
            sums = np.zeros(matrix.shape)
            for part in parts[start : start + _PARTS_OF_A_SUM]:
                sums += self._part_sum(matrix, unit, weights.shape, part)
            total += self._by_parameters(sums.astype(np.int64).reshape(n_maps, n_classes, -1))
        return total

    def _by_parameters(self, sums: Integers) -> Integers:
        """Return sums over the columns of rows, shape (n_maps, n_classes, width), by parameters."""
        by_weights = sums[:, :, :-1]
        if self._grid is not None:
            grid = self._grid.transpose(0, 2, 1)
            high, low = by_weights >> _LOW_BITS, by_weights & (2**_LOW_BITS - 1)
            by_weights = (high @ grid).astype(np.int64) << _LOW_BITS
            by_weights += (low @ grid).astype(np.int64)
        return np.concatenate([by_weights.ravel(), self._fineness * sums[:, :, -1].ravel()])

    def _part_sum(
        self,
        matrix: Doubles,
        unit: float,
        shape: tuple[int, ...],
        part: Integers,
    ) -> Doubles:
        """Return the sums of coefficients times columns of some rows."""
        columns = self._columns[part].astype(np.float64)
        # A warning of what a value did would be a release.
        with np.errstate(all="ignore"):
            steps = (1.0 / columns[:, -1]).astype(np.float32)
            values = (matrix @ columns.T).astype(np.float32).reshape(*shape[:2], -1)
            values *= np.float32(unit) * steps
            gradients = map_gradients(values, self._classes[part], self._inverse_temperature)
            units = np.float32(self._unit) * steps
            integers = clipped_integers(gradients, units, self._squares[:, part], self.row_norm)
        return np.asarray(integers.reshape(len(matrix), -1) @ columns)

    def _integer_matrix(self, weights: Singles, biases: Singles) -> tuple[Doubles, float]:
        """Return integers by which the columns of rows are multiplied, and their unit. Public."""
        if self._projections is not None:
            weights = weights @ self._projections
        matrix = np.concatenate([weights, biases[:, :, np.newaxis]], axis=2, dtype=np.float64)
        matrix = np.nan_to_num(matrix.reshape(biases.size, -1))
        bits = _PRODUCT_BITS - config.ROW_BITS - math.ceil(math.log2(matrix.shape[1]))
        unit = float(np.abs(matrix).max()) / 2**bits or 1.0
        return np.rint(matrix / unit), unit

    def _squared_norms(self) -> Doubles:
        """Return, rounded up, the squared norms of what a coefficient of 1 adds.

        Shape (n_maps, n_rows), or (1, n_rows) without projections.
        """
        grid = None if self._grid is None else self._grid.reshape(-1, self._grid.shape[2])
        n_groups = 1 if self._grid is None else len(self._grid)
        squares = np.empty((n_groups, len(self._columns)))
        for start in range(0, len(self._columns), _MOST_ROWS):
            part = self._columns[start : start + _MOST_ROWS].astype(np.float64)
            rows = part[:, :-1] if grid is None else part[:, :-1] @ grid.T
            by_weights = np.square(rows).reshape(len(part), n_groups, -1).sum(axis=2)
            by_bias = np.square(self._fineness * part[:, -1:])
            squares[:, start : start + len(part)] = (by_weights + by_bias).T * _ROUNDED_UP
        return squares


# Kingma and Ba's own constants; the last keeps a division by zero away.
_FIRST_MOMENT, _SECOND_MOMENT, _TINY = 0.9, 0.999, 1e-8


@dataclass(frozen=True)
class TrainedMaps:
    """Released result of a training; public.

    Attributes
    ----------
    weights : ndarray of float64, shape (n_classes, n_maps, n_inputs)
        Of the standardised inputs: centring and projections are multiplied out, and all scores are
        divided by a temperature.
    biases : ndarray of float64, shape (n_classes, n_maps)
    inverse_temperature : float
        Of the softmax over a class's maps: shares are those of the training.
    steps_begun : int
        Fewer than planned after an interruption.
    interrupted : bool
    frame : Frame or None
        In which training saw the features; None if they were not centred.
    means : ndarray of float64, shape (n_inputs,), or None
        Means of the inputs, where they are what was centred; shrunk.
    """

    weights: Doubles
    biases: Doubles
    inverse_temperature: float
    steps_begun: int
    interrupted: bool
    frame: Frame | None
    means: Doubles | None


class Training:
    """A training on encoded private rows; everything that leaves them passes ``session``.

    Parameters
    ----------
    inputs : ndarray of float32, shape (n_rows, n_inputs)
        Private.
    classes : ndarray of int16, shape (n_rows,)
        Private; -1 for rows without a declared label, which add nothing.
    n_classes : int
    settings : TrainingSettings
    steps : SampledSteps
        As the session's plan has them under ``GRADIENTS``.
    session : ReleaseSession
        Open.
    image_shape : tuple of int, or None
        Of the rows, if they are images.
    engine : {"closed_form", "opacus"}

    Notes
    -----
    Harder, Bauer and Park (2020), Algorithm 1, with Poisson samples. The noisy sum is divided by
    the noise's own deviation, which is public: Adam's step does not depend on such a factor, so
    that no number of rows is needed.
    """

    def __init__(
        self,
        inputs: Singles,
        classes: NDArray[np.int16],
        n_classes: int,
        settings: TrainingSettings,
        steps: SampledSteps,
        session: ReleaseSession,
        *,
        image_shape: tuple[int, ...] | None,
        engine: str,
    ) -> None:
        rows, public = TrainingRows(inputs, classes.astype(np.int64)), session.public_choices
        projections = public_projections(inputs.shape[1], settings, image_shape, public)
        dimension = inputs.shape[1] if projections is None else projections.shape[1]
        # That of the weights before projection. The scales, which the paper leaves out, decide
        # whether it learns at all: entries of the projections have variance 1/2.
        self._shape = (settings.n_maps, n_classes, dimension)
        limit = 1.0 / np.sqrt((dimension + 1) * n_classes)
        size = math.prod(self._shape) + settings.n_maps * n_classes
        parameters = public.uniform(-limit, limit, size=size).astype(np.float32)
        self._projections = projections
        self._frame: Frame | None = None
        if settings.shares_features:
            # Training sees what all maps see, in one frame.
            projection, projections = (None if projections is None else projections[0]), None
            features = inputs if projection is None else projected_features(inputs, projection)
            if settings.centring > 0:
                columns, length = settings.n_columns, settings.feature_length
                frame = released_frame(features, projection, columns, session, length=length)
                features = (features - frame.centre.astype(np.float32)) * np.float32(frame.scale)
                self._frame = frame
            rows = TrainingRows(features, rows.classes)
        arguments = (rows, projections, settings.inverse_temperature, settings.clip_norm)
        self._sums: ClosedForm | OpacusSums
        if engine == "opacus":
            from interpret_dp.llm.opacus_engine import OpacusSums

            self._sums = OpacusSums(*arguments, n_parameters=size)
        else:
            self._sums = ClosedForm(*arguments)
        self._adam = _Adam(parameters, settings.averaging)
        self._settings, self._steps, self._session = settings, steps, session
        self._n_rows = len(inputs)
        self._steps_begun = 0

    def run(self, *, verbose: bool) -> TrainedMaps:
        """Take all steps; an interruption ends them early.

        Parameters
        ----------
        verbose : bool
            Show steps and time, never a loss.
        """
        interrupted = False
        try:
            for _ in progress(
                range(self._steps.count), verbose=verbose, unit="step", desc="DP-LLM"
            ):
                self.step()
        except KeyboardInterrupt:
            # No private number was shown, so that the moment of the interruption is public.
            interrupted = True
        return self._released(interrupted=interrupted)

    def _released(self, *, interrupted: bool) -> TrainedMaps:
        settings, frame, projections = self._settings, self._frame, self._projections
        weights, biases = self._split(self._adam.average.astype(np.float64))
        scale = 1.0
        # Pixels alone, where all maps share one centred projection. Otherwise the length of rows in
        # training is unknown; on tables clipping hardly distorts the scores; and on wavelets
        # training ends before it is at rest.
        if frame is not None and projections is not None:
            scale = temperature(weights, biases, settings, self._session.public_choices)
        weights, biases = weights / scale, biases / scale
        if frame is not None:
            # Those of the same maps, for features as they were.
            weights = weights * frame.scale
            biases = biases - weights @ frame.centre
        if projections is not None:
            weights = weights @ projections.astype(np.float64)
        # What all classes have in common changes no probability, and a class's contributions
        # would be explained by it.
        weights = weights - weights.mean(axis=(0, 1))
        biases = biases - biases.mean()
        return TrainedMaps(
            np.ascontiguousarray(weights.transpose(1, 0, 2)),
            np.ascontiguousarray(biases.T),
            settings.inverse_temperature * scale,
            self._steps_begun,
            interrupted,
            frame,
            None if frame is None or projections is not None else frame.centre,
        )

    def _split(self, parameters: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return weights and biases of the maps, as trained."""
        n_weights = math.prod(self._shape)
        weights, biases = parameters[:n_weights], parameters[n_weights:]
        return weights.reshape(self._shape), biases.reshape(self._shape[:2])

    def step(self) -> None:
        """Release the sum of one sample, in units of its noise, and follow it."""
        step = self._steps_begun
        # A step counts from its beginning: an interruption may come after its noise.
        self._steps_begun += 1
        sums = partial(self._sums.lattice_sum, *self._split(self._adam.parameters))
        noisy, sigma = self._session.sampled_gaussian(
            GRADIENTS, self._n_rows, sums, row_norm=self._sums.row_norm
        )
        rate = self._settings.learning_rate_at(step, self._steps.count)
        self._adam.update((noisy / sigma).astype(np.float32), rate)


class _Adam:
    """Adam and the running average of its weights; post-processing of released gradients."""

    def __init__(self, parameters: Singles, averaging: float) -> None:
        self.parameters, self.average = parameters.copy(), parameters.copy()
        self._averaging = averaging
        self._first, self._second = np.zeros_like(parameters), np.zeros_like(parameters)
        self._count = 0

    def update(self, gradient: Singles, learning_rate: float) -> None:
        """Take one step."""
        self._count += 1
        self._first += (1.0 - _FIRST_MOMENT) * (gradient - self._first)
        self._second += (1.0 - _SECOND_MOMENT) * (np.square(gradient) - self._second)
        scale = np.sqrt(self._second / (1.0 - _SECOND_MOMENT**self._count)) + _TINY
        rate = learning_rate / (1.0 - _FIRST_MOMENT**self._count)
        self.parameters -= rate * self._first / scale
        self.average += (1.0 - self._averaging) * (self.parameters - self.average)
