"""``interpret-dp demo``: the package in two minutes, on people who do not exist."""

from __future__ import annotations

import argparse
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interpret_dp._version import __version__
from interpret_dp.cli.console import (
    CommandError,
    FailedError,
    add_command,
    positive_number,
    say,
    say_items,
    step,
)
from interpret_dp.cli.show import add_page_options
from interpret_dp.exceptions import BudgetExceededError

if TYPE_CHECKING:
    from interpret_dp.datasets import Cohort

__all__ = ["add_to"]

_FEWEST_ROWS = 500
_DELTA = 1e-6
_FITS_IN_BUDGET = 4
_FOLDER = "demo_output"
_HELD_OUT_PART = 5
_SHOWN_PATIENTS = 6
_SERVED_PATIENTS = 25


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command ``demo``."""
    parser = add_command(
        commands,
        "demo",
        summary="train and show a private model of simulated patients",
        description="Simulate a hospital cohort, train a private model on it, and show its "
        "explanations in interpret's dashboard. Nothing is downloaded, and nobody's data is used.",
        example="interpret-dp demo --no-serve --out demo_output",
    )
    parser.add_argument(
        "--rows", type=int, default=20_000, metavar="N", help="simulated patients (default: 20000)"
    )
    parser.add_argument(
        "--epsilon", type=positive_number, default=1.0, help="privacy loss (default: 1)"
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=0,
        help="of the simulation alone, never of the noise (default: 0)",
    )
    parser.add_argument(
        "--task",
        choices=("classification", "regression"),
        default="classification",
        help="predict readmission, or the annual cost (default: classification)",
    )
    parser.add_argument(
        "--no-serve",
        action="store_true",
        help="write one HTML page that needs no network, instead of serving the dashboard",
    )
    parser.add_argument(
        "--out",
        metavar="DIR",
        help="folder of ledger, model and page (default: a temporary one, or with --no-serve "
        f"{_FOLDER})",
    )
    add_page_options(parser)
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> None:
    if arguments.rows < _FEWEST_ROWS:
        raise CommandError(
            f"--rows is {arguments.rows}; it must be at least {_FEWEST_ROWS}, of which a fifth is "
            "held out to measure the accuracy."
        )
    say(f"interpret-dp {__version__}: a private model of simulated patients, who do not exist\n")
    with _folder(arguments) as folder:
        _demonstrate(arguments, Path(folder))


def _folder(arguments: argparse.Namespace) -> AbstractContextManager[Any]:
    from tempfile import TemporaryDirectory

    from interpret_dp.cli.outputs import new_folder

    if arguments.out is None and not arguments.no_serve:
        return TemporaryDirectory(prefix="interpret-dp-demo-")
    return nullcontext(new_folder(arguments.out or _FOLDER))


def _demonstrate(arguments: argparse.Namespace, folder: Path) -> None:
    with step("loading the libraries"):
        from interpret_dp.cli.fit import account_items
        from interpret_dp.datasets import make_cohort
        from interpret_dp.ebm import estimators

    with step(f"simulating {arguments.rows:,} patients"):
        cohort = make_cohort(arguments.rows, seed=arguments.seed, task=arguments.task)
    # Rows are drawn independently of each other: the last ones are as good as a random part.
    n_fitted = arguments.rows - arguments.rows // _HELD_OUT_PART
    ledger, dataset = _open_budget(arguments, folder)

    kind = (
        estimators.DPExplainableBoostingClassifier
        if arguments.task == "classification"
        else estimators.DPExplainableBoostingRegressor
    )
    model = kind(
        epsilon=arguments.epsilon,
        delta=_DELTA,
        schema=cohort.schema,
        ledger=ledger,
        dataset=dataset,
    )
    with step(f"fitting with epsilon {arguments.epsilon:g}, delta {_DELTA:g}"):
        try:
            model.fit(cohort.X[:n_fitted], cohort.y[:n_fitted])
        except BudgetExceededError as error:
            raise FailedError(
                f"{error} This is the ledger at work: earlier runs in {str(folder)!r} were charged "
                "too. Give another --out to start anew, which only made-up people allow."
            ) from error
        model.save(folder / "model.json")
    with step(f"measuring on {arguments.rows - n_fitted:,} held-out patients"):
        accuracy = _accuracy(model, cohort, n_fitted)
    with step("explaining"):
        n_shown = _SHOWN_PATIENTS if arguments.no_serve else _SERVED_PATIENTS
        shown = slice(n_fitted, n_fitted + n_shown)
        total = model.explain_global(name="Simulated patients")
        local = model.explain_local(
            cohort.X[shown], cohort.y[shown], name=f"{n_shown} held-out patients"
        )
    notes = _notes(arguments)
    page = (
        _write_page(model, cohort, accuracy, local, folder, notes) if arguments.no_serve else None
    )
    say()
    say_items(
        [
            ("Accuracy", accuracy),
            ("Guarantee", model.guarantee_.sentence),
            *account_items(model.privacy_spend_),
        ]
    )
    say("\nWhat you see")
    say_items(notes.items())
    say()
    if page is not None:
        next_page = f"interpret-dp show {folder / 'model.json'}"
        say_items([("Page", str(page.resolve())), ("Edit it", next_page)])
        return
    from interpret_dp.cli.serve import serve

    serve([total, local], port=arguments.port, open_browser=not arguments.no_browser)


def _open_budget(arguments: argparse.Namespace, folder: Path) -> tuple[Any, str]:
    """Return the ledger and the name by which it knows this cohort."""
    from interpret_dp.ledger import PrivacyLedger

    task, rows, seed = arguments.task, arguments.rows, arguments.seed
    dataset = f"simulated cohort ({task}, {rows} rows, seed {seed})"
    ledger = PrivacyLedger(f"sqlite:///{(folder / 'privacy.db').resolve()}")
    known = ledger.budget(dataset)
    if known is None:
        epsilon = _FITS_IN_BUDGET * arguments.epsilon
        with step(f"declaring a budget of epsilon {epsilon:g}, delta {_DELTA:g}"):
            ledger.create_budget(dataset, epsilon, _DELTA, purpose="demo")
    else:
        say(f"  the ledger of an earlier run has a budget of epsilon {known.epsilon:g}")
    return ledger, dataset


def _accuracy(model: Any, cohort: Cohort, n_fitted: int) -> str:
    from sklearn.metrics import roc_auc_score, root_mean_squared_error

    X, y = cohort.X[n_fitted:], cohort.y[n_fitted:]
    if hasattr(model, "classes_"):
        positive = y == "yes"
        ours = roc_auc_score(positive, model.predict_proba(X)[:, 1])
        truth = roc_auc_score(positive, cohort.score(X))
        figures = f"AUROC {ours:.3f} on {len(y):,} held-out patients; the true curves reach "
        return f"{figures}{truth:.3f}"
    ours = root_mean_squared_error(y, model.predict(X))
    truth = root_mean_squared_error(y, cohort.score(X))
    figures = f"RMSE {ours:,.0f} on {len(y):,} held-out patients; the true curves reach "
    return f"{figures}{truth:,.0f}"


def _notes(arguments: argparse.Namespace) -> dict[str, str]:
    """Return what there is to look at, by a short label."""
    effect = "the log-odds of readmission" if arguments.task == "classification" else "the cost"
    dashed = "; the dashed line is the truth, which only a simulation knows"
    curves = (
        f"each curve says what a feature adds to {effect}, and the band around it how far the "
        "noise that protects people may have moved it"
    )
    notes = {
        "Curves": f"{curves}{dashed if arguments.no_serve else ''}.",
        "creatinine": "treatment starts at 1.5 mg/dl and helps: the true risk falls there at once. "
        "A line through the data would hide such a step.",
        "bmi": "it has no effect on these patients. What its curve shows is noise and the luck of "
        "the sample, and the band says so.",
        "Privacy": "the guarantee covers every figure here at once, whoever looks and for how "
        "long. Looking, editing and copying cost nothing more; another fit does, and the ledger "
        "counts it.",
    }
    if not arguments.no_serve:
        notes["Where"] = (
            "the tab Global has the curves: choose an explanation in its menu, then tick a "
            "feature; its card has an editor to smooth, cut or level the curve. Local has single "
            "patients; Privacy has what was spent."
        )
    return notes


def _write_page(
    model: Any,
    cohort: Cohort,
    accuracy: str,
    local: Any,
    folder: Path,
    notes: dict[str, str],
) -> Path:
    from interpret_dp.explanation.export import write_html

    page = folder / "demo.html"
    with step("writing the page"):
        write_html(
            page,
            model.to_released(),
            model.privacy_spend_,
            title="A private model of simulated patients",
            lead="Nobody's data: the cohort is simulated, so its true curves are known. "
            f"{accuracy}.",
            notes=notes,
            truth=cohort.curves,
            local=local,
        )
    return page
