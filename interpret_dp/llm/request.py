"""Checks of a DP-LLM fit and its plan, and the standardised inputs."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from interpret_dp._validate import check_choice, check_flag, check_int, check_real
from interpret_dp.accounting.composition import GdpPair, compose_repeated, gaussian_part
from interpret_dp.accounting.events import SMALLEST_OWN_DELTA, calibrated_noise
from interpret_dp.accounting.gaussian import mu_of_budget
from interpret_dp.accounting.lattice import ADD_OR_REMOVE_ONE
from interpret_dp.accounting.plans import PlannedRelease, PlannedSampling, ReleasePlan
from interpret_dp.exceptions import SchemaError
from interpret_dp.fitting.account import checked_budget, neighbourhood_of
from interpret_dp.fitting.declaring import Declared, DeclaringTask
from interpret_dp.fitting.estimator import EstimatorSettings, FitRequest, open_data
from interpret_dp.llm import config
from interpret_dp.llm.config import TrainingSettings
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
from interpret_dp.schema.containers import kind_of, kinds_of
from interpret_dp.schema.declarations import SYMLOG_UNIT
from interpret_dp.schema.partial import partial_schema_from_arguments

# Table to standardised inputs, by public constants alone: a row decides its own inputs only.

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


CENTRE = "mean of the inputs"
COUNT = "number of rows"
GRADIENTS = "gradients"
"""Names of the releases."""

# Right to some twenty rows at epsilon 2 (delta 1e-5), for half a percent of mu squared.
_COUNT_SHARE = 0.005
# The pair's own delta: where the noise that is needed is about least, from epsilon 0.5 to 8.
_OWN_DELTA_SHARE = 0.1
_RULE = "None leaves it to the rule."
_LIMITS: dict[str, dict[str, Any]] = {
    "inverse_temperature": {"low": 1e-9, "high": 1e9},
    "epochs": {"low": 1e-9, "high": 1e9},
    "learning_rate": {"low": 1e-9, "high": 1e9},
    "clip_norm": {"low": 1e-9, "high": 1e9},
    "smoothing": {"low": 0, "high": 1e4},
    "averaging": {"low": 0, "high": 1, "high_open": True},
    "centring": {"low": 0, "high": 0.5, "mend": "0.01 is usual; 0: none."},
}
"""Limits of the real parameters, as :func:`check_real` takes them."""


@dataclass(frozen=True, kw_only=True)
class MapsSettings(EstimatorSettings):
    """Parameters of an estimator, as it was given them; :func:`open_request` checks them.

    Attributes
    ----------
    n_maps, ...
        As :class:`~interpret_dp.llm.estimator.DPLocallyLinearClassifier` names them, with its
        defaults.
    """

    task: str = "classification"
    n_maps: int | None = None
    projection_dim: int | None = None
    inverse_temperature: float | None = None
    batch_size: int | None = None
    sampling_rate: float | None = None
    epochs: float | None = None
    learning_rate: float | None = None
    clip_norm: float | None = None
    averaging: float | None = None
    projection: str | None = None
    smoothing: float | None = None
    centring: float | None = None
    image_shape: Sequence[int] | None = None
    standardize: Standards = None
    n_rows: int | None = None
    engine: str = "closed_form"
    keep_on_interrupt: bool = False
    features: str = "inputs"
    background: float | None = None


@dataclass(frozen=True, kw_only=True)
class MapsRequest(FitRequest):
    """A checked fit of a DP-LLM.

    Attributes
    ----------
    settings : MapsSettings
    coding : InputCoding
        Of the features of the schema.
    config : TrainingSettings
    batch_size : int or None
        Expected rows of a sample, where the rate follows from a number of rows.
    image_shape : tuple of int, or None
    """

    settings: MapsSettings
    coding: InputCoding
    config: TrainingSettings
    batch_size: int | None
    image_shape: tuple[int, ...] | None

    @property
    def training(self) -> PlannedSampling:
        """The part of the plan that the training is."""
        (part,) = (part for part in self.plan.releases if isinstance(part, PlannedSampling))
        return part

    def completed(self, declared: Declared) -> MapsRequest:
        """Return the request with what was found out inside the session."""
        coding = _coding(self.settings, declared.schema, self.image_shape)
        own = training_settings(self.settings, coding, self.image_shape)
        # The number of steps was planned with these epochs.
        own = dataclasses.replace(own, epochs=self.config.epochs)
        return dataclasses.replace(self, schema=declared.schema, coding=coding, config=own)


def flat_rows(X: Any, image_shape: Sequence[int] | None) -> tuple[Any, tuple[int, ...] | None]:
    """Return arrays of images as rows of pixels, and the shape of an image.

    Parameters
    ----------
    X : array-like or tensor of torch
        Of shape (n_rows, *image_shape), or a table.
    image_shape : sequence of int, or None
        None: that of ``X`` if it has more than two dimensions.

    Raises
    ------
    TypeError, ValueError
        If the shape is of another form, or ``X`` does not have it.
    """
    shape = None if image_shape is None else _checked_shape("image_shape", image_shape)
    if hasattr(X, "detach"):
        X = X.detach().cpu()
        # NumPy has no such type.
        X = X.float() if str(X.dtype) == "torch.bfloat16" else X
    if not hasattr(X, "__array__") or getattr(X, "ndim", 0) <= 2:
        return X, shape
    X = np.asarray(X)
    array_shape = _checked_shape("The shape of the images in X", X.shape[1:])
    if shape is not None and array_shape != shape:
        raise ValueError(
            f"X has images of shape {array_shape}, and image_shape is {shape}; they must agree. "
            "Leave image_shape out for an array of images."
        )
    return X.reshape(len(X), math.prod(array_shape)), array_shape


def _checked_shape(what: str, shape: Any) -> tuple[int, ...]:
    if not isinstance(shape, Sequence) or isinstance(shape, str) or not 2 <= len(shape) <= 3:
        raise TypeError(
            f"{what} is {shape!r}; it must be (height, width) or (height, width, channels), such "
            "as (28, 28)."
        )
    return tuple(check_int(f"Each length in {what}", length, low=1) for length in shape)


def open_request(settings: MapsSettings, X: Any, y: Any, *, unit: Any = None) -> MapsRequest:
    """Check an estimator's parameters and the form of the data, never a value in a row.

    Raises
    ------
    TypeError, ValueError, SchemaError, LedgerError
        If a parameter, the table's form or the declaration is wrong. Nothing was spent.
    """
    least = 2 * SMALLEST_OWN_DELTA
    epsilon, delta = checked_budget(settings.epsilon, settings.delta, least_delta=least)
    _check_choices(settings)
    flat, image_shape = flat_rows(X, settings.image_shape)
    data = open_data(settings, flat, y, unit=unit, reads_dask=False)
    table = data.rows.table
    names = table.names
    if image_shape is not None and math.prod(image_shape) != len(names):
        raise ValueError(
            f"image_shape is {image_shape}, which is {math.prod(image_shape)} pixels, and X has "
            f"{len(names)} columns; they must agree."
        )
    partial = partial_schema_from_arguments(
        names,
        kinds_of(table),
        kind_of(data.rows.y),
        schema=settings.schema,
        classes=settings.classes,
        task=settings.task,
    )
    declaring = DeclaringTask(partial, names, names)
    schema = declaring.without_rows()
    _check_background(settings.background, image_shape, None if declaring.is_needed else schema)
    coding = _coding(settings, schema, image_shape)
    own = training_settings(settings, coding, image_shape)
    batch_size, rate = _sampling(settings, own)
    return MapsRequest.opened_for(
        settings,
        unit,
        declaring=declaring,
        plan=_plan(epsilon, delta, declaring, own, rate),
        neighbourhood=neighbourhood_of(ADD_OR_REMOVE_ONE, data.privacy_unit),
        rows=data.rows,
        epsilon=epsilon,
        delta=delta,
        coding=coding,
        config=own,
        batch_size=batch_size,
        image_shape=image_shape,
    )


def _check_choices(settings: MapsSettings) -> None:
    check_choice(
        "engine",
        settings.engine,
        ("closed_form", "opacus"),
        mend="'closed_form' is the fast one; 'opacus' is there to compare with.",
    )
    check_choice("features", settings.features, ("inputs", "scattering"))
    if settings.features == "scattering":
        for name in ("standardize", "projection", "projection_dim", "smoothing"):
            value = getattr(settings, name)
            if value is not None:
                raise ValueError(
                    f"{name} is {value!r}, and features is 'scattering': wavelet features are "
                    f"scaled and smooth by themselves. {name} must be None, or features 'inputs'."
                )
    for name in ("keep_on_interrupt", "verbose"):
        check_flag(name, getattr(settings, name))


def _check_background(
    background: Any, image_shape: tuple[int, ...] | None, schema: Schema | None
) -> None:
    """Refuse a background outside the bounds of pixels, as far as they are declared."""
    if background is None:
        return
    if image_shape is None:
        raise ValueError(
            f"background is {background!r}, and rows are no images; it must be None. Give "
            "image_shape if columns are the pixels of images."
        )
    mend = "None is the lower bound of each pixel."
    check_real("background", background, mend=mend)
    for spec in () if schema is None else schema.features.values():
        if isinstance(spec, Continuous):
            check_real("background", background, low=spec.lower, high=spec.upper, mend=mend)


def _coding(
    parameters: MapsSettings, schema: Schema, image_shape: tuple[int, ...] | None
) -> InputCoding:
    """Return the coding of a complete schema that the estimator's parameters ask for."""
    if parameters.features == "scattering":
        return scattering_coding(schema, image_shape, parameters.background)
    return input_coding(schema, parameters.standardize)


