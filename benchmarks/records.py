"""Raw results on disk: one JSON file that a broken run continues from."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from interpret_dp._documents import write_file

__all__ = ["Comparison", "Fit", "Results"]


@dataclass(frozen=True)
class Fit:
    """One warm fit and its score on the test part.

    Attributes
    ----------
    problem, engine, version : str
        ``version`` is that of the engine's code.
    epsilon : float or None
        None for an engine without privacy.
    split : int
    score : float
        AUROC or RMSE.
    seconds : float
        Wall time of ``fit`` alone.
    test_rows_per_training_row : float
    """

    problem: str
    engine: str
    version: str
    epsilon: float | None
    split: int
    score: float
    seconds: float
    test_rows_per_training_row: float

    @property
    def key(self) -> tuple[str, str, float | None, int]:
        """What is measured; a later measurement of the same replaces the earlier one."""
        return self.problem, self.engine, self.epsilon, self.split


@dataclass(frozen=True)
class Comparison:
    """One problem at one epsilon; None where an engine was not measured.

    Attributes
    ----------
    problem : str
    metric : str
        AUROC or RMSE.
    epsilon : float
    splits : int
        Splits on which both private engines were measured, or ours alone.
    ours, reference, nonprivate, constant : float or None
        Means over those splits.
    difference : float or None
        Mean of ours minus reference.
    standard_error : float or None
        Of the difference: corrected resampled, see benchmarks.paired.
    ours_seconds, reference_seconds : float or None
        Median warm fit time.
    """

    problem: str
    metric: str
    epsilon: float
    splits: int
    ours: float | None
    reference: float | None
    nonprivate: float | None
    constant: float | None
    difference: float | None
    standard_error: float | None
    ours_seconds: float | None
    reference_seconds: float | None


class Results:
    """All measurements of one file.

    Parameters
    ----------
    path : Path
        JSON file; created with the first measurement, read if it exists.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fits: dict[tuple[str, str, float | None, int], Fit] = {}
        if path.exists():
            document = json.loads(path.read_text(encoding="utf-8"))
            self._fits = {fit.key: fit for fit in (Fit(**row) for row in document["fits"])}

    def __iter__(self) -> Iterator[Fit]:
        """Iterate over all warm fits."""
        return iter(self._fits.values())

    def find(self, problem: str, engine: str, epsilon: float | None, split: int) -> Fit | None:
        """Return a measurement, if there is one."""
        return self._fits.get((problem, engine, epsilon, split))

    def by_split(self, problem: str, engine: str, epsilon: float | None) -> dict[int, Fit]:
        """Return the measurements of one engine on one problem, by split."""
        return {
            fit.split: fit
            for fit in self
            if (fit.problem, fit.engine, fit.epsilon) == (problem, engine, epsilon)
        }

    def add(self, measured: Iterable[Fit]) -> None:
        """Add measurements and write the file, all or nothing."""
        self._fits |= {fit.key: fit for fit in measured}
        document = {"fits": [asdict(fit) for fit in self]}
        self._path.parent.mkdir(parents=True, exist_ok=True)
        write_file(self._path, json.dumps(document, indent=1))
