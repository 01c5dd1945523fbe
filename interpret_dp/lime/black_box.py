"""A black box as a function: of public rows, or of private rows with outputs bounded to integers.

Labels, the bounded outputs for private rows, are private as the rows are, and live in memory only.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp.exceptions import SchemaError
from interpret_dp.schema import Continuous

LABEL_UNITS = 2**14
"""Integer units of a label of 1; outputs are mapped to -1 to 1."""

Labels = NDArray[np.int16]
Floats = NDArray[np.float64]

# By so much sums of probabilities may miss 0 or 1.
_TOLERANCE = 1e-6


@dataclass(frozen=True)
class BlackBox:
    """A model as a function with bounded outputs.

    Attributes
    ----------
    bounds : Continuous
        Of every output; mapped to -1 and 1, as equation 1 of the paper has them.
    gives_probabilities : bool
        Whether each output is the probability of a class.
    """

    bounds: Continuous
    gives_probabilities: bool
    _predict: Callable[[Any], Any] = field(repr=False)

    def ask(self, X: Any, n_rows: int) -> tuple[Floats, Labels]:
        """Return the model's outputs and labels for public rows, such as queries.

        Parameters
        ----------
        X : object
            Rows, in the form that the model takes.
        n_rows : int

        Returns
        -------
        outputs : ndarray of float64, shape (n_rows, n_outputs)
            As the model gives them.
        labels : ndarray of int16, same shape
            As :meth:`labels`.

        Raises
        ------
        ValueError
            If the model does not return one number, or one list of numbers, for each row, or a
            number that is no probability where it should be one. Errors of the model pass through.
        """
        outputs = _checked_outputs(self._predict(_copied_rows(X, 0, n_rows)), n_rows)
        if self.gives_probabilities:
            _check_probabilities(outputs)
        return outputs, self._rounded(outputs)

    def labels(self, X: Any, n_rows: int, n_outputs: int) -> Labels:
        """Return the labels of private rows; errors of the model change no other row's label.

        Parameters
        ----------
        X : DataFrame, pyarrow.Table, array or list of rows
            In the form that the model takes.
        n_rows : int
        n_outputs : int
            Outputs of the model; public, from :meth:`ask` about a query.

        Returns
        -------
        ndarray of int16, shape (n_rows, n_outputs)
            Outputs in steps of ``1 / LABEL_UNITS`` from -1 to 1; values outside the bounds are
            clipped and NaN is 0, the middle. Private.

        Notes
        -----
        No error is raised and no warning issued: either could depend on a row. Where the model
        fails on several rows they are halved, and a row on which it fails alone is labelled 0. A
        model that fails on every row fails for a query as well, which is public.

        The guarantee assumes that the model's output for a row depends on that row alone, and is
        the same in every call. The grid removes most differences in the last digits, which many
        models show in batches of another size. The model gets a copy of the rows, since it may
        write into them.
        """
        labels = np.zeros((n_rows, n_outputs), dtype=np.int16)
        pending = [(0, n_rows)] if n_rows else []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            while pending:
                start, stop = pending.pop()
                try:
                    rounded = self._rounded(
                        _checked_outputs(self._predict(_copied_rows(X, start, stop)), stop - start)
                    )
                    # Too many or too few outputs are a failure, and never a broadcast.
                    labels[start:stop] = rounded.reshape(stop - start, n_outputs)
                except KeyboardInterrupt:
                    raise
                except BaseException:
                    # Not errors alone: a model that exits at a row would show that it is there.
                    if stop - start > 1:
                        middle = (start + stop) // 2
                        pending += [(start, middle), (middle, stop)]
        return labels

    @property
    def half_width(self) -> float:
        """Difference of output between labels 0 and 1."""
        return self.bounds.upper / 2 - self.bounds.lower / 2

    def _rounded(self, outputs: Floats) -> Labels:
        lower, upper = self.bounds.lower, self.bounds.upper
        # Halves first: the sum or difference of two large bounds could overflow.
        middle = lower / 2 + upper / 2
        bounded = np.clip(np.nan_to_num(outputs, nan=middle), lower, upper)
        shares = np.asarray(bounded - middle, dtype=np.float64) / self.half_width
        return np.rint(np.clip(shares, -1.0, 1.0) * LABEL_UNITS).astype(np.int16)


@dataclass(frozen=True)
class PublicModel:
    """A model as a function of public rows, without bounds on its outputs.

    Attributes
    ----------
    gives_probabilities : bool
        Whether each output is the probability of a class: of ``predict_proba``.
    """

    gives_probabilities: bool
    _predict: Callable[[Any], Any] = field(repr=False)

    @classmethod
    def of(cls, model: Any) -> PublicModel:
        """Return a model as a function.

        Raises
        ------
        TypeError
            If it has no such method and is not callable.
        """
        _refuse_torch_module(model)
        if isinstance(model, type):
            raise TypeError(
                f"model is the class {model.__name__}; it must be a fitted model. Pass an instance."
            )
        for method in ("predict_proba", "predict"):
            if callable(getattr(model, method, None)):
                return cls(method == "predict_proba", getattr(model, method))
        if callable(model):
            return cls(False, model)
        raise TypeError(
            f"model is of type {type(model).__name__}; it must have predict_proba or predict, or "
            "be callable on rows."
        )

    def outputs(self, X: Any, n_rows: int) -> Floats:
        """Return the model's outputs, shape (n_rows, n_outputs).

        Raises
        ------
        ValueError
            If it returns something else than one number, or a list of numbers, for each row, or
            numbers that are not finite. Errors of the model pass through.
        """
        # A copy: the model may write into its rows.
        outputs = _checked_outputs(self._predict(_copied_rows(X, 0, n_rows)), n_rows)
        if not np.isfinite(outputs).all():
            raise ValueError(
                "The model returned numbers that are not finite; all must be. Pass a model, or a "
                "function of rows, that returns finite numbers."
            )
        return outputs


@contextmanager
def tried_model(row: str, mend: str) -> Iterator[None]:
    """Raise ValueError with a remedy if a model fails on a public row.

    Parameters
    ----------
    row : str
        Description of the row.
    mend : str
        Remedy for the user.
    """
    try:
        yield
    except Exception as error:
        message = f"{type(error).__name__}: {str(error).rstrip('.')}."
        raise ValueError(f"The model failed on {row}. {message} {mend}") from error


def _refuse_torch_module(model: Any) -> None:
    """Raise TypeError for a torch module, whose input tensors cannot be made from rows."""
    kinds = [f"{kind.__module__}.{kind.__qualname__}" for kind in type(model).__mro__]
    if "torch.nn.modules.module.Module" in kinds:
        raise TypeError(
            f"model is a torch module ({type(model).__name__}), which takes tensors; rows come in "
            "the container that you pass. Pass a function of rows, such as "
            "lambda X: model(torch.as_tensor(X, dtype=torch.float32)).softmax(dim=1)."
        )


def _checked_outputs(answer: Any, n_rows: int) -> Floats:
    """Return a model's outputs, shape (n_rows, n_outputs), or raise ValueError.

    Tensors of torch are taken as well.
    """
    if callable(getattr(answer, "detach", None)):
        answer = answer.detach().cpu()
    try:
        outputs = np.asarray(answer, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            "The model returned something other than numbers, such as labels; numbers are "
            "needed. Pass a model with predict_proba, or a function of rows that returns "
            "probabilities or scores."
        ) from None
    if outputs.ndim == 1:
        outputs = outputs[:, np.newaxis]
    if outputs.ndim != 2 or len(outputs) != n_rows or outputs.shape[1] < 1:
        raise ValueError(
            f"The model returned an array of shape {np.shape(answer)} for {n_rows} rows; it "
            "must return one number, or one list of numbers, for each row."
        )
    return outputs


def _checked_bounds(output_bounds: Any) -> Continuous | None:
    """Return the declared bounds of a model's output; None where none are declared."""
    if output_bounds is None or isinstance(output_bounds, Continuous):
        return output_bounds
    if not isinstance(output_bounds, tuple | list) or len(output_bounds) != 2:
        raise TypeError(
            f"output_bounds is {output_bounds!r} ({type(output_bounds).__name__}); it must be "
            "(lower, upper), public bounds of what the model returns."
        )
    return Continuous(*output_bounds)


