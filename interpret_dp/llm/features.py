"""Projections of the inputs, and the centre of features that all maps share.

Projections are public: random ones for each map, or one smooth basis for all maps. The features of
one projection are computed once, and may be centred.

The mean of the features is uninformative about classes, and yet it is most of the length of an
image: clipping would shorten a row because of it, and noise would outweigh the differences between
classes. A small share of the budget buys the mean and the spread; steps then see features that are
centred and of one length on average, whatever the contrast of the images.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.llm.config import FEATURE_LENGTH, PROJECTION_BITS, TrainingSettings
from interpret_dp.llm.integers import exact_rows, finite_rows
from interpret_dp.llm.request import CENTRE
from interpret_dp.release import ReleaseSession

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

    centre: NDArray[np.float64]
    scale: float
    is_narrow: bool
    noise: float
    signal_share: float

    def undone(
        self, weights: NDArray[np.float64], biases: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return weights and biases of the same maps, for features as they were."""
        unscaled = weights * self.scale
        return unscaled, biases - unscaled @ self.centre


def projected_features(
    inputs: NDArray[np.float32], projection: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return R x of each row, shape (n_rows, dimension); a row decides its own."""
    features = np.empty((len(inputs), len(projection)), dtype=np.float32)
    for start in range(0, len(inputs), _ROWS):
        features[start : start + _ROWS] = exact_rows(inputs[start : start + _ROWS], projection.T)
    return features


def released_frame(
    features: NDArray[np.float32],
    projection: NDArray[np.float32] | None,
    n_columns: int,
    session: ReleaseSession,
    *,
    length: float = FEATURE_LENGTH,
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
    length : float, default=FEATURE_LENGTH
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


def _lattice_sums(features: NDArray[np.float32], bound: float) -> NDArray[np.int64]:
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
) -> NDArray[np.float32] | None:
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
    else:
        entries = _random(n_inputs, dimension, settings, image_shape, public)
        # Bytes, so that products of integers with them are exact and fast.
        units = np.rint(np.sqrt(0.5) * entries * 2**PROJECTION_BITS)
        return np.asarray(np.clip(units, -127, 127) / 2**PROJECTION_BITS, dtype=np.float32)
    return np.asarray(np.sqrt(0.5) * entries, dtype=np.float32)


def _cosines(image_shape: tuple[int, ...], dimension: int, smoothing: float) -> NDArray[np.float64]:
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


def _random(
    n_inputs: int,
    dimension: int,
    settings: TrainingSettings,
    image_shape: tuple[int, ...] | None,
    public: np.random.Generator,
) -> NDArray[np.float64]:
    """Draw projections; every row has the length that Gaussian ones have on average."""
    entries = public.standard_normal((settings.n_maps, dimension, n_inputs))
    if settings.smoothing > 0 and image_shape is not None:
        from scipy.ndimage import gaussian_filter

        blur = (0, 0, settings.smoothing, settings.smoothing, *(0 for _ in image_shape[2:]))
        images = entries.reshape(settings.n_maps, dimension, *image_shape)
        entries = gaussian_filter(images, blur, mode="constant").reshape(entries.shape)
        entries *= np.sqrt(n_inputs) / np.linalg.norm(entries, axis=2, keepdims=True)
    if settings.projection == "orthonormal":
        entries = np.sqrt(n_inputs) * np.stack([np.linalg.qr(r.T)[0].T for r in entries])
    return np.asarray(entries)
