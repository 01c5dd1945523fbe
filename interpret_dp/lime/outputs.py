"""Outputs of a model, the public rows to explain, and the guarantee of an explainer."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp._validate import ceil_text, check_real
from interpret_dp.accounting.composition import compose
from interpret_dp.accounting.guarantee import DOES_NOT_HOLD, Doubts, Guarantee
from interpret_dp.exceptions import PrivacyWarning, SchemaError, warn_caller
from interpret_dp.lime.black_box import Floats, PublicModel
from interpret_dp.schema import Schema, Table, open_table
from interpret_dp.schema.cells import Values
from interpret_dp.schema.containers import Source, read_source, warn_of_mismatches

# Rows in the user's container, opened twice: as a table to explain, and as input of the model.
#
# A model that is in production takes its own container, such as a DataFrame or a sparse bag of
# words. It gets that container back, row for row; the explanation sees named columns. Types, names
# and shapes alone are looked at, never a cell.

# scipy's other sparse formats cannot be sliced by rows.
_SLICED_FORMATS = ("csr", "csc")


@dataclass(frozen=True)
class OpenedRows:
    """The same rows as a table and as the model takes them; left out of the representation.

    Attributes
    ----------
    table : Table
        The explained features, in the order of the input's columns, or of ``feature_names``.
    X : object
        The container as it was given, without the unit's columns; sparse ones in a format that can
        be sliced.
    """

    table: Table = field(repr=False)
    X: Any = field(repr=False)


def open_model_rows(
    X: Any,
    *,
    feature_names: Sequence[str | None] | None,
    schema: Schema | None,
) -> OpenedRows:
    """Open rows for the explanation and for the model; the unit's columns are dropped if there.

    Parameters
    ----------
    X : DataFrame, pyarrow.Table, ndarray, sparse matrix or array of scipy, or list of rows
        Shape (n_rows, n_columns).
    feature_names : sequence of str, default=None
        The features to explain. A container with names of its own may have other columns, which
        the model gets all the same; of others these are the names of all columns, and the default
        is interpret's, ``feature_0000`` onwards.
    schema : Schema or None
        Only its ``unit`` is used here.

    Raises
    ------
    TypeError
        If X is not such a container.
    SchemaError
        If X has another number of dimensions or columns, lacks a column, or holds a dtype that
        cannot be read. No value of a cell makes it raise.
    """
    known = schema if isinstance(schema, Schema) else None
    declared = None if known is None else known.people
    columns = () if declared is None else declared.columns
    X, source = _readable_sparse(X) if hasattr(X, "tocsc") else (X, read_source(X))
    names_all = source.names is None and len(feature_names or ()) == source.n_columns
    if feature_names is not None and not names_all:
        # The unit's columns may be missing.
        feature_names = [name for name in feature_names if name not in columns]
    table = open_table(source, feature_names, identifier=columns).without(*columns)
    own_names = feature_names if source.names is None else source.names
    places = [at for at, name in enumerate(own_names or ()) if name not in columns]
    if own_names is not None and len(places) < len(own_names):
        X = _columns(X, places)
    return OpenedRows(table, X)


def open_query_rows(
    X: Any, feature_names: Sequence[str | None] | None, schema: Schema
) -> OpenedRows:
    """Open the rows to explain, which are public to everyone who sees the explanation.

    Raises
    ------
    TypeError, SchemaError, ValueError
        As :func:`open_model_rows`, or if there is no row.

    Warns
    -----
    DeclarationWarning
        If the dtype of a column contradicts its declaration.
    """
    opened = open_model_rows(X, feature_names=feature_names, schema=schema)
    if opened.table.n_rows == 0:
        raise ValueError("X has 0 rows; there must be at least one row to explain.")
    warn_of_mismatches(opened.table, schema.resolve(opened.table.names))
    return opened


def _readable_sparse(X: Any) -> tuple[Any, Source]:
    if X.ndim != 2:
        raise SchemaError(
            f"X is sparse and has {X.ndim} dimension; it must have two. Pass X.reshape(1, -1) if "
            "it is a single row."
        )
    sliced = X if X.format in _SLICED_FORMATS else X.tocsr()
    # A copy: entries that are given twice are added up, which must not change the user's matrix.
    columns = sliced.tocsc(copy=True)
    columns.sum_duplicates()
    n_rows, n_columns = columns.shape

    def column(position: int) -> Values:
        values = np.zeros(n_rows, dtype=columns.dtype)
        entries = slice(columns.indptr[position], columns.indptr[position + 1])
        values[columns.indices[entries]] = columns.data[entries]
        return values

    return sliced, Source(None, n_columns, n_rows, lambda _: columns.dtype, column)


def _columns(X: Any, places: list[int]) -> Any:
    """Return some of the columns in a container of the same kind."""
    if isinstance(X, list | tuple):
        return [[row[at] for at in places] for row in X]
    if hasattr(X, "iloc"):
        return X.iloc[:, places]
    # Arrow's tables have names that may repeat, and narwhals does not read those.
    if hasattr(X, "num_columns"):
        return X.select(places)
    if hasattr(X, "columns"):
        import narwhals as nw

        return nw.from_native(X, eager_only=True)[:, places].to_native()
    return X[:, places]


# The guarantee of an explainer, and whom it protects.
#
# Explanations protect the people whose rows they are computed from, with the model held fixed. For
# the people of the training data the guarantee depends on the model's own, which the user states.

_OTHER_PEOPLE = "nobody in the explanation data was used to train the model"
_EXPLAINED_ROWS = "Rows that are asked about are not protected."

ModelPromise = Guarantee | tuple[float, float] | None
"""Guarantee of the model's training, or its (epsilon, delta), or None where there is none."""


