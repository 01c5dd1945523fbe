"""Harder, Bauer and Park (2020): locally linear maps.

MNIST is Keras' file. Of Fashion-MNIST only the training part is here: its last 10,000 rows are to
test on. The paper's hospital records are not public, and adult stands in for them. Fits without
privacy are the package's own, with noise of 0. They and networks have seeds 0, 1, 2 and so on;
noise that protects has none. Networks need the extra ``llm``.
"""

from __future__ import annotations

import functools
import hashlib
import warnings
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.papers import Item, Paper
from benchmarks.report import Section, public_tables
from benchmarks.tables import data_file, load_benchmark
from interpret_dp import Categorical, Continuous, DPLocallyLinearClassifier, Schema
from interpret_dp.llm.request import input_coding
from interpret_dp.mechanisms import SeededRandomness, use_randomness
from interpret_dp.released.scattering import Scattering
from interpret_dp.schema import open_table

__all__ = ["DELTA", "PAPER", "SCHEMA", "STANDARDS", "Noiseless", "Task", "fitted", "load_images"]

Floats = NDArray[np.float64]

DELTA = 1e-5
SCHEMA = Schema(default=Continuous(0, 255), target=Categorical(range(10)))
#: Public mean and deviation of a pixel of MNIST.
STANDARDS = (0.1307 * 255, 0.3081 * 255)
_FASHION_STANDARDS = (0.2860 * 255, 0.3530 * 255)
_FILES = {"MNIST": "mnist.npz", "Fashion-MNIST": "fashion_mnist_train.npz"}
_TEST_ROWS = 10_000
_BINS = 15
_EXPLAINED = 100
#: Without noise, epsilon is only a unit of the steps, which Adam takes out again.
_ANY_EPSILON = 100.0
#: Section 4.1, but for the batches of 500: their sampling rate depends on the rows.
_PAPER: Mapping[str, Any] = {
    "projection": "gaussian",
    "projection_dim": 300,
    "smoothing": 0.0,
    "epochs": 20.0,
    "learning_rate": 1e-3,
    "clip_norm": 1e-3,
    "averaging": 0.0,
}
#: Fewer, larger steps take a quarter of the time: 93.7 % in place of 94.0 of MNIST at epsilon 2.
_CHEAPER = {**_PAPER, "epochs": 10.0, "learning_rate": 2e-3, "sampling_rate": 1 / 30}
_CHEAPER_TEXT = (
    "The paper's setups train for 10 epochs at a sampling rate of 1/30 and a learning rate of "
    "0.002, which takes a quarter of the time of its own steps."
)


def load_images(name: str) -> tuple[Any, Any, Any, Any]:
    """Return training images and labels, and those to score on, of "MNIST" or "Fashion-MNIST"."""
    with np.load(data_file(_FILES[name])) as arrays:
        X, y = arrays["x_train"], arrays["y_train"]
        if name == "MNIST":
            return X, y, arrays["x_test"], arrays["y_test"]
    return X[:-_TEST_ROWS], y[:-_TEST_ROWS], X[-_TEST_ROWS:], y[-_TEST_ROWS:]


@dataclass(frozen=True)
class Task:
    """Rows to fit and to score on, with labels 0, 1, 2 and so on, and what a fit is given."""

    X: Any
    y: NDArray[Any]
    X_test: Any
    y_test: NDArray[Any]
    given: Mapping[str, Any]

    def inputs(self, X: Any) -> NDArray[np.float32]:
        """Return rows as maps and networks see them, shape (n_rows, n_inputs)."""
        if isinstance(X, pd.DataFrame):
            coding = input_coding(self.given["schema"], None)
            return coding.encode(open_table(X, [str(name) for name in X]))
        centre, spread = self.given["standardize"]
        return np.asarray((X.reshape(len(X), -1) - centre) / spread, dtype=np.float32)

    def accuracy(self, scores: Floats) -> float:
        """Return the percent of the test rows whose class has the largest score."""
        return 100 * float(np.mean(scores.argmax(axis=1) == self.y_test))


class Noiseless(SeededRandomness):
    """Samples of rows, and no noise: for public rows."""

    def noise(self, sigma: float, size: int) -> NDArray[np.int64]:
        """Return zeros."""
        return np.zeros(size, dtype=np.int64)


