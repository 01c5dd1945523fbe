"""Every choice of the trainer, by a rule in public quantities, in one place."""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["TrainingSettings", "default_settings", "lattice_points", "rows_at_a_time"]

# What an example adds is clipped to this share of the bound that is accounted; the rest is room
# for truncation to the lattice and for floating point (docs/proofs/dp_llm.md).
CLIP_SHARE = 1.0 - 1e-4
_TRUNCATION_SHARE = 5e-5
_BYTES_AT_A_TIME = 2**26

_IMAGE_DIMENSION = 100
# One pixel for images of 28 x 28; a blur by a fixed share of an image looks the same at any size.
_IMAGE_SMOOTHING = 1 / 28


@dataclass(frozen=True, kw_only=True)
class TrainingSettings:
    """Public settings of one training.

    Attributes
    ----------
    n_maps : int
        Linear maps of each class.
    projection_dim : int or None
        Dimension to which each map's inputs are projected; None: no projection.
    projection : {"gaussian", "orthonormal"}
    smoothing : float
        Deviation in pixels of the blur of the projections of images; 0: none.
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
    inverse_temperature: float
    sampling_rate: float
    epochs: float
    learning_rate: float
    clip_norm: float
    averaging: float

    def n_steps(self, probability: float) -> int:
        """Return the number of steps at this sampling probability."""
        return max(1, math.ceil(self.epochs / probability - 1e-9))

    def learning_rate_at(self, step: int, n_steps: int) -> float:
        """Return the learning rate of one step: a fifth less after each sixth of the training."""
        return self.learning_rate * 0.8 ** (6 * step // n_steps)


def default_settings(n_inputs: int, image_shape: tuple[int, ...] | None) -> TrainingSettings:
    """Return the settings for inputs of this number and kind.

    Parameters
    ----------
    n_inputs : int
    image_shape : tuple of int, or None
        None: rows are no images.

    Notes
    -----
    Neighbouring pixels say nearly the same, so that an image's random projections are blurred:
    they are public, keep what matters of an image in a third of the paper's dimensions, and the
    noise falls on as many fewer weights. Chosen on a split of MNIST's training part;
    docs/proofs/dp_llm.md has the figures.
    """
    if image_shape is None:
        return TrainingSettings(
            n_maps=4,
            projection_dim=None,
            projection="gaussian",
            smoothing=0.0,
            inverse_temperature=1.0,
            sampling_rate=1 / 30,
            epochs=30.0,
            learning_rate=1e-2,
            clip_norm=0.5,
            averaging=0.9,
        )
    return TrainingSettings(
        n_maps=30,
        projection_dim=min(_IMAGE_DIMENSION, n_inputs),
        projection="gaussian",
        smoothing=max(image_shape[:2]) * _IMAGE_SMOOTHING,
        inverse_temperature=1 / 30,
        sampling_rate=1 / 15,
        epochs=20.0,
        learning_rate=3e-3,
        clip_norm=0.5,
        averaging=0.9,
    )


def lattice_points(n_parameters: int) -> int:
    """Return how many lattice units the clipping bound is, a power of two.

    Truncation towards zero moves each coordinate by less than one unit, so a difference of two
    sums by less than the root of the number of coordinates: half of the room that clipping leaves.
    """
    needed = math.sqrt(n_parameters) / _TRUNCATION_SHARE
    return int(2 ** max(20, math.ceil(math.log2(needed))))


def rows_at_a_time(n_values: int, n_inputs: int) -> int:
    """Return the rows of a physical batch: a public rule, whatever the sample's size.

    Parameters
    ----------
    n_values : int
        Values that a row needs for each pass over it, such as one a class and map.
    n_inputs : int
    """
    return max(1, _BYTES_AT_A_TIME // (4 * (6 * n_values + n_inputs)))