def training_settings(
    parameters: MapsSettings, coding: InputCoding, image_shape: tuple[int, ...] | None
) -> TrainingSettings:
    """Return the rule's settings with those that the estimator's parameters fix."""
    n_rows = _declared_rows(parameters)
    signal = None if n_rows is None else float(parameters.epsilon) * n_rows
    if coding.scattering is not None:
        settings = config.scattering_settings(coding.n_inputs)
    else:
        settings = config.default_settings(coding.n_inputs, image_shape, coding.n_varying, signal)
    given: dict[str, Any] = {}
    if parameters.n_maps is not None:
        given["n_maps"] = check_int("n_maps", parameters.n_maps, low=1, high=10_000, mend=_RULE)
    if parameters.projection_dim is not None:
        mend = "0 is for no projection, None for the rule."
        dimension = check_int("projection_dim", parameters.projection_dim, low=0, mend=mend)
        given["projection_dim"] = min(dimension, coding.n_inputs) or None
    for name, limits in _LIMITS.items():
        value = getattr(parameters, name)
        if value is not None:
            given[name] = check_real(name, value, **{"mend": _RULE, **limits})
    if parameters.projection is not None:
        given["projection"] = check_choice(
            "projection", parameters.projection, ("cosine", "gaussian", "orthonormal"), mend=_RULE
        )
    if image_shape is None and given.get("smoothing", 0) > 0:
        raise ValueError(
            f"smoothing is {parameters.smoothing!r}, and rows are no images; it must be 0 or "
            "None. Give image_shape if columns are the pixels of images."
        )
    if image_shape is None and given.get("projection") == "cosine":
        raise ValueError(
            "projection is 'cosine', and rows are no images; it must be 'gaussian', "
            "'orthonormal' or None. Give image_shape if columns are the pixels of images."
        )
    settings = dataclasses.replace(settings, **given)
    most = config.MOST_INPUTS if settings.shares_features else config.MOST_PROJECTED
    if coding.n_inputs > most:
        kind, mend = "", "Leave out columns or levels."
        if not settings.shares_features:
            kind, mend = "random projections of ", "Set projection_dim=0."
        raise ValueError(
            f"There are {kind}{coding.n_inputs} inputs; at most {most} can be summed exactly. "
            f"{mend}"
        )
    if settings.centring == 0 or settings.shares_features:
        return settings
    # Each map sees a row by features of its own.
    if "centring" in given:
        raise ValueError(
            f"centring is {settings.centring!r}, and each map has a random projection of its own; "
            "it must be 0 or None. Centring needs projection='cosine', or projection_dim=0."
        )
    return dataclasses.replace(settings, centring=0.0)


