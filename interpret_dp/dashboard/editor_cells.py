"""The editor's plot of a pair: its heat map, on which a rectangle selects cells."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp.explanation.heat_maps import PairAxis, heat_figure, heat_range, pair_axes
from interpret_dp.released import AdditiveModel, AdditiveTerm, FeaturePair

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["CellPlaces", "cell_figure", "cell_places"]

_HEIGHT = 440  # pixels


@dataclass(frozen=True, eq=False)
class CellPlaces:
    """The drawn cells of a heat map; bin k of an axis stands between k - 0.5 and k + 0.5.

    Attributes
    ----------
    across, up : PairAxis
    cells : ndarray of int64, shape (n_up, n_across)
        Index of each drawn cell into the term's scores.
    regular : frozenset of int
        Cells of which neither bin is the missing or the undeclared one.
    """

    across: PairAxis
    up: PairAxis
    cells: NDArray[np.int64]
    regular: frozenset[int]

    #: No cell is part of a curve.
    n_steps = 0

    @property
    def codes(self) -> tuple[int, ...]:
        """The drawn cells."""
        return tuple(int(cell) for cell in self.cells.ravel())

    def whole(self) -> list[int]:
        """Return every drawn cell that has a place among the others."""
        return sorted(self.regular.intersection(self.codes))

    def within(self, ranges: Mapping[str, Sequence[float]]) -> list[int]:
        """Return the cells that a rectangle touches, given by plotly's ``range``."""
        sides = []
        for axis, count in (("y", self.cells.shape[0]), ("x", self.cells.shape[1])):
            low, high = sorted(ranges.get(axis) or (-np.inf, np.inf))
            places = np.arange(count)
            sides.append(places[(places - 0.5 < high) & (places + 0.5 > low)])
        return sorted(int(cell) for cell in self.cells[np.ix_(*sides)].ravel())

    def reaching(self, chosen: Collection[int], code: int) -> list[int]:
        """Return the chosen cells and another."""
        return sorted({*chosen, code})


def cell_places(model: AdditiveModel, term: AdditiveTerm) -> CellPlaces:
    """Return where a pair's cells stand; those of missing values if rows have them."""
    pair = model.subject(term)
    if not isinstance(pair, FeaturePair):
        raise ValueError(f"{pair.name!r} is no pair of features.")
    across, up = pair_axes(model, pair, term)
    cells = np.arange(pair.n_codes).reshape(pair.shape)[np.ix_(across.codes, up.codes)].T
    return CellPlaces(across, up, cells, frozenset(pair.regular))


def cell_figure(
    model: AdditiveModel,
    term: AdditiveTerm,
    places: CellPlaces,
    selected: Collection[int],
    reach: float | None,
) -> Figure:
    """Return the plot.

    Parameters
    ----------
    model : AdditiveModel
        As it is now.
    term : AdditiveTerm
        Its pair.
    places : CellPlaces
    selected : collection of int
        Cells that are framed.
    reach : float or None
        Score at the ends of the colours, if larger than the term's own.
    """
    own = heat_range(term)
    reach = own if reach is None else max(own, reach)
    figure = heat_figure(model, term, selected=sorted(selected), reach=reach)
    rows, columns = np.indices(places.cells.shape)
    # plotly selects marks, never the cells of a heat map.
    figure.add_scatter(
        x=columns.ravel().tolist(),
        y=rows.ravel().tolist(),
        mode="markers",
        marker={"opacity": 0, "size": 4},
        selected={"marker": {"opacity": 0}},
        unselected={"marker": {"opacity": 0}},
        hoverinfo="skip",
        showlegend=False,
    )
    layout: dict[str, Any] = {"dragmode": "select", "selectdirection": "any"}
    figure.update_layout(height=max(_HEIGHT, figure.layout.height), **layout)
    return figure
