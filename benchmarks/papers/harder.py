"""Harder, Bauer and Park (2020): locally linear maps.

MNIST is Keras' file. Of Fashion-MNIST only the training part is here: its last 10,000 rows are to
test on. The paper's hospital records are not public. Adult stands in for them: three yes-or-no
labels that occur together, predicted from the rest. Fits without privacy are those of the package's
own trainer, behind a session that adds no noise. They and networks have seeds 0, 1, 2 and so on;
noise that protects has none. Networks need the extra ``llm``.
"""

from __future__ import annotations

import functools
import hashlib
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.papers import Item, Paper
from benchmarks.report import Section, public_tables
from benchmarks.tables import DATA_VARIABLE, load_benchmark
from interpret_dp import Categorical, Continuous, DPLocallyLinearClassifier, Schema
from interpret_dp.accounting.plans import SampledSteps
from interpret_dp.llm.request import (
    InputCoding,
    MapsSettings,
    input_coding,
    scattering_coding,
    training_settings,
)
from interpret_dp.llm.training import Training
from interpret_dp.released.arrays import softmax
from interpret_dp.released.scattering import Scattering
from interpret_dp.schema import open_table

__all__ = [
    "DELTA",
    "PAPER",
    "SCHEMA",
    "STANDARDS",
    "Noiseless",
    "Task",
    "calibration_of",
    "class_scores",
    "fitted",
    "load_images",
    "weighted_maps",
]

Floats = NDArray[np.float64]

DELTA = 1e-5
SCHEMA = Schema(default=Continuous(0, 255), target=Categorical(range(10)))
#: Public mean and deviation of a pixel of MNIST.
STANDARDS = (0.1307 * 255, 0.3081 * 255)
_FASHION_STANDARDS = (0.2860 * 255, 0.3530 * 255)
_FILES = {"mnist": "mnist", "fashion": "fashion_mnist_train"}
_NAMES = {"mnist": "MNIST", "fashion": "Fashion-MNIST"}
_TEST_ROWS = 10_000
_BINS = 15
_RANDOM: Mapping[str, Any] = {"projection": "gaussian", "projection_dim": 300, "smoothing": 0.0}
_COLOURS = {"the rule": "#14609c", "the paper's": "#d9480f"}


def load_images(name: str) -> tuple[Any, Any, Any, Any]:
    """Return training images and labels, and those to score on.

    Parameters
    ----------
    name : {"mnist", "fashion"}

    Raises
    ------
    FileNotFoundError
        If the folder that INTERPRET_DP_DATA names does not hold the file.
    """
    path = Path(os.environ.get(DATA_VARIABLE, ".")) / f"{_FILES[name]}.npz"
    if not path.is_file():
        source = {"mnist": "mnist_784", "fashion": "Fashion-MNIST"}[name]
        raise FileNotFoundError(
            f"There is no {path.name} in the folder that {DATA_VARIABLE} names. `python -m "
            f"benchmarks.tables --fetch {path.stem}` writes it, from scikit-learn's "
            f"fetch_openml({source!r})."
        )
    with np.load(path) as arrays:
        X, y = arrays["x_train"], arrays["y_train"]
        if name == "mnist":
            return X, y, arrays["x_test"], arrays["y_test"]
    return X[:-_TEST_ROWS], y[:-_TEST_ROWS], X[-_TEST_ROWS:], y[-_TEST_ROWS:]


