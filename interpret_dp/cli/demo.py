"""``interpret-dp demo``: the package in two minutes, on people who do not exist."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import click

from interpret_dp._version import __version__
from interpret_dp.cli import console
from interpret_dp.exceptions import BudgetExceededError

if TYPE_CHECKING:
    from interpret_dp.datasets import Cohort

_FEWEST_ROWS = 500
_DELTA = 1e-6
_FITS_IN_BUDGET = 4
_FOLDER = Path("demo_output")
_HELD_OUT_PART = 5
_SHOWN_PATIENTS = 6
_SERVED_PATIENTS = 25
_PORT_TAKEN = "Address already in use"
_NOTES = {
    "Curves": "each curve shows what a feature adds to {effect}, and its band where the true "
    "curve may be, as the noise that protects people and chance allow{dashed}.",
    "creatinine": "treatment starts at 1.5 mg/dl and helps: the true risk falls there at once. A "
    "line through the data would hide such a step.",
    "bmi": "it has no effect on these patients. Its curve is only noise and sampling error, "
    "as the band shows.",
    "Privacy": "one guarantee covers all figures here jointly, whoever looks, however long. "
    "Looking, editing and copying cost nothing more; another fit costs, and the ledger counts it.",
}
_WHERE = (
    "the tab Global has the curves: choose an explanation in its menu, then tick a feature; its "
    "card has an editor to smooth, cut or level the curve. Local has single patients; Privacy has "
    "what was spent."
)


@console.command("demo --no-serve --out demo_output")
@click.option("--rows", type=click.IntRange(min=_FEWEST_ROWS), default=20000)
@click.option("--epsilon", type=console.POSITIVE, default=1.0)
@click.option("--seed", type=click.IntRange(min=0), default=0)
@click.option(
    "--task", type=click.Choice(("classification", "regression")), default="classification"
)
@click.option("--sites", type=click.IntRange(2, 9))
@click.option("--no-serve", is_flag=True)
@click.option("--out", type=click.Path(file_okay=False, path_type=Path))
@console.page_options
def demo(**given: Any) -> None:
    """Train and show a private model of simulated patients.

    A hospital cohort is simulated, a private model is trained on it, and its explanations are shown
    in interpret's dashboard. Nothing is downloaded, and nobody's data is used.

    Options
    -------
    --rows
        simulated patients, of whom a fifth is held out to measure the accuracy
    --epsilon
        privacy loss
    --seed
        of the simulation alone, never of the noise
    --task
        predict readmission, or the annual cost
    --sites
        fit at so many simulated hospitals, which share no rows, by NVIDIA FLARE on this machine
        (default: at one place)
    --no-serve
        write one HTML page that needs no network, instead of serving the dashboard
    --out
        folder of ledger, model and page (default: a temporary one, or with --no-serve demo_output)
    """
    options = SimpleNamespace(**given)
    console.say(
        f"interpret-dp {__version__}: a private model of simulated patients, who do not exist\n"
    )
    if options.out is None and not options.no_serve:
        folder: Any = TemporaryDirectory(prefix="interpret-dp-demo-")
    else:
        folder = nullcontext(options.out or _FOLDER)
    with folder as path:
        Path(path).mkdir(parents=True, exist_ok=True)
        _demonstrate(options, Path(path))


def _demonstrate(options: SimpleNamespace, folder: Path) -> None:
    with console.step("loading the libraries"):
        from interpret_dp.cli.fit import say_account
        from interpret_dp.datasets import make_cohort

    with console.step(f"simulating {options.rows:,} patients"):
        cohort = make_cohort(options.rows, seed=options.seed, task=options.task)
    # Rows are drawn independently of each other: the last ones are as good as a random part.
    n_fitted = options.rows - options.rows // _HELD_OUT_PART
    classifies = options.task == "classification"
    if options.sites is None:
        model = _fit(options, cohort, n_fitted, folder)
    else:
        model = _fit_at_sites(options, cohort, n_fitted, folder)
    model.save(folder / "model.json")
    with console.step(f"measuring on {options.rows - n_fitted:,} held-out patients"):
        accuracy = _accuracy(model, cohort, n_fitted)
    with console.step("explaining"):
        n_shown = _SHOWN_PATIENTS if options.no_serve else _SERVED_PATIENTS
        shown = slice(n_fitted, n_fitted + n_shown)
        total = model.explain_global(name="Simulated patients")
        local = model.explain_local(
            cohort.X[shown], cohort.y[shown], name=f"{n_shown} held-out patients"
        )
    dashed = "; the dashed line is the truth, which only a simulation knows"
    notes = _NOTES | {
        "Curves": _NOTES["Curves"].format(
            effect="the log-odds of readmission" if classifies else "the cost",
            dashed=dashed if options.no_serve else "",
        )
    }
    page = folder / "demo.html"
    if options.no_serve:
        with console.step("writing the page"):
            _write_page(page, model, cohort, accuracy, local, notes)
    else:
        notes["Where"] = _WHERE
    console.say()
    console.say_item("Accuracy", accuracy)
    console.say_item("Guarantee", model.guarantee_.sentence)
    say_account(model.privacy_spend_)
    console.say("\nWhat you see")
    for label, text in notes.items():
        console.say_item(label, text)
    console.say()
    if options.no_serve:
        console.say_item("Page", str(page.resolve()))
        console.say_item("Edit it", f"interpret-dp show {folder / 'model.json'}")
        console.refuse_silence(model.guarantee_)
        return
    from interpret_dp.cli.show import serve

    serve([total, local], port=options.port, no_browser=options.no_browser)


def _fit(options: SimpleNamespace, cohort: Cohort, n_fitted: int, folder: Path) -> Any:
    """Fit at one place."""
    from interpret_dp.ebm import estimators

    ledger, dataset = _open_budget(options, folder)
    kind: Any = estimators.DPExplainableBoostingRegressor
    if options.task == "classification":
        kind = estimators.DPExplainableBoostingClassifier
    model = kind(
        epsilon=options.epsilon, delta=_DELTA, schema=cohort.schema, ledger=ledger, dataset=dataset
    )
    with console.step(f"fitting with epsilon {options.epsilon:g}, delta {_DELTA:g}"):
        try:
            return model.fit(cohort.X[:n_fitted], cohort.y[:n_fitted])
        except BudgetExceededError as error:
            raise console.FailedError(
                f"{error} This is the ledger at work: earlier runs in {str(folder)!r} were charged "
                "too. Give another --out to start over, as only simulated data allow."
            ) from error


def _fit_at_sites(options: SimpleNamespace, cohort: Cohort, n_fitted: int, folder: Path) -> Any:
    """Fit at simulated hospitals, each with rows, key and ledger of its own, in its own process."""
    from interpret_dp import load_model
    from interpret_dp.cli.flare import CLASSES, write_job
    from interpret_dp.cli.sites import made_key, site_file

    folder = folder.resolve()
    places = [folder / f"hospital-{number + 1}" for number in range(options.sites)]
    for place in places:
        place.mkdir(exist_ok=True)
    keys = {place.name: made_key(place / "site.key").public for place in places}
    # FLARE's simulator copies this folder to the server and to each site.
    local = folder / "flare" / "local"
    local.mkdir(parents=True, exist_ok=True)
    _write_json(local / "resources.json", {"format_version": 2, "class_allow_list": CLASSES})
    for number, place in enumerate(places):
        own = slice(number, n_fitted, len(places))
        table = cohort.X[own].assign(outcome=cohort.y[own])
        table.to_parquet(place / "patients.parquet", index=False)
        cohort.schema.save(place / "schema.toml")
        given = {"target": "outcome", "schema": place / "schema.toml", "out": place / "model.json"}
        given |= {"epsilon": options.epsilon, "delta": _DELTA, "dataset": _dataset_name(options)}
        given |= {"budget": _FITS_IN_BUDGET * options.epsilon, "ledger": _url(place)}
        words = [str(word) for name, value in given.items() for word in (f"--{name}", value)]
        fit = [str(place / "patients.parquet"), *words, "--overwrite", "--verbose"]
        document = {"key": str(place / "site.key"), "participants": keys, "fit": fit}
        _write_json(site_file(local, place.name), document)
    write_job(folder / "study", keys)
    _run_simulator(folder, list(keys))
    return load_model(places[0] / "model.json", _url(places[0]))


def _run_simulator(folder: Path, names: list[str], tries: int = 3) -> None:
    """Run FLARE's simulator on a study, and show what each site says meanwhile.

    It chooses a free port long before it listens there. If another process takes the port, FLARE
    waits for ten minutes and then fails, before any site has begun: it is started again.
    """
    from interpret_dp.cli.sites import site_file

    console.say(f"  fitting at {len(names)} hospitals, each in a process of its own:")
    flare, shown = folder / "flare", dict.fromkeys(names, "")
    words = [sys.executable, "-m", "nvflare.cli", "simulator", str(folder / "study")]
    words += ["-w", str(flare), "-c", ",".join(names), "-t", str(len(names))]
    logs = {name: site_file(flare / name / "local", name).with_suffix(".log") for name in names}
    for log in logs.values():
        log.unlink(missing_ok=True)
    output, is_port_taken = folder / "flare.log", False
    with (
        output.open("w", encoding="utf-8") as file,
        subprocess.Popen(words, stdout=file, stderr=subprocess.STDOUT) as process,
    ):
        try:
            is_over = False
            while not is_over:
                time.sleep(1)
                is_port_taken = tries > 1 and _PORT_TAKEN in output.read_text(encoding="utf-8")
                is_over = is_port_taken or process.poll() is not None
                for name in filter(lambda name: logs[name].exists(), names):
                    text = logs[name].read_text(encoding="utf-8").strip()
                    # Lines that go on with the one before begin with a space.
                    line = " ".join(re.split(r"[\r\n]+(?! )", text)[-1].split())
                    if line not in ("", shown[name]):
                        shown[name] = line
                        console.say(f"    {name}: {line}")
        finally:
            process.terminate()
    if is_port_taken:
        _run_simulator(folder, names, tries - 1)
    elif process.returncode:
        raise console.FailedError(f"The fit stopped; see {str(output)!r} and the lines above.")


def _write_json(path: Path, document: dict[str, Any]) -> None:
    path.write_text(json.dumps(document, indent=1), encoding="utf-8")


def _url(folder: Path) -> str:
    return f"sqlite:///{(folder / 'privacy.db').resolve()}"


def _dataset_name(options: SimpleNamespace) -> str:
    """Return the name by which ledgers know this cohort."""
    return f"simulated cohort ({options.task}, {options.rows} rows, seed {options.seed})"


def _open_budget(options: SimpleNamespace, folder: Path) -> tuple[Any, str]:
    """Return the ledger and the name by which it knows this cohort."""
    from interpret_dp.ledger import PrivacyLedger

    dataset = _dataset_name(options)
    ledger = PrivacyLedger(_url(folder))
    known = ledger.budget(dataset)
    if known is None:
        epsilon = _FITS_IN_BUDGET * options.epsilon
        with console.step(f"declaring a budget of epsilon {epsilon:g}, delta {_DELTA:g}"):
            ledger.create_budget(dataset, epsilon, _DELTA, purpose="demo")
    else:
        console.say(f"  the ledger of an earlier run has a budget of epsilon {known.epsilon:g}")
    return ledger, dataset


def _accuracy(model: Any, cohort: Cohort, n_fitted: int) -> str:
    from sklearn.metrics import roc_auc_score, root_mean_squared_error

    X, y = cohort.X[n_fitted:], cohort.y[n_fitted:]
    if hasattr(model, "classes_"):
        scores = model.predict_proba(X)[:, 1], cohort.score(X)
        ours, truth = (f"{roc_auc_score(y == 'yes', score):.3f}" for score in scores)
        return f"AUROC {ours} on {len(y):,} held-out patients; the true curves reach {truth}"
    predictions = model.predict(X), cohort.score(X)
    ours, truth = (f"{root_mean_squared_error(y, each):,.0f}" for each in predictions)
    return f"RMSE {ours} on {len(y):,} held-out patients; the true curves reach {truth}"


def _write_page(
    page: Path, model: Any, cohort: Cohort, accuracy: str, local: Any, notes: dict[str, str]
) -> None:
    from interpret_dp._documents import write_file
    from interpret_dp.explanation.pages import render_html

    text = render_html(
        model.to_released(),
        model.privacy_spend_,
        title="A private model of simulated patients",
        lead=f"Nobody's data: the cohort is simulated, so its true curves are known. {accuracy}.",
        notes=notes,
        truth=cohort.curves,
        local=local,
    )
    write_file(page, text)
