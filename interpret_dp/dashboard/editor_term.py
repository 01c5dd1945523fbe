"""One term of a session as of one moment, with where its bins stand on the plot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Self

from interpret_dp.dashboard.editor_cells import CellPlaces, cell_figure
from interpret_dp.dashboard.editor_drawn import Drawn, joined, score_range
from interpret_dp.dashboard.editor_figure import editor_figure
from interpret_dp.dashboard.editor_places import Places, places_of
from interpret_dp.editor import EditSession, TermView
from interpret_dp.explanation.curves import common_range
from interpret_dp.explanation.figure_parts import score_unit
from interpret_dp.released import AdditiveModel

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["EditedTerm"]


@dataclass(frozen=True, eq=False)
class EditedTerm:
    """What a card shows.

    Attributes
    ----------
    session : EditSession
    index : int
        Number of the term.
    view : TermView
    places : Places or CellPlaces
    """

    session: EditSession
    index: int
    view: TermView
    places: Places | CellPlaces

    @classmethod
    def of(cls, session: EditSession, index: int) -> Self:
        """Read a term off its session."""
        view = session.view(index)
        return cls(session, index, view, places_of(session.base, index, view))

    def figure(
        self,
        gestures: dict[str, Any],
        *,
        column: int | None = None,
        selected: Sequence[int] = (),
        drags: bool = False,
        on_common_scale: bool = False,
    ) -> Figure:
        """Return the plot.

        Parameters
        ----------
        gestures : dict
            Where the page reports clicks and drags to.
        column : int or None
            The class that is shown; None for all.
        selected : sequence of int
        drags : bool
        on_common_scale : bool
            Whether the vertical range is that of all terms.
        """
        if isinstance(self.places, CellPlaces):
            released = self.session.released
            common = _common_range(self.session.base) if on_common_scale else None
            reach = None if common is None else max(-common[0], common[1])
            term = released.terms[self.index]
            return cell_figure(released, term, self.places, selected, reach)
        labels = self.session.class_labels
        drawn = Drawn(
            view=self.view,
            places=self.places,
            unit=score_unit(self.session.base),
            classes=tuple(map(str, labels)),
            column=column if labels else 0,
            selected=frozenset(selected),
            drags=drags,
        )
        if on_common_scale:
            # An edit may have gone beyond what any released curve does.
            drawn = drawn.on(joined(_common_range(self.session.base), score_range(drawn)))
        return editor_figure(drawn, gestures)


@lru_cache(maxsize=8)
def _common_range(model: AdditiveModel) -> tuple[float, float]:
    """Return the range of all terms; a model is immutable, so it is found once."""
    return common_range(model)