@dataclass(frozen=True)
class Task:
    """Rows to fit and to score on, and what is declared of them.

    Attributes
    ----------
    X, y, X_test, y_test : arrays, or DataFrames and arrays
        Labels are 0, 1, 2 and so on.
    schema : Schema
    standards : (float, float) or None
        Mean and deviation of a pixel.
    delta : float
    features : {"inputs", "scattering"}
    """

    X: Any
    y: NDArray[Any]
    X_test: Any
    y_test: NDArray[Any]
    schema: Schema
    standards: tuple[float, float] | None = None
    delta: float = DELTA
    features: str = "inputs"

    @property
    def image_shape(self) -> tuple[int, ...] | None:
        """That of an image; None for a table."""
        return None if isinstance(self.X, pd.DataFrame) else self.X.shape[1:]

    @property
    def coding(self) -> InputCoding:
        """How columns become inputs."""
        names = self._table(self.X).names
        specs = dict(zip(names, self.schema.resolve(names), strict=True))
        schema = Schema(specs, target=self.schema.target)
        if self.features == "scattering":
            return scattering_coding(schema, self.image_shape, None)
        return input_coding(schema, self.standards)

    def inputs(self, X: Any) -> NDArray[np.float32]:
        """Return rows as maps see them."""
        return self.coding.encode(self._table(X))

    @functools.cached_property
    def test_inputs(self) -> NDArray[np.float32]:
        """The inputs of the rows to score on."""
        return self.inputs(self.X_test)

    def accuracy(self, scores: Floats) -> float:
        """Return the share of the test rows with the largest score in their class, in percent."""
        return 100 * float(np.mean(scores.argmax(axis=1) == self.y_test))

    def _table(self, X: Any) -> Any:
        if isinstance(X, pd.DataFrame):
            return open_table(X, list(X))
        flat = X.reshape(len(X), -1)
        return open_table(flat, [f"pixel {i}" for i in range(flat.shape[1])])


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


def fitted(task: Task, epsilon: float, seed: int = 0, **parameters: Any) -> Any:
    """Return maps: ``weights``, ``biases`` and ``inverse_temperature``.

    Parameters
    ----------
    task : Task
    epsilon : float
        Infinite: the same trainer without noise.
    seed : int
        Of what is drawn without privacy.
    **parameters
        Of the classifier.
    """
    model = DPLocallyLinearClassifier(
        1.0 if np.isinf(epsilon) else epsilon,
        task.delta,
        schema=task.schema,
        standardize=task.standards,
        features=task.features,
        **parameters,
    )
    if np.isfinite(epsilon):
        return model.fit(task.X, task.y).model_
    settings = training_settings(MapsSettings.of(model), task.coding, task.image_shape)
    rate = parameters.get("sampling_rate", settings.sampling_rate)
    session: Any = Noiseless(rate, seed)
    training = Training(
        task.inputs(task.X),
        task.y.astype(np.int16),
        int(task.y.max()) + 1,
        settings,
        SampledSteps(1.0, rate, settings.n_steps(rate)),
        session,
        image_shape=task.image_shape,
        engine="closed_form",
    )
    return training.run(verbose=False)


def _shares(maps: Any, inputs: NDArray[Any]) -> tuple[Floats, Floats]:
    """Return shares and values of maps, shape (n_rows, n_classes, n_maps)."""
    values = np.tensordot(inputs, maps.weights, axes=(1, 2)) + maps.biases
    return softmax(maps.inverse_temperature * values), values


def class_scores(maps: Any, inputs: NDArray[Any]) -> Floats:
    """Return the class scores, shape (n_rows, n_classes)."""
    shares, values = _shares(maps, inputs)
    return np.asarray((shares * values).sum(axis=2))


def weighted_maps(maps: Any, inputs: NDArray[Any], classes: NDArray[Any]) -> Floats:
    """Return the weighted map of a class less the mean of all, shape (n_rows, n_inputs)."""
    shares = _shares(maps, inputs)[0]
    by_class = np.einsum("rkm,kmi->rki", shares, maps.weights, optimize=True)
    return np.asarray(by_class[np.arange(len(inputs)), classes] - by_class.mean(axis=1))


def calibration_of(probabilities: Floats, classes: NDArray[Any]) -> tuple[float, float]:
    """Return log loss and expected calibration error.

    Parameters
    ----------
    probabilities : ndarray of float64, shape (n_rows, n_classes)
    classes : ndarray of int, shape (n_rows,)
        Positions of the true classes.

    Notes
    -----
    The error is that of Guo et al. (2017): rows in 15 equal bins of the largest probability, the
    gap between its mean and the accuracy in each, weighted by rows.
    """
    of_truth = probabilities[np.arange(len(classes)), classes]
    largest = probabilities.max(axis=1)
    gaps = (probabilities.argmax(axis=1) == classes) - largest
    bins = np.minimum((_BINS * largest).astype(int), _BINS - 1)
    error = np.abs(np.bincount(bins, gaps, _BINS)).sum() / len(classes)
    return float(-np.log(np.maximum(of_truth, 1e-12)).mean()), float(error)


