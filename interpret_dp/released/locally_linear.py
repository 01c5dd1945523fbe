"""The released model of DP-LLM: several linear maps per class, as one immutable value.

NumPy alone predicts and explains with it. Everything in it is declaration, hyperparameter, public
randomness or post-processing of paid-for releases.
"""

from __future__ import annotations

import base64
import binascii
import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from interpret_dp._documents import (
    SEAL,
    check_keys,
    digest_of,
    open_document,
    plain_values,
    reading_parts,
)
from interpret_dp._validate import check_choice, check_int, check_real, check_sequence
from interpret_dp.accounting.guarantee import MOST_CENTRED_BEFORE, VOID_CENTRE, Guarantee
from interpret_dp.exceptions import PrivacyWarning, warn_caller
from interpret_dp.released.arrays import LARGEST_COUNT, FloatArray, freeze, frozen, softmax
from interpret_dp.released.scattering import Scattering
from interpret_dp.schema import Categorical, Schema, interpret_type, level_labels

MAPS_FORMAT = "interpret_dp.locally_linear_model"
"""The format that a file of such a model names."""

_VERSION = 1
_KEYS = {
    **dict.fromkeys(("schema", "weights", "guarantee", "settings", "parameters"), "object"),
    **dict.fromkeys(("centres", "spreads", "biases", "classes"), "list"),
    "inverse_temperature": "number",
    "image_shape": "list of integers or null",
    "steps": "object or null",
}
_MORE_KEYS = {SEAL: "text", "features": "text", "background": "number or null", "means": "object"}
# Keys of what a model holds as it is in the document.
_PLAIN_KEYS = (
    *("centres", "spreads", "biases", "inverse_temperature", "classes", "image_shape"),
    *("features", "background", "settings", "steps", "parameters"),
)
_ROWS_AT_A_TIME = 4096
_MOST_ROWS = 2**63
_LARGEST = 2.0**20  # input; larger ones are clipped


