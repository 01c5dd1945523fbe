"""Common parts of all figures: colours, layout, and the writing of names and numbers."""

from __future__ import annotations

import html
import math
import re
import textwrap
from collections.abc import Mapping, Sequence
from functools import cache
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp.released.arrays import softmax

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from interpret_dp.released import AdditiveModel, Band

COLORS = {
    "curve": "#14609c",
    "band": "rgba(20, 96, 156, 0.20)",
    "truth": "#d9480f",
    "preview": "#d55e00",
    "weight": "#cdd6df",
    "ink": "#24323f",
    "grid": "#e9edf1",
    "line": "#9aa7b3",
    "up": "#d9480f",
    "down": "#14609c",
}

CLASS_COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#3c3c3c")
"""Wong's palette without its yellow, which is hard to see on white."""

LEGEND_BELOW = {
    "orientation": "h",
    "x": 0,
    "xanchor": "left",
    "yref": "container",
    "y": 0,
    "yanchor": "bottom",
    "font": {"size": 11.5},
}
"""A legend in a row at the lower end of a figure."""

LONGEST_LINE = 36
"""Letters of a line of an axis title."""

_MOST_BARS_IN_WORDS = 20
_MOST_LINES_OF_CARD = 18  # labels beside each other in a card of 450 pixels

LONGEST_LABEL = 22
"""Letters of a label that a figure shows."""

SIGNED_SCALE = [[0.0, COLORS["down"]], [0.5, "#f7f7f7"], [1.0, COLORS["up"]]]
"""From what lowers the output, over zero, to what raises it. The colour-blind see it."""

TOO_FEW_ROWS = "too few rows to be learned"
"""Of a bin whose score is unknown (:attr:`interpret_dp.released.AdditiveTerm.too_few_rows`)."""

_LETTERS_IN_LINE = 100
# Pixels of the parts above and below a figure.
_TITLE, _LINE, _MENU = 40, 16, 40
_LEGEND = 34
PANEL_TITLE = 22
"""Pixels of the title of a panel."""

_MOST_DATES = 6
# Labels below a plot are upright if all of them fit side by side, and lean otherwise.
_LETTERS_IN_WIDTH, _LABEL_ANGLE = 55, 40
_LETTER_DEPTH = 4.2  # pixels down per letter of a leaning label
# Parts of plotly's template that our figures use.
_OF_LAYOUT = (
    *("annotationdefaults", "autotypenumbers", "coloraxis", "colorway", "hoverlabel"),
    *("shapedefaults", "title", "xaxis", "yaxis"),
)
_OF_TRACES = ("bar", "heatmap", "scatter")
_MOST_POINTS = 1_000


def score_unit(model: AdditiveModel) -> str:
    """Return what a score counts: log-odds of the second class, or the target's own unit."""
    outcome = literal(model.outcome or "")
    if model.classes is None:
        if model.baseline is not None:
            return "change of log(hazard)"
        if model.link == "log":
            return f"change of log(mean {outcome})" if outcome else "change of log(prediction)"
        name, _, setting = str(model.parameters.get("objective")).partition(":")
        if name == "quantile":
            alpha = literal(setting.partition("=")[2] or "0.5")
            outcome = f"the {alpha} quantile{f' of {outcome}' * bool(outcome)}"
        return f"change of {outcome or 'the prediction'}, in its unit"
    if len(model.classes) > 2:
        return f"score of each class{f' of {outcome}' * bool(outcome)} (log scale)"
    # A model of one class has no other to set it against.
    return f"log-odds of {outcome}"


