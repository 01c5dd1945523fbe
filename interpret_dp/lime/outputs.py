"""Outputs of a model, and the documents that explain them for public rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp.lime.black_box import PublicModel
from interpret_dp.lime.opening import OpenedRows

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Outputs:
    """Names of the outputs of a model; public.

    Attributes
    ----------
    classes : tuple of object, shape (n_outputs,), or None
        Labels of several outputs, or of a probability; None for a regression.
    are_probabilities : bool
        Whether the outputs of classes are probabilities, and not scores.
    """

    classes: tuple[Any, ...] | None
    are_probabilities: bool = True

    @classmethod
    def of_predictions(cls, box: PublicModel, model: Any, predictions: Floats) -> Outputs:
        """Return the names of a model's outputs, from its predictions of public rows."""
        n_outputs = predictions.shape[1]
        is_share = bool(((predictions >= 0.0) & (predictions <= 1.0)).all())
        sums_to_one = np.allclose(predictions.sum(axis=1), 1.0, atol=1e-3)
        is_share = is_share and (n_outputs == 1 or sums_to_one)
        # What predict returns is a number, whatever the classes are: it may be their codes.
        is_named = hasattr(model, "classes_") and not hasattr(model, "predict")
        has_classes = box.gives_probabilities or n_outputs > 1 or is_named
        outputs = cls.of_model(model, n_outputs, has_classes=has_classes)
        return replace(outputs, are_probabilities=box.gives_probabilities or is_share)

    @classmethod
    def of_model(cls, model: Any, n_outputs: int, *, has_classes: bool) -> Outputs:
        """Return the labels in the model's ``classes_``, or else numbers; None without classes."""
        if not has_classes:
            return cls(None)
        classes = getattr(getattr(model, "__self__", model), "classes_", None)
        if classes is not None and np.ndim(classes) == 1:
            # One number alone is that of the second of two classes.
            if len(classes) == n_outputs or (len(classes), n_outputs) == (2, 1):
                return cls(tuple(np.asarray(classes).tolist()[-n_outputs:]))
            raise ValueError(
                f"The length of the model's classes_ is {len(classes)}, and of its output for a "
                f"row {n_outputs}; they must agree, or be 2 and 1: one number is that of the "
                "second of two classes. Correct classes_, or leave it out."
            )
        return cls((1,) if n_outputs == 1 else tuple(range(n_outputs)))

    def text(self, output: int | None) -> str:
        """Return an output in words; None: all of them."""
        if self.classes is None:
            return "predicted value"
        if output is None:
            return "probability of each class" if self.are_probabilities else "value of each output"
        return f"{'probability of' if self.are_probabilities else 'output'} {self.classes[output]}"

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
        for index, label in enumerate(self.classes):
            if label == explained_class and isinstance(label, str) == isinstance(
                explained_class, str
            ):
                return index
        raise ValueError(
            f"explained_class is {explained_class!r}; it must be one of "
            f"{', '.join(map(repr, self.classes))}, or None for the usual one: the second of two "
            "classes, and the predicted one of more."
        )

    def explained(self, explained_class: Any, labels: NDArray[Any]) -> tuple[int, ...]:
        """Return the output to explain at each row.

        Parameters
        ----------
        explained_class : object
            A class for all rows; None: the second of two classes, as interpret's LimeTabular
            explains, and the predicted one of more.
        labels : ndarray, shape (n_rows, n_outputs)
            Outputs of the model, on any scale.
        """
        n_rows, n_outputs = len(labels), int(labels.shape[1])
        if explained_class is not None:
            return (self.index(explained_class),) * n_rows
        if n_outputs <= 2:
            return (n_outputs - 1,) * n_rows
        return tuple(int(output) for output in labels.argmax(axis=1))


def _actual_values(y: Any, outputs: Outputs, explained: Sequence[int]) -> Any:
    """Return the true value of the explained output at each row; NaN if not known.

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
    labels = [
        str(label) if isinstance(label, float) and label not in known else label
        for label in values.tolist()
    ]
    return np.array(
        [
            float(label == outputs.classes[output]) if label in known else np.nan
            for label, output in zip(labels, explained, strict=True)
        ]
    )


@dataclass(frozen=True)
class ExplainedRows:
    """Public rows, each with the output that is explained.

    Attributes
    ----------
    opened : OpenedRows
    outputs : Outputs
    explained : tuple of int, shape (n_rows,)
        The explained output at each row.
    predicted, actual : ndarray of float64, shape (n_rows,)
        That output as the model gives it, and its true value; NaN if not known.
    """

    opened: OpenedRows
    outputs: Outputs
    explained: tuple[int, ...]
    predicted: Floats
    actual: Floats

    @classmethod
    def of(
        cls,
        opened: OpenedRows,
        outputs: Outputs,
        explained: tuple[int, ...],
        predictions: Floats,
        y: Any = None,
    ) -> ExplainedRows:
        """Return rows with predictions, shape (n_rows, n_outputs), and labels, or None.

        Raises
        ------
        ValueError
            If ``y`` has another shape, or a regression's ``y`` is not numbers.
        """
        n_rows = len(explained)
        actual = np.full(n_rows, np.nan) if y is None else _actual_values(y, outputs, explained)
        return cls(opened, outputs, explained, predictions[np.arange(n_rows), explained], actual)

    def document(
        self,
        row: int,
        effects: Floats,
        standard_errors: Floats | None = None,
        *,
        baseline: tuple[str, float] | None = None,
        **shown: Any,
    ) -> dict[str, Any]:
        """Return one row's explanation, in the form of interpret's own local explanations.

        Parameters
        ----------
        row : int
        effects, standard_errors : ndarray of float64, shape (n_features,)
            In units of the explained output; None for errors that are not known.
        baseline : (str, float), optional
            Name and value of the number to which the effects are added.
        **shown
            Further entries: ``method`` and ``origin`` as in
            :class:`~interpret_dp.explanation.spend.RowSpend`, ``meaning`` of an effect, the
            ``fit``.
        """
        table = self.opened.table
        actual, predicted = float(self.actual[row]), float(self.predicted[row])
        errors = np.full(len(effects), math.nan) if standard_errors is None else standard_errors
        cells = [table.column(place)[row] for place in range(len(table.names))]
        name, score = ([], []) if baseline is None else ([baseline[0]], [baseline[1]])
        return {
            "type": "univariate",
            "names": list(table.names),
            "scores": effects.tolist(),
            "values": [cell.item() if isinstance(cell, np.generic) else cell for cell in cells],
            "standard_errors": errors.tolist(),
            "perf": {
                "is_classification": False,
                "actual": actual,
                "predicted": predicted,
                "actual_score": actual,
                "predicted_score": predicted,
            },
            "extra": {"names": name, "scores": score, "values": [1] * len(name)},
            "output": self.outputs.text(self.explained[row]),
            "predicted": predicted,
            **shown,
        }