def model_promise(model: Any, declared: Any) -> ModelPromise:
    """Return the promise under which the model was trained.

    Parameters
    ----------
    model : object
        Its own ``guarantee_``, or that of the object whose method it is, is taken if nothing is
        declared.
    declared : Guarantee, (epsilon, delta) or None

    Raises
    ------
    TypeError, ValueError
        If ``declared`` is something else.
    """
    if declared is None:
        owner = getattr(model, "__self__", model)
        declared = getattr(owner, "guarantee_", None)
        declared = declared if isinstance(declared, Guarantee) else None
    if isinstance(declared, tuple) and len(declared) == 2:
        epsilon = check_real("epsilon of model_guarantee", declared[0], low=0)
        delta = check_real("delta of model_guarantee", declared[1], low=0, high=1, high_open=True)
        return epsilon, delta
    if declared is not None and not isinstance(declared, Guarantee):
        raise TypeError(
            f"model_guarantee is {declared!r} ({type(declared).__name__}); it must be a Guarantee, "
            "a pair (epsilon, delta), or None for a model that was trained without one."
        )
    return declared


def conditional_guarantee(
    guarantee: Guarantee, model: ModelPromise, trained_on_same_people: bool
) -> Guarantee:
    """Return a guarantee of explanations, with its scope for the people of the training data.

    Parameters
    ----------
    guarantee : Guarantee
        Of everything that the explanations are computed from.
    model : ModelPromise
    trained_on_same_people : bool
        Whether people in the explanation data were used to train the model.
    """
    others = () if trained_on_same_people else (_OTHER_PEOPLE,)
    # The model reveals the same people too: its state is that of what is published about them.
    if isinstance(model, Guarantee) and trained_on_same_people:
        conditions, failures = (
            tuple(f"of the model, {clause}" for clause in clauses)
            for clauses in (model.doubts.conditions, model.doubts.failures)
        )
        guarantee = guarantee.doubting(Doubts(conditions, failures))
    scope = f"{_scope(guarantee, model, trained_on_same_people)} {_EXPLAINED_ROWS}"
    return dataclasses.replace(
        guarantee,
        scope=scope,
        assumptions=(*guarantee.assumptions, *others),
    )


def _scope(guarantee: Guarantee, model: ModelPromise, same_people: bool) -> str:
    about = "This is about the people whose rows the explanations are computed from"
    if model is None:
        if same_people:
            return (
                f"{about}, and conditional on the model being known: it was trained on the same "
                "people, no promise of its own is stated or holds, and nothing protects against "
                "what the model itself reveals."
            )
        return (
            f"{about}, with the model taken as given; nothing is promised to the people that it "
            "was trained on."
        )
    if isinstance(model, Guarantee) and model.state == DOES_NOT_HOLD:
        return f"{about}; to those that the model was trained on: {model.state_sentence}"
    model_epsilon, model_delta = _figures(model)
    stated = f"epsilon {ceil_text(model_epsilon)} at delta {ceil_text(model_delta)}"
    if isinstance(model, Guarantee) and model.conditions:
        stated += f", which holds only if {'; and if '.join(model.conditions)}"
    if not same_people:
        return (
            f"{about}; the people that the model was trained on keep the model's own promise, "
            f"{stated}."
        )
    text = f"{about}. The model was trained on the same people under its own promise, {stated}"
    if isinstance(model, Guarantee) and (model.neighboring, model.unit) != (
        guarantee.neighboring,
        guarantee.unit,
    ):
        return (
            f"{text}, which is about other neighbouring tables: the two do not add up to one "
            "figure, and each holds with the other's output taken as given."
        )
    both, at = _together(model, guarantee)
    # A pair alone does not name whom it protects.
    condition = "" if isinstance(model, Guarantee) else "if that is about the same neighbours, "
    return (
        f"{text}; {condition}model and explanations together are ({ceil_text(both)}, "
        f"{ceil_text(at)})-differentially private."
    )


