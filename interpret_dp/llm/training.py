"""One DP-LLM training: sums of clipped gradients are released, and Adam follows them.

Everything after the release is post-processing: Adam, the decay of its rate, the running average,
the temperature of the scores and the weights that an interruption leaves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from interpret_dp.fitting.progress import progress
from interpret_dp.llm.calibration import temperature
from interpret_dp.llm.config import TrainingSettings
from interpret_dp.llm.features import (
    Frame,
    projected_features,
    public_projections,
    released_frame,
)
from interpret_dp.llm.gradients import ClosedForm
from interpret_dp.llm.integers import TrainingRows
from interpret_dp.llm.request import GRADIENTS
from interpret_dp.release import ReleaseSession, SampledSteps

if TYPE_CHECKING:
    from interpret_dp.llm.opacus_engine import OpacusSums

# Kingma and Ba's own constants; the last keeps a division by zero away.
_FIRST_MOMENT, _SECOND_MOMENT, _TINY = 0.9, 0.999, 1e-8


@dataclass(frozen=True)
class TrainedMaps:
    """Released result of a training; public.

    Attributes
    ----------
    weights : ndarray of float64, shape (n_classes, n_maps, n_inputs)
        Of the standardised inputs: centring and projections are multiplied out, and all scores are
        divided by a temperature.
    biases : ndarray of float64, shape (n_classes, n_maps)
    inverse_temperature : float
        Of the softmax over a class's maps: shares are those of the training.
    steps_begun : int
        Fewer than planned after an interruption.
    interrupted : bool
    is_narrow : bool
        Whether the released spread says that values fill little of their declared bounds.
    means : ndarray of float64, shape (n_inputs,), or None
        Means of the inputs, where they are what was centred; shrunk.
    noise : float
        Standard deviation of the noise of each mean, before it was shrunk.
    signal_share : float
        What the means were shrunk by.
    """

    weights: NDArray[np.float64]
    biases: NDArray[np.float64]
    inverse_temperature: float
    steps_begun: int
    interrupted: bool
    is_narrow: bool
    means: NDArray[np.float64] | None
    noise: float
    signal_share: float


class Training:
    """A training on encoded private rows; everything that leaves them passes ``session``.

    Parameters
    ----------
    inputs : ndarray of float32, shape (n_rows, n_inputs)
        Private.
    classes : ndarray of int16, shape (n_rows,)
        Private; -1 for rows without a declared label, which add nothing.
    n_classes : int
    settings : TrainingSettings
    steps : SampledSteps
        As the session's plan has them under ``GRADIENTS``.
    session : ReleaseSession
        Open.
    image_shape : tuple of int, or None
        Of the rows, if they are images.
    engine : {"closed_form", "opacus"}

    Notes
    -----
    Harder, Bauer and Park (2020), Algorithm 1, with Poisson samples. The noisy sum is divided by
    the noise's own deviation, which is public: Adam's step does not depend on such a factor, so
    that no number of rows is needed.
    """

    def __init__(
        self,
        inputs: NDArray[np.float32],
        classes: NDArray[np.int16],
        n_classes: int,
        settings: TrainingSettings,
        steps: SampledSteps,
        session: ReleaseSession,
        *,
        image_shape: tuple[int, ...] | None,
        engine: str,
    ) -> None:
        rows = TrainingRows(inputs, classes.astype(np.int64))
        start = _start(inputs.shape[1], n_classes, settings, image_shape, session.public_choices)
        projections, self._frame = start.projections, None
        if settings.shares_features:
            rows, self._frame = _shared_features(rows, projections, settings, session)
            projections = None
        self._sums = _engine(engine, rows, projections, settings, len(start.parameters))
        self._adam = _Adam(start.parameters, settings.averaging)
        self._start, self._settings, self._steps, self._session = start, settings, steps, session
        self._n_rows = len(inputs)
        self._steps_begun = 0

    def run(self, *, verbose: bool) -> TrainedMaps:
        """Take all steps; an interruption ends them early.

        Parameters
        ----------
        verbose : bool
            Show steps and time, never a loss.
        """
        interrupted = False
        try:
            for _ in progress(
                range(self._steps.count), verbose=verbose, unit="step", desc="DP-LLM"
            ):
                self.step()
        except KeyboardInterrupt:
            # No private number was shown, so that the moment of the interruption is public.
            interrupted = True
        return self._released(interrupted=interrupted)

    def _released(self, *, interrupted: bool) -> TrainedMaps:
        start, settings = self._start, self._settings
        weights, biases = start.split(self._adam.average)
        scale = 1.0
        # Pixels alone, where all maps share one centred projection. Otherwise the length of rows in
        # training is unknown; on tables clipping hardly distorts the scores; and on wavelets
        # training ends before it is at rest.
        if self._frame is not None and start.projections is not None:
            scale = temperature(weights, biases, settings, self._session.public_choices)
        weights, biases = start.maps(weights / scale, biases / scale, self._frame)
        shares_at = settings.inverse_temperature * scale
        means, frame = None, self._frame
        of_means = (False, 0.0, 0.0)
        if frame is not None:
            of_means = frame.is_narrow, frame.noise, frame.signal_share
            means = frame.centre if start.projections is None else None
        is_narrow, *rest = of_means
        begun = self._steps_begun
        return TrainedMaps(weights, biases, shares_at, begun, interrupted, is_narrow, means, *rest)

    def step(self) -> None:
        """Release the sum of one sample and follow it."""
        step = self._steps_begun
        # A step counts from its beginning: an interruption may come after its noise.
        self._steps_begun += 1
        rate = self._settings.learning_rate_at(step, self._steps.count)
        self._adam.update(self._release(), rate)

    def _release(self) -> NDArray[np.float32]:
        """Release one step's sum, in units of its noise."""
        parameters, shape = self._adam.parameters, self._start.shape
        n_weights = math.prod(shape)
        weights = parameters[:n_weights].reshape(shape)
        biases = parameters[n_weights:].reshape(shape[:2])

        def exact(positions: NDArray[np.int64]) -> NDArray[np.int64]:
            return self._sums.lattice_sum(weights, biases, positions)

        noisy, sigma = self._session.sampled_gaussian(
            GRADIENTS, self._n_rows, exact, row_norm=self._sums.row_norm
        )
        return (noisy / sigma).astype(np.float32)


