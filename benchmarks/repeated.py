"""The same rows, fitted many times: sources of noise, and cells at which curves are compared."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp.mechanisms import SeededRandomness
from interpret_dp.schema import Categorical, Schema

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SOURCES", "Grid", "SelectedSources"]

SOURCES = ("boosting", "histograms", "partitions")
"""What makes repeated fits differ: noise of the rounds, noise of the counts, random splits."""


Floats = NDArray[np.float64]


class SelectedSources(SeededRandomness):
    """Reproducible randomness of which only some sources differ from seed to seed.

    Parameters
    ----------
    seed : int
    vary : collection of str
        Members of ``SOURCES``; the others are drawn alike for every seed.
    quiet : collection of str
        Sources of noise that are switched off.
    """

    def __init__(self, seed: int, vary: Sequence[str] = SOURCES, quiet: Sequence[str] = ()) -> None:
        super().__init__(seed)
        streams = {
            source: np.random.default_rng(
                [SOURCES.index(source), seed + 1 if source in vary else 0]
            )
            for source in SOURCES
        }
        self.public = streams["partitions"]
        self._streams = streams
        self._quiet = frozenset(quiet)

    def perturb(
        self, name: str, exact: NDArray[np.int64], sensitivity: int, sigma: float
    ) -> NDArray[np.int64]:
        """Add noise from the stream of the release."""
        source = "boosting" if name == "boosting" else "histograms"
        if source in self._quiet:
            return exact.copy()
        noise = self._streams[source].normal(scale=sigma, size=exact.shape)
        return exact + np.rint(noise).astype(np.int64)


@dataclass(frozen=True)
class Grid:
    """Cells at which curves are compared.

    Attributes
    ----------
    frame : DataFrame, shape (most cells, n_features)
        Raw values; shorter columns repeat their first cell.
    labels : list of list of str
        For each feature, the names of its cells.
    """

    frame: pd.DataFrame
    labels: list[list[str]]

    @classmethod
    def of_rows(cls, schema: Schema, rows: pd.DataFrame, n_values: int) -> Grid:
        """Lay the grid of numbers by the rows: as many lie between one cell and the next."""
        shares = (np.arange(n_values) + 0.5) / n_values
        names = list(rows.columns)
        numbers = [
            [] if isinstance(spec, Categorical) else np.unique(rows[name].quantile(shares))
            for name, spec in zip(names, schema.resolve(names), strict=True)
        ]
        return cls._of_values(schema, names, numbers)

    @classmethod
    def _of_values(cls, schema: Schema, names: Sequence[str], numbers: Sequence[Any]) -> Grid:
        import pandas as pd

        columns: list[list[Any]] = [
            [*spec.levels, None] if isinstance(spec, Categorical) else [*map(float, own), np.nan]
            for spec, own in zip(schema.resolve(names), numbers, strict=True)
        ]
        most = max(map(len, columns))
        frame = pd.DataFrame(
            {
                name: [*cells, *[cells[0]] * (most - len(cells))]
                for name, cells in zip(names, columns, strict=True)
            }
        )
        labels = [[*map(_label, cells[:-1]), "missing"] for cells in columns]
        return cls(frame, labels)

    def read(self, model: Any, per_bin: Sequence[Floats]) -> list[Floats]:
        """Look up a number per bin at every cell.

        Parameters
        ----------
        model : fitted DP-EBM with a term for every feature
        per_bin : sequence of ndarray, shaped as ``model.term_scores_``

        Returns
        -------
        list of ndarray of float64, shape (n_cells,) per feature
        """
        probe = copy.copy(model)
        probe.term_scores_ = [np.asarray(values) for values in per_bin]
        read = probe.eval_terms(self.frame)
        return [read[: len(labels), k] for k, labels in enumerate(self.labels)]


def _label(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
