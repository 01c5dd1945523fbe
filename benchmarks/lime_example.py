"""The figure and the figures of docs/lime.md: ``python -m benchmarks.lime_example``.

Everything is simulated, and goes through the public class. Noise comes from the operating system,
so that two runs differ by as much as the standard errors say. "Without noise" is the same
explanation at an epsilon of 50, where noise is too small to be seen.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from interpret_dp import Continuous, DPExplainableBoostingClassifier, DPLimeTabular, Schema
from interpret_dp.datasets import make_cohort
from interpret_dp.explanation.influence import Influence

__all__ = ["ceilings", "centering", "main", "promises", "wide_inputs"]

EPSILON = 0.3
_NO_NOISE = {"epsilon": 200.0, "per_query": 50.0}
_UP, _DOWN, _INK = "#d9480f", "#14609c", "#24323f"

Floats = NDArray[np.float64]


def _forest() -> Any:
    """Return a random forest that was trained on other patients."""
    past = make_cohort(6_000, seed=1)
    words = make_column_selector(dtype_exclude="number")
    return make_pipeline(
        make_column_transformer((OneHotEncoder(), words), remainder="passthrough"),
        RandomForestClassifier(100, max_depth=8, random_state=0),
    ).fit(past.X, past.y)


def promises() -> list[str]:
    """Return the sentence of each case of whom a model was trained on and how."""
    patients = make_cohort(5_000)
    private = DPExplainableBoostingClassifier(schema=patients.schema, epsilon=1.0, delta=1e-6)
    private.fit(patients.X, patients.y)

    def hidden(X: Any) -> Any:
        """Predict as a function, whose promise nobody can look up."""
        return private.predict_proba(X)

    def sentence(model: Any, same: bool, promise: tuple[float, float] | None = None) -> str:
        explainer = DPLimeTabular(
            model,
            patients.X,
            schema=patients.schema,
            trained_on_same_people=same,
            model_guarantee=promise,
        )
        return str(explainer.guarantee_.scope)

    return [
        f"other people, without a promise: {sentence(hidden, False)}",
        f"other people, (2, 1e-5): {sentence(hidden, False, (2.0, 1e-5))}",
        f"the same people, without a promise: {sentence(hidden, True)}",
        f"the same people, (2, 1e-5): {sentence(hidden, True, (2.0, 1e-5))}",
        f"the same people, our own model: {sentence(private, True)}",
    ]


def centering() -> pd.DataFrame:
    """Explain 0.7 + 0.2 "used" at three points, as printed in the paper and centred."""
    rng = np.random.default_rng(0)
    rows, names = rng.random((20_000, 3)), ["used", "unused", "unused too"]
    queries = np.array([[0.9, 0.9, 0.9], [0.1, 0.8, 0.5], [0.5, 0.5, 0.5]])
    found = {}
    for centered in (False, True):
        explainer = DPLimeTabular(
            lambda X: 0.7 + 0.2 * X[:, 0],
            rows,
            names,
            schema=Schema(default=Continuous(0, 1)),
            trained_on_same_people=False,
            centered=centered,
            **_NO_NOISE,
        )
        explanation = explainer.explain_local(queries)
        for row, query in enumerate(queries):
            found[f"{query.tolist()}, centered={centered}"] = explanation.data(row)["scores"]
    return pd.DataFrame.from_dict(found, orient="index", columns=names)


def ceilings() -> pd.DataFrame:
    """Explain 0.1 + 0.8 "used" beside more and more features that the model does not use."""
    rng = np.random.default_rng(0)
    found = {}
    for n_features in (1, 2, 10, 30, 100):
        explainer = DPLimeTabular(
            lambda X: 0.1 + 0.8 * X[:, 0],
            rng.random((20_000, n_features)),
            schema=Schema(default=Continuous(0, 1)),
            trained_on_same_people=False,
            **_NO_NOISE,
        )
        query = np.full((1, n_features), 0.5)
        paid = explainer.explain_local(query, method="statistics").data(0)["scores"]
        read_off = explainer.explain_local(query + 0.49, method="surrogate").data(0)["scores"]
        found[n_features] = {"statistics": paid[0], "surrogate, at 0.99": read_off[0]}
    return pd.DataFrame.from_dict(found, orient="index").rename_axis("features")


def _agreement(
    model: Callable[[Any], Floats], rows: Floats, bounds: Continuous, epsilon: float
) -> str:
    """Return how three explanations agree with the same ones without noise.

    The mean correlation of their effects; in brackets, of how many effects noise is too small to
    be all.
    """

    def explained(**spent: float) -> list[Influence]:
        explainer = DPLimeTabular(
            model,
            rows,
            schema=Schema(default=bounds),
            trained_on_same_people=False,
            method="statistics",
            **spent,
        )
        explanation = explainer.explain_local(rows[:3])
        return [_influence(explanation.data(row)) for row in range(3)]

    noisy, exact = explained(epsilon=10.0, per_query=epsilon), explained(**_NO_NOISE)
    pairs = zip(noisy, exact, strict=True)
    agreement = np.mean([np.corrcoef(one.effects, other.effects)[0, 1] for one, other in pairs])
    return f"{agreement:.2f} ({np.mean([one.stands_out.sum() for one in noisy]):.0f})"


def wide_inputs(epsilons: Sequence[float]) -> pd.DataFrame:
    """Return how explanations of bags of words and of images agree with those without noise."""
    rng = np.random.default_rng(0)
    counts = rng.poisson(0.15, size=(20_000, 500)).astype(float)
    lines = {
        f"500 words, counts declared 0 to {most}": (_words, counts, Continuous(0, most))
        for most in (4, 255)
    }
    for side in (12, 24, 48):
        lines[f"images of {side} x {side}"] = (_images, _blobs(rng, side), Continuous(0, 255))
    found = {
        name: [_agreement(*line, epsilon) for epsilon in epsilons] for name, line in lines.items()
    }
    return pd.DataFrame.from_dict(
        found, orient="index", columns=[f"epsilon {epsilon:g}" for epsilon in epsilons]
    )


def _words(counts: Any) -> Floats:
    """Return a probability that ten words raise and ten lower."""
    score = counts[:, :10].sum(axis=1) - counts[:, 10:20].sum(axis=1)
    return np.asarray(1 / (1 + np.exp(-score)), dtype=np.float64)


def _images(pixels: Any) -> Floats:
    """Return a probability that rises with a bright centre."""
    side = int(np.sqrt(pixels.shape[1]))
    middle = slice(side // 3, side - side // 3)
    centre = pixels.reshape(-1, side, side)[:, middle, middle].mean(axis=(1, 2))
    return np.asarray(1 / (1 + np.exp(-(centre - 110) / 15)), dtype=np.float64)


def _blobs(rng: np.random.Generator, side: int, n_images: int = 12_000) -> Floats:
    """Return smooth grey images of random cosines; shape (n_images, side * side)."""
    waves = np.cos(np.pi * np.outer(np.arange(4), (np.arange(side) + 0.5) / side))
    images = np.einsum("nij,iy,jx->nyx", rng.normal(size=(n_images, 4, 4)), waves, waves)
    return np.asarray(np.clip(128 + 25 * images, 0, 255).reshape(n_images, -1))


def _draw(path: Path) -> None:
    """Draw one explanation at epsilon 0.3 with its noise, beside what it is without."""
    import matplotlib.pyplot as plt

    patients, forest = make_cohort(20_000), _forest()
    patient = make_cohort(1, seed=7).X
    records = [
        DPLimeTabular(
            forest, patients.X, schema=patients.schema, trained_on_same_people=False, **spent
        )
        .explain_local(patient)
        .data(0)
        for spent in ({"per_query": EPSILON}, _NO_NOISE)
    ]
    shown, exact = _influence(records[0]), np.array(records[1]["scores"])
    released, errors, stands_out = shown.effects, shown.errors, shown.stands_out
    order = np.argsort(np.abs(released))
    places = np.arange(len(order))
    figure, axis = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
    for at, index in zip(places, order, strict=True):
        axis.barh(
            at,
            released[index],
            0.65,
            color=_UP if released[index] > 0 else _DOWN,
            alpha=1.0 if stands_out[index] else 0.32,
        )
    axis.errorbar(
        released[order],
        places,
        xerr=1.96 * errors[order],
        fmt="none",
        ecolor=_INK,
        elinewidth=1.3,
        capsize=3,
        label="95 % of the added noise",
    )
    axis.plot(exact[order], places, "D", mfc="white", mec=_INK, ms=5, label="without noise")
    names = [f"{records[0]['names'][i]} = {_text(records[0]['values'][i])}" for i in order]
    axis.set_yticks(places, names)
    axis.axvline(0, color="#9aa7b3", linewidth=1)
    axis.set_xlabel("change of the probability of readmission")
    predicted = f"{100 * records[0]['predicted']:.0f} %"
    title = f"One patient at epsilon {EPSILON:g}: the forest says {predicted}"
    axis.set_title(title, loc="left", fontsize=11)
    axis.legend(frameon=False, fontsize=9, loc="lower right")
    axis.spines[["top", "right"]].set_visible(False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _influence(record: Mapping[str, Any]) -> Influence:
    effects, errors = (np.array(record[part]) for part in ("scores", "standard_errors"))
    return Influence(tuple(record["names"]), effects, errors)


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def main() -> None:
    """Print the figures of the page and draw its figure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--figure", type=Path, default=Path("docs/figures/lime_explanation.png"))
    parser.add_argument("--epsilon", type=float, nargs="+", default=[0.1, 0.3, 1.0])
    arguments = parser.parse_args()
    print("\n".join(promises()), end="\n\n")
    for table in (centering(), ceilings()):
        print(table.round(3).to_string(), end="\n\n", flush=True)
    _draw(arguments.figure)
    print(wide_inputs(arguments.epsilon).to_string())


if __name__ == "__main__":
    main()
