"""Sites that fit one model, against one place and against FLARE: ``python -m benchmarks.sites``.

Measures what ``benchmarks/results/sites.json`` lacks and writes ``sites.md`` beside it. With
``--flare-python`` NVIDIA FLARE's federated XGBoost, which is not private, fits the same rows;
``benchmarks/NOTES.md`` says how to make an environment that has it.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import date
from functools import partial
from pathlib import Path
from statistics import fmean, median
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.engines import load_engine
from benchmarks.machine import describe_machine, machine_text
from benchmarks.objectives import markdown
from benchmarks.problems import DELTA, Problem, Split, load_problem
from benchmarks.report import write_page
from interpret_dp.accounting import epsilon_of_mu, mu_of_budget
from interpret_dp.datasets import make_cohort
from interpret_dp.sites import Site, Transport, simulate
from interpret_dp.sites.masks import Header, packed

_EPSILON = 1.0
_RESULTS = Path(__file__).parent / "results" / "sites.json"
_OURS = load_engine("ours")


class Counted:
    """A transport that counts what one site sends and receives."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self.traffic: Counter[str] = Counter()

    def exchange(self, header: Header, payload: bytes) -> bytes:
        """Deliver a message."""
        answer = self._inner.exchange(header, payload)
        sent = len(packed(header, payload))
        self.traffic.update(exchanges=1, sent=sent, received=len(answer))
        return answer


def problem_of(name: str) -> Problem:
    """Return a public table, or a cohort of which a million rows are fitted."""
    if name != "cohort":
        return load_problem(name)
    cohort = make_cohort(1_250_000)
    return Problem(name, cohort.X, cohort.y, cohort.schema, "classification")


def places_of(split: Split, n_sites: int, turn: int) -> NDArray[np.int64]:
    """Deal the rows to the sites."""
    return np.random.default_rng(turn).permutation(len(split.y_train)) % n_sites


def at_sites(problem: Problem, split: Split, places: NDArray[np.int64]) -> tuple[Any, Counted]:
    """Return the model of the first site, and what that site sent and received."""
    counts: dict[str, Counted] = {}

    def fit(site: Site) -> Any:
        own = np.flatnonzero(places == int(site.name))
        # `simulate` makes the sites.
        site.transport = counts[site.name] = Counted(site.transport)
        model = _OURS.build(problem, _EPSILON, DELTA)
        return model.fit(split.X_train.iloc[own], split.y_train.iloc[own], site=site)

    return simulate([str(place) for place in np.unique(places)], fit)["0"], counts["0"]


def private(problem: Problem, n_sites: int, turn: int) -> dict[str, Any]:
    """Return seconds, traffic and areas under the ROC curve on one split."""
    split = problem.split(turn)
    places = places_of(split, n_sites, turn)
    traffic: dict[str, int] = {}

    def one_place(own: Any = slice(None), epsilon: float = _EPSILON) -> Any:
        model = _OURS.build(problem, epsilon, DELTA)
        return model.fit(split.X_train.iloc[own], split.y_train.iloc[own])

    def together() -> Any:
        model, count = at_sites(problem, split, places)
        traffic.update(count.traffic)
        return model

    def measured(fit: Callable[[], Any]) -> tuple[float, float]:
        began = time.perf_counter()
        model = fit()
        seconds = time.perf_counter() - began
        return seconds, problem.score(split.y_test, _OURS.predict(problem, model, split.X_test))

    order = [("pooled", one_place), ("sites", together)]
    found = {name: measured(fit) for name, fit in order[:: 1 if turn % 2 else -1]}
    # Sites add K / (K - 1) times the variance: what would one place lose by as much?
    epsilon = epsilon_of_mu(mu_of_budget(_EPSILON, DELTA) * math.sqrt(1 - 1 / n_sites), DELTA)
    noisy = measured(partial(one_place, epsilon=epsilon))[1]
    rows = [np.flatnonzero(places == place) for place in range(n_sites)]
    alone = fmean(measured(partial(one_place, own))[1] for own in rows)
    return {**found, "noisy": noisy, "alone": alone, **traffic}