def fitted(task: Task, epsilon: float, seed: int = 0, **parameters: Any) -> Any:
    """Return a fitted classifier; an infinite epsilon is no privacy, with a seed."""
    given = {**task.given, **parameters}
    if np.isfinite(epsilon):
        return DPLocallyLinearClassifier(epsilon, **given).fit(task.X, task.y)
    with use_randomness(Noiseless(seed)):
        return DPLocallyLinearClassifier(_ANY_EPSILON, **given).fit(task.X, task.y)


def _scored(task: Task, epsilon: float, n_fits: int = 1, **parameters: Any) -> list[float]:
    """Return the accuracies of some fits, in percent."""
    fits = [fitted(task, epsilon, seed, **parameters) for seed in range(n_fits)]
    return [100 * float(one.score(task.X_test, task.y_test)) for one in fits]


def _images(name: str, features: str = "inputs") -> Task:
    standards = STANDARDS if name == "MNIST" else _FASHION_STANDARDS
    given: dict[str, Any] = {"delta": DELTA, "schema": SCHEMA, "features": features}
    given |= {"standardize": standards if features == "inputs" else None}
    return Task(*load_images(name), given)


def _mean(found: Sequence[float]) -> str:
    spread = f" ± {np.std(found, ddof=1):.1f}" if len(found) > 1 else ""
    return f"{np.mean(found):.1f}{spread}"


# Section 4.1


def _calibration(probabilities: Floats, classes: NDArray[Any]) -> tuple[float, float]:
    """Return log loss, and the expected calibration error of Guo et al. (2017) in 15 bins."""
    of_truth = probabilities[np.arange(len(classes)), classes]
    largest = probabilities.max(axis=1)
    gaps = (probabilities.argmax(axis=1) == classes) - largest
    bins = np.minimum((_BINS * largest).astype(int), _BINS - 1)
    error = np.abs(np.bincount(bins, gaps, _BINS)).sum() / len(classes)
    return float(-np.log(np.maximum(of_truth, 1e-12)).mean()), float(error)


def _transformed_once() -> AbstractContextManager[Any]:
    """Keep the wavelet features of arrays that fits see again."""
    known: dict[bytes, Any] = {}
    compute = Scattering.features

    def features(own: Scattering, images: NDArray[Any]) -> Any:
        key = hashlib.blake2b(images.tobytes()).digest()
        if key not in known:
            known[key] = compute(own, images)
        return known[key]

    return mock.patch.object(Scattering, "features", features)


def _measure_accuracy(section: Section, repeats: int) -> None:
    rows, least = [], []
    for name, published, goals in (
        ("MNIST", ("94.2", "91.8"), (91.8, 94.2)),
        ("Fashion-MNIST", ("80.7 or 83.2",) * 2, (80.7, 83.2)),
    ):
        pixels = _images(name)
        paper = {"sampling_rate": 500 / len(pixels.y), **_PAPER}
        paper |= {"inverse_temperature": 1 / 30 if name == "MNIST" else 1.0}
        lines: list[tuple[str, Task, dict[str, Any], int]] = [
            ("pixels", pixels, {}, repeats),
            ("the paper's settings", pixels, paper, 1),
            ("wavelets", _images(name, "scattering"), {}, 1),
        ]
        for what, task, parameters, n_fits in lines:
            with _transformed_once():
                for epsilon, theirs in zip((2.0, 0.5), published, strict=True):
                    fits = [fitted(task, epsilon, **parameters) for _ in range(n_fits)]
                    found = [one.predict_proba(task.X_test) for one in fits]
                    loss, error = np.mean([_calibration(p, task.y_test) for p in found], axis=0)
                    row: dict[str, Any] = {
                        "images": name,
                        "ours by": what,
                        "epsilon": epsilon,
                        "fits": n_fits,
                    }
                    row |= {"accuracy, %": _mean([task.accuracy(p) for p in found])}
                    row |= {"the paper": theirs, "log loss": f"{loss:.3f}"}
                    rows.append(row | {"calibration error": f"{error:.3f}"})
                    print(rows[-1], flush=True)
        left = list(goals)
        for epsilon in (0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0, 2.0):
            reached = _scored(pixels, epsilon)[0] if left else 0.0
            while left and reached >= left[0]:
                least.append(f"{name} {left.pop(0)} % from {epsilon:g}")
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


# Figures 2 and 5