def _images(name: str, features: str = "inputs") -> Task:
    standards = {"mnist": STANDARDS, "fashion": _FASHION_STANDARDS}[name]
    given = standards if features == "inputs" else None
    return Task(*load_images(name), SCHEMA, given, features=features)


def _as_the_paper(task: Task, temperature: float) -> dict[str, Any]:
    """Return the settings of section 4.1."""
    settings = {"sampling_rate": 500 / len(task.y), "epochs": 20, "learning_rate": 1e-3}
    settings |= {"clip_norm": 1e-3, "averaging": 0.0, "inverse_temperature": temperature}
    return {**_RANDOM, **settings}


def _transformed_once() -> AbstractContextManager[Any]:
    """Keep the wavelet features of the arrays that fits see again."""
    known: dict[bytes, Any] = {}
    compute = Scattering.features

    def features(own: Scattering, images: NDArray[Any]) -> Any:
        key = hashlib.blake2b(np.ascontiguousarray(images)).digest()
        if key not in known:
            known[key] = compute(own, images)
        return known[key]

    return mock.patch.object(Scattering, "features", features)


def _mean(found: Sequence[float]) -> str:
    spread = f" ± {np.std(found, ddof=1):.1f}" if len(found) > 1 else ""
    return f"{np.mean(found):.1f}{spread}"


def _measure_accuracy(section: Section, repeats: int) -> None:
    published = {"mnist": ("94.2", "91.8"), "fashion": ("80.7 or 83.2",) * 2}
    rows, least = [], []
    for name, temperature, goals in (
        ("mnist", 1 / 30, (91.8, 94.2)),
        ("fashion", 1.0, (80.7, 83.2)),
    ):
        pixels = _images(name)
        lines: list[tuple[str, Task, dict[str, Any], int]] = [
            ("pixels", pixels, {}, repeats),
            ("the paper's settings", pixels, _as_the_paper(pixels, temperature), 1),
            ("wavelets", _images(name, "scattering"), {}, 1),
        ]
        for what, task, parameters, n_fits in lines:
            with _transformed_once():
                for epsilon, paper in zip((2.0, 0.5), published[name], strict=True):
                    fits = [fitted(task, epsilon, **parameters) for _ in range(n_fits)]
                    scores = [class_scores(maps, task.test_inputs) for maps in fits]
                    found = [calibration_of(softmax(one), task.y_test) for one in scores]
                    loss, error = np.mean(found, axis=0)
                    row = {"images": _NAMES[name], "ours by": what, "epsilon": epsilon}
                    row |= {"fits": n_fits}
                    row |= {"accuracy, %": _mean([task.accuracy(one) for one in scores])}
                    row |= {"the paper": paper, "log loss": f"{loss:.3f}"}
                    rows.append(row | {"calibration error": f"{error:.3f}"})
                    print(rows[-1], flush=True)
        least += [
            f"{_NAMES[name]} {goal} % from {epsilon:g}"
            for goal, epsilon in _least_epsilons(pixels, goals)
        ]
    section.add(
        f"Delta {DELTA:g}. Of Fashion-MNIST the paper has 80.7 and 83.2 %. It does not say which "
        "is at epsilon 2: in the order of its sentence, the lower one. Our Fashion-MNIST has "
        "50,000 training rows, the paper's 60,000. The paper's settings: 30 random projections to "
        "300 dimensions, batches of 500, 20 epochs, learning rate 0.001, clipping norm 0.001, "
        "inverse temperature 1/30 (MNIST) or 1. Noise is what our accountant asks for.",
        pd.DataFrame(rows),
        "The least epsilon of a grid at which the default rule for pixels is as accurate as the "
        f"paper (one fit a point): {', '.join(least)}.",
    )


def _least_epsilons(task: Task, goals: Sequence[float]) -> list[tuple[float, float]]:
    """Return each goal and the first epsilon of a grid that reaches it; goals ascend."""
    found, left = [], list(goals)
    for epsilon in (0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0, 2.0):
        reached = task.accuracy(class_scores(fitted(task, epsilon), task.test_inputs))
        while left and reached >= left[0]:
            found.append((left.pop(0), epsilon))
        if not left:
            break
    return found


