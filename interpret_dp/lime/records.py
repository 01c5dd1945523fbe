"""Released explanations as the plain documents that interpret's objects show."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp.lime.asked import AskedRows, Outputs
from interpret_dp.lime.features import LocalFeatures
from interpret_dp.lime.history import Explained
from interpret_dp.lime.labels import BlackBox

__all__ = ["Effects", "effects_of", "mean_absolute", "origin_of", "record"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Effects:
    """What each feature does at one row, in units of the explained output; released.

    Attributes
    ----------
    effects, standard_errors : ndarray of float64, shape (n_features,)
        NaN where a row has no level of its own.
    coordinates : (ndarray, ndarray), each of shape (n_coordinates,), or None
        The same of every coordinate; None where an explanation has no such thing.
    intercept : float or None
        What all effects are added to; None where they add up to nothing in particular.
    method, origin : str
    """

    effects: Floats
    standard_errors: Floats
    coordinates: tuple[Floats, Floats] | None = field(repr=False)
    intercept: float | None
    method: str
    origin: str


def effects_of(
    explained: Explained, features: LocalFeatures, box: BlackBox, *, centered: bool
) -> Effects:
    """Return an explanation in units of the explained output.

    Parameters
    ----------
    explained : Explained
    features : LocalFeatures
    box : BlackBox
        Says how much of an output a step of a label is.
    centered : bool
        Whether half of how outputs differ from that at the query was explained.
    """
    # Labels run from -1 to 1, and coordinates are stretched so that 1 is the largest distance.
    unit = box.half_width * (2.0 if centered else 1.0)
    coefficients = explained.fit.coefficients * unit
    errors = explained.fit.standard_errors * unit
    return Effects(
        features.per_feature(coefficients, explained.point),
        features.errors_per_feature(errors, explained.point),
        (coefficients / features.stretch, errors / features.stretch),
        None,
        explained.method,
        explained.origin,
    )


def record(
    asked: AskedRows,
    row: int,
    shown: Effects,
    features: LocalFeatures,
    outputs: Outputs,
    actual: float,
    image_shape: Sequence[int] | None,
) -> dict[str, Any]:
    """Return the document of one row, in the form of interpret's own local explanations.

    Parameters
    ----------
    asked : AskedRows
    row : int
    shown : Effects
    features : LocalFeatures
    outputs : Outputs
    actual : float
        What came true of the explained output; NaN if that is not known.
    image_shape : (height, width) or None
    """
    predicted = float(asked.own_predictions[row])
    document: dict[str, Any] = {
        "type": "univariate",
        "names": list(features.names),
        "scores": _plain(shown.effects),
        "values": asked.cells(row),
        "standard_errors": _plain(shown.standard_errors),
        "perf": {
            "is_classification": False,
            "actual": actual,
            "predicted": predicted,
            "actual_score": actual,
            "predicted_score": predicted,
        },
        "extra": {"names": [], "scores": [], "values": []},
        "output": outputs.text(asked.queries.outputs[row]),
        "predicted": predicted,
        "coordinates": None,
        "method": shown.method,
        "origin": shown.origin,
        "image_shape": None if image_shape is None else list(image_shape),
    }
    if features.has_bins and shown.coordinates is not None:
        document["meaning"] = "of being in this bin, against being elsewhere"
    if shown.intercept is not None:
        document["extra"] = {"names": ["Intercept"], "scores": [shown.intercept], "values": [1]}
    if shown.coordinates is not None:
        point = asked.queries.points[row]
        document["coordinates"] = {
            "names": list(features.bin_labels(point) if features.has_bins else features.labels),
            "scores": _plain(shown.coordinates[0]),
            "standard_errors": _plain(shown.coordinates[1]),
        }
    return document


def mean_absolute(values: Floats) -> Floats:
    """Return the mean of |values| over the rows that have one; 0 where none has."""
    known = np.isfinite(values)
    total = np.abs(np.where(known, values, 0.0)).sum(axis=0)
    means: Floats = total / np.maximum(known.sum(axis=0), 1)
    return means


def _plain(values: Floats) -> list[float]:
    """Return numbers that JSON can hold; what a row has nothing of does nothing."""
    return [0.0 if math.isnan(value) else float(value) for value in values]


def origin_of(origins: set[str]) -> str:
    """Return where an explanation of several rows came from, by the dearest of them."""
    if "released" in origins:
        return "released"
    return "reused" if origins == {"reused"} else "post-processed"