def _picture(axis: Any, pixels: Any, title: str = "", *, grey: bool = False) -> None:
    """Draw an image, or numbers around a white 0."""
    picture = np.asarray(pixels, dtype=np.float64).reshape(28, 28)
    reach = np.abs(picture).max()
    axis.imshow(picture, cmap="gray" if grey else "RdBu_r", vmin=0 if grey else -reach, vmax=reach)
    axis.set_axis_off()
    axis.set_title(title, fontsize=8)


def _likeness(task: Task, model: Any) -> float:
    """Return how much each class's most used filter is like its images (figure 2)."""
    inputs = task.inputs(task.X_test)
    shares, found = model.model_.map_shares(inputs), []
    for label in model.classes_:
        own = task.y_test == label
        most_used = shares[own, label].sum(axis=0).argmax()
        image = inputs[own].mean(axis=0) - inputs.mean(axis=0)
        found.append(np.corrcoef(model.model_.weights[label, most_used], image)[0, 1])
    return float(np.mean(found))


def _measure_figure2(section: Section, repeats: int) -> None:
    task = _images("Fashion-MNIST")
    random = {**_CHEAPER, "inverse_temperature": 1.0}
    alone = random | {"projection": None, "projection_dim": 0, "smoothing": None}
    setups: dict[str, tuple[float, dict[str, Any]]] = {
        "random projections": (2.0, random),
        "no projections": (2.0, alone),
        "no projections, twice as long": (5.2, alone | {"epochs": 20.0}),
        "the default rule": (2.0, {}),
    }
    rows, drawn = [], {}
    for name, (epsilon, parameters) in setups.items():
        models = [fitted(task, epsilon, **parameters) for _ in range(repeats)]
        openly = fitted(task, np.inf, **parameters)
        drawn[f"{name},\nepsilon {epsilon:g}"] = models[0]
        scores = [100 * one.score(task.X_test, task.y_test) for one in models]
        row: dict[str, Any] = {"filters": name, "epsilon": epsilon, "accuracy, %": _mean(scores)}
        row |= {"likeness": f"{np.mean([_likeness(task, one) for one in models]):.2f}"}
        rows.append(row | {"likeness without noise": f"{_likeness(task, openly):.2f}"})
        print(rows[-1], flush=True)
    section.add(
        f"Fashion-MNIST, delta {DELTA:g}, fits of each line: {repeats}. The paper shows pictures "
        f"and no number. {_CHEAPER_TEXT} Likeness is the correlation, over pixels, of each "
        "class's most used filter with the mean test image of the class less that of all; mean "
        "of ten classes. A filter tells a class from others, so that it need not be 1.",
        pd.DataFrame(rows),
    )
    asked = [int(np.flatnonzero(task.y_test == label)[0]) for label in (4, 5)]
    shows = "A coat and a sandal, and for each setup the two filters that count most"
    with section.drawing(shows, 9, n_rows=2, width=1.2, height=1.45) as axes:
        for line, image in zip(axes.reshape(2, 9), asked, strict=True):
            _picture(line[0], task.X_test[image], grey=True)
            for place, (title, model) in enumerate(drawn.items()):
                reading = model.explain_local(task.X_test[[image]]).reading(0, task.y_test[image])
                for axis, number in zip(line[1 + 2 * place :], reading.top[:2], strict=False):
                    _picture(axis, model.model_.weights[reading.index, number])
                line[1 + 2 * place].set_title(title if image == asked[0] else "", fontsize=7)