def flare(problem: Problem, n_sites: int, python: str) -> dict[str, Any]:
    """Return what FLARE's XGBoost does with the rows of the first split and its sites."""
    split = problem.split(0)
    places = places_of(split, n_sites, 0)
    is_number = pd.api.types.is_numeric_dtype
    codes = problem.X.apply(lambda c: c if is_number(c) else pd.factorize(c, sort=True)[0])
    rows = np.column_stack([problem.y == problem.y.max(), codes]).astype(np.float64)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        np.save(folder / "test.npy", rows[split.y_test.index])
        for place in range(n_sites):
            own = rows[split.y_train.index[places == place]]
            site = folder / f"site-{place + 1}"
            site.mkdir()
            np.save(site / "valid.npy", own[: len(own) // 10])
            np.save(site / "train.npy", own[len(own) // 10 :])
        call = [python, str(Path(__file__).with_name("sites_flare.py")), name]
        said = subprocess.check_output(call, text=True, cwd=name).splitlines()[-1]
        area = problem.score(split.y_test, np.load(folder / "predicted.npy"))
        return {**json.loads(said), "area": area}


def measure(name: str, given: argparse.Namespace, found: dict[str, Any]) -> Iterator[None]:
    """Add what is lacking of one table; yield whenever there is more to keep."""
    problem = problem_of(name)
    split = problem.split(0)
    commit = subprocess.check_output(["git", "rev-parse", "--short", "HEAD"], text=True).strip()
    about = f"{date.today():%d %B %Y}, commit {commit}. {machine_text(describe_machine())}"
    known = {"about": about, "rows": len(split.y_train), "sites": {}}
    table = found[name] = known | found.get(name, {})
    at_sites(problem, split, places_of(split, 2, 0))  # Compiles.
    for n_sites in given.sites:
        own = table["sites"].setdefault(str(n_sites), {"turns": []})
        while len(own["turns"]) < given.turns:
            own["turns"].append(private(problem, n_sites, len(own["turns"])))
            yield
        if given.flare_python and "flare" not in own:
            own["flare"] = flare(problem, n_sites, given.flare_python)
            yield


def lines_of(n_sites: str, own: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a line of each table: times and traffic, and areas under the ROC curve."""
    turns, other = own["turns"], own.get("flare", {})
    pooled, sites = ([turn[name] for turn in turns] for name in ("pooled", "sites"))
    ratios = [s[0] / p[0] for s, p in zip(sites, pooled, strict=True)]
    changes = [s[1] - p[1] for s, p in zip(sites, pooled, strict=True)]
    yield {
        "sites": n_sites,
        "one place, s": median(seconds for seconds, _ in pooled),
        "at sites, s": median(seconds for seconds, _ in sites),
        "ratio": f"{median(ratios):.1f} ({min(ratios):.1f} to {max(ratios):.1f})",
        "exchanges": median(turn["exchanges"] for turn in turns),
        "kB sent": fmean(turn["sent"] for turn in turns) / 1e3,
        "kB received": fmean(turn["received"] for turn in turns) / 1e3,
        "FLARE: s": other.get("seconds", ""),
        "FLARE: with its start, s": other.get("whole", ""),
        "FLARE: exchanges": other.get("exchanges", ""),
        "FLARE: kB each way": f"{other['sent'] / 1e3:,.0f}" if other else "",
    }
    yield {
        "sites": n_sites,
        "at sites": fmean(area for _, area in sites),
        "one place": fmean(area for _, area in pooled),
        "difference": f"{fmean(changes):+.4f} ({min(changes):+.4f} to {max(changes):+.4f})",
        "one place, noise of sites": fmean(turn["noisy"] for turn in turns),
        "each site alone": fmean(turn["alone"] for turn in turns),
        "FLARE, not private, first split": other.get("area", ""),
    }


def page(found: dict[str, Any]) -> str:
    """Return the tables."""
    parts = ["# Sites that fit one model", _ABOUT]
    for name, table in found.items():
        own = sorted(table["sites"].items(), key=lambda item: int(item[0]))
        lines = [list(lines_of(*item)) for item in own if item[1]["turns"]]
        times, areas = (markdown(list(rows)) for rows in zip(*lines, strict=True))
        parts += [f"## {name}: {table['rows']:,} rows fitted", table["about"]]
        parts += ["### Time, and traffic of a site", times]
        parts += ["### Area under the ROC curve on new rows", areas]
    return "\n\n".join(part.strip() for part in parts) + "\n"


_ABOUT = f"""
`python -m benchmarks.sites --tables adult --turns 3 --flare-python PATH`, the same with
`--tables cohort --turns 1 --sites 2`, and `--tables cohort --turns 1`; epsilon {_EPSILON:g},
delta {DELTA:g}. FLARE's times of adult are of an earlier hour, with more other work on the machine.

One fifth of the rows is tested on, the rest is dealt to the sites evenly and by chance. Sites are
threads of `simulate` on two cores, so that seconds are those of all sites together: each repeats
what one place does with released numbers. Fits at sites and in one place take turns; times are
medians over splits, and
the ratio is that of a turn. Traffic is that of one site, with headers. *One place, noise of sites*
has sqrt(K / (K - 1)) times the noise, as K sites together. *Each site alone* is the mean over
sites, each with all of the epsilon.

**FLARE's XGBoost is not private**: FLARE's server sees exact histograms. FLARE's simulator fits the
first split with one process and one thread a site, 100 trees of depth 8 at most; a tenth of each
site's rows says when to stop. Its bytes are those of numbers, without headers.
"""


def main() -> None:
    """Measure what is lacking, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", nargs="+", default=["adult", "cohort"])
    parser.add_argument("--sites", type=int, nargs="+", default=[2, 3, 5, 10])
    parser.add_argument("--turns", type=int, default=5, help="splits, each with other noise")
    parser.add_argument("--flare-python", metavar="PATH", help="a Python that has nvflare")
    parser.add_argument("--out", type=Path, default=_RESULTS)
    given = parser.parse_args()
    found = json.loads(given.out.read_text(encoding="utf-8")) if given.out.exists() else {}
    for name in given.tables:
        for _ in measure(name, given, found):
            given.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
            write_page(given.out.with_suffix(".md"), page(found))


if __name__ == "__main__":
    main()
