"""Explanations of models that were themselves trained with differential privacy.

Figures 6, 7 and 8 of Patel, Shokri and Zick (2022), on adult: our DP-EBM at several epsilons
against interpret's EBM without privacy. The paper explains neural networks on reviews and on faces.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.lime_report import Report, public_tables
from benchmarks.lime_setting import Task, answer, mean_and_error, task_of, top_overlap
from benchmarks.lime_truth import Truth, truth_of
from interpret_dp import Categorical, DPExplainableBoostingClassifier, PrivacyLedger, Schema
from interpret_dp.datasets import load_benchmark

__all__ = ["models_study"]

Floats = NDArray[np.float64]

_NEAREST = 50
_COLOURS = ("#24323f", "#d9480f", "#e8a200", "#14609c")
_TRAINED = 0.7


@dataclass(frozen=True)
class _Explained:
    """What was found about one model."""

    task: Task
    truth: Truth
    accuracy: float
    distances: Floats
    losses: Floats
    wrong: Floats


def models_study(
    epsilons: Sequence[float], n_queries: int, query_epsilon: float, report: Report
) -> None:
    """Measure, tabulate and draw.

    Parameters
    ----------
    epsilons : sequence of float
        Of the models' own training, at delta 1e-5.
    n_queries : int
        Rows that are explained for every model.
    query_epsilon : float
        Of one explanation, at delta 1e-6.
    report : Report
    """
    rows, target = load_benchmark("adult")
    labels = target.to_numpy()
    with public_tables():
        schema = Schema.draft(rows)
    order = np.random.default_rng(0).permutation(len(rows))
    training, test = np.split(order, [int(_TRAINED * len(rows))])
    chosen = np.random.default_rng(1).choice(len(rows), n_queries, replace=False)
    base = task_of(rows, schema, _boosted(rows, labels, training))
    right = truth_of(base, chosen)
    near = _nearest(base, chosen)
    tasks = {"without": base} | {
        f"{epsilon:g}": task_of(rows, schema, _private(rows, labels, training, schema, epsilon))
        for epsilon in epsilons
    }
    found = {}
    for name, task in tasks.items():
        truth = right if task is base else truth_of(task, chosen)
        answers = answer(task, chosen, "statistics", query_epsilon)
        says = task.model.probabilities.argmax(axis=1)
        found[name] = _Explained(
            task,
            truth,
            float(np.mean(says[test] == labels[test])),
            np.linalg.norm(answers.phis - right.best, axis=1),
            truth.losses(answers.phis),
            np.mean(says[near] != labels[near], axis=1),
        )
    report.add(
        "Models trained with differential privacy",
        _table(found, right),
        f"adult, trained on {_TRAINED:.0%} of the rows; {n_queries} rows explained by `statistics` "
        f"at epsilon {query_epsilon:g} each, by equation 1 as printed. `distance` "
        "is from the best explanation of the model without privacy, "
        "`best: distance` that of the best explanations alone; `wrong` the share of the "
        f"{_NEAREST} nearest rows that the model gets wrong.",
    )
    _draw(report, found)
    _draw_effects(report, found, chosen, labels)


def _boosted(rows: pd.DataFrame, labels: Any, training: Any) -> Floats:
    from interpret.glassbox import ExplainableBoostingClassifier

    model = ExplainableBoostingClassifier(interactions=0, outer_bags=4, n_jobs=1, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that missing values have no bar in its plots
        found: Floats = model.fit(rows.iloc[training], labels[training]).predict_proba(rows)
    return found


def _private(
    rows: pd.DataFrame, labels: Any, training: Any, schema: Schema, epsilon: float
) -> Floats:
    ledger = PrivacyLedger.in_memory()
    ledger.create_budget("adult", epsilon, 1e-5)
    declared = dataclasses.replace(schema, target=Categorical([0, 1]))
    model = DPExplainableBoostingClassifier(
        schema=declared, epsilon=epsilon, delta=1e-5, ledger=ledger, dataset="adult"
    )
    found: Floats = model.fit(rows.iloc[training], labels[training]).predict_proba(rows)
    return found


def _nearest(task: Task, chosen: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the rows nearest to each query, itself left out; shape (n_queries, 50)."""
    points = task.points.astype(np.float32)
    squares = np.einsum("ij,ij->i", points, points)
    apart = squares - 2 * points[chosen] @ points.T
    apart[np.arange(len(chosen)), chosen] = np.inf
    return np.argpartition(apart, _NEAREST, axis=1)[:, :_NEAREST]