def probabilities(model: AdditiveModel, scores: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Return the probabilities of scores to which no other term adds; None for a regression.

    Parameters
    ----------
    model : AdditiveModel
    scores : ndarray of float64, shape (n,) or (n, n_classes)

    Returns
    -------
    ndarray of float64, same shape, or None
        Of the second class of two, or of each class.
    """
    if model.classes is None or len(model.classes) < 2:
        return None
    if scores.ndim == 1:
        return np.asarray(0.5 * (1.0 + np.tanh((model.intercept[0] + scores) / 2.0)))
    return softmax(model.intercept + scores)


def percent(probability: float) -> str:
    """Return a probability in per cent, with three digits."""
    return f"{100 * probability:.3g} %"


def row_noun(model: AdditiveModel) -> str:
    """Return what a count of rows counts: "patients" where each ``patient_id`` has one row."""
    return _noun(model) + f" of mean {model.exposure_noun}" * model.counts_exposure


def _noun(model: AdditiveModel) -> str:
    unit = model.schema.people
    if unit is None or (unit.max_rows > 1 and not model.is_of_people):
        return "rows"
    name = re.sub(r"[ _-]?(id|ID|Id)$", "", unit.name).replace("_", " ").strip()
    if not name:
        return "rows"
    if name.lower() == "person" or len(unit.columns) > 1:
        return "people"
    return re.sub(r"(?<![aeiou])y$", "ie", name) + "s"


def date_axis(figure: Figure, numbers: Sequence[int], dates: Sequence[str]) -> None:
    """Name entries of a ledger by their dates: the first of each date, and at most a few."""
    first = [place for place, date in enumerate(dates) if not place or date != dates[place - 1]]
    shown = first[:: math.ceil(len(first) / _MOST_DATES)]
    figure.update_xaxes(
        title="entry of the ledger, by date (UTC)",
        tickmode="array",
        tickvals=[numbers[place] for place in shown],
        ticktext=[dates[place] for place in shown],
    )


def thinned(n: int) -> list[int]:
    """Return the places, among ``n``, of the points that a figure shows: the last, and a few."""
    return sorted({*range(0, n, math.ceil(n / _MOST_POINTS)), n - 1})


@cache
def _template() -> Any:
    """Return what our figures show of plotly's template ``plotly_white``.

    With all of it a figure takes three times as long to make and is 7 kB larger.
    """
    import plotly.graph_objects as go
    from plotly.io import templates

    white = templates["plotly_white"].to_plotly_json()
    shown = {"layout": _OF_LAYOUT, "data": _OF_TRACES}
    return go.layout.Template(
        {part: {name: white[part][name] for name in names} for part, names in shown.items()}
    )


def blank_figure(*, height: int, margin: dict[str, int]) -> Figure:
    """Return a figure without content in the page's layout."""
    import plotly.graph_objects as go

    figure = go.Figure()
    dress(figure, height=height, margin=margin)
    return figure


def dress(figure: Figure, *, height: int, margin: dict[str, int]) -> None:
    """Give a figure the page's layout; ``height`` and ``margin`` in pixels."""
    figure.update_layout(
        height=height,
        margin=margin,
        showlegend=False,
        template=_template(),
        bargap=0.35,
        font={"family": "system-ui, sans-serif", "size": 12, "color": COLORS["ink"]},
        hovermode="closest",
        modebar={
            "bgcolor": "rgba(0,0,0,0)",
            "color": "#9aa7b3",
            "activecolor": COLORS["curve"],
            # plotly's button that uploads a figure to its makers.
            "remove": ["sendChartToCloud"],
        },
        # All other colours are chosen for white, and a notebook may be dark.
        paper_bgcolor="#ffffff",
        plot_bgcolor="#ffffff",
    )
    figure.update_xaxes(gridcolor=COLORS["grid"], zeroline=False)
    figure.update_yaxes(gridcolor=COLORS["grid"], zeroline=False)


def add_heading(
    figure: Figure,
    title: str,
    line: str,
    *,
    with_menu: bool = False,
    gap: int = 4,
    letters: int = _LETTERS_IN_LINE,
    over_panels: bool = False,
) -> None:
    """Write title and privacy cost above the plot, and leave room for buttons below them.

    Parameters
    ----------
    figure : Figure
    title : str
        Shown literally.
    line : str
        Lines of figures that are divided by " · "; broken between them, and inside one, at a space,
        only if it is longer than a line. Shown literally.
    with_menu : bool
        Leave room for a row of buttons.
    gap : int
        Pixels below the lines where there are no buttons.
    letters : int
        The longest line; shorter where wide labels leave the plot less room.
    over_panels : bool
        Leave room for the titles of panels.
    """
    lines = [short for long in line.split("\n") for short in _broken(long, letters)]
    menu = (_MENU if with_menu else gap) + (PANEL_TITLE if over_panels else 0)
    top = _TITLE + _LINE * len(lines) + menu
    figure.update_layout(
        title={
            "text": literal(title),
            "x": 0,
            "xref": "paper",
            "y": 1,
            "yref": "container",
            "yanchor": "top",
            "pad": {"t": 12},
            "font": {"size": 17, "color": COLORS["ink"]},
        },
        margin={"t": top},
    )
    if lines:
        figure.add_annotation(
            text="<br>".join(map(literal, lines)),
            xref="paper",
            yref="paper",
            x=0,
            y=1,
            yshift=menu,
            align="left",
            xanchor="left",
            yanchor="bottom",
            showarrow=False,
            font={"size": 11.5, "color": "#556471"},
        )


def fit_height(figure: Figure, inner: int) -> None:
    """Set the height of a figure whose panels are to have ``inner`` pixels together."""
    margin = figure.layout.margin
    figure.update_layout(height=margin.t + margin.b + inner)


def fit_card(figure: Figure) -> None:
    """Fit a figure into a card of a fixed height, such as those of interpret's inline pages.

    It is as high as the card. Labels beside bars have one line, of very many some are shown, and
    buttons that would make the figure higher are left out.
    """
    layout = figure.layout
    layout.height = None
    layout.updatemenus = [
        menu
        for menu in layout.updatemenus
        if not any("height" in changes for button in menu.buttons for changes in button.args)
    ]
    for axis in figure.select_yaxes():
        labels = [text.replace("<br>", " ") for text in axis.ticktext or ()]
        step = math.ceil(len(labels) / _MOST_LINES_OF_CARD)
        if labels:
            axis.update(tickvals=axis.tickvals[::step], ticktext=labels[::step])


def place_legend(figure: Figure, *, below: int, height: int) -> None:
    """Put the legend in a row under the axis labels, which need ``below`` pixels."""
    figure.update_layout(height=height, margin={"b": below + _LEGEND}, legend=LEGEND_BELOW)


def number_text(value: float) -> str:
    """Return a number with four significant digits, whole ones in full."""
    number = float(f"{value:.4g}") + 0.0
    is_whole = number.is_integer() and abs(number) < 1e9
    return integer_text(int(number)) if is_whole else f"{number:.4g}"


def integer_text(value: int) -> str:
    """Return an integer; from five digits on with separators, so that years have none."""
    return f"{value:,}" if abs(value) >= 10_000 else str(value)


def value_text(value: Any) -> str:
    """Return a cell of a row as text, "missing" if it is."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "missing"
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.number):
        return literal(str(value))
    try:
        number = float(value)
    except OverflowError:
        # Python's integers have no largest one, and may have too many digits to be written.
        sign = "-" if value < 0 else ""
        return f"about {sign}1e+{math.floor(math.log10(abs(int(value))))}"
    # A whole number is written in full: it may be a code.
    is_whole = number.is_integer() and abs(number) < 1e9
    return integer_text(int(number)) if is_whole else number_text(number)


def add_swatch(figure: Figure, name: str, color: str, opacity: float) -> None:
    """Add an entry of the legend that stands for no point."""
    figure.add_scatter(
        x=[None],
        y=[None],
        mode="markers",
        marker={"symbol": "square", "size": 11, "color": color, "opacity": opacity},
        name=name,
    )


def literal(name: str) -> str:
    """Return a name as plotly shows it literally: it reads a kind of HTML."""
    return html.escape(name, quote=False)


def band_texts(band: Band | None, lacks_rows: NDArray[np.bool_]) -> list[str]:
    """Return what follows each score in words: the ends of its band, where there is one."""
    texts = [f", {TOO_FEW_ROWS}" if lacks else "" for lacks in lacks_rows]
    if band is None:
        return texts
    return [
        f"{text}, band {low:.3g} to {high:.3g}" if low < high else text
        for text, low, high in zip(texts, *band, strict=True)
    ]


def error_bars(scores: NDArray[np.float64], band: Band | None) -> dict[str, Any] | None:
    """Return plotly's error bars from points to the ends of their bands."""
    if band is None:
        return None
    band = band.drawn_around(scores)
    return {
        "symmetric": False,
        "array": (band.upper - scores).tolist(),
        "arrayminus": (scores - band.lower).tolist(),
    }


def label_angle(labels: Sequence[str], letters: int) -> tuple[int, int]:
    """Return the angle of labels below a plot, and how many pixels leaning ones need.

    Parameters
    ----------
    labels : sequence of str
    letters : int
        That must find room side by side if the labels are to be upright.
    """
    if letters <= _LETTERS_IN_WIDTH:
        return 0, 0
    return -_LABEL_ANGLE, int(_LETTER_DEPTH * max(map(len, labels)))


def transparent(color: str, opacity: float) -> str:
    """Return a colour such as ``"#0072b2"`` in plotly's words, with an opacity."""
    red, green, blue = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, {opacity})"


