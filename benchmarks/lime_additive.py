"""The loss of surrogates, each paid once, beside methods that pay for each query."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.lime_paper import PAPER_EPSILON, paper_answers, paper_total
from benchmarks.lime_setting import DELTA, Indices, Task, answer, mean_and_error
from benchmarks.lime_truth import Truth, local_weights, truth_of
from interpret_dp import Continuous, PrivacyLedger
from interpret_dp.accounting.gaussian import epsilon_of_mu, mu_of_budget
from interpret_dp.lime.asked import Outputs
from interpret_dp.lime.features import UNITS
from interpret_dp.lime.surrogate import fit_surrogate

__all__ = ["surrogate_table"]

Floats = NDArray[np.float64]

_MANY = 1_000


def surrogate_table(task: Task, chosen: Indices, epsilons: Sequence[float]) -> pd.DataFrame:
    """Return the loss of surrogates, each paid once, beside methods that pay for each query.

    A surrogate is an additive function h and no linear one: it gets the local loss of
    ``h(x) - h(z)`` against ``f(x) - f(z)``, above that of the best linear explanation of the same
    difference. So all are compared in that form, and a surrogate may be better than the best.
    """
    truth = truth_of(task, chosen, centered=True)
    found = paper_answers(truth, len(task), PAPER_EPSILON)
    records = [
        _row("paper, each query", PAPER_EPSILON, truth.losses(found.phis), paper_total(_MANY))
    ]
    for epsilon in (0.1, 0.01):
        answers = answer(task, chosen, "statistics", epsilon, centered=True)
        total = epsilon_of_mu(mu_of_budget(epsilon, DELTA) * math.sqrt(_MANY), DELTA)
        records.append(_row("statistics, each query", epsilon, truth.losses(answers.phis), total))
    probabilities = (task.labels / UNITS + 1) / 2
    both = np.column_stack([1 - probabilities, probabilities])
    for epsilon in epsilons:
        surrogate = fit_surrogate(
            task.rows,
            lambda: both,
            n_outputs=2,
            schema=task.schema,
            bounds=Continuous(0, 1),
            mu=mu_of_budget(epsilon, DELTA),
            delta=DELTA,
            outputs=Outputs((0, 1)),
            complementary=True,
            ledger=PrivacyLedger.in_memory(),
            dataset="explained",
        )
        predicted = surrogate.explain(task.rows, [1] * len(task)).predictions
        losses = _additive_losses(task, chosen, truth, predicted)
        records.append(_row("surrogate, once", epsilon, losses, epsilon))
    return pd.DataFrame(records)


def _row(name: str, epsilon: float, losses: Floats, total: float) -> dict[str, Any]:
    loss, error = mean_and_error(losses)
    record = {"method": name, "epsilon": epsilon, "loss": loss, "error": error}
    return record | {f"epsilon of {_MANY:,} queries": total}


def _additive_losses(task: Task, chosen: Indices, truth: Truth, predicted: Floats) -> Floats:
    """Return the local losses of an additive function above those of the best linear ones."""
    outputs = task.labels / UNITS / 2
    found = np.empty(len(chosen))
    for at, row in enumerate(chosen):
        wanted = outputs - outputs[row]
        errors = (predicted - predicted[row] - wanted) ** 2 - wanted**2
        found[at] = local_weights(task, int(row)) @ errors
    return found - truth.best_losses