def _picture(axis: Any, pixels: Any, title: str = "", *, grey: bool = False) -> None:
    """Draw an image, or numbers around 0 that is white."""
    picture = np.asarray(pixels, dtype=np.float64).reshape(28, 28)
    reach = np.abs(picture).max()
    axis.imshow(picture, cmap="gray" if grey else "RdBu_r", vmin=0 if grey else -reach, vmax=reach)
    axis.set_axis_off()
    axis.set_title(title, fontsize=8)


def _likeness(task: Task, maps: Any) -> float:
    """Return how much each class's most used filter is like its images; see figure2's text."""
    shares = _shares(maps, task.test_inputs)[0]
    overall, found = task.test_inputs.mean(axis=0), []
    for label in range(shares.shape[1]):
        own = task.y_test == label
        most_used = shares[own, label].sum(axis=0).argmax()
        image = task.test_inputs[own].mean(axis=0) - overall
        found.append(np.corrcoef(maps.weights[label, most_used], image)[0, 1])
    return float(np.mean(found))


def _measure_figure2(section: Section, repeats: int) -> None:
    task = _images("fashion")
    paper = _as_the_paper(task, 1.0)
    alone = {**paper, "projection": None, "projection_dim": 0, "smoothing": None}
    longer = {**alone, "sampling_rate": 1500 / len(task.y), "epochs": 60}
    setups: dict[str, tuple[float, dict[str, Any]]] = {
        "random projections": (2.0, paper),
        "no projections": (2.0, alone),
        "no projections, longer": (5.2, longer),
        "the default rule": (2.0, {}),
    }
    asked = [int(np.flatnonzero(task.y_test == label)[0]) for label in (4, 5)]
    rows, drawn = [], {}
    for name, (epsilon, parameters) in setups.items():
        maps = [fitted(task, epsilon, **parameters) for _ in range(repeats)]
        openly = fitted(task, np.inf, **parameters)
        drawn[f"{name},\nepsilon {epsilon:g}"] = maps[0]
        accuracies = [task.accuracy(class_scores(one, task.test_inputs)) for one in maps]
        rows.append(
            {
                "filters": name,
                "epsilon": epsilon,
                "accuracy, %": _mean(accuracies),
                "likeness": f"{np.mean([_likeness(task, one) for one in maps]):.2f}",
                "likeness without noise": f"{_likeness(task, openly):.2f}",
            }
        )
        print(rows[-1], flush=True)
    section.add(
        f"Fashion-MNIST, delta {DELTA:g}, fits of each line: {repeats}. The paper shows pictures "
        "and no number. Ours is the correlation, over pixels, of each class's most used filter "
        "with the mean image of the class less that of all classes; mean of ten classes, test "
        "images. A filter tells a class from others, so that it need not be 1.",
        pd.DataFrame(rows),
    )
    shows = "A coat and a sandal, and for each setup the two filters that count most"
    with section.drawing(shows, 9, n_rows=2, width=1.2, height=1.45) as axes:
        for place, row in enumerate(asked):
            _picture(axes[9 * place], task.X_test[row], grey=True)
            for number, (title, maps_) in enumerate(drawn.items()):
                label = task.y_test[row]
                top = np.argsort(-_shares(maps_, task.test_inputs[[row]])[0][0, label])
                for second in (0, 1):
                    axis = axes[9 * place + 1 + 2 * number + second]
                    said = title if place == second == 0 else ""
                    _picture(axis, maps_.weights[label, top[second]], said)