def _shared_features(
    rows: TrainingRows,
    projections: NDArray[np.float32] | None,
    settings: TrainingSettings,
    session: ReleaseSession,
) -> tuple[TrainingRows, Frame | None]:
    """Return rows of what all maps see, and the frame in which training sees it."""
    projection = None if projections is None else projections[0]
    inputs = rows.inputs
    features = inputs if projection is None else projected_features(inputs, projection)
    frame = None
    if settings.centring > 0:
        frame = released_frame(
            features, projection, settings.n_columns, session, length=settings.feature_length
        )
        features = (features - frame.centre.astype(np.float32)) * np.float32(frame.scale)
    return TrainingRows(features, rows.classes), frame


def _engine(
    name: str,
    rows: TrainingRows,
    projections: NDArray[np.float32] | None,
    settings: TrainingSettings,
    n_parameters: int,
) -> ClosedForm | OpacusSums:
    arguments = (rows, projections, settings.inverse_temperature, settings.clip_norm)
    if name == "opacus":
        from interpret_dp.llm.opacus_engine import OpacusSums

        return OpacusSums(*arguments, n_parameters=n_parameters)
    return ClosedForm(*arguments)


@dataclass(frozen=True)
class _Start:
    """Start of training; drawn from public randomness.

    ``shape`` is (n_maps, n_classes, dimension), that of the weights before projection.
    """

    parameters: NDArray[np.float32]
    shape: tuple[int, int, int]
    projections: NDArray[np.float32] | None

    def split(
        self, parameters: NDArray[np.float32]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return weights and biases of the maps, as trained."""
        n_weights = math.prod(self.shape)
        weights = parameters[:n_weights].reshape(self.shape).astype(np.float64)
        return weights, parameters[n_weights:].reshape(self.shape[:2]).astype(np.float64)

    def maps(
        self, weights: NDArray[np.float64], biases: NDArray[np.float64], frame: Frame | None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return weights and biases, with the frame and the projections multiplied out."""
        if frame is not None:
            weights, biases = frame.undone(weights, biases)
        if self.projections is not None:
            weights = weights @ self.projections.astype(np.float64)
        # What all classes have in common changes no probability, and a class's contributions
        # would be explained by it.
        weights = weights - weights.mean(axis=(0, 1))
        biases = biases - biases.mean()
        return np.ascontiguousarray(weights.transpose(1, 0, 2)), np.ascontiguousarray(biases.T)


def _start(
    n_inputs: int,
    n_classes: int,
    settings: TrainingSettings,
    image_shape: tuple[int, ...] | None,
    public: np.random.Generator,
) -> _Start:
    """Draw projections and first weights.

    The scales, which the paper leaves out, decide whether it learns at all: entries of the
    projections have variance 1/2, and weights are uniform within 1 / sqrt((dimension + 1) K).
    """
    projections = public_projections(n_inputs, settings, image_shape, public)
    dimension = n_inputs if projections is None else projections.shape[1]
    shape = (settings.n_maps, n_classes, dimension)
    limit = 1.0 / np.sqrt((dimension + 1) * n_classes)
    size = math.prod(shape) + settings.n_maps * n_classes
    parameters = public.uniform(-limit, limit, size=size).astype(np.float32)
    return _Start(parameters, shape, projections)


class _Adam:
    """Adam and the running average of its weights; post-processing of released gradients."""

    def __init__(self, parameters: NDArray[np.float32], averaging: float) -> None:
        self.parameters, self.average = parameters.copy(), parameters.copy()
        self._averaging = averaging
        self._first, self._second = np.zeros_like(parameters), np.zeros_like(parameters)
        self._count = 0

    def update(self, gradient: NDArray[np.float32], learning_rate: float) -> None:
        """Take one step."""
        self._count += 1
        self._first += (1.0 - _FIRST_MOMENT) * (gradient - self._first)
        self._second += (1.0 - _SECOND_MOMENT) * (np.square(gradient) - self._second)
        scale = np.sqrt(self._second / (1.0 - _SECOND_MOMENT**self._count)) + _TINY
        rate = learning_rate / (1.0 - _FIRST_MOMENT**self._count)
        self.parameters -= rate * self._first / scale
        self.average += (1.0 - self._averaging) * (self.parameters - self.average)
