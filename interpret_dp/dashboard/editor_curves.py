"""The curves of the editor's plot: released, last and present scores with the noise band."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp.dashboard.editor_drawn import Drawn, bin_text
from interpret_dp.explanation.curves import CLASS_COLORS
from interpret_dp.explanation.figure_parts import (
    COLORS,
    TOO_FEW_ROWS,
    band_texts,
    error_bars,
    literal,
)

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["BAR", "LEGEND_RANKS", "add_curves"]

FloatArray = NDArray[np.float64]

BAR = 0.8
"""Width of a level's bars, together."""

LEGEND_RANKS = {"now": 1, "other": 2, "noise": 3, "rows": 4}
"""From left to right."""

_RELEASED, _LAST = "#5c6b78", "#c8790a"


def add_curves(figure: Figure, drawn: Drawn, column: int, place: int) -> list[dict[str, Any]]:
    """Draw one curve in all its versions; return which traces a drag moves, and which bins."""
    many = len(drawn.columns) > 1
    color = CLASS_COLORS[column % len(CLASS_COLORS)] if drawn.classes else COLORS["curve"]
    group = literal(drawn.classes[column]) if many else ""
    pencil = _Pencil(figure, drawn, column, place, color, group)
    pencil.band()
    pencil.unlearned()
    released, last, now = (drawn.scores(which, column) for which in ("original", "last", "current"))
    codes = list(drawn.places.codes)
    is_edited = not np.array_equal(released[codes], now[codes])
    is_stepwise = not np.array_equal(released[codes], last[codes])
    # Under the present scores while both are the same: a drag uncovers it.
    pencil.version(
        released,
        "released",
        _RELEASED if not many else color,
        "dot",
        is_told=is_edited or is_stepwise,
    )
    if is_stepwise and not many and not np.array_equal(last[codes], now[codes]):
        pencil.version(last, "before the last edit", _LAST, "dash")
    name = "now" if is_edited or is_stepwise else "released scores"
    # On top of the others: it is what a drag takes hold of.
    draggable = pencil.present(now, f"{group}, now" if many and is_edited else group or name)
    pencil.hover()
    return draggable