def _measure_figure5(section: Section, repeats: int) -> None:
    task = _images("mnist")
    # Fewer, larger steps than in the paper: a third of the time, and as accurate.
    cheaper = {"sampling_rate": 1 / 30, "learning_rate": 2e-3, "epochs": 10.0}
    models: dict[str, dict[str, Any]] = {"the rule": {}, "the paper's": {**_RANDOM, **cheaper}}
    sizes = {"the rule": (30, 100), "the paper's": (30, 300)}

    @functools.cache
    def accuracy(model: str, epsilon: float, n_maps: int, dimension: int) -> float:
        given = {**models[model], "n_maps": n_maps, "projection_dim": dimension}
        fits = [fitted(task, epsilon, seed, **given) for seed in range(repeats)]
        return float(np.mean([task.accuracy(class_scores(m, task.test_inputs)) for m in fits]))

    epsilons = {"the rule": (0.25, 0.5, 1.0, 2.0, 8.0), "the paper's": (0.5, 2.0)}
    maps = {"the rule": (1, 3, 10, 30, 60), "the paper's": (1, 30)}
    dimensions = {"the rule": (10, 30, 100, 300), "the paper's": (100, 300)}
    rows: list[dict[str, Any]] = []
    for what, points in (("epsilon", epsilons), ("maps", maps), ("dimension", dimensions)):
        for model in models:
            for point in points[model]:
                n_maps, dimension = sizes[model]
                at = {"epsilon": 2.0, "maps": n_maps, "dimension": dimension, what: point}
                size = (int(at["maps"]), int(at["dimension"]))
                rows.append({"against": what, "model": model, "at": point})
                rows[-1] |= {"private, %": accuracy(model, at["epsilon"], *size)}
                rows[-1] |= {"not private, %": accuracy(model, np.inf, *size)}
                print(rows[-1], flush=True)
    frame = pd.DataFrame(rows)
    kinds = ["private, %", "not private, %"]
    shown = frame.assign(**{kind: frame[kind].map("{:.1f}".format) for kind in kinds})
    section.add(
        f"MNIST, delta {DELTA:g}, epsilon 2 where not said, fits of each point: {repeats}; the "
        "paper has the means of 10. Its random projections train with 10 epochs at a sampling "
        "rate of 1/30, which is cheaper than its own steps. Noise takes more from more maps and "
        "dimensions, as in the paper.",
        shown,
    )
    with section.drawing("Accuracy against epsilon, maps and dimension", 3, width=3.6) as axes:
        for axis, (what, part) in zip(axes, frame.groupby("against", sort=False), strict=True):
            for (model, own), (kind, style) in (
                (group, one)
                for group in part.groupby("model", sort=False)
                for one in zip(kinds, ("o-", "o--"), strict=True)
            ):
                label = f"{model}, {kind[:-3]}"
                axis.plot(own["at"], own[kind], style, color=_COLOURS[str(model)], label=label)
            axis.set(xscale="log", xlabel=what, ylabel="test accuracy, %")
        axes[0].legend(frameon=False, fontsize=7)


_CLASSES = ("none", "woman", "married", "married, above 50K")