def shortened(name: str, longest: int = LONGEST_LABEL, head: float = 1.0) -> str:
    """Return a literal name, cut to so many letters, of which a share is its beginning."""
    # Cutting must not split an escaped character, so it is undone first.
    plain = html.unescape(name)
    if len(plain) <= longest:
        return name
    n_first = round(head * (longest - 1))
    n_last = longest - 1 - n_first
    return literal(f"{plain[:n_first]}…{plain[len(plain) - n_last :]}")


def short_labels(names: Sequence[str], longest: int = LONGEST_LABEL) -> list[str]:
    """Return literal names, cut to so many letters where that leaves them most distinct."""
    cuts = [[shortened(name, longest, head) for name in names] for head in (1.0, 0.6, 0.2)]
    # Without the words that all long ones begin with.
    plain = [html.unescape(name) for name in names]
    long = sorted(name for name in plain if len(name) > longest) or [""]
    pairs = enumerate(zip(long[0], long[-1], strict=False))
    n_common = next((place for place, (a, b) in pairs if a != b), 0)
    n_left = n_common - len(re.split(r"[\s_]", long[0][:n_common])[-1])
    tails = [f"…{name[n_left:]}" if len(name) > longest else name for name in plain]
    cuts.append([shortened(literal(tail), longest) for tail in tails])
    return max(cuts, key=lambda labels: len(set(labels)))