def _declared_rows(parameters: MapsSettings) -> int | None:
    if parameters.n_rows is None:
        return None
    return check_int(
        "n_rows", parameters.n_rows, low=1, high=10**15, mend="None if it is not public."
    )


def _sampling(
    parameters: MapsSettings, settings: TrainingSettings
) -> tuple[int | None, float | None]:
    """Return the batch size and the sampling rate, as far as they are public."""
    declared = _declared_rows(parameters)
    if parameters.batch_size is None:
        rate = parameters.sampling_rate
        if rate is None:
            return None, settings.sampling_rate
        return None, check_real("sampling_rate", rate, low=1e-6, high=1, mend=_RULE)
    if parameters.sampling_rate is not None:
        raise ValueError(
            f"batch_size is {parameters.batch_size!r} and sampling_rate is "
            f"{parameters.sampling_rate!r}; give one of them. The rate needs no number of rows."
        )
    batch_size = check_int("batch_size", parameters.batch_size, low=1, mend=_RULE)
    return batch_size, None if declared is None else min(1.0, batch_size / declared)


def _plan(
    epsilon: float,
    delta: float,
    declaring: DeclaringTask,
    settings: TrainingSettings,
    rate: float | None,
) -> ReleasePlan:
    """Split the budget over undeclared parts, the number of rows and the training."""
    sampling_delta = max(_OWN_DELTA_SHARE * delta, SMALLEST_OWN_DELTA)
    selections = [(GdpPair(0.0, part.delta), part.count) for part in declaring.plan(1.0, delta)]
    used_delta = compose_repeated([*selections, (GdpPair(0.0, sampling_delta), 1)]).delta
    mu = mu_of_budget(epsilon, gaussian_part(delta, used_delta))
    others = list(declaring.plan(mu, delta))
    if rate is None:
        others.append(PlannedRelease(COUNT, mu * math.sqrt(_COUNT_SHARE), 1))
    if settings.centring > 0:
        others.append(PlannedRelease(CENTRE, mu * math.sqrt(settings.centring), 1))
    training_mu = math.sqrt(mu**2 - sum(part.count * part.mu**2 for part in others))
    if rate is None:
        # The count will decide on rate and steps, and by then it is paid for. So the most noise
        # that any rate asks for, that of rate 1 and a step more, must fit, with room of a factor 2.
        calibrated_noise(training_mu / 2, sampling_delta, 1.0, settings.n_steps(1.0) + 1)
        training = PlannedSampling(GRADIENTS, training_mu, sampling_delta)
    else:
        training = PlannedSampling.calibrated(
            GRADIENTS, training_mu, sampling_delta, probability=rate, count=settings.n_steps(rate)
        )
    return ReleasePlan((*others, training))


def in_class_order(target: Any) -> Categorical:
    """Return the labels in scikit-learn's order, numbers before texts."""
    if not isinstance(target, Categorical):
        raise TypeError(f"The target is {target!r}; a classifier needs class labels.")
    return Categorical(sorted(target.levels, key=lambda label: (isinstance(label, str), label)))
