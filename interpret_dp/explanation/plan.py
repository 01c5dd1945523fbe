"""Plan of a private fit: the effects that a budget shows, before a private row is read."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
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

_TITLE = "Plan of a private fit"
_LOG_ODDS = "log-odds"
_EFFECTS = "Smallest effect that 4 of 5 fits show, by epsilon"
_LETTERS = 44  # of a line of text that a narrow page shows
_COLUMNS = ("rows", "epsilon", "features", "effect", "fits left")
_LARGEST_ODDS = 1_000
_DASHES = {"levels": "dot", "numbers": "solid"}


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

    def epsilon_for(self, effect: float, n_rows: int | None = None) -> float:
        """Return the epsilon at which 4 of 5 fits show an effect, between planned ones.

        Parameters
        ----------
        effect : float
            Of a level, or on the mean over an eighth of the rows, in the score's unit: the median
            of the smallest effects over all features.
        n_rows : int, default=None
            Which size of table, if several were planned.

        Raises
        ------
        ValueError
            If the size was not planned, or the effect is outside of what was planned.

        Notes
        -----
        Interpolated on logarithms.
        """
        effect = check_real("effect", effect, low=0, low_open=True)
        sizes = sorted({fit.n_rows for fit in self.fits})
        size = sizes[0] if n_rows is None and len(sizes) == 1 else n_rows
        effects = [(fit.epsilon, _median(fit.effects)) for fit in self.fits if fit.n_rows == size]
        planned = sorted(pair for pair in effects if pair[1] < math.inf)
        if not planned:
            raise ValueError(f"n_rows is {n_rows!r}; it must be one of the planned {sizes}.")
        epsilons, shown = (np.array(values)[::-1] for values in zip(*planned, strict=True))
        # From the largest epsilon down: a larger budget has room for the smaller one's fit.
        shown = np.maximum.accumulate(shown)
        if not shown[0] <= effect <= shown[-1]:
            raise ValueError(
                f"effect is {effect:g}; the planned ones are {shown[0]:.3g} to {shown[-1]:.3g}. "
                f"Plan {'larger' if effect < shown[0] else 'smaller'} epsilons."
            )
        return float(np.exp(np.interp(math.log(effect), np.log(shown), np.log(epsilons))))

    def draw(self, kind: str = "effects", n_rows: int | None = None) -> Figure:
        """Return a figure.

        Parameters
        ----------
        kind : {"effects", "curves", "slider"}
            The smallest effects of the table against epsilon, for each size of table; one curve
            at each epsilon, side by side, above what such a fit does not show; or the effects above
            the curve of the epsilon that a slider chooses, which needs no kernel.
        n_rows : int, default=None
            Size of the table of the curves and of the slider; by default the first planned one.

        Raises
        ------
        ValueError
            If ``kind`` is unknown, or there is no curve, or no plan, of that size.
        """
        check_choice("kind", kind, ("effects", "curves", "slider"))
        if kind == "effects":
            return self._draw_effects()
        return self._draw_curves(n_rows) if kind == "curves" else self._draw_slider(n_rows)

    def _fits_of(self, size: int) -> list[PlannedFit]:
        fits = [fit for fit in self.fits if fit.n_rows == size]
        if not fits:
            sizes = sorted({fit.n_rows for fit in self.fits})
            raise ValueError(f"n_rows is {size!r}; it must be one of the planned {sizes}.")
        return fits

    def _draw_effects(self) -> Figure:
        figure = blank_figure(height=420, margin={"l": 64, "r": 24, "b": 96, "t": 40})
        self._add_effects(figure, list(dict.fromkeys(fit.n_rows for fit in self.fits)))
        add_heading(figure, _EFFECTS, self._heading())
        figure.update_layout(showlegend=True, legend=LEGEND_BELOW)
        return figure

    def _effects_of(self, fit: PlannedFit) -> dict[str, float]:
        """Return the smallest effect of each kind of feature, the median over these."""
        return {
            kind: _median(fit.effects, [name for name in self.kinds if self.kinds[name] == kind])
            for kind in sorted(set(self.kinds.values()))
        }

    def _add_effects(self, figure: Figure, sizes: Sequence[int]) -> None:
        """Draw the lines of some sizes, and dress the first axes for them."""
        for place, size in enumerate(sizes):
            fits = self._fits_of(size)
            shown = [self._effects_of(fit) for fit in fits]
            for kind in shown[0]:
                figure.add_scatter(
                    x=[fit.epsilon for fit in fits],
                    y=[effects[kind] for effects in shown],
                    mode="lines+markers",
                    name=f"{kind}, {size:,} rows",
                    line={"color": CLASS_COLORS[place % len(CLASS_COLORS)], "dash": _DASHES[kind]},
                    hovertemplate="epsilon %{x:g}: %{y:.3g}<extra></extra>",
                )
        ticks = sorted({fit.epsilon for fit in self.fits})
        names = [f"{epsilon:g}" for epsilon in ticks]
        figure.layout.xaxis.update(type="log", title="epsilon", tickvals=ticks, ticktext=names)
        style = {"dtick": math.log10(2.0), "tickformat": ".2~g"}
        figure.layout.yaxis.update(type="log", title=literal(self.unit), **style)

    def _draw_slider(self, n_rows: int | None) -> Figure:
        from plotly.subplots import make_subplots

        size = self.fits[0].n_rows if n_rows is None else n_rows
        fits = self._fits_of(size)
        has_curves = all(fit.curve for fit in fits)
        figure = make_subplots(rows=1 + has_curves, cols=1, vertical_spacing=0.16)
        dress(figure, height=740 if has_curves else 440, margin={"l": 64, "r": 24, "b": 150})
        self._add_effects(figure, [size])
        own: list[range] = []
        for fit in fits:
            first = len(figure.data)
            y = list(self._effects_of(fit).values())
            mark = {"size": 15, "color": COLORS["truth"], "symbol": "circle-open", "line_width": 3}
            x = [fit.epsilon] * len(y)
            figure.add_scatter(x=x, y=y, mode="markers", marker=mark, name="chosen epsilon")
            if has_curves:
                _add_curve(figure, fit, row=2)
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
        line = f"Smallest effects in 4 of 5 fits · {size:,} rows · delta {self.delta:g}"
        line += f" · {source} · nothing was charged"
        add_heading(figure, "What each epsilon shows", line, letters=_LETTERS)
        figure.update_yaxes(title=literal(self.unit), row=1)
        if has_curves:
            figure.update_yaxes(title=literal(self.unit), range=_range(fits), row=2)
        shown = [
            f"{kind} {effect:.3g} at {fit.epsilon:g}"
            for fit in fits
            for kind, effect in self._effects_of(fit).items()
        ]
        figure.update_layout(
            showlegend=True,
            legend=LEGEND_BELOW,
            meta={"alternative": f"{_EFFECTS}, {size:,} rows: {', '.join(shown)}."},
        )
        return figure

    def _draw_curves(self, n_rows: int | None) -> Figure:
        from plotly.subplots import make_subplots

        size = self.fits[0].n_rows if n_rows is None else n_rows
        drawn = [(fit, fit.curve) for fit in self.fits if fit.n_rows == size and fit.curve]
        if not drawn:
            sizes = sorted({fit.n_rows for fit in self.fits})
            raise ValueError(
                f"There is no curve of {size} rows. The plan has {sizes} rows, and curves are "
                "those of a feature that is a number."
            )
        titles = [f"epsilon {fit.epsilon:g}" for fit, _ in drawn]
        figure = make_subplots(rows=1, cols=len(drawn), shared_yaxes=True, subplot_titles=titles)
        for place, (fit, _) in enumerate(drawn, start=1):
            _add_curve(figure, fit, col=place, in_legend=place == 1)
        dress(figure, height=360, margin={"l": 64, "r": 24, "b": 84, "t": 40})
        title = f"{drawn[0][1].feature}: one planned fit of {size:,} rows at each epsilon"
        add_heading(figure, title, self._heading(), over_panels=True)
        figure.update_layout(showlegend=True, legend=LEGEND_BELOW)
        figure.update_yaxes(range=_range([fit for fit, _ in drawn]))
        figure.update_yaxes(title=literal(self.unit), col=1)
        return figure

    def _heading(self) -> str:
        return f"{self.source} · delta {self.delta:g} · nothing was charged"

    def text_rows(self) -> list[tuple[str, ...]]:
        """Return a line of texts for each size and epsilon, as :data:`text_columns` names them."""
        return [
            (
                *(f"{fit.n_rows:,}", f"{fit.epsilon:g}", kind, f"{effect:.3g}"),
                "no limit" if fit.fits_left is None else f"{fit.fits_left:,}",
                *(f"{value:.3g}" for value in fit.score.values()),
                self._in_words(effect),
            )
            for fit in self.fits
            for kind, effect in self._effects_of(fit).items()
        ]

    def _in_words(self, effect: float) -> str:
        """Say what an effect of this size is."""
        is_odds = self.unit == _LOG_ODDS
        if effect >= (math.log(_LARGEST_ODDS) if is_odds else math.inf):
            return "No effect shows."
        if is_odds:
            return f"Shows odds of {math.exp(effect):.3g} times the average."
        return f"Shows means {effect:.3g} off the average."

    @property
    def text_columns(self) -> tuple[str, ...]:
        """Heads of :meth:`text_rows`."""
        return (*_COLUMNS, *self.fits[0].score, "in words")

    def _at_epsilons(self, figure: Callable[[PlannedFit], str | None]) -> str:
        """Return a figure of the smallest table at each epsilon; "" where there is none."""
        smallest = min(fit.n_rows for fit in self.fits)
        texts = [(figure(fit), fit.epsilon) for fit in self.fits if fit.n_rows == smallest]
        return ", ".join(f"{text} at epsilon {epsilon:g}" for text, epsilon in texts if text)

    @property
    def notes(self) -> list[str]:
        """Sentences on where the figures come from, and how to read them."""
        smallest = min(fit.n_rows for fit in self.fits)
        measured = "On six public tables fits had 0.7 to 1.5 times the planned noise."
        if not self.fits[0].score:
            measured = (
                "On five of six public tables fits had 0.5 to 2.9 times the planned noise: more "
                "where a target is skewed or a label is rare. Where most rows of a column have "
                "one value, it has less."
            )
        numbers = [name for name, kind in self.kinds.items() if kind == "numbers"]

        def correlated(fit: PlannedFit) -> str | None:
            effects = fit.correlated_effects
            return f"effect {_median(effects, numbers):.3g}" if effects and numbers else None

        notes = [
            f"{self.source}. Nothing was charged.",
            f"Effect in {self.unit}: the smallest that is significant in 4 of 5 fits at delta "
            f"{self.delta:g}, of a level, or of a number on the mean over an eighth of the rows.",
            measured,
        ]
        listed = {
            f"If all numbers of {smallest:,} rows are correlated by 0.9: {{}}.": correlated,
            "To be learned, a level needs so many rows: {}.": lambda fit: (
                f"{math.ceil(fit.level_rows):,}"
            ),
            f"Of {smallest:,} rows the rarer label needs, to be learned: {{}}.": _label_text,
            f"With {smallest:,} rows the mean of all predictions is right to within {{}}: one "
            "standard deviation.": lambda fit: fit.total_error and f"±{fit.total_error:.2g}",
        }
        texts = {text: self._at_epsilons(figure) for text, figure in listed.items()}
        return notes + [text.format(figures) for text, figures in texts.items() if figures]

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


def _label_text(fit: PlannedFit) -> str | None:
    if fit.label_rows is None:
        return None
    return f"{fit.label_rows:,.0f}" if fit.label_rows < math.inf else "more than there are"


def _range(fits: Sequence[PlannedFit]) -> list[float]:
    """Return the vertical range of the curves, and of what does not show beside them."""
    reach = 0.0
    for curve, effects in ((fit.curve, fit.effects) for fit in fits):
        if curve is not None:
            truth = curve.noisy if curve.truth is None else curve.truth
            effect = effects[curve.feature]
            sizes = *curve.noisy, *truth, effect if effect < math.inf else 0.0
            reach = max(reach, 1.05 * float(np.abs(sizes).max()))
    return [-reach, reach]


def _add_curve(
    figure: Figure, fit: PlannedFit, row: int = 1, col: int = 1, *, in_legend: bool = True
) -> None:
    """Draw the curve of a fit with the truth, above what would not show, into a panel."""
    curve = fit.curve
    if curve is None:
        return
    common = {"row": row, "col": col, "showlegend": in_legend, "hoverinfo": "skip"}
    # plotly cuts off what is beyond the axes.
    effect = min(fit.effects[curve.feature], 1e6)

    def steps(heights: FloatArray, name: str, **line: Any) -> None:
        y = [*heights.tolist(), float(heights[-1])]
        style = {"mode": "lines", "line": {"shape": "hv", **line}, "name": name}
        figure.add_scatter(x=curve.x.tolist(), y=y, **style, **common)

    figure.add_scatter(
        x=curve.x[[0, -1, -1, 0]].tolist(),
        y=[effect, effect, -effect, -effect],
        fill="toself",
        fillcolor=COLORS["band"],
        mode="none",
        name="too small for 4 of 5 fits to show",
        **common,
    )
    steps(curve.noisy, "noisy curve", color=COLORS["curve"])
    if curve.truth is not None:
        steps(curve.truth, "true curve", color=COLORS["truth"], dash="dash")
    figure.update_xaxes(title=literal(curve.feature), row=row, col=col)
