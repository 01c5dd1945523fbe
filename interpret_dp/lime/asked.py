"""The rows that a user wants explained: the asker's own, opened and put to the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp.lime.features import LocalFeatures
from interpret_dp.lime.labels import BlackBox, Labels
from interpret_dp.lime.moments import Queries
from interpret_dp.lime.opening import OpenedRows
from interpret_dp.schema.kinds import warn_of_mismatches

__all__ = ["AskedRows", "Outputs", "actual_values", "ask_model", "plain_cell", "row_document"]


@dataclass(frozen=True)
class Outputs:
    """What the outputs of a model are called; public.

    Attributes
    ----------
    classes : tuple of object, shape (n_outputs,), or None
        Labels of a classifier's probabilities; None for a regression.
    """

    classes: tuple[Any, ...] | None

    @classmethod
    def of_model(cls, model: Any, n_outputs: int, *, are_probabilities: bool) -> Outputs:
        """Return the classes that the model names, or else numbers."""
        if not are_probabilities:
            return cls(None)
        named = getattr(getattr(model, "__self__", model), "classes_", None)
        if named is not None and np.ndim(named) == 1 and len(named) == n_outputs:
            return cls(tuple(np.asarray(named).tolist()))
        # One probability alone is that of the second of two classes.
        return cls((1,) if n_outputs == 1 else tuple(range(n_outputs)))

    def text(self, output: int) -> str:
        """Say in words what an output is."""
        if self.classes is None:
            return "predicted value"
        return f"probability of {self.classes[output]}"

    def index(self, explained_class: Any) -> int:
        """Return the output of a class.

        Raises
        ------
        ValueError
            If the model has no such class.
        """
        if self.classes is None:
            raise ValueError(
                f"explained_class is {explained_class!r}, but the model's output is a number, "
                "not a class. Leave it None."
            )
        for index, own in enumerate(self.classes):
            if own == explained_class and isinstance(own, str) == isinstance(explained_class, str):
                return index
        raise ValueError(
            f"explained_class is {explained_class!r}; it must be one of "
            f"{', '.join(map(repr, self.classes))}, or None for the usual one: the second of two "
            "classes, and the predicted one of more."
        )

    def chosen(self, explained_class: Any, labels: NDArray[Any]) -> tuple[int, ...]:
        """Return which output is explained at each row.

        Parameters
        ----------
        explained_class : object
            A class for all rows; None: the second of two classes, as interpret's LimeTabular
            explains, and the predicted one of more.
        labels : ndarray, shape (n_rows, n_outputs)
            What the model says of each row, on whatever scale.
        """
        n_rows, n_outputs = len(labels), int(labels.shape[1])
        if explained_class is not None:
            return (self.index(explained_class),) * n_rows
        if n_outputs <= 2:
            return (n_outputs - 1,) * n_rows
        return tuple(int(output) for output in labels.argmax(axis=1))


@dataclass(frozen=True)
class AskedRows:
    """Rows to be explained, with what the model says of them: nobody's secret but the asker's.

    Attributes
    ----------
    rows : OpenedRows
    predictions : ndarray of float64, shape (n_rows, n_outputs)
        As the model gives them.
    labels : ndarray of int16, shape (n_rows, n_outputs)
    queries : Queries
        Points, and the output that is explained at each.
    """

    rows: OpenedRows
    predictions: NDArray[np.float64]
    labels: Labels
    queries: Queries

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.queries)

    @property
    def own_labels(self) -> tuple[int, ...]:
        """The explained output at each row, in steps of ``1 / UNITS``."""
        return tuple(
            int(self.labels[row, output]) for row, output in enumerate(self.queries.outputs)
        )

    @property
    def own_predictions(self) -> NDArray[np.float64]:
        """The explained output at each row, as the model gives it; shape (n_rows,)."""
        rows = np.arange(len(self))
        found: NDArray[np.float64] = self.predictions[rows, list(self.queries.outputs)]
        return found

    def cells(self, row: int) -> list[Any]:
        """Return the cells of one row, as plain values."""
        return [
            plain_cell(self.rows.table.column(index)[row])
            for index in range(len(self.rows.table.names))
        ]


def ask_model(
    model: Any,
    box: BlackBox,
    features: LocalFeatures,
    opened: OpenedRows,
    explained_class: Any,
    *,
    centered: bool,
) -> tuple[AskedRows, Outputs]:
    """Put rows to the model and decide what is explained at each.

    Raises
    ------
    ValueError
        If there is no row, the model answers in another form, or there is no such class; and
        whatever the model raises: the rows are not private.
    """
    n_rows = opened.table.n_rows
    if n_rows == 0:
        raise ValueError("X has 0 rows; there must be at least one row to explain.")
    warn_of_mismatches(opened.table, features.specs)
    predictions, labels = box.ask(opened.X, n_rows)
    outputs = Outputs.of_model(
        model, predictions.shape[1], are_probabilities=box.gives_probabilities
    )
    chosen = outputs.chosen(explained_class, labels)
    anchors = tuple(int(labels[row, output]) for row, output in enumerate(chosen))
    points = features.points(opened.table)
    queries = Queries(
        points,
        chosen,
        anchors if centered else None,
        tuple(features.centering(point) for point in points),
    )
    return AskedRows(opened, predictions, labels, queries), outputs


def actual_values(y: Sequence[Any] | Any, outputs: Outputs, explained: Sequence[int]) -> Any:
    """Return what came true for each row, in terms of the explained output; NaN if not known.

    Parameters
    ----------
    y : array-like, shape (n_rows,)
        Labels, or numbers for a regression.
    outputs : Outputs
    explained : sequence of int, shape (n_rows,)
        The explained output at each row.

    Raises
    ------
    ValueError
        If y has another shape, or a regression's y is not numbers.
    """
    values = np.asarray(y)
    if values.shape != (len(explained),):
        raise ValueError(
            f"y has shape {values.shape}; it must have one value for each of the {len(explained)} "
            "rows of X."
        )
    if outputs.classes is None:
        return values.astype(np.float64)
    known = set(outputs.classes)
    # interpret's own machines know labels that are fractions by their text.
    found = [
        str(own) if isinstance(own, float) and own not in known else own for own in values.tolist()
    ]
    return np.array(
        [
            float(own == outputs.classes[output]) if own in known else np.nan
            for own, output in zip(found, explained, strict=True)
        ]
    )


def plain_cell(cell: Any) -> Any:
    """Return a cell as a plain value of Python."""
    return cell.item() if isinstance(cell, np.generic) else cell


def row_document(
    opened: OpenedRows,
    row: int,
    names: Sequence[str],
    *,
    effects: NDArray[np.float64],
    standard_errors: NDArray[np.float64],
    start: tuple[str, float],
    output: str,
    predicted: float,
    actual: float,
    fit: Mapping[str, float],
    method: str,
    **more: Any,
) -> dict[str, Any]:
    """Return one row's free explanation, in the form of interpret's own local explanations.

    Parameters
    ----------
    opened : OpenedRows
    row : int
    names : sequence of str, shape (n_features,)
    effects, standard_errors : ndarray of float64, shape (n_features,)
    start : (str, float)
        What effects are added to, with its name.
    output : str
        What is explained, in words.
    predicted, actual : float
        That output, as the model gives it, and as it came true; NaN if that is not known.
    fit : mapping
        What the effects add up to (``prediction``), and how faithful that is (``fidelity``).
    method : str
    **more
        Further entries, of those that ``local_explanation`` takes.
    """
    predicted, actual = float(predicted), float(actual)
    return {
        "type": "univariate",
        "names": list(names),
        "scores": effects.tolist(),
        "values": [plain_cell(opened.table.column(place)[row]) for place in range(len(names))],
        "standard_errors": standard_errors.tolist(),
        "perf": {
            "is_classification": False,
            "actual": actual,
            "predicted": predicted,
            "actual_score": actual,
            "predicted_score": predicted,
        },
        "extra": {"names": [start[0]], "scores": [float(start[1])], "values": [1]},
        "output": output,
        "predicted": predicted,
        "coordinates": None,
        "method": method,
        "origin": "post-processed",
        "image_shape": None,
        "fit": dict(fit),
    } | more
