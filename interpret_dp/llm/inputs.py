"""Table to standardised inputs, by public constants alone: a row decides its own inputs only."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from interpret_dp._validate import check_real
from interpret_dp.exceptions import SchemaError
from interpret_dp.released.scattering import Scattering
from interpret_dp.schema import (
    Categorical,
    Continuous,
    FeatureSpec,
    Schema,
    Table,
    encode_column,
)
from interpret_dp.schema.cells import in_chunks, numbers_of
from interpret_dp.schema.declarations import SYMLOG_UNIT

Floats: TypeAlias = NDArray[np.float64]
Standards: TypeAlias = "tuple[float, float] | Mapping[str, tuple[float, float]] | None"

# Far beyond what training can use, and far from where squares leave the floats.
_LARGEST = 2.0**20
_EXAMPLE = "standardize=(mean, deviation), or {'age': (40, 15)} for single columns"


@dataclass(frozen=True)
class InputCoding:
    """Public map from the columns of a table to inputs.

    A continuous feature is one input: clipped to its bounds, on its declared scale, less a centre,
    over a spread. A categorical one is an input a level, 1 where the cell is that level. Missing
    cells and undeclared levels are 0 everywhere. With ``scattering`` the inputs are the wavelet
    features of these numbers.

    Attributes
    ----------
    features : tuple of (str, Continuous or Categorical)
    centres, spreads : tuple of float, shape (n_features,)
        Of continuous features, on their scale; 0 and 1 for others.
    scattering : Scattering or None
        None: numbers are inputs as they are.
    """

    features: tuple[tuple[str, FeatureSpec], ...]
    centres: tuple[float, ...]
    spreads: tuple[float, ...]
    scattering: Scattering | None = None

    @property
    def widths(self) -> tuple[int, ...]:
        """Inputs of each feature."""
        return tuple(
            len(spec.levels) if isinstance(spec, Categorical) else 1 for _, spec in self.features
        )

    @property
    def n_inputs(self) -> int:
        """Number of inputs."""
        return sum(self.widths) if self.scattering is None else self.scattering.n_features

    @property
    def n_varying(self) -> int:
        """Columns that can vary: the mean squared length of a row, if cells are spread evenly."""
        if self.scattering is not None:
            return self.scattering.n_features
        return sum(
            isinstance(spec, Categorical) or spec.lower < spec.upper for _, spec in self.features
        )

    @property
    def ends(self) -> list[tuple[float, float]]:
        """The least and the largest input of each feature."""
        rules = zip(self.features, self.centres, self.spreads, strict=True)
        return [
            (0.0, 1.0)
            if isinstance(spec, Categorical)
            else tuple(_placed(np.array([spec.lower, spec.upper]), spec, *standard).tolist())
            for (_, spec), *standard in rules
        ]

    def encode(self, table: Table) -> NDArray[np.float32]:
        """Return the inputs, shape (n_rows, n_inputs). Private if the table is; never raises."""
        inputs = np.zeros((table.n_rows, sum(self.widths)), dtype=np.float32)
        start = 0
        rules = zip(self.features, self.centres, self.spreads, self.widths, strict=True)
        for index, ((_, spec), centre, spread, width) in enumerate(rules):
            values = table.column(index)
            if isinstance(spec, Categorical):
                codes = encode_column(values, spec, n_bins=1).astype(np.int64)
                known = np.flatnonzero((codes > 0) & (codes <= width))
                inputs[known, start + codes[known] - 1] = 1.0
            else:
                for rows, numbers in in_chunks(values, numbers_of):
                    inputs[rows, start] = _placed(numbers, spec, centre, spread)
            start += width
        return inputs if self.scattering is None else self.scattering.features(inputs)


def input_coding(schema: Schema, standards: Standards) -> InputCoding:
    """Return the coding of a schema's features.

    Parameters
    ----------
    schema : Schema
        Complete, in the table's order.
    standards : (mean, deviation), mapping of str to such pairs, or None
        Public constants, in the feature's own units. A feature without one is centred at the
        middle of its bounds and divided by a uniform distribution's deviation on its range.

    Raises
    ------
    TypeError, ValueError, SchemaError
        If they are of another form, or name a column that is not continuous.
    """
    given = _pairs(schema, standards)
    centres, spreads = [], []
    for name, spec in schema.features.items():
        if isinstance(spec, Categorical):
            centre, spread = 0.0, 1.0
        elif name in given:
            centre, spread = given[name]
        else:
            lower, upper = _on_scale(np.array([spec.lower, spec.upper]), spec)
            centre, spread = 0.5 * (lower + upper), (upper - lower) / math.sqrt(12.0)
        centres.append(float(centre))
        spreads.append(float(spread) if spread > 0 else 1.0)
    return InputCoding(tuple(schema.features.items()), tuple(centres), tuple(spreads))


def scattering_coding(
    schema: Schema, image_shape: tuple[int, ...] | None, background: float | None
) -> InputCoding:
    """Return the coding of images as wavelet features; missing pixels are background.

    Parameters
    ----------
    schema : Schema
        Complete, of the pixels in order.
    image_shape : tuple of int, or None
        None is refused.
    background : float or None
        Of a pixel, cut to its bounds; None: its lower bound.

    Raises
    ------
    SchemaError, ValueError
        If rows are no images, of 8 x 8 pixels at least, of numbers on a linear scale.
    """
    if image_shape is None:
        raise ValueError(
            "features is 'scattering', and rows are no images. Give image_shape if columns are the "
            "pixels of images, or leave features out."
        )
    centres, spreads = [], []
    for name, spec in schema.features.items():
        if not isinstance(spec, Continuous) or spec.scale != "linear":
            raise SchemaError(
                f"features is 'scattering', and {name!r} is declared as {spec}; pixels must be "
                "Continuous(lower, upper) of linear scale."
            )
        level = spec.lower if background is None else background
        centres.append(float(np.clip(level, spec.lower, spec.upper)))
        spreads.append(float(spec.upper - spec.lower) or 1.0)
    features = tuple(schema.features.items())
    return InputCoding(features, tuple(centres), tuple(spreads), Scattering(image_shape))


def _placed(numbers: Floats, spec: Continuous, centre: float, spread: float) -> Floats:
    # A warning of what a value did would be a release.
    with np.errstate(all="ignore"):
        placed = (_on_scale(numbers, spec) - centre) / spread
    return np.clip(np.nan_to_num(placed), -_LARGEST, _LARGEST)


def _on_scale(numbers: Floats, spec: Continuous) -> Floats:
    clipped = np.clip(numbers, spec.lower, spec.upper)
    if spec.scale == "log":
        return np.asarray(np.log1p(clipped - spec.lower))
    if spec.scale == "symlog":
        largest = max(abs(spec.lower), abs(spec.upper)) or 1.0
        return np.asarray(np.arcsinh(clipped / largest / SYMLOG_UNIT))
    return clipped


def _pairs(schema: Schema, standards: Standards) -> dict[str, tuple[float, float]]:
    linear = [
        name
        for name, spec in schema.features.items()
        if isinstance(spec, Continuous) and spec.scale == "linear"
    ]
    if standards is None:
        return {}
    if not isinstance(standards, Mapping):
        pair = _pair("standardize", standards)
        return dict.fromkeys(linear, pair)
    unknown = [name for name in standards if name not in linear]
    if unknown:
        raise SchemaError(
            f"standardize names {unknown}; it may name continuous columns of linear scale, which "
            f"are {linear[:12]}. Write {_EXAMPLE}."
        )
    return {name: _pair(f"standardize[{name!r}]", pair) for name, pair in standards.items()}


def _pair(role: str, value: Any) -> tuple[float, float]:
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != 2:
        raise TypeError(f"{role} is {value!r}; it must be (mean, deviation). Write {_EXAMPLE}.")
    mean = check_real(f"The mean of {role}", value[0])
    return mean, check_real(f"The deviation of {role}", value[1], low=0, low_open=True)