def _table(found: Mapping[str, _Explained], right: Truth) -> pd.DataFrame:
    records = []
    for name, one in found.items():
        distance, distance_error = mean_and_error(one.distances)
        loss, loss_error = mean_and_error(one.losses)
        moved = np.linalg.norm(one.truth.best - right.best, axis=1)
        records.append(
            {
                "epsilon of the model": name,
                "test accuracy": one.accuracy,
                "distance": distance,
                "its error": distance_error,
                "best: distance": float(moved.mean()),
                "best: top 5 shared": top_overlap(one.truth.best, right.best),
                "loss": loss,
                "loss error": loss_error,
                "wrong": float(one.wrong.mean()),
                "correlation of loss and wrong": float(np.corrcoef(one.losses, one.wrong)[0, 1]),
            }
        )
    return pd.DataFrame(records)


def _draw(report: Report, found: Mapping[str, _Explained]) -> None:
    """Draw figures 7a, 7b and 8."""
    with report.drawing("lime_private_models", 3) as axes:
        distances, losses, scatter = axes
        ends = [_shared_edges([one.distances for one in found.values()])]
        ends.append(_shared_edges([one.losses * 1e3 for one in found.values()]))
        for (name, one), colour in zip(found.items(), _COLOURS, strict=False):
            label = _label(name)
            style = {"histtype": "step", "color": colour, "label": label, "linewidth": 1.5}
            distances.hist(one.distances, ends[0], **style)
            losses.hist(one.losses * 1e3, ends[1], **style)
            order = np.argsort(one.wrong)
            parts = np.array_split(order, 8)
            scatter.plot(
                [one.wrong[part].mean() for part in parts],
                [one.losses[part].mean() * 1e3 for part in parts],
                "o-",
                color=colour,
                label=label,
            )
        distances.set(xlabel="distance from the model without privacy")
        losses.set(xlabel="loss (equation 4), thousandths")
        for axis in (distances, losses):
            axis.set_ylabel("rows")
        scatter.set(xlabel="misclassified of the 50 nearest rows", ylabel="loss, thousandths")
        distances.legend(frameon=False, fontsize=8)


def _says(one: _Explained, chosen: NDArray[np.intp]) -> NDArray[np.intp]:
    found: NDArray[np.intp] = one.task.model.probabilities[chosen].argmax(axis=1)
    return found


def _label(name: str) -> str:
    return "without privacy" if name == "without" else f"model at epsilon {name}"


def _shared_edges(values: Sequence[Floats]) -> Floats:
    together = np.concatenate(values)
    edges: Floats = np.linspace(together.min(), np.quantile(together, 0.995), 40)
    return edges


def _draw_effects(
    report: Report, found: Mapping[str, _Explained], chosen: NDArray[np.intp], labels: Any
) -> None:
    """Draw figure 6: effects without noise, by differences, at a row that all models get wrong."""
    wrong = np.all([_says(one, chosen) != labels[chosen] for one in found.values()], axis=0)
    at = int(np.argmax(wrong))
    features = found["without"].task.features
    with report.drawing("lime_private_model_effects", 1, width=7.0, height=4.4) as axes:
        axis = axes[0]
        places = np.arange(len(features.names))
        height = 0.8 / len(found)
        for shift, ((name, one), colour) in enumerate(zip(found.items(), _COLOURS, strict=False)):
            point = one.task.points[chosen[at]]
            best = truth_of(one.task, chosen[[at]], centered=True).best[0]
            effects = np.nan_to_num(features.per_feature(best, point))
            axis.barh(places + shift * height, effects, height, color=colour, label=_label(name))
        axis.set_yticks(places + 0.4, features.names, fontsize=8)
        axis.invert_yaxis()
        axis.set_xlabel("effect on the probability, at a row that all models get wrong")
        axis.legend(frameon=False, fontsize=8)