def _stand_in(number: int) -> Task:
    """Return adult with three labels in one; a fifth of the rows is to score on."""
    X, y = load_benchmark("adult")
    woman = X["sex"].str.strip() == "Female"
    married = X["marital_status"].str.startswith("Married-civ")
    codes = (woman + 2 * married + 4 * (y == 1)).to_numpy()
    common = np.argsort(-np.bincount(codes))[:4]
    assert sorted(common) == [0, 1, 2, 6]
    kept = np.flatnonzero(np.isin(codes, common))
    X = X.drop(columns=["sex", "marital_status", "relationship"]).iloc[kept]
    classes = np.searchsorted(sorted(common), codes[kept])
    with public_tables():
        drafted = Schema.draft(X.assign(target=classes), target="target", task="classification")
    order = np.random.default_rng(number).permutation(len(kept))
    test, train = order[: len(order) // 5], order[len(order) // 5 :]
    rows = (X.iloc[train], classes[train], X.iloc[test], classes[test])
    return Task(*rows, drafted, delta=2e-5)


_STAND_IN = (
    "Adult stands in for the Henan Renmin hospital: the powerset of sex, married and income above "
    "50K, of which the four most common classes stay, as in the paper (91 % of the rows). They are "
    "predicted from the rest, without relationship. Delta 2e-5."
)


def _measure_figure6(section: Section, repeats: int) -> None:
    tasks = [_stand_in(number) for number in range(repeats)]

    def found(epsilon: float, **parameters: Any) -> list[float]:
        fits = [fitted(task, epsilon, number, **parameters) for number, task in enumerate(tasks)]
        return [
            task.accuracy(class_scores(maps, task.test_inputs))
            for task, maps in zip(tasks, fits, strict=True)
        ]

    epsilons, n_maps = (0.1, 0.2, 0.5, 1.5, 8.0, np.inf), (1, 2, 5, 10, 20)
    by_epsilon = {epsilon: found(epsilon) for epsilon in epsilons}
    by_maps = {(m, e): found(e, n_maps=m) for m in n_maps for e in (1.5, np.inf)}
    section.add(
        f"{_STAND_IN} Random 80/20 splits: {repeats}. Accuracy in percent; two maps, epsilon 1.5 "
        "where not said.",
        pd.DataFrame(
            {"epsilon": ["none" if np.isinf(e) else f"{e:g}" for e in epsilons]}
            | {"accuracy, %": [_mean(by_epsilon[e]) for e in epsilons]}
        ),
        pd.DataFrame(
            {"maps": n_maps}
            | {"private": [_mean(by_maps[m, 1.5]) for m in n_maps]}
            | {"not private": [_mean(by_maps[m, np.inf]) for m in n_maps]}
        ),
        "As in the paper, a few maps are enough, and with privacy more cost accuracy.",
    )


def _dense(task: Task, seed: int) -> Any:
    """Return the paper's network for tables, trained for 20 epochs."""
    import torch
    from torch import nn

    torch.manual_seed(seed)
    sizes = [task.test_inputs.shape[1], 128, 128, 128]
    layers = [
        layer for pair in zip(sizes[:-1], sizes[1:], strict=True) for layer in _layer(nn, *pair)
    ]
    network = nn.Sequential(*layers, nn.Linear(128, int(task.y.max()) + 1))
    return _trained(network, task.inputs(task.X), task.y, epochs=20, batch=256)


def _layer(nn: Any, n_in: int, n_out: int) -> tuple[Any, Any]:
    return nn.Linear(n_in, n_out), nn.ReLU()


def _trained(
    network: Any,
    inputs: NDArray[np.float32],
    classes: NDArray[Any],
    *,
    epochs: int,
    batch: int,
    epsilon: float = np.inf,
) -> Any:
    """Train by Adam; a finite epsilon by Opacus at delta 1e-5, with a clipping norm of 1."""
    import torch
    from opacus import PrivacyEngine
    from torch.utils.data import DataLoader, TensorDataset

    rows = TensorDataset(torch.from_numpy(inputs), torch.from_numpy(classes.astype(np.int64)))
    private = np.isfinite(epsilon)
    optimizer: Any = torch.optim.Adam(network.parameters(), 2e-3 if private else 1e-3)
    loader: Any = DataLoader(rows, batch, shuffle=True)
    guarded = network
    with warnings.catch_warnings():
        # Opacus says that this noise, for an example, does not come from a secure generator.
        warnings.simplefilter("ignore", UserWarning)
        if private:
            guarded, optimizer, loader = PrivacyEngine().make_private_with_epsilon(
                module=network,
                optimizer=optimizer,
                data_loader=loader,
                target_epsilon=epsilon,
                target_delta=DELTA,
                epochs=epochs,
                max_grad_norm=1.0,
            )
        for _ in range(epochs):
            for some, labels in loader:
                optimizer.zero_grad()
                torch.nn.functional.cross_entropy(guarded(some), labels).backward()
                optimizer.step()
    return guarded.to_standard_module() if private else network


def _outputs(network: Any, inputs: NDArray[np.float32]) -> Floats:
    """Return the class scores of a network."""
    import torch

    with torch.no_grad():
        found = [network(part).numpy() for part in torch.from_numpy(inputs).split(1000)]
    return np.concatenate(found).astype(np.float64)


def _slopes(
    network: Any,
    inputs: NDArray[np.float32],
    classes: NDArray[Any],
    copies: Sequence[tuple[float, Any]],
) -> Floats:
    """Return the slope of a class's score less the mean, averaged over changed copies of rows.

    Parameters
    ----------
    network : Module
    inputs : ndarray of float32
    classes : ndarray of int, shape (n_rows,)
    copies : sequence of (float, float or ndarray)
        What a copy is multiplied by, and what is then added.

    Returns
    -------
    ndarray, shape (n_rows, n_inputs)
    """
    import torch

    total: Any = 0
    for factor, added in copies:
        x = torch.from_numpy((factor * inputs + added).astype(np.float32)).requires_grad_()
        scores = network(x)
        own = scores[torch.arange(len(x)), torch.from_numpy(classes.astype(np.int64))]
        total = total + torch.autograd.grad((own - scores.mean(dim=1)).sum(), x)[0].numpy()
    return np.asarray(total.reshape(len(inputs), -1) / len(copies), dtype=np.float64)


def _path(start: float) -> list[tuple[float, float]]:
    """Return the copies of integrated gradients from an even baseline."""
    return [(part, (1 - part) * start) for part in (np.arange(50) + 0.5) / 50]


def _alike(explanations: Floats, classes: NDArray[Any]) -> float:
    """Return the mean cosine between explanations of two rows of one class; mean of classes."""
    units = explanations / np.linalg.norm(explanations, axis=1, keepdims=True)
    found = []
    for label in np.unique(classes):
        own = units[classes == label]
        square = float(np.square(own.sum(axis=0)).sum())
        found.append((square - len(own)) / (len(own) * (len(own) - 1)))
    return float(np.mean(found))


def _measure_figure7(section: Section, repeats: int) -> None:
    task = _stand_in(0)
    rows, labels = task.test_inputs, task.y_test
    network = _dense(task, 0)
    said = {"integrated gradients of a network": _slopes(network, rows, labels, _path(0.0))}
    for name, epsilon in (("not private", np.inf), ("epsilon 1.5", 1.5), ("epsilon 0.1", 0.1)):
        maps = fitted(task, epsilon, n_maps=2)
        said[f"weighted maps, {name}"] = weighted_maps(maps, rows, labels)
    largest = {name: np.sort(np.abs(found), axis=1) for name, found in said.items()}
    section.add(
        f"{_STAND_IN} Explained is the score of a row's own class less the mean of all classes. "
        "Alike: the cosine between the explanations of two test rows of one class, mean over all "
        "pairs, then over classes. Times the inputs: the same of what each input adds. Sparse: "
        "what the ten largest of the inputs hold of the sum of absolute values.",
        pd.DataFrame(
            {
                "explanation": name,
                "alike": f"{_alike(found, labels):.2f}",
                "alike times the inputs": f"{_alike(found * rows, labels):.2f}",
                "sparse": f"{np.mean(largest[name][:, -10:].sum(1) / largest[name].sum(1)):.2f}",
            }
            for name, found in said.items()
        ),
        "The paper says in words that integrated gradients vary more between rows of one class "
        "than maps do, and that maps with strong privacy are less sparse.",
    )
    asked = np.concatenate([np.flatnonzero(labels == k)[:repeats] for k in range(4)])
    shows = f"Each line a row, {repeats} of each class; each column an input; largest size is 1"
    with section.drawing(shows, 2, n_rows=2, width=5.0, height=2.4) as axes:
        for axis, (name, found) in zip(axes, said.items(), strict=True):
            lines = found[asked] / np.abs(found[asked]).max(axis=1, keepdims=True)
            axis.imshow(lines, cmap="RdBu_r", vmin=-1, vmax=1, aspect="auto")
            middles = repeats * np.arange(4) + (repeats - 1) / 2
            axis.set_yticks(middles, _CLASSES, fontsize=7)
            axis.set_xticks([])
            axis.set_title(name, fontsize=8)


def _convolutional(size: str) -> Any:
    """Return an untrained network: "a" of 431,080 parameters, or "b" of 26,010."""
    from torch import nn

    if size == "a":  # that of torch's example for MNIST, as the paper names it
        layers = [nn.Conv2d(1, 20, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(20, 50, 5), nn.ReLU()]
        return nn.Sequential(
            *layers, nn.MaxPool2d(2), nn.Flatten(), *_layer(nn, 800, 500), nn.Linear(500, 10)
        )
    # That of Opacus' example, which has just this number.
    layers = [nn.Conv2d(1, 16, 8, 2, padding=3), nn.ReLU(), nn.MaxPool2d(2, 1)]
    layers += [nn.Conv2d(16, 32, 4, 2), nn.ReLU(), nn.MaxPool2d(2, 1), nn.Flatten()]
    return nn.Sequential(*layers, *_layer(nn, 512, 32), nn.Linear(32, 10))


PAPER = Paper(
    "Harder, Bauer and Park (2020): locally linear maps",
    (Item("accuracy", "Section 4.1: accuracy", _measure_accuracy, 3, is_short=False),),
    {},
)
