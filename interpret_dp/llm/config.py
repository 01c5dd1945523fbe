"""Rules that set the DP-LLM trainer's settings, and integers in which its sums are exact."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

# Private rows as integers, and products that are exact in every order of summation.
#
# A row (x, 1) is rounded, by itself alone, to t (u, v). All numbers in (u, v) are integers below
# 2**15, and t = 1 / v, so that the input of the bias is exactly 1.
#
# Double precision holds integers up to 2**53. A sum that stays below is exact in any order, so that
# what a row adds does not depend on the rows beside it, on threads or on a library's blocks.

ROW_BITS = 15
"""Bits of a row's integers."""

_LARGEST = 2**ROW_BITS - 1

_ROWS_AT_ONCE = 1024


def finite_rows(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the rows, shape (n_rows, width); zeros for one with an entry that is not finite."""
    rows[~np.isfinite(rows).all(axis=1)] = 0.0
    return rows


def exact_rows(rows: NDArray[np.float32], matrix: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return rows times a public matrix, each row the same bits beside any others.

    Parameters
    ----------
    rows : ndarray of float32, shape (n_rows, n_inputs)
    matrix : ndarray, shape (n_inputs, dimension)

    Returns
    -------
    ndarray of float64, shape (n_rows, dimension)

    Notes
    -----
    Both are rounded first, a row to a share of its own largest entry and the matrix of its: to 21
    bits at 1,000 inputs, so that all sums of their products are integers below 2**53.
    """
    bits = (52 - math.ceil(math.log2(max(2, len(matrix))))) // 2
    wide, public = finite_rows(rows.astype(np.float64)), matrix.astype(np.float64)
    steps = np.abs(wide).max(axis=1, keepdims=True) / 2**bits
    # A row of zeros has no unit of its own.
    steps[steps == 0] = 1.0
    unit = float(np.abs(public).max()) / 2**bits or 1.0
    sums = np.rint(wide / steps) @ np.rint(public / unit)
    return np.asarray(sums * (steps * unit))


@dataclass(frozen=True)
class TrainingRows:
    """Encoded rows. Private, and so left out of the representation.

    Attributes
    ----------
    inputs : ndarray of float32, shape (n_rows, n_inputs)
    classes : ndarray of int64, shape (n_rows,)
        -1 for a label that is missing or undeclared: the row adds nothing.
    """

    inputs: NDArray[np.float32] = field(repr=False)
    classes: NDArray[np.int64] = field(repr=False)


def rounded_rows(inputs: NDArray[np.float32]) -> NDArray[np.int16]:
    """Return rows as integers: those of the inputs, then that of the bias, which is 1 over a unit.

    Parameters
    ----------
    inputs : ndarray of float32, shape (n_rows, n_inputs)
        Entries beyond 2**15 - 1 are cut.

    Returns
    -------
    ndarray of int16, shape (n_rows, n_inputs + 1)
        Private.

    Notes
    -----
    Elementwise, but for a row's largest entry, which is exact: a row decides its own integers.
    """
    columns = np.empty((len(inputs), inputs.shape[1] + 1), dtype=np.int16)
    for start in range(0, len(inputs), _ROWS_AT_ONCE):
        rows = finite_rows(inputs[start : start + _ROWS_AT_ONCE].astype(np.float64))
        largest = np.abs(rows).max(axis=1, initial=1.0)
        bias = np.maximum(np.floor(_LARGEST / largest), 1.0)
        part = columns[start : start + _ROWS_AT_ONCE]
        part[:, :-1] = np.clip(np.rint(rows * bias[:, np.newaxis]), -_LARGEST, _LARGEST)
        part[:, -1] = bias
    return columns


# What an example adds is clipped to this share of the bound that is accounted. The rest is room for
# rounding to the nearest integers, and in Opacus for floating point (docs/proofs/dp_llm.md).
CLIP_SHARE = 1.0 - 1e-3
# Of the bound: what truncation of Opacus' sums may take.
_TRUNCATION_SHARE = 5e-5
_BYTES_AT_A_TIME = 2**26

PROJECTION_BITS = 5
"""Random projections are multiples of 2**-PROJECTION_BITS that fit into a byte: up to 4 in size."""

MOST_PROJECTED, MOST_INPUTS = 2**19, 2**22
"""Most inputs of random projections, and of other features.

Sums over more could leave the integers of double precision.
"""

# The root mean square length of an image's centred features in training: learning rate and
# temperature are for this length.
FEATURE_LENGTH = 530.0

_IMAGE_DIMENSION = 100
# 1.35 pixels at 28 x 28; a blur by a fixed share of an image looks the same at any size.
_IMAGE_SMOOTHING = 1.35 / 28
_IMAGE_CENTRING = 0.01

# Of centred wavelet features in training, about 1 for each of the 3,969 of a 28 x 28 image.
_SCATTERING_LENGTH = 63.0

_TABLE_CENTRING = 0.01
# Over the root mean square length of a row, its bias included: an error of 1.2 in the classes.
_TABLE_CLIPPING = 1.2
# Epsilon times rows below which the noise of a second map costs more than bending gains.
_BENDING_SIGNAL = 1e4


@dataclass(frozen=True, kw_only=True)
class TrainingSettings:
    """Public settings of one training.

    Attributes
    ----------
    n_maps : int
        Linear maps of each class.
    projection_dim : int or None
        Dimension to which each map's inputs are projected; None: no projection.
    projection : {"cosine", "gaussian", "orthonormal"}
        "cosine": the cosines of lowest frequency of an image, one set for all maps.
    smoothing : float
        Deviation in pixels of the blur of the projections of images; 0: none.
    centring : float
        Share of the budget, of mu squared, that buys the mean and the spread of the features by
        which all maps see a row; 0: they are not centred.
    n_columns : int
        Columns that vary: about the mean squared length of a row of standardised inputs.
    feature_length : float
        Root mean square length of a row in training, where features are centred.
    inverse_temperature : float
        Of the softmax over a class's maps.
    sampling_rate : float
        Probability with which each row is in a step's sample, where no batch size is given.
    epochs : float
        How often each row is sampled on average.
    learning_rate : float
        Of Adam, at the start.
    clip_norm : float
        Bound on the L2 norm of what one example adds to the gradient.
    averaging : float
        Decay of the running average of weights that is released; 0: the last weights.
    """

    n_maps: int
    projection_dim: int | None
    projection: str
    smoothing: float
    centring: float
    n_columns: int
    feature_length: float
    inverse_temperature: float
    sampling_rate: float
    epochs: float
    learning_rate: float
    clip_norm: float
    averaging: float

    @property
    def shares_features(self) -> bool:
        """Whether all maps see a row by the same features: the inputs, or one projection."""
        return self.projection_dim is None or self.projection == "cosine"

    def n_steps(self, probability: float) -> int:
        """Return the number of steps at this sampling probability."""
        return max(1, math.ceil(self.epochs / probability - 1e-9))

    def learning_rate_at(self, step: int, n_steps: int) -> float:
        """Return the learning rate of one step: a fifth less after each sixth of the training."""
        return self.learning_rate * 0.8 ** (6 * step // n_steps)


def default_settings(
    n_inputs: int,
    image_shape: tuple[int, ...] | None,
    n_columns: int | None = None,
    signal: float | None = None,
) -> TrainingSettings:
    """Return the settings for inputs of this number and kind.

    Parameters
    ----------
    n_inputs : int
    image_shape : tuple of int, or None
        None: rows are no images.
    n_columns : int, default=None
        Columns of a table that vary, each with one input or one a level. None: ``n_inputs``.
    signal : float, default=None
        Epsilon times the declared number of rows; None: not declared.

    Notes
    -----
    Neighbouring pixels are correlated, so that smooth cosines, which are public, keep most of the
    information of an image in a third of the paper's dimensions, and fewer weights get noise. One
    set serves all maps, so that images are projected once. Chosen on a split of MNIST's training
    part; docs/llm_study.md has the figures.

    In tables the noise is small beside what clipping distorts: rows of rare classes have long
    gradients, and where they alone are cut probabilities are wrong. So the clipping norm is that of
    a long gradient, however the columns are coded. Two maps a class bend where one cannot; more
    cost more noise, and where few rows are declared, two do. Chosen on simulated tables alone.
    """
    columns = max(1, n_inputs if n_columns is None else n_columns)
    if image_shape is None:
        return TrainingSettings(
            n_maps=1 if signal is not None and signal < _BENDING_SIGNAL else 2,
            projection_dim=None,
            projection="gaussian",
            smoothing=0.0,
            centring=_TABLE_CENTRING,
            n_columns=columns,
            feature_length=math.sqrt(columns),
            inverse_temperature=1.0,
            sampling_rate=1 / 4,
            epochs=100.0,
            learning_rate=0.05,
            clip_norm=_TABLE_CLIPPING * math.sqrt(columns + 1),
            averaging=0.99,
        )
    return TrainingSettings(
        n_maps=30,
        projection_dim=min(_IMAGE_DIMENSION, n_inputs),
        projection="cosine",
        smoothing=max(image_shape[:2]) * _IMAGE_SMOOTHING,
        centring=_IMAGE_CENTRING,
        n_columns=columns,
        feature_length=FEATURE_LENGTH,
        inverse_temperature=1 / 30,
        sampling_rate=1 / 15,
        epochs=20.0,
        learning_rate=3e-3,
        clip_norm=0.5,
        averaging=0.9,
    )


def scattering_settings(n_inputs: int) -> TrainingSettings:
    """Return the settings for wavelet features: one map a class, which noise disturbs least.

    Parameters
    ----------
    n_inputs : int
        The number of features.

    Notes
    -----
    Features are brought to one length, whatever the size of the images. Chosen on a split of
    MNIST's training part.
    """
    return dataclasses.replace(
        default_settings(n_inputs, None),
        n_maps=1,
        feature_length=_SCATTERING_LENGTH,
        sampling_rate=1 / 15,
        epochs=20.0,
        learning_rate=3e-3,
        clip_norm=0.1 * _SCATTERING_LENGTH,
        averaging=0.95,
    )


def lattice_points(n_parameters: int) -> int:
    """Return how many lattice units the clipping bound is, a power of two.

    Truncation towards zero moves each coordinate by less than one unit, so a difference of two
    sums by less than the root of the number of coordinates: half of the room that clipping leaves.
    """
    needed = math.sqrt(n_parameters) / _TRUNCATION_SHARE
    return int(2 ** max(20, math.ceil(math.log2(needed))))


def rows_at_a_time(n_values: int, n_inputs: int) -> int:
    """Return the rows of a physical batch: a public rule, the same for samples of all sizes.

    Parameters
    ----------
    n_values : int
        Values that a row needs for each pass over it, such as one a class and map.
    n_inputs : int
    """
    return max(1, _BYTES_AT_A_TIME // (4 * (6 * n_values + n_inputs)))
