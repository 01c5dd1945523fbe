"""The notebook editor's buttons and fields, as ipywidgets, without what they do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from interpret_dp._optional import import_optional
from interpret_dp.editor.recipes import KINDS
from interpret_dp.editor.state import RESET

if TYPE_CHECKING:
    from interpret_dp.editor.session import EditSession

__all__ = ["ACTIONS", "Action", "Controls", "shapes_for"]


@dataclass(frozen=True)
class Action:
    """One button that edits the term.

    Attributes
    ----------
    label, hint : str
        What the button says, and what it says under the mouse.
    kind : str
        Name of the session's method.
    arguments : mapping
        Fixed arguments of the method.
    number, length : str
        The argument that is read from the field of the same name; empty if none is.
    needs : {"nothing", "order", "distance"}
        What the bins must have; "" asks the operation itself.
    """

    label: str
    kind: str
    hint: str
    arguments: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    number: str = ""
    length: str = ""
    needs: str = ""

    def suits(self, kind_of_term: str) -> bool:
        """Return whether a term of this kind can be edited so."""
        needs = self.needs or (KINDS[self.kind].needs if self.kind in KINDS else "nothing")
        if kind_of_term == "interaction":
            return needs == "nothing" or self.kind == "smooth"
        return {
            "nothing": True,
            "order": kind_of_term != "nominal",
            "distance": kind_of_term == "continuous",
        }[needs]


_WHOLE = "with the whole curve selected, also of the missing and the unseen bin"

ACTIONS: Mapping[str, tuple[Action, ...]] = MappingProxyType(
    {
        "Shape": (
            Action("Increasing", "make_monotone", "Nearest increasing curve", {"increasing": True}),
            Action(
                "Decreasing", "make_monotone", "Nearest decreasing curve", {"increasing": False}
            ),
            Action(
                "Monotone", "make_monotone", "The nearer of the two above", {"increasing": "auto"}
            ),
            Action("Convex", "make_convex", "Nearest curve that bends upwards"),
            Action("Concave", "make_concave", "Nearest curve that bends downwards"),
        ),
        "Line": (
            Action(
                "Interpolate", "interpolate", "Straight from the first to the last selected bin"
            ),
            Action("Fit a line", "interpolate", "Weighted least-squares line", {"method": "fit"}),
            Action("Flatten", "flatten", "Every bin gets the weighted mean of the selection"),
            Action("Align left", "align", "Score of the first bin", {"to": "left"}, needs="order"),
            Action("Align right", "align", "Score of the last bin", {"to": "right"}, needs="order"),
        ),
        "Number": (
            Action("Shift by", "shift", "Add the number to the scores", number="by"),
            Action("Scale by", "scale", "Multiply the scores by the number", number="factor"),
            Action("Set to", "set_scores", "Every score becomes the number", number="scores"),
            Action("Cap at", "cap", f"Limit the size of the scores, {_WHOLE}", number="magnitude"),
            Action("Remove effect", "remove_effect", f"Scores become 0, {_WHOLE}"),
        ),
        "Smoothing": (Action("Smooth", "smooth", "Smooth by the known noise", length="length"),),
    }
)
"""What can be done to a selection, by the name of the row of buttons."""

RESET_ACTION = Action("Reset term", RESET, "Original scores of the whole term; can be undone")

_SHAPES = (
    ("monotone", "monotone"),
    ("increasing", "increasing"),
    ("decreasing", "decreasing"),
    ("flat", "flat"),
)


def shapes_for(kind_of_term: str) -> tuple[tuple[str, str], ...]:
    """Return the shapes that a term of this kind can be tested for."""
    return _SHAPES[-1:] if kind_of_term in ("nominal", "interaction") else _SHAPES


@dataclass(frozen=True, eq=False)
class Controls:
    """Every field and button of one editor; widgets of ipywidgets."""

    term: Any
    class_label: Any
    all_classes: Any
    bins: Any
    where: Any
    whole: Any
    selected: Any
    actions: Mapping[str, Any]
    number: Any
    length: Any
    recentre: Any
    reset: Any
    undo: Any
    redo: Any
    shape: Any
    verdict: Any
    message: Any
    commit: Any
    cancel: Any
    path: Any
    save: Any
    load: Any
    error: Any
    note: Any
    history: Any
    privacy: Any

    @classmethod
    def build(cls, session: EditSession, term: int) -> Controls:
        """Make the widgets for a session, showing a term."""
        widgets = ipywidgets()
        labels = session.class_labels
        several = {} if labels else {"display": "none"}
        return cls(
            term=widgets.Dropdown(
                options=[(name, index) for index, name in enumerate(session.terms)],
                value=term,
                description="Term",
                layout={"width": "280px"},
            ),
            class_label=widgets.Dropdown(
                options=[(str(label), index) for index, label in enumerate(labels or ("",))],
                value=0,
                description="Class",
                layout={"width": "220px"} | several,
            ),
            all_classes=_checkbox("edit all classes", False, several),
            bins=widgets.IntRangeSlider(
                description="Bins",
                readout=False,
                continuous_update=False,
                layout={"width": "330px"},
            ),
            where=widgets.Dropdown(layout={"width": "150px"}),
            whole=_button("Whole curve", "Select everything", "110px"),
            selected=widgets.HTML(),
            actions=MappingProxyType(
                {a.label: _button(a.label, a.hint) for row in ACTIONS.values() for a in row}
            ),
            number=widgets.FloatText(value=0.1, step=0.1, layout={"width": "90px"}),
            length=widgets.Text(
                placeholder="length: by the noise",
                tooltip="Share of the feature's range, such as 0.1; empty: chosen from the noise",
                continuous_update=False,
                layout={"width": "160px"},
            ),
            recentre=_checkbox("keep the mean prediction (recentre)", True, {}),
            reset=_button(RESET_ACTION.label, RESET_ACTION.hint),
            undo=_button("Undo", "Take back the last edit", "80px"),
            redo=_button("Redo", "Bring back what was undone", "80px"),
            shape=widgets.Dropdown(
                options=_SHAPES, description="Is it noise?", layout={"width": "220px"}
            ),
            verdict=widgets.HTML(),
            message=widgets.Text(
                placeholder="why these edits were made (public: no patient in it)",
                continuous_update=False,
                layout={"width": "380px"},
            ),
            commit=_button("Commit", "Write the message on all pending edits", "90px"),
            cancel=_button("Cancel pending", "Undo every edit without a message", "130px"),
            path=widgets.Text(
                value="edits.json", continuous_update=False, layout={"width": "220px"}
            ),
            save=_button("Save edits", "Write the edits to this file, without a row", "110px"),
            load=_button("Load edits", "Go on from the edits in this file", "110px"),
            error=widgets.HTML(),
            note=widgets.HTML(),
            history=widgets.HTML(),
            privacy=widgets.HTML(),
        )

    def holder(self) -> Any:
        """Return a box in which one figure can take the place of another."""
        return ipywidgets().VBox(layout={"width": "100%"})

    def arrange(self, figure: Any) -> Any:
        """Return everything in one box, the figure in its middle."""
        widgets = ipywidgets()
        actions = self.actions
        rows = {name: [actions[action.label] for action in row] for name, row in ACTIONS.items()}
        rows["Number"].insert(0, self.number)
        rows["Smoothing"] += [self.length, self.recentre]
        return widgets.VBox(
            [
                _row(self.privacy),
                _row(self.term, self.class_label, self.all_classes),
                figure,
                _row(self.bins, self.where, self.whole, self.selected),
                *(_row(_label(name), *row) for name, row in rows.items()),
                _row(_label("History"), self.undo, self.redo, self.reset),
                self.error,
                self.note,
                _row(self.shape, self.verdict),
                _row(self.message, self.commit, self.cancel),
                _row(self.path, self.save, self.load),
                self.history,
            ],
            layout={"width": "100%", "max_width": "1100px"},
        )

    def close(self) -> None:
        """Close every widget."""
        for entry in fields(self):
            value = getattr(self, entry.name)
            for widget in value.values() if isinstance(value, Mapping) else [value]:
                widget.close()


def ipywidgets() -> Any:
    """Import ipywidgets, or say how to install it."""
    return import_optional("ipywidgets", extra="notebook", purpose="The notebook editor")


def _button(label: str, hint: str, width: str = "auto") -> Any:
    return ipywidgets().Button(description=label, tooltip=hint, layout={"width": width})


def _checkbox(label: str, value: bool, layout: dict[str, str]) -> Any:
    return ipywidgets().Checkbox(
        description=label, value=value, indent=False, layout={"width": "auto"} | layout
    )


def _label(text: str) -> Any:
    return ipywidgets().Label(value=text, layout={"width": "76px"})


def _row(*parts: Any) -> Any:
    layout = {"flex_flow": "row wrap", "align_items": "center", "overflow": "visible"}
    return ipywidgets().HBox(list(parts), layout=layout)
