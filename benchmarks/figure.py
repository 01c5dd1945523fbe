"""Accuracy against epsilon, one panel a table, from the results of ``benchmarks.accuracy``."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean

from benchmarks.problems import PUBLISHED, metric_of
from benchmarks.records import Results
from benchmarks.summary import compare

__all__ = ["draw_accuracy"]

_COLUMNS = 4


def draw_accuracy(results: Results, out: Path) -> None:
    """Draw both engines, published scores, and where it was measured the EBM without privacy.

    Parameters
    ----------
    results : Results
    out : Path
        PNG file to write.
    """
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    rows = compare(results)
    problems = list(dict.fromkeys(row.problem for row in rows))
    if not problems:
        return
    n_columns = min(_COLUMNS, len(problems))
    n_rows = -(-len(problems) // n_columns)
    figure = plt.figure(figsize=(3.1 * n_columns, 3.1 * n_rows), layout="constrained")
    for number, problem in enumerate(problems, start=1):
        axis = figure.add_subplot(n_rows, n_columns, number)
        own = [row for row in rows if row.problem == problem]
        for label, values, style in (
            ("interpret_dp", [row.ours for row in own], "o-"),
            ("interpret.privacy", [row.reference for row in own], "s--"),
        ):
            known = [(row.epsilon, v) for row, v in zip(own, values, strict=True) if v is not None]
            if known:
                axis.plot(*zip(*known, strict=True), style, label=label)
        if problem in PUBLISHED:
            axis.plot(
                *zip(*PUBLISHED[problem].items(), strict=True), "C2^--", label="S-BDT, published"
            )
        without = [
            fit.score for fit in results if (fit.problem, fit.engine) == (problem, "nonprivate")
        ]
        if without:
            axis.axhline(fmean(without), color="grey", linestyle=":", label="EBM, not private")
        axis.set_xscale("log")
        axis.xaxis.set_minor_formatter("")
        axis.set(title=problem, xlabel="epsilon", ylabel=metric_of(problem))
        axis.legend(fontsize=8)
    out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(out, dpi=110, metadata={"Software": None})
    plt.close(figure)
