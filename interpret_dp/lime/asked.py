"""The rows that a user asks about: explained outputs, and the documents that show them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp.lime.opening import OpenedRows

__all__ = ["Outputs", "actual_values", "document_of", "sum_to_one"]


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
    def of_answers(
        cls, model: Any, answers: NDArray[np.float64], *, gives_probabilities: bool
    ) -> Outputs:
        """Return what the outputs are called, from what a model says of public rows."""
        n_outputs = answers.shape[1]
        is_share = bool(((answers >= 0.0) & (answers <= 1.0)).all())
        is_share = is_share and (n_outputs == 1 or sum_to_one(answers))
        # What predict returns is a number, whatever the classes are: it may be their codes.
        is_named = hasattr(model, "classes_") and not hasattr(model, "predict")
        has_classes = gives_probabilities or n_outputs > 1 or is_named
        own = cls.of_model(model, n_outputs, has_classes=has_classes)
        return replace(own, are_probabilities=gives_probabilities or is_share)

    @classmethod
    def of_model(cls, model: Any, n_outputs: int, *, has_classes: bool) -> Outputs:
        """Return the classes that the model names, or else numbers; none without classes."""
        if not has_classes:
            return cls(None)
        named = getattr(getattr(model, "__self__", model), "classes_", None)
        if named is not None and np.ndim(named) == 1:
            # One number alone is that of the second of two classes.
            if len(named) == n_outputs or (len(named), n_outputs) == (2, 1):
                return cls(tuple(np.asarray(named).tolist()[-n_outputs:]))
            raise ValueError(
                f"The length of the model's classes_ is {len(named)}, and of its output for a row "
                f"{n_outputs}; they must agree, or be 2 and 1: one number is that of the second of "
                "two classes. Correct classes_, or leave it out."
            )
        return cls((1,) if n_outputs == 1 else tuple(range(n_outputs)))

    def text(self, output: int | None) -> str:
        """Say in words what an output is, or all of them for None."""
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


def sum_to_one(answers: NDArray[np.float64]) -> bool:
    """Whether the outputs of each row add up to 1, as probabilities of classes do."""
    return np.allclose(answers.sum(axis=1), 1.0, atol=1e-3)


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


def document_of(
    opened: OpenedRows,
    row: int,
    effects: NDArray[np.float64],
    standard_errors: NDArray[np.float64] | None = None,
    *,
    output: str,
    predicted: float,
    method: str,
    origin: str,
    actual: float = math.nan,
    baseline: tuple[str, float] | None = None,
    **shown: Any,
) -> dict[str, Any]:
    """Return one row's explanation, in the form of interpret's own local explanations.

    Parameters
    ----------
    opened : OpenedRows
        The asked rows.
    row : int
    effects, standard_errors : ndarray of float64, shape (n_features,)
        In units of the explained output; errors that nobody knows are None.
    output : str
        What is explained, in words.
    predicted, actual : float
        That output as the model gives it, and what came true.
    method, origin : str
        As in :class:`~interpret_dp.explanation.spend.RowSpend`.
    baseline : (str, float), optional
        What the effects are added to.
    **shown
        What the figure shows besides: ``meaning`` of an effect, the ``fit``, ``image_shape``.
    """
    names = list(opened.table.names)
    errors = np.full(len(names), math.nan) if standard_errors is None else standard_errors
    cells = [opened.table.column(place)[row] for place in range(len(names))]
    name, score = ([], []) if baseline is None else ([baseline[0]], [baseline[1]])
    return {
        "type": "univariate",
        "names": names,
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
        "output": output,
        "predicted": predicted,
        "method": method,
        "origin": origin,
        "image_shape": None,
        **shown,
    }
