"""What figures of maps have in common: words on one row, and a menu that chooses the class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from interpret_dp.explanation.figure_parts import COLORS, literal
from interpret_dp.explanation.maps import ClassReading, MapUse, label_text
from interpret_dp.released.locally_linear import LocallyLinearModel

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["add_class_menu", "heading_changes", "percent_text", "row_words", "use_words"]


def row_words(
    model: LocallyLinearModel, reading: ClassReading, actual: int | None
) -> tuple[str, str]:
    """Return a title that says what a class's probability is, and how its score comes about.

    Parameters
    ----------
    model : LocallyLinearModel
    reading : ClassReading
    actual : int or None
        The class that came true.
    """
    label = label_text(model.classes, reading.index)
    title = f"Probability of {label}: {percent_text(reading.probability)}"
    if actual is not None:
        title += f", actual: {label_text(model.classes, actual)}"
    total = float(reading.contributions.sum())
    words = (
        f"Score {reading.score:+.3g} = contributions {total:+.3g} and bias {reading.bias:+.3g} · "
        f"{len(reading.shares):,} maps"
    )
    return title, words


def heading_changes(figure: Figure, title: str, words: str) -> dict[str, str]:
    """Return the changes of a layout that put another class's words into the heading.

    The heading must be the figure's last annotation, and begin with such words.
    """
    number = len(figure.layout.annotations) - 1
    _, *rest = figure.layout.annotations[number].text.split("<br>")
    return {
        "title.text": literal(title),
        f"annotations[{number}].text": "<br>".join([literal(words), *rest]),
    }


def use_words(use: MapUse | None) -> str:
    """Say what the shares of maps were counted on; a line, or nothing."""
    if use is None:
        return ""
    return f"Percent of the {use.n_rows:,} given rows, taken as public, where the map counts most\n"


def percent_text(share: float) -> str:
    """Return a share in percent, with a decimal where it is small, and 100 only if it is all."""
    if 0.99 < share < 1:
        return "over 99 %"
    return f"{100 * share:.1f} %" if 0 < share < 0.1 else f"{100 * share:.0f} %"


def add_class_menu(
    figure: Figure,
    labels: Sequence[str],
    owners: Sequence[int | None],
    changes: Sequence[Mapping[str, Any]],
    *,
    lift: int = 0,
) -> None:
    """Add a menu of classes to a figure, which shows the first.

    Parameters
    ----------
    figure : Figure
    labels : sequence of str, shape (n_choices,)
        Shown literally.
    owners : sequence of int or None, shape (n_traces,)
        To which choice each trace belongs; None: to all.
    changes : sequence of mapping, shape (n_choices,)
        What of the layout changes with each choice.
    lift : int
        Pixels that titles of panels need below the menu.
    """
    buttons = [
        {
            "label": f"class {literal(label)}",
            "method": "update",
            "args": [{"visible": [owner in (None, number) for owner in owners]}, dict(change)],
        }
        for number, (label, change) in enumerate(zip(labels, changes, strict=True))
    ]
    figure.update_layout(
        updatemenus=[
            {
                "type": "dropdown",
                "direction": "down",
                "showactive": True,
                "x": 0,
                "xanchor": "left",
                "y": 1,
                "yanchor": "bottom",
                "pad": {"b": 6 + lift, "t": 0, "l": 0, "r": 0},
                "font": {"size": 11.5, "color": COLORS["ink"]},
                "bgcolor": "#ffffff",
                "bordercolor": "#c6d0d9",
                "buttons": buttons,
            }
        ]
    )