def _broken(line: str, letters: int) -> list[str]:
    """Return a line broken between its figures, and within one that is longer than a line."""
    space = "\N{NO-BREAK SPACE}"
    figures = line.split(" · ")
    solid = [
        figure.replace(" ", space) if len(figure) < letters - 1 else figure for figure in figures
    ]
    parts = textwrap.wrap(f"{space}· ".join(solid), letters)
    return [part.replace(space, " ") for part in parts]


def wrapped(text: str, letters: int = LONGEST_LINE, lines: int = 3) -> str:
    """Return a literal text broken into a few lines of so many letters, shortened if need be."""
    text = shortened(text, letters * (lines - 1))
    parts = textwrap.wrap(html.unescape(text).replace("_", "_\u200b"), letters)
    return "<br>".join(literal(part.replace("\u200b", "")) for part in parts)


def value_labels(
    names: Sequence[str], values: Sequence[str | None], letters: int = LONGEST_LABEL
) -> list[str]:
    """Return labels such as "age = 41", in two lines where one would be too long.

    Parameters
    ----------
    names : sequence of str
        Literal.
    values : sequence of str or None
        Literal; None: the name alone.
    letters : int
        Of a line.
    """
    labels = []
    shown = short_labels(names, letters)
    for name, short, value in zip(names, shown, values, strict=True):
        line = name if value is None else f"{name} = {value}"
        if value is None:
            labels.append(wrapped(name, letters))
        elif len(html.unescape(line)) <= letters:
            labels.append(line)
        else:
            labels.append(f"{short}<br>= {shortened(value, letters - 2)}")
    return labels


def text_alternative(figure: Figure) -> str:
    """Return what a figure shows, in words, for those who do not see it.

    What a figure was given as ``meta["alternative"]``; else its title and axes, with the labels
    and values of its bars.
    """
    layout = figure.layout
    if isinstance(layout.meta, dict) and "alternative" in layout.meta:
        return str(layout.meta["alternative"])
    axes = [axis.title.text for axis in (layout.xaxis, layout.yaxis)]
    texts = [text for text in (layout.title.text, *axes) if text]
    labels = dict(zip(layout.yaxis.tickvals or (), layout.yaxis.ticktext or (), strict=False))
    bars = [
        (y, f"{labels[y]}: {x:.3g}")
        for trace in figure.data
        if trace.type == "bar" and trace.orientation == "h"
        for x, y in zip(trace.x, trace.y, strict=True)
        if y in labels
    ]
    from_above = sorted(bars, key=itemgetter(0), reverse=True)[:_MOST_BARS_IN_WORDS]
    words = "; ".join([*texts, *(text for _, text in from_above)])
    return html.unescape(re.sub(r"<br>", " ", words)) or "Plot"


def cut_words(words: str, n_drawn: int, n_all: int) -> str:
    """Return words on how many of all are drawn, such as ``"first {} of {:,}"``; "" if all are."""
    return words.format(n_drawn, n_all) if n_drawn < n_all else ""


def buttons(entries: list[tuple[str, str, list[Any]]], **place: Any) -> dict[str, Any]:
    """Return a row of plotly's buttons above a plot: each a label, a method and its arguments."""
    return {
        "type": "buttons",
        "direction": "right",
        "showactive": True,
        "y": 1,
        "yanchor": "bottom",
        "pad": {"b": 6, "t": 0, "l": 0, "r": 0},
        "font": {"size": 11.5, "color": COLORS["ink"]},
        "bgcolor": "#ffffff",
        "bordercolor": "#c6d0d9",
        "buttons": [{"label": t, "method": m, "args": a} for t, m, a in entries],
        **place,
    }


def shown_scores(record: Mapping[str, Any]) -> list[float]:
    """Return the terms' scores of a row; with several classes, those of the predicted one."""
    scores = np.asarray(record["scores"], dtype=np.float64)
    return [float(s) for s in (scores if scores.ndim == 1 else scores[:, predicted(record)])]


def total_scores(record: Mapping[str, Any]) -> NDArray[np.float64]:
    """Return the sums of all contributions and the intercept, one a class."""
    scores = np.asarray(record["scores"], dtype=np.float64)
    intercept = np.asarray(record["extra"]["scores"], dtype=np.float64).reshape(-1)
    return np.asarray(scores.reshape(len(scores), -1).sum(axis=0) + intercept)


def predicted(record: Mapping[str, Any]) -> int:
    """Return the index of the predicted one of several classes."""
    return int(np.argmax(total_scores(record)))
