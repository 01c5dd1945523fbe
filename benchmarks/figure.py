"""Accuracy against epsilon, one panel a table, from the results of ``benchmarks.accuracy``."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean

from benchmarks.problems import metric_of
from benchmarks.records import Results
from benchmarks.summary import compare

__all__ = ["draw_accuracy"]


def draw_accuracy(results: Results, out: Path) -> None:
    """Draw both engines, and where it was measured the EBM without privacy.

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
    figure, axes = plt.subplots(
        1, len(problems), figsize=(3.1 * len(problems), 3.1), squeeze=False, layout="constrained"
    )
    for axis, problem in zip(axes[0], problems, strict=True):
        own = [row for row in rows if row.problem == problem]
        for label, values, style in (
            ("interpret_dp", [row.ours for row in own], "o-"),
            ("interpret.privacy", [row.reference for row in own], "s--"),
        ):
            known = [(row.epsilon, v) for row, v in zip(own, values, strict=True) if v is not None]
            if known:
                axis.plot(*zip(*known, strict=True), style, label=label)
        without = [
            fit.score for fit in results if (fit.problem, fit.engine) == (problem, "nonprivate")
        ]
        if without:
            axis.axhline(fmean(without), color="grey", linestyle=":", label="EBM, not private")
        axis.set_xscale("log")
        axis.set(title=problem, xlabel="epsilon", ylabel=metric_of(problem))
    axes[0][0].legend(fontsize=8)
    out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(out, dpi=110, metadata={"Software": None})
    plt.close(figure)