@dataclass(frozen=True, eq=False)
class _Pencil:
    """Draws the versions of one curve."""

    figure: Figure
    drawn: Drawn
    column: int
    place: int
    color: str
    group: str

    @property
    def _steps(self) -> list[int]:
        return list(self.drawn.places.codes[: self.drawn.places.n_steps])

    @property
    def _alone(self) -> list[int]:
        return list(self.drawn.places.codes[self.drawn.places.n_steps :])

    @property
    def _width(self) -> float:
        return BAR / len(self.drawn.columns)

    def _positions(self) -> FloatArray:
        """Where the bins outside of curves stand; several classes side by side."""
        places = self.drawn.places
        centres = places.centres[places.n_steps :]
        if places.n_steps:
            return centres
        shift = (self.place - (len(self.drawn.columns) - 1) / 2) * self._width
        return np.asarray(centres + shift)

    def _name(self, name: str) -> str:
        return f"{self.group}, {name}" if self.group else name

    def _line(self, heights: FloatArray, **style: Any) -> None:
        self.figure.add_scatter(
            x=self.drawn.places.edges.tolist(),
            y=np.r_[heights, heights[-1]].tolist(),
            mode="lines",
            hoverinfo="skip",
            row=1,
            col=1,
            **style,
        )

    def band(self) -> None:
        """Draw what the added noise may have done to the released scores."""
        band = self.drawn.band(self.column)
        if band is None or not self._steps:
            return
        opacity = 0.10 if self.group else 0.17
        band = band.drawn_around(self.drawn.scores("original", self.column))
        for end, fill in ((band.upper, None), (band.lower, "tonexty")):
            self._line(
                end[self._steps],
                line={"shape": "hv", "width": 0},
                fill=fill,
                fillcolor=_transparent(self.color, opacity),
                name="95 % noise band",
                legendrank=LEGEND_RANKS["noise"],
                showlegend=fill is not None and self.place == 0,
            )

    def unlearned(self) -> None:
        """Mark the bins of a curve that have too few rows, around their released scores."""
        band = self.drawn.band(self.column)
        if band is None or self.place:
            return
        edges, released = self.drawn.places.edges, self.drawn.scores("original", self.column)
        places: list[float | None] = []
        heights: list[float | None] = []
        for index, code in enumerate(self._steps):
            if band.has_too_few_rows[code]:
                places += [float(edges[index]), float(edges[index + 1]), None]
                heights += [float(released[code])] * 2 + [None]
        if places:
            self.figure.add_scatter(
                x=places,
                y=heights,
                mode="lines",
                line={"color": COLORS["line"], "width": 8},
                name=TOO_FEW_ROWS,
                legendrank=LEGEND_RANKS["noise"],
                hoverinfo="skip",
                row=1,
                col=1,
            )

    def present(self, scores: FloatArray, name: str) -> list[dict[str, Any]]:
        """Draw the scores as they are now."""
        traces = []
        if self._steps:
            self._line(
                scores[self._steps],
                line={"shape": "hv", "color": self.color, "width": 2.6},
                name=name,
                legendrank=LEGEND_RANKS["now"],
            )
            # A step line ends at the right border of its last bin.
            codes = [*self._steps, self._steps[-1]]
            traces.append({"trace": len(self.figure.data) - 1, "codes": codes})
        if self._alone:
            style: dict[str, Any] = {
                "name": name,
                "showlegend": not self._steps,
                "legendrank": LEGEND_RANKS["now"],
            }
            values = {"x": self._positions().tolist(), "y": scores[self._alone].tolist()}
            if self._steps:
                marker = {"color": self.color, "size": 10}
                self.figure.add_scatter(
                    **values, mode="markers", marker=marker, hoverinfo="skip", row=1, col=1, **style
                )
            else:
                self.figure.add_bar(
                    **values,
                    width=self._width * 0.9,
                    # With a border, so that a bar of height 0 can be seen.
                    marker={
                        "color": self.color,
                        "opacity": 0.6,
                        "line": {"color": self.color, "width": 2},
                    },
                    unselected={"marker": {"opacity": 0.6}},
                    hoverinfo="skip",
                    row=1,
                    col=1,
                    **style,
                )
            traces.append({"trace": len(self.figure.data) - 1, "codes": self._alone})
            self._whiskers(len(self._steps) > 0)
        return traces

    def _whiskers(self, beside_a_curve: bool) -> None:
        """Draw the noise of bins that stand by themselves, around their released scores."""
        band = self.drawn.band(self.column)
        if band is None:
            return
        released = self.drawn.scores("original", self.column)
        known = np.flatnonzero(~band.at(self._alone).has_too_few_rows)
        codes = [self._alone[place] for place in known]
        bars = error_bars(released[codes], band.at(codes))
        self.figure.add_scatter(
            x=self._positions()[known].tolist(),
            y=released[codes].tolist(),
            mode="markers",
            marker={
                "symbol": "line-ns",
                "size": 8,
                "line": {"width": 1.4, "color": _transparent(COLORS["ink"], 0.65)},
            },
            unselected={"marker": {"opacity": 1}},
            error_y=(bars or {})
            | {"color": _transparent(COLORS["ink"], 0.65), "thickness": 1.4, "width": 5},
            name="95 % noise range",
            legendrank=LEGEND_RANKS["noise"],
            showlegend=not beside_a_curve and self.place == 0,
            hoverinfo="skip",
            row=1,
            col=1,
        )

    def version(
        self, scores: FloatArray, name: str, color: str, dash: str, *, is_told: bool = True
    ) -> None:
        """Draw other scores of the same bins as a thin line, or as a mark across each bar."""
        shown = {
            "name": self._name(name),
            "showlegend": is_told,
            "legendrank": LEGEND_RANKS["other"],
        }
        if self._steps:
            line = {"shape": "hv", "color": color, "width": 1.6, "dash": dash}
            self._line(scores[self._steps], line=line, **shown)
        if self._alone:
            self.figure.add_scatter(
                x=self._positions().tolist(),
                y=scores[self._alone].tolist(),
                mode="markers",
                marker={
                    "symbol": "line-ew",
                    "size": 16 if self._steps else 26,
                    "line": {"width": 2.2, "color": color},
                },
                hoverinfo="skip",
                row=1,
                col=1,
                **shown | {"showlegend": is_told and not self._steps},
            )

    def hover(self) -> None:
        """Say what a bin is, wherever the pointer is near it."""
        view, places = self.drawn.view, self.drawn.places
        codes = list(places.codes)
        now = self.drawn.scores("current", self.column)
        released = self.drawn.scores("original", self.column)
        band = self.drawn.band(self.column)
        texts = []
        for code, noise in zip(codes, band_texts(band and band.at(codes), len(codes)), strict=True):
            label = literal(bin_text(view, code))
            head = f"{self.group}: {label}" if self.group else label
            edited = f"now {now[code]:.4g}, " if now[code] != released[code] else ""
            texts.append(
                f"<b>{head}</b><br>{edited}released {released[code]:.4g}{noise}"
                f"<br>about {max(0.0, view.weights[code]):,.0f} rows (noisy count)"
            )
        self.figure.add_scatter(
            x=np.r_[places.centres[: places.n_steps], self._positions()].tolist(),
            y=now[codes].tolist(),
            mode="markers",
            marker={"opacity": 0, "size": 12, "color": self.color},
            unselected={"marker": {"opacity": 0}},
            text=texts,
            hovertemplate="%{text}<extra></extra>",
            hoverlabel={"align": "left"},
            showlegend=False,
            row=1,
            col=1,
        )


def _transparent(color: str, opacity: float) -> str:
    red, green, blue = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, {opacity})"