def _measure_figure5(section: Section, repeats: int) -> None:
    task = _images("MNIST")
    formats = {"at": "{:g}", "private": "{:.1f}", "not private": "{:.1f}"}
    models: dict[str, dict[str, Any]] = {"the rule": {}, "the paper's": _CHEAPER}
    points: dict[str, tuple[tuple[Any, ...], tuple[Any, ...]]] = {
        "epsilon": ((0.25, 0.5, 1.0, 2.0, 8.0), (0.5, 2.0)),
        "n_maps": ((1, 3, 10, 30, 60), (1, 30)),
        "projection_dim": ((10, 30, 100, 300), (100, 300)),
    }

    @functools.cache
    def accuracy(model: str, **at: float) -> float:
        given = {**models[model], **at}
        return float(np.mean(_scored(task, given.pop("epsilon"), repeats, **given)))

    rows: list[dict[str, Any]] = []
    for what, of_models in points.items():
        for model, usual, own in zip(models, (100, 300), of_models, strict=True):
            for point in own:
                at = {"epsilon": 2.0, "n_maps": 30, "projection_dim": usual, what: point}
                row = {"against": what, "model": model, "at": point}
                row |= {"private": accuracy(model, **at)}
                rows.append(row | {"not private": accuracy(model, **at | {"epsilon": np.inf})})
                print(rows[-1], flush=True)
    frame = pd.DataFrame(rows)
    shown = {name: frame[name].map(one.format) for name, one in formats.items()}
    section.add(
        f"MNIST, accuracy in percent, delta {DELTA:g}, epsilon 2 where not said. Fits of each "
        f"point: {repeats}; the paper has 10, and no numbers beside the figure. {_CHEAPER_TEXT}",
        frame.assign(**shown),
        "As in the paper, private fits gain little from more than 30 maps, and random projections "
        "gain from more dimensions.",
    )
    with section.drawing("Accuracy against epsilon, maps and dimension", 3, width=3.6) as axes:
        for axis, what in zip(axes, points, strict=True):
            for place, model in enumerate(models):
                line = frame[(frame["against"] == what) & (frame["model"] == model)]
                for kind, style in (("private", "o-"), ("not private", "o--")):
                    label = f"{model}, {kind}"
                    axis.plot(line["at"], line[kind], style, color=f"C{place}", label=label)
            axis.set(xscale="log", xlabel=what, ylabel="test accuracy, %")
            axis.set_xticks(points[what][0], [f"{point:g}" for point in points[what][0]])
            axis.minorticks_off()
        axes[2].legend(frameon=False, fontsize=7, loc="lower right")


# Section 4.2, on a table that stands in for the hospital's

_CLASSES = ("none", "woman", "married", "married, above 50K")
_STAND_IN = (
    "Adult stands in for the Henan Renmin hospital: the powerset of woman, married and income "
    "above 50K, of which the four most common classes stay, as in the paper (91 % of the rows "
    "here and there). They are predicted from the rest, without relationship. Delta 2e-5."
)


