"""Whether repairs bring released curves nearer to the truth: ``python -m benchmarks.repair``.

Each fit is of a simulated cohort of its own, whose true curves are known. The error of a curve is
its root mean square distance from the true curve over the cohort's rows, both centred over them.
Age, length of stay and prior admissions truly increase, which the repairs are told; body mass
index has no effect, and blood pressure is U-shaped: telling the wrong direction is the control.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from tqdm.auto import tqdm

from benchmarks.report import write_page
from interpret_dp import DPExplainableBoostingClassifier, DPExplainableBoostingRegressor
from interpret_dp.datasets import Cohort, make_cohort
from interpret_dp.mechanisms import SeededRandomness, use_randomness

if TYPE_CHECKING:
    from interpret_dp.editor import EditSession

__all__ = ["INCREASING", "REPAIRS", "curve_errors", "measure"]

INCREASING = ("age", "length_of_stay", "prior_admissions")
CONTROL = "systolic_bp"
_DELTA = 1e-6

Floats = NDArray[np.float64]


def _monotone(session: EditSession, term: str) -> None:
    session.make_monotone(term, increasing=True)


def _smooth(session: EditSession, term: str) -> None:
    session.smooth(term)


def _both(session: EditSession, term: str) -> None:
    session.smooth(term)
    session.make_monotone(term, increasing=True)


def _suggested(session: EditSession, term: str) -> None:
    session.apply(session.suggest_repairs({term: "+"}))


REPAIRS: Mapping[str, Callable[[EditSession, str], None]] = {
    "increasing": _monotone,
    "suggested": _suggested,
    "smoothed": _smooth,
    "smoothed, increasing": _both,
}
"""Repairs by name: what is done to each term."""


def curve_errors(model: Any, cohort: Cohort, terms: Sequence[str]) -> Floats:
    """Return the error of each term's curve, shape (n_terms,), in units of score."""
    contributions = model.eval_terms(cohort.X)
    errors = []
    for term in terms:
        released = contributions[:, model.term_names_.index(term)]
        distance = released - cohort.curves[term](cohort.X[term])
        errors.append(float(np.std(distance)))
    return np.array(errors)


def measure(
    epsilon: float, *, n_rows: int, fits: int, task: str
) -> tuple[dict[str, Floats], list[str]]:
    """Fit cohorts and repair their models.

    Parameters
    ----------
    epsilon : float
    n_rows : int
        Rows of each cohort.
    fits : int
        Number of cohorts.
    task : {"classification", "regression"}

    Returns
    -------
    errors : dict of str to ndarray of float64, shape (fits, n_terms)
        Of the released curves (``released``) and after each repair.
    terms : list of str
        The increasing ones, then the control.
    """
    terms = [*INCREASING, CONTROL]
    errors: dict[str, list[Floats]] = {name: [] for name in ("released", *REPAIRS)}
    for seed in tqdm(range(fits), desc=f"{task} {epsilon:g}", unit="fit"):
        cohort = make_cohort(n_rows, seed=seed, task=task)
        model = _fitted(cohort, epsilon, seed, task)
        errors["released"].append(curve_errors(model, cohort, terms))
        for name, repair in REPAIRS.items():
            session = model.edit(author="benchmark")
            for term in terms:
                repair(session, term)
            errors[name].append(curve_errors(session.model, cohort, terms))
    return {name: np.array(values) for name, values in errors.items()}, terms


def _fitted(cohort: Cohort, epsilon: float, seed: int, task: str) -> Any:
    kind = (
        DPExplainableBoostingClassifier
        if task == "classification"
        else DPExplainableBoostingRegressor
    )
    with use_randomness(SeededRandomness(seed)), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that seeded noise promises nothing
        model = kind(schema=cohort.schema, epsilon=epsilon, delta=_DELTA, dataset="simulated")
        return model.fit(cohort.X, cohort.y)