@dataclass(frozen=True, eq=False, repr=False)
class LocallyLinearModel:
    """f_k(x) = sum_m s_km(x) (w_km . x + b_km), where s_k(x) is a softmax over the maps of class k.

    Attributes
    ----------
    schema : Schema
        The declaration that the rows were read by. A continuous feature is one input, a
        categorical one is an input a level, 1 where the cell is that level.
    centres, spreads : ndarray of float64, shape (n_features,)
        Public constants: a continuous feature's input is its clipped value, on its declared scale,
        less the centre, over the spread. 0 and 1 for categorical features.
    weights : ndarray of float64, shape (n_classes, n_maps, n_inputs)
        Of the inputs: a projection is multiplied out.
    biases : ndarray of float64, shape (n_classes, n_maps)
    inverse_temperature : float
        Of the softmax over a class's maps.
    classes : tuple of str, number or bool, shape (n_classes,)
        Labels in the order of the probabilities.
    guarantee : Guarantee
    image_shape : tuple of int, or None
        (height, width) or (height, width, channels), if the features are pixels in this order.
    features : {"inputs", "scattering"}
        Whether the inputs are those above, or their wavelet features
        (:class:`~interpret_dp.released.scattering.Scattering`).
    background : float or None
        Value of a pixel where a picture shows nothing; None: the lower bound of each pixel.
    means : ndarray of float64, shape (n_inputs,), or None
        Released means of wavelet features; None for other inputs, and where they were not released.
    settings : mapping
        Settings of the training, as plain values.
    steps : mapping or None
        Noise multiplier, sampling rate and number of steps; None if nothing was trained.
    parameters : mapping
        Constructor parameters of the estimator, as far as JSON can hold them.

    Notes
    -----
    Harder, Bauer and Park (2020), equations 3 to 5.
    """

    schema: Schema
    centres: FloatArray
    spreads: FloatArray
    weights: FloatArray
    biases: FloatArray
    inverse_temperature: float
    classes: tuple[Any, ...]
    guarantee: Guarantee
    image_shape: tuple[int, ...] | None = None
    features: str = "inputs"
    background: float | None = None
    means: FloatArray | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    steps: Mapping[str, Any] | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        """Name what it is; the arrays are in its attributes."""
        n_classes, n_maps, n_inputs = self.weights.shape
        return (
            f"<LocallyLinearModel: {n_classes} classes of {n_maps} maps of {n_inputs} inputs, "
            f"{self.guarantee.brief}>"
        )

    def __post_init__(self) -> None:
        """Freeze the arrays and check that the parts fit together."""
        object.__setattr__(self, "classes", Categorical(self.classes).levels)
        for name in ("settings", "steps", "parameters"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, plain_values(name, getattr(self, name)))
        for name in ("n_rows", "batch_size"):
            if self.parameters.get(name) is not None:
                check_int(f"{name} of the fit", self.parameters[name], low=1, high=_MOST_ROWS)
        check_choice("features", self.features, ("inputs", "scattering"))
        n_features = len(self.schema.features)
        if self.image_shape is not None:
            given = check_sequence("image_shape", self.image_shape, "integers")
            lengths = tuple(check_int("a side in image_shape", side, low=1) for side in given)
            object.__setattr__(self, "image_shape", lengths)
            if len(lengths) not in (2, 3) or math.prod(lengths) != n_features:
                raise ValueError(
                    f"image_shape is {lengths} and there are {n_features} features; it must be "
                    "(height, width) or (height, width, channels) of as many pixels."
                )
        scattering = self.scattering
        n_inputs = sum(self.widths) if scattering is None else scattering.n_features
        shape = frozen(self.weights, None, "weights").shape
        if len(shape) != 3 or not shape[1]:
            allowed = "(n_classes, n_maps, n_inputs), with at least one map"
            raise ValueError(f"weights has shape {shape}; it must be {allowed}.")
        shapes = {
            "centres": (n_features,),
            "spreads": (n_features,),
            "weights": (len(self.classes), shape[1], n_inputs),
            "biases": (len(self.classes), shape[1]),
            "means": (n_inputs,),
        }
        for name, expected in shapes.items():
            largest = sys.float_info.max if name in ("centres", "spreads") else LARGEST_COUNT
            freeze(self, name, expected, name, order="C", largest=largest)
        if (self.spreads <= 0).any():
            raise ValueError("spreads must be above 0; 1 leaves a feature as it is.")
        name = "inverse_temperature"
        temperature = check_real(name, self.inverse_temperature, low=0, high=LARGEST_COUNT)
        object.__setattr__(self, name, temperature)
        if self.background is not None:
            object.__setattr__(self, "background", check_real("background", self.background))

    # ------------------------------------------------------------------------------- inputs

    @property
    def n_maps(self) -> int:
        """Maps of each class."""
        return int(self.weights.shape[1])

    @property
    def n_inputs(self) -> int:
        """Number of inputs."""
        return int(self.weights.shape[2])

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Name of each column."""
        return tuple(self.schema.features)

    @property
    def feature_types(self) -> tuple[str, ...]:
        """Type of each column in interpret's words: continuous, nominal or ordinal."""
        return tuple(interpret_type(spec) for spec in self.schema.features.values())

    @property
    def widths(self) -> tuple[int, ...]:
        """Inputs of each feature."""
        return tuple(
            len(level_labels(spec)) if isinstance(spec, Categorical) else 1
            for spec in self.schema.features.values()
        )

    @property
    def scattering(self) -> Scattering | None:
        """The wavelet features that the inputs are; None where they are columns or pixels."""
        if self.features != "scattering":
            return None
        if self.image_shape is None:
            raise ValueError("features is 'scattering' and image_shape is None; it must be given.")
        return Scattering(self.image_shape)

    @property
    def reference(self) -> FloatArray:
        """Inputs that explanations compare a row with, shape (n_inputs,).

        Those of a picture that is all background, and of a table the declared centres.
        """
        if not self.is_image or self.scattering is not None:
            return np.zeros(self.n_inputs)
        specs = self.schema.features.values()
        lower = np.array([getattr(spec, "lower", 0.0) for spec in specs])
        level = lower if self.background is None else self.background
        with np.errstate(over="ignore"):
            return np.clip((level - self.centres) / self.spreads, -_LARGEST, _LARGEST)

    @property
    def input_names(self) -> tuple[str, ...]:
        """Name of each input: that of its column, with the level for a categorical one."""
        if self.scattering is not None:
            return self.scattering.names
        names: list[str] = []
        for name, spec in self.schema.features.items():
            levels = level_labels(spec) if isinstance(spec, Categorical) else None
            names += [name] if levels is None else [f"{name}={level}" for level in levels]
        return tuple(names)

    def per_feature(self, values: ArrayLike) -> FloatArray:
        """Return one value an input, summed over each feature's, shape (n_features,).

        Those of wavelets are summed in each cell, and spread over the pixels of the cell.
        """
        if self.scattering is not None:
            return self.scattering.by_pixel(values)
        owners = np.repeat(np.arange(len(self.widths)), self.widths)
        sums = np.bincount(owners, np.asarray(values, dtype=np.float64), len(self.widths))
        return np.asarray(sums, dtype=np.float64)

    @property
    def is_image(self) -> bool:
        """Whether numbers of inputs can be drawn as pictures: inputs are pixels, or wavelets."""
        if self.image_shape is None:
            return False
        return self.features == "scattering" or math.prod(self.image_shape) == self.n_inputs

    def pixels(self, values: ArrayLike) -> FloatArray:
        """Return numbers of inputs as a picture, shape (height, width, n_channels).

        Raises
        ------
        ValueError
            If the inputs are no pixels.
        """
        if self.image_shape is None or not self.is_image:
            raise ValueError("The inputs of this model are no pixels; image_shape must say so.")
        height, width = self.image_shape[:2]
        pixels = values if self.scattering is None else self.scattering.by_pixel(values)
        return np.asarray(pixels, dtype=np.float64).reshape(height, width, -1)

    # -------------------------------------------------------------------------- predictions

    def map_values(self, inputs: ArrayLike) -> FloatArray:
        """Return what each map says, shape (n_rows, n_classes, n_maps).

        Parameters
        ----------
        inputs : array-like of float, shape (n_rows, n_inputs)
            Standardised.
        """
        rows = self._checked_inputs(inputs)
        values: FloatArray = rows @ self.weights.reshape(-1, self.n_inputs).T
        return values.reshape(-1, *self.biases.shape) + self.biases

    def map_shares(self, inputs: ArrayLike) -> FloatArray:
        """Return how much each map counts at each row, shape (n_rows, n_classes, n_maps)."""
        return softmax(self.inverse_temperature * self.map_values(inputs))

    def scores(self, inputs: ArrayLike) -> FloatArray:
        """Return the class scores of standardised inputs, shape (n_rows, n_classes)."""
        rows = self._checked_inputs(inputs)
        scores = np.empty((len(rows), len(self.classes)))
        for start in range(0, len(rows), _ROWS_AT_A_TIME):
            some = slice(start, start + _ROWS_AT_A_TIME)
            values = self.map_values(rows[some])
            scores[some] = (softmax(self.inverse_temperature * values) * values).sum(axis=2)
        return scores

    def predict_proba(self, inputs: ArrayLike) -> FloatArray:
        """Return class probabilities of standardised inputs, shape (n_rows, n_classes)."""
        return softmax(self.scores(inputs))

    def _checked_inputs(self, inputs: ArrayLike) -> FloatArray:
        rows = np.asarray(inputs, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != self.n_inputs:
            raise ValueError(
                f"inputs has shape {rows.shape}; it must be (n_rows, {self.n_inputs}): "
                "standardised numbers, and one column for each level of a categorical feature."
            )
        return rows

    # -------------------------------------------------------------------------------- files

    @property
    def digest(self) -> str:
        """SHA-256 of the canonical JSON document: the identity of the model.

        A file that ``save`` wrote holds it as its seal, and older files hold none.
        """
        return digest_of(self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """Return a document of plain JSON values; :meth:`from_dict` reads it.

        The weights, of which there may be a million, are written as the base64 of little-endian
        doubles, so that they come back bit by bit.
        """
        optional = {
            "features": None if self.features == "inputs" else self.features,
            "background": self.background,
            "means": None if self.means is None else _packed(self.means),
        }
        return {
            **{name: value for name, value in optional.items() if value is not None},
            "format": MAPS_FORMAT,
            "version": _VERSION,
            "schema": self.schema.to_dict(),
            "centres": self.centres.tolist(),
            "spreads": self.spreads.tolist(),
            "weights": _packed(self.weights),
            "biases": self.biases.tolist(),
            "inverse_temperature": self.inverse_temperature,
            "classes": list(self.classes),
            "image_shape": None if self.image_shape is None else list(self.image_shape),
            "guarantee": self.guarantee.to_dict(),
            "settings": dict(self.settings),
            "steps": None if self.steps is None else dict(self.steps),
            "parameters": dict(self.parameters),
        }

    @property
    def has_void_centre(self) -> bool:
        """Whether an older version centred rows of so many features that its sums overflowed."""
        given = self.settings.get("projection_dim")
        dimension = given if isinstance(given, int) and given else self.n_inputs
        return (
            self.guarantee.package_version is None
            and bool(self.settings.get("centring"))
            and dimension > MOST_CENTRED_BEFORE
        )

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> LocallyLinearModel:
        """Rebuild a model from its document.

        Warns
        -----
        PrivacyWarning
            If its promise turned out to be void after it was written; its guarantee says so.

        Raises
        ------
        ValueError
            If the document is of another format or version, was changed since it was sealed,
            lacks a part or has one too many, or its parts do not fit together.
        """
        accepted = MAPS_FORMAT, (_VERSION,), _KEYS, _MORE_KEYS
        content = open_document("model file", document, *accepted, writer="model.save(path)")
        with reading_parts("The model file", "Fit the model again, or restore the file."):
            means = content.get("means")
            model = cls(
                schema=Schema.from_dict(content["schema"]),
                weights=_unpacked("weights", content["weights"]),
                guarantee=Guarantee.from_dict(content["guarantee"]),
                means=None if means is None else _unpacked("means", means),
                **{key: content[key] for key in _PLAIN_KEYS if key in content},
            )
        if not model.has_void_centre:
            return model
        guarantee = model.guarantee
        others = [reason for reason in guarantee.failures if reason != VOID_CENTRE]
        guarantee = replace(guarantee, failures=(*others, VOID_CENTRE))
        mend = "Withdraw this model, and fit it again."
        warn_caller(f"{guarantee.state_sentence} {mend}", PrivacyWarning)
        return replace(model, guarantee=guarantee)


_PACKED_KEYS = {"shape": "list of integers", "float64": "text"}


def _packed(values: FloatArray) -> dict[str, Any]:
    packed = base64.b64encode(values.astype("<f8").tobytes()).decode("ascii")
    return {"shape": list(values.shape), "float64": packed}


def _unpacked(what: str, document: Mapping[str, Any]) -> FloatArray:
    check_keys(f"{what} of the model file", document, _PACKED_KEYS)
    shape = tuple(document["shape"])
    try:
        packed = base64.b64decode(document["float64"], validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValueError(f"{what} of the model file are no base64: {error}.") from error
    if any(length < 0 for length in shape) or len(packed) != 8 * math.prod(shape):
        raise ValueError(
            f"{what} of the model file are {len(packed):,} bytes; their shape {shape} needs "
            f"{8 * math.prod(shape):,}. Restore the file."
        )
    return np.frombuffer(packed, dtype="<f8").reshape(shape)