def _stand_in(number: int) -> Task:
    """Return one random split of adult with three labels in one; a fifth is to score on."""
    X, y = load_benchmark("adult")
    woman = X["sex"].str.strip() == "Female"
    married = X["marital_status"].str.strip().str.startswith("Married-civ")
    codes = (woman + 2 * married + 4 * (y == 1)).to_numpy()
    common = np.sort(np.argsort(-np.bincount(codes))[: len(_CLASSES)])
    kept = np.flatnonzero(np.isin(codes, common))
    X = X.drop(columns=["sex", "marital_status", "relationship"]).iloc[kept]
    classes = np.searchsorted(common, codes[kept])
    with public_tables():
        schema = Schema.draft(X.assign(target=classes), target="target", task="classification")
    order = np.random.default_rng(number).permutation(len(kept))
    test, train = order[: len(order) // 5], order[len(order) // 5 :]
    rows = (X.iloc[train], classes[train], X.iloc[test], classes[test])
    return Task(*rows, {"delta": 2e-5, "schema": schema})


def _of_splits(repeats: int, epsilon: float, **parameters: Any) -> str:
    return _mean([_scored(_stand_in(i), epsilon, **parameters)[0] for i in range(repeats)])


def _measure_figure6(section: Section, repeats: int) -> None:
    epsilons, n_maps = (0.1, 0.2, 0.5, 1.5, 8.0), (1, 2, 5, 10, 20)
    found = {epsilon: _of_splits(repeats, epsilon) for epsilon in (*epsilons, np.inf)}
    by_maps = {m: [_of_splits(repeats, e, n_maps=m) for e in (1.5, np.inf)] for m in n_maps}
    section.add(
        f"{_STAND_IN} Accuracy in percent, means of {repeats} random 80/20 splits; by default two "
        "maps. The paper has a figure without numbers.",
        pd.DataFrame([{f"epsilon {e:g}": found[e] for e in epsilons} | {"none": found[np.inf]}]),
        pd.DataFrame(
            [["1.5", *(by_maps[m][0] for m in n_maps)], ["none", *(by_maps[m][1] for m in n_maps)]],
            columns=["epsilon", *(f"{m} maps" for m in n_maps)],
        ),
    )


def _measure_multilabel(section: Section, repeats: int) -> None:
    tasks = [_stand_in(number) for number in range(repeats)]
    dense = []
    for number, task in enumerate(tasks):
        network, inputs = _dense(task, number)
        dense.append(task.accuracy(_outputs(network, inputs)))
    lines = [("network of 3 x 128", "none", _mean(dense), "84 ± 0.5")]
    lines += [
        ("maps", "none" if np.isinf(epsilon) else f"{epsilon:g}", _of_splits(repeats, epsilon), own)
        for epsilon, own in ((np.inf, "82.8 ± 0.5"), (1.5, "82.0 ± 0.4"), (0.2, "79.8 ± 0.4"))
    ]
    section.add(
        f"{_STAND_IN} Means of {repeats} random 80/20 splits; the network trains for 20 epochs. "
        "Rows differ, so compare what privacy takes, not the level: the paper loses 0.8 points at "
        "epsilon 1.5 and 3.0 at 0.2, with four times as many rows.",
        pd.DataFrame(lines, columns=["model", "epsilon", "accuracy, %", "the paper, its table"]),
    )


def _measure_figure7(section: Section, repeats: int) -> None:
    task = _stand_in(0)
    labels = task.y_test
    network, rows = _dense(task, 0)
    said = {"integrated gradients of a network": _slopes(network, rows, labels, _path(0.0))}
    for name, epsilon in (("not private", np.inf), ("epsilon 1.5", 1.5), ("epsilon 0.1", 0.1)):
        said[f"weighted maps, {name}"] = _weighted_maps(fitted(task, epsilon), task)
    lines = []
    for name, found in said.items():
        sizes = np.sort(np.abs(found), axis=1)[:, ::-1]
        row = {"explanation": name, "alike": f"{_alike(found, labels):.2f}"}
        row |= {"alike times the inputs": f"{_alike(found * rows, labels):.2f}"}
        lines.append(row | {"ten largest": f"{(sizes[:, :10].sum(1) / sizes.sum(1)).mean():.2f}"})
    section.add(
        f"{_STAND_IN} Explained is the score of a row's own class less the mean of all. Alike: the "
        "cosine between the explanations of two test rows of a class, mean over pairs, then "
        "over classes. Times the inputs: the same of what each input adds. Ten largest: what "
        f"the ten largest of {rows.shape[1]} inputs hold of the sum of absolute values.",
        pd.DataFrame(lines),
        "The paper says, without a number, that integrated gradients vary more between rows of a "
        "class than maps do, and that maps with strong privacy are less sparse.",
    )
    asked = np.concatenate([np.flatnonzero(labels == k)[:repeats] for k in range(len(_CLASSES))])
    shows = f"Each line is a row, {repeats} of each class, each column an input; the largest is 1"
    with section.drawing(shows, 2, n_rows=2, width=5.0, height=2.4) as axes:
        for axis, (name, found) in zip(axes, said.items(), strict=True):
            scaled = found[asked] / np.abs(found[asked]).max(axis=1, keepdims=True)
            axis.imshow(scaled, cmap="RdBu_r", vmin=-1, vmax=1, aspect="auto")
            axis.set_yticks(repeats * np.arange(4) + (repeats - 1) / 2, _CLASSES, fontsize=7)
            axis.set(xticks=[], title=name)


def _alike(explanations: Floats, classes: NDArray[Any]) -> float:
    """Return the mean cosine between explanations of two rows of a class; mean of classes."""
    units = explanations / np.linalg.norm(explanations, axis=1, keepdims=True)
    found = []
    for label in np.unique(classes):
        own = units[classes == label]
        square = float(np.square(own.sum(axis=0)).sum())
        found.append((square - len(own)) / (len(own) * (len(own) - 1)))
    return float(np.mean(found))


def _weighted_maps(model: Any, task: Task, n_rows: int | None = None) -> Floats:
    """Return the weighted map of each test row's class less the mean of all classes."""
    shares = model.model_.map_shares(task.inputs(task.X_test[:n_rows]))
    by_class = np.einsum("rkm,kmi->rki", shares, model.model_.weights, optimize=True)
    own = by_class[np.arange(len(shares)), task.y_test[:n_rows]]
    return np.asarray(own - by_class.mean(axis=1))


# Networks


def _dense(task: Task, seed: int) -> tuple[Any, NDArray[np.float32]]:
    """Return the paper's network for tables, trained, and the inputs of the test rows."""
    import torch
    from torch import nn

    rows, tests = task.inputs(task.X), task.inputs(task.X_test)
    torch.manual_seed(seed)
    layers = [nn.Linear(rows.shape[1], 128), nn.ReLU()]
    layers += [layer for _ in range(2) for layer in (nn.Linear(128, 128), nn.ReLU())]
    network = nn.Sequential(*layers, nn.Linear(128, len(_CLASSES)))
    return _trained(network, rows, task.y, 20), tests


def _convolutional(size: str) -> Any:
    """Return an untrained network: "a" of 431,080 parameters, or "b" of 26,010."""
    from torch import nn

    if size == "a":  # torch's example for MNIST, which the paper names
        layers = [nn.Conv2d(1, 20, 5), nn.ReLU(), nn.MaxPool2d(2)]
        layers += [nn.Conv2d(20, 50, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()]
        return nn.Sequential(*layers, nn.Linear(800, 500), nn.ReLU(), nn.Linear(500, 10))
    # Opacus' example has just the paper's number of parameters.
    layers = [nn.Conv2d(1, 16, 8, 2, padding=3), nn.ReLU(), nn.MaxPool2d(2, 1)]
    layers += [nn.Conv2d(16, 32, 4, 2), nn.ReLU(), nn.MaxPool2d(2, 1), nn.Flatten()]
    return nn.Sequential(*layers, nn.Linear(512, 32), nn.ReLU(), nn.Linear(32, 10))


def _trained(
    network: Any,
    inputs: NDArray[np.float32],
    classes: NDArray[Any],
    epochs: int,
    epsilon: float = np.inf,
) -> Any:
    """Train by Adam; with a finite epsilon by Opacus, with a clipping norm of 1."""
    import torch
    from opacus import PrivacyEngine
    from torch.utils.data import DataLoader, TensorDataset

    private, loss, guarded = np.isfinite(epsilon), torch.nn.CrossEntropyLoss(), network
    rows = TensorDataset(torch.from_numpy(inputs), torch.from_numpy(classes.astype(np.int64)))
    optimizer: Any = torch.optim.Adam(network.parameters(), 1e-3)
    loader: Any = DataLoader(rows, 500 if private else 64, shuffle=True)
    with warnings.catch_warnings():
        # Opacus says that this noise, for a benchmark, does not come from a secure generator.
        warnings.simplefilter("ignore")
        if private:
            guarded, optimizer, loss, loader = PrivacyEngine().make_private_with_epsilon(
                module=network,
                optimizer=optimizer,
                data_loader=loader,
                criterion=loss,
                target_epsilon=epsilon,
                target_delta=DELTA,
                epochs=epochs,
                max_grad_norm=1.0,
                grad_sample_mode="ghost",  # the same sums in a third of the time
            )
        for _ in range(epochs):
            for some, labels in loader:
                optimizer.zero_grad()
                loss(guarded(some), labels).backward()
                optimizer.step()
    return guarded.to_standard_module() if private else network


def _outputs(network: Any, inputs: NDArray[np.float32]) -> Floats:
    """Return the class scores of a network."""
    import torch

    with torch.no_grad():
        found = [network(part).numpy() for part in torch.from_numpy(inputs).split(1000)]
    return np.concatenate(found).astype(np.float64)


def _slopes(
    network: Any, inputs: NDArray[np.float32], classes: NDArray[Any], copies: Sequence[Any]
) -> Floats:
    """Return the slope of the own class's score less the mean, over copies; (n_rows, n_inputs).

    A copy is what rows are multiplied by, and what is then added.
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
    """Return the copies of integrated gradients, from an even baseline."""
    return [(part, (1 - part) * start) for part in (np.arange(50) + 0.5) / 50]


def _measure_figure8(section: Section, repeats: int) -> None:
    import torch

    task, epsilon, seeds = _images("Fashion-MNIST"), 1.19, range(repeats)
    epochs = {np.inf: 2, epsilon: 4}
    centre, spread = task.given["standardize"]
    rows, tests = (task.inputs(X).reshape(-1, 1, 28, 28) for X in (task.X, task.X_test))
    some, labels = tests[:_EXPLAINED], task.y_test[:_EXPLAINED]
    noise = np.random.default_rng(0).standard_normal((50, *some.shape)) * 0.15 * 255 / spread
    methods: dict[str, Any] = {"IG": _path(-centre / spread), "SG": [(1.0, one) for one in noise]}

    def of_networks(size: str, asked: float) -> tuple[list[float], dict[str, Floats]]:
        networks = []
        for seed in seeds:
            torch.manual_seed(seed)
            start = _convolutional(size)
            networks.append(_trained(start, rows, task.y, epochs[asked], asked))
        said = {name: _slopes(networks[0], some, labels, one) for name, one in methods.items()}
        return [task.accuracy(_outputs(one, tests)) for one in networks], said

    def of_maps(_size: str, asked: float) -> tuple[list[float], dict[str, Floats]]:
        models = [fitted(task, asked, seed) for seed in seeds]
        scores = [100 * float(one.score(task.X_test, task.y_test)) for one in models]
        return scores, {"map": _weighted_maps(models[0], task, _EXPLAINED)}

    lines, drawn = [], {}
    for name, size, parameters, published, measured in (
        ("M_a", "a", "431,080", "75", of_networks),
        ("M_b", "b", "26,010", "81", of_networks),
        ("ours", "", "", "", of_maps),
    ):
        (openly, open_said), (privately, said) = (measured(size, e) for e in epochs)
        same = {method: _correlation(open_said[method], said[method]) for method in said}
        row = {"model": name, "parameters": parameters, "not private, %": _mean(openly)}
        row |= {f"epsilon {epsilon:g}, %": _mean(privately), "the paper": published}
        lines.append(row | {"same picture": ", ".join(f"{m} {r:.2f}" for m, r in same.items())})
        print(lines[-1], flush=True)
        for method in said:
            drawn[f"{name} {method},\nnot private"] = open_said[method]
            drawn[f"{name} {method},\nprivate"] = said[method]
    section.add(
        f"Fashion-MNIST, delta {DELTA:g}, fits of each: {repeats}. Networks are trained by Adam "
        f"with a rate of 0.001: private ones by Opacus for {epochs[epsilon]} epochs with batches "
        f"of 500 and a clipping norm of 1, others for {epochs[np.inf]} with batches of 64. Nothing "
        "was tuned, and the paper does not say how it trained. M_a is torch's example for MNIST; "
        "M_b is Opacus' example, which has the paper's number of parameters. Same picture: "
        "correlation, over pixels, with the picture of the model without privacy; mean of "
        f"{_EXPLAINED} test images.",
        pd.DataFrame(lines),
    )
    shows = "Integrated gradients and SmoothGrad of both networks, and our weighted map"
    asked_images = [int(np.flatnonzero(labels == label)[0]) for label in (4, 5)]
    n_columns = 1 + len(drawn)
    with section.drawing(shows, n_columns, n_rows=2, width=1.1, height=1.4) as axes:
        for axis_line, image in zip(axes.reshape(2, n_columns), asked_images, strict=True):
            _picture(axis_line[0], task.X_test[image], grey=True)
            for axis, (title, pictures) in zip(axis_line[1:], drawn.items(), strict=True):
                _picture(axis, pictures[image], title if image == asked_images[0] else "")


def _correlation(one: Floats, other: Floats) -> float:
    pairs = zip(one, other, strict=True)
    return float(np.mean([np.corrcoef(a, b)[0, 1] for a, b in pairs]))


PAPER = Paper(
    "Harder, Bauer and Park (2020): locally linear maps",
    (
        Item("accuracy", "Section 4.1: accuracy", _measure_accuracy, 3, is_short=False),
        Item("figure2", "Figure 2: filters with privacy", _measure_figure2, 1),
        Item("figure5", "Figure 5: epsilon, maps and dimension", _measure_figure5, 1),
        Item("figure6", "Figure 6: epsilon and maps on a table", _measure_figure6, 3),
        Item("multilabel", "Section 4.2: several labels", _measure_multilabel, 3),
        Item("figure7", "Figures 7 and 10: maps beside integrated gradients", _measure_figure7, 4),
        Item("figure8", "Figure 8: private networks", _measure_figure8, 1),
    ),
    {
        "figure 1": "a diagram",
        "figures 3, 4 and 9": "[the notebook that compares with a CNN]"
        "(../examples/compare_with_a_cnn.ipynb)",
    },
)