def _table(errors: Mapping[str, Floats], terms: Sequence[str], digits: int) -> list[str]:
    lines = [
        "| curve | released | " + " | ".join(REPAIRS) + " |",
        "| --- " * (len(REPAIRS) + 2) + "|",
    ]
    for index, term in enumerate(terms):
        before = errors["released"][:, index]
        cells = [f"{before.mean():.{digits}f}"]
        for name in REPAIRS:
            after = errors[name][:, index]
            difference = after - before
            deviation = difference.std(ddof=1) / np.sqrt(len(difference))
            cells.append(
                f"{after.mean():.{digits}f} ({difference.mean():+.{digits}f} ± "
                f"{deviation:.{digits}f}; better in {np.mean(difference < 0):.0%})"
            )
        control = " (control: not increasing)" if term == CONTROL else ""
        lines.append(f"| {term}{control} | " + " | ".join(cells) + " |")
    return lines


def _figure(path: Path, tasks: Sequence[str], epsilons: Sequence[float], n_rows: int) -> None:
    """Draw the age curve of one cohort: true, released with its band, and repaired."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(
        len(tasks), len(epsilons), figsize=(10, 3.6 * len(tasks)), sharey="row", squeeze=False
    )
    for row, task in zip(axes, tasks, strict=True):
        cohort = make_cohort(n_rows, seed=0, task=task)
        for axis, epsilon in zip(row, epsilons, strict=True):
            _draw(axis, cohort, _fitted(cohort, epsilon, 0, task))
            axis.set_title(f"{task}, epsilon {epsilon:g}, {n_rows:,} rows", fontsize=11)
        unit = "log-odds of readmission" if task == "classification" else "annual cost"
        row[0].set_ylabel(f"{unit}, difference from the mean")
    for axis in axes[-1]:
        axis.set_xlabel("age, years")
    axes[0][0].legend(frameon=False)
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110, metadata={"Software": None})
    pyplot.close(figure)


def _draw(axis: Any, cohort: Cohort, model: Any) -> None:
    session = model.edit(author="benchmark")
    session.make_monotone("age", increasing=True)
    view = session.view("age")
    ages = np.linspace(view.edges[0], view.edges[-1], 400)
    bins = np.clip(np.searchsorted(view.edges, ages, side="right"), 1, len(view.labels) - 2)
    # Curves are released centred over the histogram; the truth is centred over the rows.
    axis.fill_between(
        ages,
        *view.band.at(bins),
        color="#14609c",
        alpha=0.18,
        linewidth=0,
        label="95 % band of noise and sampling",
    )
    axis.plot(ages, view.original[bins], color="#14609c", label="released")
    axis.plot(ages, view.current[bins], color="#d9480f", linewidth=2, label="made increasing")
    axis.plot(ages, cohort.curves["age"](ages), color="#24323f", linestyle="--", label="truth")


def main() -> None:
    """Measure, print the tables, and write them and the figure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epsilon", type=float, nargs="+", default=[0.5, 1.0])
    parser.add_argument("--rows", type=int, default=5_000)
    parser.add_argument("--fits", type=int, default=40)
    parser.add_argument(
        "--task",
        choices=["classification", "regression"],
        nargs="+",
        default=["classification", "regression"],
    )
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/repair.md"))
    parser.add_argument("--figure", type=Path, default=Path("docs/figures/repair.png"))
    arguments = parser.parse_args()
    lines = [
        "# Repairs of released curves",
        "",
        f"Root mean square distance from the true curve over the rows, mean of {arguments.fits} "
        f"simulated cohorts of {arguments.rows:,} rows; in brackets the paired difference to the "
        "released curve with its standard error, and the share of cohorts in which it is smaller.",
    ]
    for task in arguments.task:
        unit, digits = ("log-odds", 3) if task == "classification" else ("currency units", 0)
        for epsilon in arguments.epsilon:
            errors, terms = measure(epsilon, n_rows=arguments.rows, fits=arguments.fits, task=task)
            lines += ["", f"## {task}, epsilon {epsilon:g}, in {unit}", ""]
            lines += _table(errors, terms, digits)
    command = f"python -m benchmarks.repair --rows {arguments.rows} --fits {arguments.fits}"
    lines += ["", f"Repeat with `{command}`.", ""]
    text = "\n".join(lines)
    print(text)
    write_page(arguments.out, text)
    _figure(arguments.figure, arguments.task, arguments.epsilon, arguments.rows)


if __name__ == "__main__":
    main()
