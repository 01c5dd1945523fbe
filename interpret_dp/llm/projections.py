"""Public projections of the inputs: random ones for each map, or one smooth basis for all maps."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from interpret_dp.llm.config import PROJECTION_BITS, TrainingSettings

__all__ = ["public_projections"]


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