def warn_of_two_names(model: ModelPromise, same_people: bool, dataset: str | None) -> None:
    """Warn if the model and its explanations are charged to the same people under two names."""
    if not same_people or not isinstance(model, Guarantee) or model.dataset in (None, dataset):
        return
    warn_caller(
        f"The model was charged to data set {model.dataset!r} and its explanations to {dataset!r}, "
        "though both are about the same people: their privacy loss is that of both "
        f"accounts together. Pass dataset={model.dataset!r} to charge one.",
        PrivacyWarning,
    )


def _figures(model: Guarantee | tuple[float, float]) -> tuple[float, float]:
    return (model.epsilon, model.delta) if isinstance(model, Guarantee) else model


def _together(model: Guarantee | tuple[float, float], guarantee: Guarantee) -> tuple[float, float]:
    """Return (epsilon, delta) of both: exact composition where the model's pair is known."""
    model_epsilon, model_delta = _figures(model)
    total = min(model_delta + guarantee.delta, 1.0)
    pairs = [model.pair if isinstance(model, Guarantee) else None, guarantee.pair]
    known = [pair for pair in pairs if pair is not None]
    if len(known) < 2 or total >= 1.0:
        return model_epsilon + guarantee.epsilon, total
    return min(compose(known).epsilon_at(total), model_epsilon + guarantee.epsilon), total


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
    are_probabilities: bool

    @classmethod
    def of_predictions(cls, box: PublicModel, model: Any, predictions: Floats) -> Outputs:
        """Return the names of a model's outputs, from its predictions of public rows.

        They are the labels in the model's ``classes_``, or else numbers.
        """
        n_outputs = predictions.shape[1]
        is_share = bool(((predictions >= 0.0) & (predictions <= 1.0)).all())
        sums_to_one = np.allclose(predictions.sum(axis=1), 1.0, atol=1e-3)
        is_share = is_share and (n_outputs == 1 or sums_to_one)
        # What predict returns is a number, whatever the classes are: it may be their codes.
        is_named = hasattr(model, "classes_") and not hasattr(model, "predict")
        if not (box.gives_probabilities or n_outputs > 1 or is_named):
            return cls(None, is_share)
        labels: tuple[Any, ...] = (1,) if n_outputs == 1 else tuple(range(n_outputs))
        classes = getattr(getattr(model, "__self__", model), "classes_", None)
        if classes is not None and np.ndim(classes) == 1:
            # One number alone is that of the second of two classes.
            if len(classes) != n_outputs and (len(classes), n_outputs) != (2, 1):
                raise ValueError(
                    f"The length of the model's classes_ is {len(classes)}, and of its output for "
                    f"a row {n_outputs}; they must agree, or be 2 and 1. Correct or remove "
                    "classes_."
                )
            labels = tuple(np.asarray(classes).tolist()[-n_outputs:])
        return cls(labels, box.gives_probabilities or is_share)

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
        is_text = isinstance(explained_class, str)
        for index, label in enumerate(self.classes):
            if label == explained_class and isinstance(label, str) == is_text:
                return index
        raise ValueError(
            f"explained_class is {explained_class!r}; it must be one of "
            f"{', '.join(map(repr, self.classes))}, or None for the usual one."
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


def actual_values(y: Any, outputs: Outputs, explained: Sequence[int]) -> Any:
    """Return the true value of the explained output at each row; NaN if not known.

    Parameters
    ----------
    y : array-like, shape (n_rows,), optional
        Labels, or numbers for a regression.
    outputs : Outputs
    explained : sequence of int, shape (n_rows,)
        The explained output at each row.

    Raises
    ------
    ValueError
        If y has another shape, or a regression's y is not numbers.
    """
    values = np.full(len(explained), np.nan) if y is None else np.asarray(y)
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
