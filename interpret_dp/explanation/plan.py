"""Plan of a private fit: the bands that a budget buys, before a private row is read."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp._validate import check_choice, check_real, notebook_table, text_table
from interpret_dp.explanation.plots.parts import (
    CLASS_COLORS,
    COLORS,
    LEGEND_BELOW,
    add_heading,
    blank_figure,
    dress,
    literal,
)

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure

FloatArray = NDArray[np.float64]

EFFECT = 1.0 + NormalDist().inv_cdf(0.8) / NormalDist().inv_cdf(0.975)
"""Half-widths of a band that an effect must have, so that the band excludes zero in 4 of 5 fits."""

_TITLE = "Plan of a private fit"
_WIDTHS = "Width of the 95 % noise band by epsilon"
_LETTERS = 44  # of a line of text that a narrow page shows
_COLUMNS = (
    *("rows", "epsilon", "features", "band", "correlated", "effect", "a level needs"),
    "fits left",
)


@dataclass(frozen=True, eq=False)
class PlannedCurve:
    """One curve of a fit on simulated or public rows, in the score's unit.

    Attributes
    ----------
    feature : str
    x : ndarray of float64, shape (n_bins + 1,)
        Ends of the bins.
    noisy : ndarray of float64, shape (n_bins,)
        Scores with their noise.
    half_width : ndarray of float64, shape (n_bins,)
        Of the unshrunk 95 % band.
    truth : ndarray of float64, shape (n_bins,), or None
        The curve from which the rows were drawn, in the middle of each bin.
    """

    feature: str
    x: FloatArray
    noisy: FloatArray
    half_width: FloatArray
    truth: FloatArray | None


@dataclass(frozen=True, kw_only=True)
class PlannedFit:
    """Plan of one size of table and one epsilon.

    Attributes
    ----------
    n_rows : int
    epsilon, mu : float
    widths : mapping of str to float
        Half-width of the unshrunk 95 % band of each feature, in the score's unit: the median over
        its rows, and over the simulated fits.
    correlated_widths : mapping of str to float, or None
        The same where all numbers are correlated by 0.9; None on public rows, which have their own.
    effects : mapping of str to float
        Smallest effect of each feature whose band excludes zero in 4 of 5 fits: an effect of a
        level, or of a number on the mean over an eighth of the rows. With high noise a curve shows
        a part of an effect only, so that this may be far above the width. With little noise bins
        of numbers are finer, so that it may be below the width of one.
    correlated_effects : mapping of str to float, or None
        The same where all numbers are correlated by 0.9.
    level_rows : float
        Fewest rows of a level, or of a bin, that can be learned.
    label_rows : float or None
        Fewest rows of the rarer of two labels with which curves can be denoised; infinite if no
        number is enough, None of other targets.
    total_error : float or None
        Standard deviation of the mean prediction about the rows' mean, in units of the target: the
        median over the simulated fits. None of a classification.
    fits_left : int or None
        Such fits that the budget has room for; None without a budget.
    score : mapping of str to float
        Mean accuracy on public rows that were held out, and its standard deviation; empty without.
    curve : PlannedCurve or None
        None where the schema declares no number.

    Examples
    --------
    >>> from interpret_dp import Categorical, Integer, Schema, plan
    >>> schema = Schema({"age": Integer(18, 95)}, target=Categorical(["no", "yes"]))
    >>> planned = plan(schema, 1_000, [1, 4], delta=1e-6, rate=0.2, n_fits=1)
    >>> tight, generous = planned.fits
    >>> tight.level_rows > generous.level_rows
    True
    """

    n_rows: int
    epsilon: float
    mu: float
    widths: Mapping[str, float]
    correlated_widths: Mapping[str, float] | None
    effects: Mapping[str, float]
    correlated_effects: Mapping[str, float] | None
    level_rows: float
    label_rows: float | None
    total_error: float | None
    fits_left: int | None
    score: Mapping[str, float]
    curve: PlannedCurve | None


@dataclass(frozen=True, kw_only=True)
class FitPlan:
    """What budgets buy, computed by :func:`interpret_dp.plan` without a private row.

    Printed, it is a table in words. All of it is an expectation: sizes, rates and spreads are the
    caller's guesses, and the noise of a fit differs from that of the next.

    Attributes
    ----------
    fits : tuple of PlannedFit
        By size of the table, then by epsilon.
    kinds : mapping of str to str
        "numbers" or "levels" for each feature.
    delta : float
    unit : str
        Of scores and widths.
    source : str
        Which rows were fitted, and the caller's guesses.

    Examples
    --------
    >>> from interpret_dp import Categorical, Integer, Schema, plan
    >>> schema = Schema({"age": Integer(18, 95)}, target=Categorical(["no", "yes"]))
    >>> planned = plan(schema, 1_000, [1, 4], delta=1e-6, rate=0.2, n_fits=1)
    >>> [fit.epsilon for fit in planned.fits]
    [1.0, 4.0]
    """

    fits: tuple[PlannedFit, ...]
    kinds: Mapping[str, str]
    delta: float
    unit: str
    source: str

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each size, epsilon and kind of feature.

        Returns
        -------
        DataFrame
            ``n_rows``, ``epsilon``, ``kind`` ("all", "numbers", "levels"), ``n_features``; in the
            score's unit ``width`` (the half-width of the band: the median over features),
            ``correlated_width`` (the same where all numbers are correlated by 0.9), and
            ``smallest_effect`` (of a level, or on the mean over an eighth of the rows, whose band
            excludes zero in 4 of 5 fits); ``level_rows``, ``label_rows``, ``total_error``,
            ``fits_left``, and with public rows the accuracy and its spread.
        """
        import pandas as pd

        rows = []
        for fit in self.fits:
            for kind in ("all", *sorted(set(self.kinds.values()))):
                names = [name for name in self.kinds if kind in ("all", self.kinds[name])]
                row: dict[str, Any] = {
                    "n_rows": fit.n_rows,
                    "epsilon": fit.epsilon,
                    "kind": kind,
                    "n_features": len(names),
                    "width": _median(fit.widths, names),
                    "correlated_width": _median(fit.correlated_widths, names),
                    "smallest_effect": _median(fit.effects, names),
                    "level_rows": fit.level_rows,
                    "label_rows": fit.label_rows,
                    "total_error": fit.total_error,
                    "fits_left": fit.fits_left,
                }
                rows.append(row | dict(fit.score))
        return pd.DataFrame(rows)

    def epsilon_for(self, width: float, n_rows: int | None = None) -> float:
        """Return the epsilon whose median band is +-``width``, between planned ones.

        Parameters
        ----------
        width : float
            Half-width of the band of a level, or of the mean of a curve over an eighth of the rows,
            in the score's unit.
        n_rows : int, default=None
            Which size of table, if several were planned.

        Raises
        ------
        ValueError
            If the size was not planned, or the width is outside of what was planned.

        Notes
        -----
        With high noise a curve shows a part of each effect, with a band that is narrower by as
        much. That is no gain, so that the width is divided by the part here. Interpolated on
        logarithms.
        """
        width = check_real("width", width, low=0, low_open=True)
        sizes = sorted({fit.n_rows for fit in self.fits})
        size = sizes[0] if n_rows is None and len(sizes) == 1 else n_rows
        effects = [(fit.epsilon, _median(fit.effects)) for fit in self.fits if fit.n_rows == size]
        planned = sorted((e, effect / EFFECT) for e, effect in effects if effect < math.inf)
        if not planned:
            raise ValueError(f"n_rows is {n_rows!r}; it must be one of the planned {sizes}.")
        epsilons, widths = (np.array(values)[::-1] for values in zip(*planned, strict=True))
        # From the largest epsilon down, so that no width shrinks with the budget.
        widths = np.maximum.accumulate(widths)
        if not widths[0] <= width <= widths[-1]:
            raise ValueError(
                f"width is {width:g}; the planned bands are ±{widths[0]:.3g} to "
                f"±{widths[-1]:.3g}, where noise shrinks no curve; printed ones may be narrower. "
                f"Plan {'larger' if width < widths[0] else 'smaller'} epsilons."
            )
        return float(np.exp(np.interp(math.log(width), np.log(widths), np.log(epsilons))))

    def draw(self, kind: str = "widths", n_rows: int | None = None) -> Figure:
        """Return a figure.

        Parameters
        ----------
        kind : {"widths", "curves", "slider"}
            The median half-width, as in :meth:`epsilon_for`, against epsilon, a line for each size
            of table; one curve with its band at each epsilon, side by side; or the widths above the
            curve of the epsilon that a slider chooses, which needs no kernel.
        n_rows : int, default=None
            Size of the table of the curves and of the slider; by default the first planned one.

        Raises
        ------
        ValueError
            If ``kind`` is unknown, or there is no curve, or no plan, of that size.
        """
        check_choice("kind", kind, ("widths", "curves", "slider"))
        if kind == "widths":
            return self._draw_widths()
        return self._draw_curves(n_rows) if kind == "curves" else self._draw_slider(n_rows)

    def _fits_of(self, size: int) -> list[PlannedFit]:
        fits = [fit for fit in self.fits if fit.n_rows == size]
        if not fits:
            sizes = sorted({fit.n_rows for fit in self.fits})
            raise ValueError(f"n_rows is {size!r}; it must be one of the planned {sizes}.")
        return fits

    def _draw_widths(self) -> Figure:
        figure = blank_figure(height=420, margin={"l": 64, "r": 24, "b": 96, "t": 40})
        self._add_widths(figure, list(dict.fromkeys(fit.n_rows for fit in self.fits)))
        add_heading(figure, _WIDTHS, self._heading())
        figure.update_layout(showlegend=True, legend=LEGEND_BELOW)
        return figure

    def _add_widths(self, figure: Figure, sizes: Sequence[int]) -> None:
        """Draw the lines of some sizes, and dress the first axes for them."""
        for place, size in enumerate(sizes):
            fits = self._fits_of(size)
            color = CLASS_COLORS[place % len(CLASS_COLORS)]
            epsilons = [fit.epsilon for fit in fits]
            lines = [("", "solid", [_median(fit.effects) / EFFECT for fit in fits])]
            if fits[0].correlated_effects is not None:
                dashed = [_median(fit.correlated_effects) / EFFECT for fit in fits]
                lines.append((", correlated numbers", "dot", dashed))
            for name, dash, widths in lines:
                figure.add_scatter(
                    x=epsilons,
                    y=widths,
                    mode="lines+markers",
                    name=f"{size:,} rows{name}",
                    line={"color": color, "dash": dash},
                    hovertemplate="epsilon %{x:g}: ±%{y:.3g}<extra></extra>",
                )
        ticks = sorted({fit.epsilon for fit in self.fits})
        names = [f"{epsilon:g}" for epsilon in ticks]
        figure.layout.xaxis.update(type="log", title="epsilon", tickvals=ticks, ticktext=names)
        title = f"± {literal(self.unit)}, over an eighth of the rows"
        style = {"dtick": math.log10(2.0), "tickformat": ".2~g"}
        figure.layout.yaxis.update(type="log", title=title, **style)

    def _draw_slider(self, n_rows: int | None) -> Figure:
        from plotly.subplots import make_subplots

        size = self.fits[0].n_rows if n_rows is None else n_rows
        fits = self._fits_of(size)
        has_curves = all(fit.curve for fit in fits)
        figure = make_subplots(rows=1 + has_curves, cols=1, vertical_spacing=0.16)
        dress(figure, height=740 if has_curves else 440, margin={"l": 64, "r": 24, "b": 150})
        self._add_widths(figure, [size])
        own: list[range] = []
        for fit in fits:
            first = len(figure.data)
            x, y = [fit.epsilon], [_median(fit.effects) / EFFECT]
            mark = {"size": 15, "color": COLORS["truth"], "symbol": "circle-open", "line_width": 3}
            figure.add_scatter(x=x, y=y, mode="markers", marker=mark, name="chosen epsilon")
            if has_curves and fit.curve is not None:
                _add_curve(figure, fit.curve, row=2)
            own.append(range(first, len(figure.data)))
        start, constant = len(fits) // 2, own[0].start
        visible = [
            [place < constant or place in chosen for place in range(len(figure.data))]
            for chosen in own
        ]
        for trace, is_visible in zip(figure.data, visible[start], strict=True):
            trace.visible = is_visible
        steps = [
            {"label": f"{fit.epsilon:g}", "method": "restyle", "args": [{"visible": shown}]}
            for fit, shown in zip(fits, visible, strict=True)
        ]
        slider = {"active": start, "steps": steps, "currentvalue": {"prefix": "epsilon "}}
        figure.update_layout(sliders=[slider | {"pad": {"t": 52}}])
        source = self.source.partition(",")[0]
        line = f"Half the 95 % band over an eighth of the rows · {size:,} rows"
        line += f" · delta {self.delta:g} · {source} · nothing was charged"
        add_heading(figure, "What each epsilon shows", line, letters=_LETTERS)
        figure.update_yaxes(title=f"± {literal(self.unit)}", row=1)
        if has_curves:
            ends = [(fit.curve.noisy, fit.curve.half_width) for fit in fits if fit.curve]
            reach = 1.05 * max(float(np.max(np.abs(noisy) + half)) for noisy, half in ends)
            figure.update_yaxes(title=literal(self.unit), range=[-reach, reach], row=2)
        widths = [f"±{_median(fit.effects) / EFFECT:.3g} at {fit.epsilon:g}" for fit in fits]
        figure.update_layout(
            showlegend=True,
            legend=LEGEND_BELOW,
            meta={"alternative": f"{_WIDTHS}, {size:,} rows: {', '.join(widths)}."},
        )
        return figure

    def _draw_curves(self, n_rows: int | None) -> Figure:
        from plotly.subplots import make_subplots

        size = self.fits[0].n_rows if n_rows is None else n_rows
        drawn = [(f.epsilon, f.curve) for f in self.fits if f.n_rows == size and f.curve]
        if not drawn:
            sizes = sorted({fit.n_rows for fit in self.fits})
            raise ValueError(
                f"There is no curve of {size} rows. The plan has {sizes} rows, and curves are "
                "those of a feature that is a number."
            )
        titles = [f"epsilon {epsilon:g}" for epsilon, _ in drawn]
        figure = make_subplots(rows=1, cols=len(drawn), shared_yaxes=True, subplot_titles=titles)
        for place, (_, curve) in enumerate(drawn, start=1):
            _add_curve(figure, curve, col=place, in_legend=place == 1)
        dress(figure, height=360, margin={"l": 64, "r": 24, "b": 84, "t": 40})
        title = f"{drawn[0][1].feature}: one planned fit of {size:,} rows at each epsilon"
        add_heading(figure, title, self._heading(), over_panels=True)
        figure.update_layout(showlegend=True, legend=LEGEND_BELOW)
        figure.update_yaxes(title=literal(self.unit), col=1)
        return figure

    def _heading(self) -> str:
        return f"{self.source} · delta {self.delta:g} · nothing was charged"

    def text_rows(self) -> list[tuple[str, ...]]:
        """Return a line of texts for each size and epsilon, as :data:`text_columns` names them."""
        rows = []
        for fit in self.fits:
            for kind in sorted(set(self.kinds.values())):
                names = [name for name in self.kinds if self.kinds[name] == kind]
                correlated = _median(fit.correlated_widths, names)
                row = (
                    f"{fit.n_rows:,}",
                    f"{fit.epsilon:g}",
                    kind,
                    f"±{_median(fit.widths, names):.3g}",
                    "" if math.isnan(correlated) else f"±{correlated:.3g}",
                    f"{_median(fit.effects, names):.3g}",
                    f"{math.ceil(fit.level_rows)} rows",
                    "no limit" if fit.fits_left is None else f"{fit.fits_left:,}",
                )
                rows.append(row + tuple(f"{value:.3g}" for value in fit.score.values()))
        return rows

    @property
    def text_columns(self) -> tuple[str, ...]:
        """Heads of :meth:`text_rows`."""
        return (*_COLUMNS, *self.fits[0].score)

    @property
    def notes(self) -> list[str]:
        """Sentences on where the figures come from, and how to read them."""
        most = 1.4 if self.fits[0].score else 2.2
        notes = [
            f"{self.source}. Nothing was charged.",
            f"Bands in {self.unit}: half the width of the unshrunk 95 % noise band, the median "
            f"over features, at delta {self.delta:g}. An effect of the size named, of a level or "
            "over an eighth of the rows, is significant in 4 of 5 fits; a level needs the rows "
            "named to be learned. Compare effects, not bands: curves of high noise show a part of "
            "each effect, and little noise makes finer bins, which have wider bands.",
            f"On five of six public tables fits had 0.6 to {most} times the planned widths. Where "
            "most rows of a column have one value, their bands are narrower.",
        ]
        smallest = min(fit.n_rows for fit in self.fits)
        needs = [
            (f"{fit.label_rows:,.0f}" if fit.label_rows < math.inf else "more than there are")
            + f" at epsilon {fit.epsilon:g}"
            for fit in self.fits
            if fit.label_rows is not None and fit.n_rows == smallest
        ]
        if needs:
            notes.append(
                f"Of {smallest:,} rows the rarer label needs, to be learned: {', '.join(needs)}."
            )
        errors = [
            f"±{fit.total_error:.2g} at epsilon {fit.epsilon:g}"
            for fit in self.fits
            if fit.total_error is not None and fit.n_rows == smallest
        ]
        if errors:
            notes.append(
                f"With {smallest:,} rows the mean of all predictions is right to within "
                f"{', '.join(errors)}: one standard deviation."
            )
        return notes

    def __str__(self) -> str:
        """Return the table and its notes as text."""
        table = text_table(self.text_columns, self.text_rows(), n_left=0)
        return "\n".join([*table, *self.notes])

    def to_html(self) -> str:
        """Return a page with the table, the notes and the figures, which needs no network."""
        from interpret_dp.explanation.markup import render_page

        figures = [self.draw()]
        if any(fit.curve for fit in self.fits):
            figures.append(self.draw("curves"))
        return render_page("plan.html", title=_TITLE, plan=self, drawn=figures)

    def _repr_html_(self) -> str:
        """Return the table for a notebook."""
        note = " ".join(self.notes)
        return notebook_table(_TITLE, self.text_columns, self.text_rows(), note=note)


