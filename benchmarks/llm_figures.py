"""DP-LLM on MNIST, as figures 5 and 6 of Harder, Bauer and Park (2020) have it.

``python -m benchmarks.llm_figures epsilon`` draws accuracy against epsilon (figure 5), ``maps`` and
``dimension`` against the number of maps and of projected dimensions (figure 5), each with privacy
(epsilon 2, delta 1e-5) and without. What two studies share is fitted once. Two models are compared:
that of the default rule, and the paper's with random Gaussian projections of each map and no
centre. Accuracy is that on the test part; no setting is chosen by it. By default it is one pass for
a laptop's processor (fewer points, runs and epochs); ``--full`` takes the paper's 30 epochs, five
runs and every point.

Without privacy the package fits nothing. MNIST is public, so that the same trainer runs here behind
a session that adds no noise.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.llm_mnist import DELTA, SCHEMA, STANDARDS, load_mnist
from benchmarks.report import Report, drawing
from interpret_dp import Continuous, DPLocallyLinearClassifier, Schema
from interpret_dp.accounting.plans import SampledSteps
from interpret_dp.llm.config import TrainingSettings
from interpret_dp.llm.request import MapsSettings, input_coding, training_settings
from interpret_dp.llm.training import TrainedMaps, Training

__all__ = ["Noiseless", "accuracy", "class_scores", "main"]

_IMAGE = (28, 28)
_N_PIXELS = 784
_CODING = input_coding(
    Schema({f"pixel {i}": Continuous(0, 255) for i in range(_N_PIXELS)}, target=SCHEMA.target),
    STANDARDS,
)
_PAPER = {
    "projection": "gaussian",
    "projection_dim": 300,
    "smoothing": 0.0,
    "sampling_rate": 1 / 30,
    "learning_rate": 2e-3,
}
_COLOURS = {"the rule": "#14609c", "the paper's": "#d9480f"}
_EPSILON = 2.0


@dataclass(frozen=True)
class Effort:
    """How much is computed.

    Attributes
    ----------
    runs : int
        Fits of each point.
    paper_epochs : float
        Of the paper's model.
    epsilons, maps, dimensions : tuple
        Points of the rule's curves; dimension 0 is no projection.
    paper_epsilons, paper_maps, paper_dimensions : tuple
        Those of the paper's model, which costs more.
    """

    runs: int
    paper_epochs: float
    epsilons: tuple[float, ...]
    maps: tuple[int, ...]
    dimensions: tuple[int, ...]
    paper_epsilons: tuple[float, ...]
    paper_maps: tuple[int, ...]
    paper_dimensions: tuple[int, ...]


_EPSILONS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, np.inf)
_MAPS = (1, 3, 10, 30, 60)
_DIMENSIONS = (10, 30, 60, 100, 200, 300, 0)
_LAPTOP = Effort(
    runs=1,
    paper_epochs=10.0,
    epsilons=_EPSILONS,
    maps=_MAPS,
    dimensions=(10, 30, 100, 300),
    paper_epsilons=(0.5, 2.0, np.inf),
    paper_maps=(1, 30),
    paper_dimensions=(100, 300),
)
_FULL = Effort(5, 30.0, _EPSILONS, _MAPS, _DIMENSIONS, _EPSILONS, _MAPS, _DIMENSIONS[1:])


def class_scores(
    maps: TrainedMaps, settings: TrainingSettings, inputs: NDArray[Any]
) -> NDArray[Any]:
    """Return the class scores of public inputs, shape (n_rows, n_classes)."""
    values = np.tensordot(inputs, maps.weights, axes=(1, 2)) + maps.biases
    powers = np.exp(settings.inverse_temperature * (values - values.max(axis=2, keepdims=True)))
    return np.asarray((powers * values).sum(axis=2) / powers.sum(axis=2))


class Noiseless:
    """Stands in for the session on public rows: exact sums of Poisson samples.

    Parameters
    ----------
    probability : float
        With which a row is in a sample.
    seed : int
    """

    def __init__(self, probability: float, seed: int) -> None:
        self.public_choices = np.random.default_rng(seed)
        self._probability = probability

    def gaussian(
        self, name: str, exact: NDArray[np.int64], *, row_norm: int, aligned: bool
    ) -> tuple[NDArray[np.int64], float]:
        """Return the sums as they are."""
        return exact, 1.0

    def sampled_gaussian(
        self,
        name: str,
        n_rows: int,
        sums: Callable[[NDArray[np.int64]], NDArray[np.int64]],
        *,
        row_norm: int,
    ) -> tuple[NDArray[np.int64], float]:
        """Return the sums of a sample, and what one row adds at most."""
        drawn = self.public_choices.random(n_rows) < self._probability
        return sums(np.flatnonzero(drawn)), float(row_norm)


def accuracy(
    epsilon: float,
    parameters: dict[str, Any],
    data: Sequence[Any],
    seed: int,
) -> float:
    """Return the accuracy on the test part, in percent, of one fit.

    Parameters
    ----------
    epsilon : float
        Infinite: without privacy.
    parameters : dict
        Of the classifier.
    data : sequence
        Images and labels to train on and to score on.
    seed : int
        Of what is drawn without privacy; noise that protects has none.
    """
    X, y, X_test, y_test = data
    model = DPLocallyLinearClassifier(
        epsilon=_EPSILON if np.isinf(epsilon) else epsilon,
        delta=DELTA,
        schema=SCHEMA,
        standardize=STANDARDS,
        **parameters,
    )
    if np.isfinite(epsilon):
        return 100 * float(model.fit(X, y).score(X_test, y_test))
    settings = training_settings(MapsSettings.of(model), _CODING, _IMAGE)
    rate = parameters.get("sampling_rate", settings.sampling_rate)
    steps = SampledSteps(1.0, rate, settings.n_steps(rate))
    session: Any = Noiseless(rate, seed)
    training = Training(
        _inputs(X),
        y.astype(np.int16),
        10,
        settings,
        steps,
        session,
        image_shape=_IMAGE,
        engine="closed_form",
    )
    return 100 * float(
        (
            class_scores(training.run(verbose=False), settings, _inputs(X_test)).argmax(axis=1)
            == y_test
        ).mean()
    )


def _inputs(X: NDArray[Any]) -> NDArray[np.float32]:
    centre, spread = STANDARDS
    return ((X.reshape(len(X), -1) - centre) / spread).astype(np.float32)


class Study:
    """Fits of both models, as rows of a table.

    Parameters
    ----------
    effort : Effort
    """

    def __init__(self, effort: Effort) -> None:
        self.effort = effort
        self._data = load_mnist(split=False)
        self._known: dict[Any, list[float]] = {}

    def measured(
        self, model: str, name: str, value: float, epsilon: float, **changes: Any
    ) -> dict[str, Any]:
        """Return mean and deviation of some fits, as a row."""
        parameters: dict[str, Any] = {}
        if model == "the paper's":
            parameters = {**_PAPER, "epochs": self.effort.paper_epochs}
        parameters |= changes
        found = self._accuracies(epsilon, parameters)
        row = {"projections": model, name: value, "private": bool(np.isfinite(epsilon))}
        row |= {"accuracy, %": float(np.mean(found))}
        if len(found) > 1:
            row |= {"deviation": float(np.std(found, ddof=1))}
        print(row, flush=True)
        return row

    def _accuracies(self, epsilon: float, parameters: dict[str, Any]) -> list[float]:
        """Return the accuracy of each run; what was fitted before is not fitted again."""
        settings = training_settings(MapsSettings(**parameters), _CODING, _IMAGE)
        key = (epsilon, settings, parameters.get("sampling_rate"))
        if key not in self._known:
            self._known[key] = [
                accuracy(epsilon, parameters, self._data, seed) for seed in range(self.effort.runs)
            ]
        return self._known[key]


def _of_epsilon(study: Study) -> list[dict[str, Any]]:
    points = {"the rule": study.effort.epsilons, "the paper's": study.effort.paper_epsilons}
    rows = [
        study.measured(model, "epsilon", epsilon, epsilon)
        for model, epsilons in points.items()
        for epsilon in epsilons
    ]
    return rows


def _of_maps(study: Study) -> list[dict[str, Any]]:
    points = {"the rule": study.effort.maps, "the paper's": study.effort.paper_maps}
    rows = [
        study.measured(model, "maps", n_maps, epsilon, n_maps=n_maps)
        for model, maps in points.items()
        for n_maps in maps
        for epsilon in (_EPSILON, np.inf)
    ]
    return rows


def _of_dimension(study: Study) -> list[dict[str, Any]]:
    points = {"the rule": study.effort.dimensions, "the paper's": study.effort.paper_dimensions}
    rows = [
        study.measured(
            model,
            "dimension",
            dimension or _N_PIXELS,
            epsilon,
            projection_dim=dimension,
        )
        for model, dimensions in points.items()
        for dimension in dimensions
        for epsilon in (_EPSILON, np.inf)
    ]
    return rows


_STUDIES = {
    "epsilon": (_of_epsilon, "Accuracy against epsilon (figure 5)"),
    "maps": (_of_maps, "Accuracy against the number of maps (figure 5)"),
    "dimension": (_of_dimension, "Accuracy against the dimension of projections (figure 5)"),
}


def _draw(report: Report, name: str, frame: pd.DataFrame) -> None:
    with drawing(f"llm_{name}", 1, width=5.6) as (axis,):
        for (model, private), part in frame.groupby(["projections", "private"], sort=False):
            colour = _COLOURS[str(model)]
            label = f"{model}, {'private' if private else 'not private'}"
            part = part.sort_values(name)
            shown = part["accuracy, %"]
            if name == "epsilon" and not private:
                axis.axhline(float(shown.iloc[0]), color=colour, linestyle="--", label=label)
                continue
            style = {"marker": "o", "linestyle": "-" if private else "--"}
            axis.plot(part[name], shown, color=colour, label=label, **style)
        axis.set_xscale("log")
        ticks = sorted({value for value in frame[name] if np.isfinite(value)})
        axis.set_xticks(ticks, [f"{value:g}" for value in ticks])
        axis.minorticks_off()
        axis.set_xlabel(name)
        axis.set_ylabel("test accuracy, %")
        axis.grid(alpha=0.3)
        axis.legend(frameon=False, fontsize=8)


def main() -> None:
    """Run some studies, print their tables and write them and their figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("studies", choices=tuple(_STUDIES), nargs="+")
    parser.add_argument("--full", action="store_true", help="every point, five runs, 30 epochs")
    parser.add_argument("--quick", action="store_true", help="two points; nothing is written")
    asked = parser.parse_args()
    effort = _FULL if asked.full else _LAPTOP
    if asked.quick:
        two: dict[str, Any] = {"epsilons": (2.0, np.inf), "maps": (1,), "dimensions": (10,)}
        two |= {"paper_epsilons": (), "paper_maps": (), "paper_dimensions": ()}
        effort = dataclasses.replace(effort, runs=1, **two)
    study = Study(effort)
    for name in asked.studies:
        _report(study, name, is_kept=not asked.quick)


def _report(study: Study, name: str, *, is_kept: bool) -> None:
    run, title = _STUDIES[name]
    report = Report(f"DP-LLM on MNIST: {name}", is_kept=is_kept)
    effort = study.effort
    rows = run(study)
    frame = pd.DataFrame(rows)
    shown = frame.assign(private=np.where(frame["private"], "yes", "no"))
    shown["accuracy, %"] = [f"{value:.2f}" for value in frame["accuracy, %"]]
    note = f"Fits of each point: {effort.runs}. Epochs of the paper's: {effort.paper_epochs:g}."
    report.add(title, shown.drop(columns="private") if name == "epsilon" else shown, note)
    _draw(report, name, frame)
    report.write(f"llm_{name}")


if __name__ == "__main__":
    main()
