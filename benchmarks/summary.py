"""Tables of the results: means, paired differences with an honest error, and times."""

from __future__ import annotations

import csv
import os
import platform
from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from statistics import fmean, median

from benchmarks.paired import corrected_standard_error, paired
from benchmarks.problems import DELTA, EPSILONS, PUBLISHED, PUBLISHED_DELTA, TABLES, metric_of
from benchmarks.records import Comparison, Results
from benchmarks.report import write_page

__all__ = ["compare", "findings", "markdown_table", "number", "write_summary"]


def compare(results: Results) -> list[Comparison]:
    """Aggregate the fits, in the order of problems in the file and of epsilon."""
    problems = list(dict.fromkeys(fit.problem for fit in results))
    rows: list[Comparison] = []
    for problem in problems:
        epsilons = sorted({f.epsilon for f in results if f.problem == problem and f.epsilon})
        rows.extend(_compare(results, problem, epsilon) for epsilon in epsilons)
    return rows


def _compare(results: Results, problem: str, epsilon: float) -> Comparison:
    ours = results.by_split(problem, "ours", epsilon)
    reference = results.by_split(problem, "reference", epsilon)
    nonprivate = results.by_split(problem, "nonprivate", None)
    constant = results.by_split(problem, "constant", None)
    splits = sorted(ours.keys() & reference.keys()) or sorted(ours or reference)
    differences = [
        ours[s].score - reference[s].score for s in splits if s in ours and s in reference
    ]
    error = None
    if differences:
        error = corrected_standard_error(differences, ours[splits[0]].test_rows_per_training_row)
    return Comparison(
        problem=problem,
        metric=metric_of(problem),
        epsilon=epsilon,
        splits=len(splits),
        ours=_mean([ours[s].score for s in splits if s in ours]),
        reference=_mean([reference[s].score for s in splits if s in reference]),
        nonprivate=_mean([nonprivate[s].score for s in splits if s in nonprivate]),
        constant=_mean([constant[s].score for s in splits if s in constant]),
        difference=_mean(differences),
        standard_error=error,
        ours_seconds=_median([ours[s].seconds for s in splits if s in ours]),
        reference_seconds=_median([reference[s].seconds for s in splits if s in reference]),
    )


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None


def _median(values: Sequence[float]) -> float | None:
    return median(values) if values else None


def write_summary(results: Results, out: Path) -> str:
    """Write the tables beside the raw results, as Markdown and CSV; return the Markdown.

    Parameters
    ----------
    results : Results
    out : Path
        The raw file; the tables have its name with other suffixes.
    """
    rows = compare(results)
    versions = sorted({f"{fit.engine}: {fit.version}" for fit in results})
    parts = [
        "# Accuracy and fit time",
        f"delta {DELTA:g} ({' and '.join(PUBLISHED)}: {PUBLISHED_DELTA:g}); "
        f"{os.cpu_count()} processors, {platform.machine()}, Python "
        f"{platform.python_version()}; {'; '.join(versions)}. The file's minima, maxima and levels "
        "are declared public; every engine has its defaults. Differences are ours minus "
        "reference, with the corrected resampled standard error; a warm fit follows an unmeasured "
        "one in the same process.",
        markdown_table(_ACCURACY, [_accuracy_cells(row) for row in rows]),
        "## In short",
        "\n".join(f"- {finding}" for finding in findings(results, rows)),
    ]
    text = "\n\n".join(parts) + "\n"
    write_page(out.with_suffix(".md"), text)
    with out.with_suffix(".csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Comparison)])
        writer.writeheader()
        writer.writerows(asdict(row) for row in rows)
    return text


_ACCURACY = (
    "problem",
    "metric",
    "epsilon",
    "splits",
    "ours",
    "reference",
    "difference",
    "standard error",
    "not private",
    "constant",
    "warm fit, ours (s)",
    "warm fit, reference (s)",
    "ratio",
)


def findings(results: Results, rows: Sequence[Comparison]) -> Iterator[str]:
    """Yield what pages say of the tables, counted.

    Parameters
    ----------
    results : Results
    rows : sequence of Comparison
        The same results, aggregated by :func:`compare`.
    """
    leads = [
        (row, (1.0 if row.metric == "AUROC" else -1.0) * row.difference / row.standard_error)
        for row in rows
        if row.difference is not None and row.standard_error
    ]
    rest = [f"{row.problem} at {row.epsilon:g} ({lead:+.1f})" for row, lead in leads if lead <= 1]
    yield (
        "Ours is better than the reference by more than one standard error in "
        f"{len(leads) - len(rest)} of {len(leads)} cells, worse by more than one in "
        f"{sum(lead < -1 for _, lead in leads)}. Not better: {', '.join(rest) or 'none'}."
    )
    for epsilon in (2.0, 4.0, 8.0):
        ours = {name: results.by_split(name, "ours", 0.5) for name in TABLES}
        pairs = {
            name: paired(fits, results.by_split(name, "reference", epsilon))
            for name, fits in ours.items()
        }
        gains = {name: pair.gain for name, pair in pairs.items() if pair is not None}
        lost = [name for name, gain in gains.items() if gain < 0]
        yield (
            f"At epsilon 0.5 ours is as good as the reference at {epsilon:g}, or better, on "
            f"{len(gains) - len(lost)} of {len(gains)} tables; not on: {', '.join(lost) or 'none'}."
        )
    worse = [
        f"{row.problem} at {row.epsilon:g}"
        for row in rows
        if row.ours is not None
        and row.constant is not None
        and (row.ours < row.constant) == (row.metric == "AUROC")
        and row.ours != row.constant
    ]
    yield f"Ours is worse than a constant in {len(worse)} cells: {', '.join(worse) or 'none'}."
    shares = []
    for row in rows:
        if row.epsilon == EPSILONS[-1] and row.difference and row.nonprivate and row.reference:
            share = row.difference / (row.nonprivate - row.reference)
            shares.append(f"{row.problem} {share:.0%}")
    yield (
        f"Of the distance from the reference to the EBM without privacy, at epsilon "
        f"{EPSILONS[-1]:g} this much is gone: {', '.join(shares) or 'not measured'}."
    )


def _accuracy_cells(row: Comparison) -> list[str]:
    ratio = (
        row.ours_seconds / row.reference_seconds
        if row.ours_seconds is not None and row.reference_seconds is not None
        else None
    )
    return [
        row.problem,
        row.metric,
        f"{row.epsilon:g}",
        str(row.splits),
        *(
            number(value, 4)
            for value in (
                row.ours,
                row.reference,
                row.difference,
                row.standard_error,
                row.nonprivate,
                row.constant,
            )
        ),
        *(number(value, 3) for value in (row.ours_seconds, row.reference_seconds, ratio)),
    ]


def number(value: float | None, digits: int) -> str:
    """Return a figure of so many significant digits; empty for None."""
    return "" if value is None else f"{value:.{digits}g}"


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
