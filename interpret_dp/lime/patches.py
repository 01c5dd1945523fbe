"""Square patches of pixels as features: an image has too many pixels for one term each."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from interpret_dp.exceptions import SchemaError
from interpret_dp.schema import Continuous, FeatureSpec, Table
from interpret_dp.schema.cells import in_chunks, numbers_of

_MOST_PATCHES = 144


@dataclass(frozen=True)
class Patches:
    """Public map from the pixels of an image to the means of square patches.

    Parameters
    ----------
    shape : tuple of int
        Height and width of the images in pixels; pixels are in the order of rows.
    specs : tuple of Continuous, shape (n_pixels,)

    Raises
    ------
    ValueError
        If there are not as many pixels as the shape says.
    SchemaError
        If a pixel is not declared as Continuous.
    """

    shape: tuple[int, int]
    specs: tuple[FeatureSpec, ...]

    def __post_init__(self) -> None:
        """Check the pixels against the shape."""
        height, width = self.shape
        if min(self.shape) < 1 or height * width != len(self.specs):
            raise ValueError(
                f"image_shape is {self.shape!r} and there are {len(self.specs)} columns; height "
                "times width must be the number of columns. Pass image_shape=(height, width)."
            )
        if not all(isinstance(spec, Continuous) for spec in self.specs):
            raise SchemaError(
                "A column of an image is declared as Categorical; pixels must be Continuous. "
                "Declare Schema(default=Continuous(0, 255)), or leave out image_shape."
            )

    @property
    def side(self) -> int:
        """Pixels along a patch: the least that makes no more than 144 patches."""
        side = 1
        while math.prod(-(-length // side) for length in self.shape) > _MOST_PATCHES:
            side += 1
        return side

    @property
    def of_pixel(self) -> NDArray[np.intp]:
        """The patch of each pixel, shape (n_pixels,)."""
        rows, columns = (np.arange(length) // self.side for length in self.shape)
        return np.add.outer(rows * (int(columns[-1]) + 1), columns).ravel()

    @property
    def names(self) -> tuple[str, ...]:
        """The name of each patch: the rows and columns of the image that it covers."""
        rows, columns = (
            [
                f"{start}-{min(start + self.side, length) - 1}"
                for start in range(0, length, self.side)
            ]
            for length in self.shape
        )
        return tuple(f"rows {row}, columns {column}" for row in rows for column in columns)

    @property
    def features(self) -> dict[str, FeatureSpec]:
        """The declaration of each patch: its mean lies between the means of its bounds."""
        declared: dict[str, FeatureSpec] = {}
        for patch, name in enumerate(self.names):
            bounds = [self._bounds(pixel) for pixel in self._pixels(patch)]
            lower, upper = (math.fsum(ends) / len(bounds) for ends in zip(*bounds, strict=True))
            declared[name] = Continuous(lower, upper)
        return declared

    def table(self, pixels: Table) -> Table:
        """Return images as patches.

        Parameters
        ----------
        pixels : Table
            One column a pixel. A missing pixel counts as the middle of its bounds, one outside
            them as the bound.

        Returns
        -------
        Table
            Private, if the images are; a row's patches depend on that row alone.
        """
        return Table(self.names, pixels.n_rows, lambda patch: self._means(pixels, patch))

    def spread(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Share the value of each patch equally among its pixels.

        Parameters
        ----------
        values : ndarray of float64, shape (n_rows, n_patches)

        Returns
        -------
        ndarray of float64, shape (n_rows, n_pixels)
        """
        patch_of_pixel = self.of_pixel
        return np.asarray((values / np.bincount(patch_of_pixel))[:, patch_of_pixel])

    def _pixels(self, patch: int) -> NDArray[np.intp]:
        return np.flatnonzero(self.of_pixel == patch)

    def _bounds(self, pixel: int) -> tuple[float, float]:
        spec = self.specs[pixel]
        if not isinstance(spec, Continuous):
            raise TypeError(f"Pixel {pixel} is declared as {spec!r}; it must be Continuous.")
        return spec.lower, spec.upper

    def _means(self, pixels: Table, patch: int) -> NDArray[np.float64]:
        places = self._pixels(patch)
        sums = np.zeros(pixels.n_rows)
        # Pixel by pixel: additions of whole columns treat every row alike, to the last bit.
        for pixel in places:
            lower, upper = self._bounds(pixel)
            for rows, numbers in in_chunks(pixels.column(pixel), numbers_of):
                middle = lower / 2 + upper / 2
                sums[rows] += np.clip(np.nan_to_num(numbers, nan=middle), lower, upper)
        return sums / len(places)
