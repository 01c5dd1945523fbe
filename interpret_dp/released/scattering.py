"""Public wavelet features of images: strokes by place, orientation and scale.

An image is filtered by Morlet wavelets of two scales and eight orientations, and the moduli are
averaged over cells of 4 x 4 pixels; the moduli of the fine scale are filtered once more. Nothing is
learned from rows. Bruna and Mallat (2013); filters and normalisation as Tramer and Boneh (2021)
and kymatio (Andreux et al. 2020) have them. kymatio itself needs functions that SciPy has removed.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]
Singles = NDArray[np.float32]

CELL = 4
"""Pixels along a side of a cell."""

ORIENTATIONS = 8
"""Directions of strokes, in steps of a 16th of a turn from the horizontal, anticlockwise."""

SMALLEST_SIDE = 8
"""Pixels that an image has at least along each side."""

# Brightness, fine and coarse strokes, and fine strokes (first) that vary along another (last).
_CHANNELS = 1 + 2 * ORIENTATIONS + ORIENTATIONS**2
# Deviation in pixels and wave number of the fine wavelet; the coarse one has twice and half.
_SIGMA, _WAVE_NUMBER = 0.8, 0.75 * math.pi
# Length of a wavelet along its stroke over its width.
_ELONGATION = ORIENTATIONS / 4
# Deviation of the window by which cells average.
_WINDOW = 1.6
# Channels that are normalised together.
_GROUPS = (1, ORIENTATIONS, ORIENTATIONS, *[ORIENTATIONS] * ORIENTATIONS)
# Contrast, of the declared range, below which an image counts as blank more and more.
_MIN_CONTRAST = 2.0**-10
# Features are multiples of this.
_UNIT = 2.0**-10


@dataclass(frozen=True)
class Scattering:
    """Public map from images of one shape to features, one image at a time.

    Parameters
    ----------
    image_shape : tuple of int
        (height, width) or (height, width, colours), sides of at least `SMALLEST_SIDE`.

    Raises
    ------
    ValueError
        If a side is shorter.

    Notes
    -----
    Features are in the order (colour, channel, line of cells, column of cells). Channel 0 is
    brightness; then come eight orientations of fine strokes, eight of coarse ones, and for each
    orientation of a fine stroke eight by which its strength varies: at ends, corners and curves.
    Each of these groups (brightness, fine, coarse, and eight of variations) is divided by
    its root mean square, so that the sum of the squares is at most the number of features.
    """

    image_shape: tuple[int, ...]

    def __post_init__(self) -> None:
        """Check the sides."""
        if min(self.image_shape[:2]) < SMALLEST_SIDE:
            raise ValueError(
                f"image_shape is {self.image_shape}; features='scattering' needs at least "
                f"{SMALLEST_SIDE} x {SMALLEST_SIDE} pixels. Leave features out for smaller images."
            )

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Numbers of colours, channels, and lines and columns of cells."""
        height, width, *colours = self.image_shape
        return math.prod(colours), _CHANNELS, -(-height // CELL), -(-width // CELL)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return math.prod(self.shape)

    def features(self, images: ArrayLike) -> NDArray[np.float32]:
        """Return the features of images, shape (n_images, n_features).

        Parameters
        ----------
        images : array-like of float, shape (n_images, n_pixels)
            Pixels less the background, over the declared range; finite.

        Notes
        -----
        Each image is transformed by itself, in arrays of the same shapes, so that no bit of its
        features depends on the images beside it.
        """
        height, width, *_ = self.image_shape
        rows = np.asarray(images, dtype=np.float32).reshape(-1, height, width, self.shape[0])
        features = np.empty((len(rows), *self.shape), dtype=np.float32)
        for row, image in enumerate(rows):
            for colour in range(self.shape[0]):
                features[row, colour] = _normalised(_channels(image[:, :, colour]))
        return features.reshape(len(rows), self.n_features)

    def by_pixel(self, values: ArrayLike) -> FloatArray:
        """Return numbers of features summed over channels, and spread over the pixels of a cell.

        Shape (n_pixels,), in the order of the image; the sum stays the same.
        """
        cells = np.asarray(values, dtype=np.float64).reshape(self.shape).sum(axis=1)
        for axis, length in enumerate(self.image_shape[:2], start=1):
            owners = np.arange(length) // CELL
            shares = 1 / np.bincount(owners)
            cells = np.take(cells * np.expand_dims(shares, (0, 3 - axis)), owners, axis=axis)
        return np.asarray(cells.transpose(1, 2, 0).ravel())

    @property
    def names(self) -> tuple[str, ...]:
        """Name of each feature: what it looks for, and where."""
        degrees = [f"{180 * t / ORIENTATIONS:g}°" for t in range(ORIENTATIONS)]
        channels = ["brightness", *(f"fine {one}" for one in degrees)]
        channels += [f"coarse {one}" for one in degrees]
        channels += [f"fine {one} along {other}" for one in degrees for other in degrees]
        colours, _, lines, columns = self.shape
        return tuple(
            f"{channel} at cell ({line}, {column})" + (f", colour {colour}" if colours > 1 else "")
            for colour in range(colours)
            for channel in channels
            for line in range(lines)
            for column in range(columns)
        )


def _channels(image: Singles) -> Singles:
    """Return the channels of one image of one colour, shape (n_channels, n_lines, n_columns)."""
    filters = _filters(image.shape)
    padded = np.pad(image, filters.padding, mode="reflect")
    spectrum = _spectra(padded)
    fine = _moduli(spectrum * filters.fine)
    coarse = _moduli(_halved(spectrum * filters.coarse))
    varying = _moduli(_halved(_spectra(fine)[:, np.newaxis] * filters.coarse))
    halves = np.concatenate([coarse, varying.reshape(-1, *coarse.shape[1:])])
    whole = np.concatenate([padded[np.newaxis], fine])
    return np.concatenate([_averaged(whole, filters.windows), _averaged(halves, filters.sparse)])


def _normalised(channels: Singles) -> FloatArray:
    """Return channels of one colour with groups of one root mean square, as multiples of a unit."""
    units = channels.astype(np.float64)
    start = 0
    for size in _GROUPS:
        group = units[start : start + size]
        group /= math.sqrt(float(np.mean(group**2)) + _MIN_CONTRAST**2)
        start += size
    # Towards zero, so that no length grows.
    return np.trunc(units / _UNIT) * _UNIT


def _spectra(maps: Singles) -> NDArray[np.complex64]:
    return np.fft.fft2(maps).astype(np.complex64, copy=False)


def _moduli(spectra: NDArray[np.complex64]) -> Singles:
    maps = np.fft.ifft2(spectra)
    # Each operation rounds a number by itself, which abs does not promise.
    return np.sqrt(maps.real**2 + maps.imag**2).astype(np.float32, copy=False)


def _halved(spectra: NDArray[np.complex64]) -> NDArray[np.complex64]:
    """Return the spectra of maps of which every second line and column is left out."""
    height, width = (size // 2 for size in spectra.shape[-2:])
    lines = spectra[..., :height, :] + spectra[..., height:, :]
    halved = (lines[..., :width] + lines[..., width:]) * np.float32(0.25)
    return np.asarray(halved, dtype=np.complex64)


def _averaged(maps: Singles, windows: tuple[Singles, Singles]) -> Singles:
    lines, columns = windows
    return np.asarray(lines @ (maps @ columns.T))


@dataclass(frozen=True)
class _Filters:
    """Padding, spectra of wavelets, and windows of cells, for images of one size.

    Spectra have the shape (n_orientations, padded height, padded width), windows of each axis
    (n_cells, n_positions); ``sparse`` ones are for every second position.
    """

    padding: tuple[tuple[int, int], ...]
    fine: Singles
    coarse: Singles
    windows: tuple[Singles, Singles]
    sparse: tuple[Singles, Singles]


@functools.lru_cache(maxsize=8)
def _filters(sides: tuple[int, int]) -> _Filters:
    sizes = [CELL * (-(-side // CELL) + 2) for side in sides]
    lines, columns = sizes
    fine, coarse = (
        np.array([_wavelet(sizes, scale, turn) for turn in range(ORIENTATIONS)], dtype=np.float32)
        for scale in (1, 2)
    )
    return _Filters(
        tuple((CELL, size - CELL - side) for size, side in zip(sizes, sides, strict=True)),
        fine,
        coarse,
        (_windows(lines, 1), _windows(columns, 1)),
        (_windows(lines, 2), _windows(columns, 2)),
    )


def _wavelet(sizes: Sequence[int], scale: int, turn: int) -> FloatArray:
    """Return the spectrum of a Morlet wavelet: a wave across a stroke, of mean 0.

    Its oscillation under a Gaussian envelope, longer along the stroke, summed over the periods of
    the padded image.
    """
    angle = math.pi * turn / ORIENTATIONS
    sigma, wave_number = _SIGMA * scale, _WAVE_NUMBER / scale
    # Distances to the middle, periodically; lines count downwards.
    down, right = np.meshgrid(*(np.arange(-2 * n, 3 * n) for n in sizes), indexing="ij")
    along = right * math.cos(angle) - down * math.sin(angle)
    across = right * math.sin(angle) + down * math.cos(angle)
    envelope = np.exp(-(across**2 + (along / _ELONGATION) ** 2) / (2 * sigma**2))
    envelope /= 2 * math.pi * sigma**2 * _ELONGATION
    wave = np.exp(1j * wave_number * across)
    share = (envelope * wave).sum() / envelope.sum()
    wavelet = envelope * (wave - share)
    periods = wavelet.reshape(5, sizes[0], 5, sizes[1]).sum(axis=(0, 2))
    # The wavelet is its own conjugate mirrored, so that its spectrum is real.
    return np.asarray(np.fft.fft2(periods).real, dtype=np.float64)


def _windows(size: int, step: int) -> Singles:
    """Return the Gaussian windows of cells along one padded side, shape (n_cells, n_positions)."""
    middles = CELL + CELL * np.arange(size // CELL - 2) + (CELL - 1) / 2
    distances = middles[:, np.newaxis] - np.arange(0, size, step)
    windows = np.exp(-(distances**2) / (2 * _WINDOW**2))
    return np.asarray(windows / windows.sum(axis=1, keepdims=True), dtype=np.float32)