def _median(widths: Mapping[str, float] | None, names: Sequence[str] | None = None) -> float:
    if widths is None:
        return math.nan
    return float(np.median([widths[name] for name in (widths if names is None else names)]))


def _add_curve(
    figure: Figure, curve: PlannedCurve, row: int = 1, col: int = 1, *, in_legend: bool = True
) -> None:
    """Draw one curve with its band and the truth into a panel."""
    common = {"row": row, "col": col, "showlegend": in_legend, "hoverinfo": "skip"}

    def steps(heights: FloatArray, **style: Any) -> None:
        y = [*heights.tolist(), float(heights[-1])]
        line = {"shape": "hv", **style.pop("line")}
        figure.add_scatter(x=curve.x.tolist(), y=y, mode="lines", line=line, **common | style)

    no_line = {"width": 0}
    steps(curve.noisy + curve.half_width, line=no_line, showlegend=False)
    low = curve.noisy - curve.half_width
    fill = {"fill": "tonexty", "fillcolor": COLORS["band"]}
    steps(low, line=no_line, name="95 % noise band, unshrunk", **fill)
    steps(curve.noisy, line={"color": COLORS["curve"]}, name="noisy curve")
    if curve.truth is not None:
        steps(curve.truth, line={"color": COLORS["truth"], "dash": "dash"}, name="true curve")
    figure.update_xaxes(title=literal(curve.feature), row=row, col=col)