def _check_probabilities(outputs: Floats) -> None:
    """Raise if public outputs are no probabilities: all rows would be clipped, and paid for."""
    is_wrong = (outputs < -_TOLERANCE) | (outputs > 1.0 + _TOLERANCE)
    if is_wrong.any():
        raise ValueError(
            f"The model returned {float(outputs[is_wrong][0]):.6g}, which is not a probability. If "
            "its output is another number, declare the range: output_bounds=(lower, upper), which "
            "must be public knowledge. If it is a class, pass a model with predict_proba."
        )


def _copied_rows(X: Any, start: int, stop: int) -> Any:
    """Return a copy of some of the rows in a container of the same kind."""
    if isinstance(X, list | tuple):
        return [copy.copy(row) for row in X[start:stop]]
    if hasattr(X, "iloc"):
        return X.iloc[start:stop].copy()
    # Arrow's tables cannot be sliced by brackets, nor written into.
    return X.slice(start, stop - start) if hasattr(X, "slice") else X[start:stop].copy()


def black_box(model: Any, output_bounds: Any = None) -> BlackBox:
    """Return a model as a function with bounded outputs.

    Parameters
    ----------
    model : object
        With ``predict_proba``, or ``predict``, or callable on rows.
    output_bounds : (lower, upper) or Continuous, default=None
        Public bounds of what ``predict``, or the callable, returns. None: the outputs are
        probabilities, of ``predict_proba`` or of the callable.

    Raises
    ------
    TypeError
        If the model has no such method, or ``output_bounds`` is something else.
    SchemaError
        If both bounds are equal, or nearly so.
    """
    _refuse_torch_module(model)
    bounds = _checked_bounds(output_bounds)
    if bounds is None:
        predict = getattr(model, "predict_proba", model if callable(model) else None)
        if predict is None:
            raise TypeError(
                f"The model is of type {type(model).__name__} and has no predict_proba; without "
                "it, the bounds of its outputs must be declared. Pass output_bounds=(lower, "
                "upper), which must be public knowledge."
            )
        return BlackBox(Continuous(0, 1), True, predict)
    # Halves: the difference of two tiny bounds has none.
    if bounds.lower / 2 == bounds.upper / 2:
        raise SchemaError(
            f"The bounds of the model's outputs are {bounds.lower:g} and {bounds.upper:g}; they "
            "must differ, by more than the smallest float. "
            "Declare the range that outputs can have."
        )
    predict = getattr(model, "predict", model if callable(model) else None)
    if predict is None:
        raise TypeError(
            f"The model is of type {type(model).__name__}; it must have predict or predict_proba, "
            "or be callable on rows."
        )
    return BlackBox(bounds, False, predict)
