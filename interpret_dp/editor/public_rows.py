"""Rows that a user declares public, and exact metrics of models on them.

They stay in the memory of this process. No file, no edit and no model holds one of them. Estimators
that a session builds read them: nothing here encodes a row.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp.editor.bins import select_codes
from interpret_dp.editor.history import EditHistory
from interpret_dp.editor.operations import Preview
from interpret_dp.editor.state import State, find_term
from interpret_dp.released import AdditiveModel, AdditiveTerm

if TYPE_CHECKING:
    import pandas as pd

Subset = tuple[tuple[int, tuple[int, ...]], ...]
"""Numbers of terms, each with bins; a row belongs to it if it is in these bins of all of them."""


class PublicRows:
    """Rows with their targets, and metrics of a session's models on them.

    Parameters
    ----------
    base : AdditiveModel
        The model of the session.
    build : callable
        Makes a fitted estimator of a released model.
    X : DataFrame, pyarrow.Table, array or list of rows, shape (n_rows, n_features)
    y : array-like, shape (n_rows,)
        Class labels, or numbers.
    public : bool
        Must be True: metrics are exact, and exact figures of private rows are a leak.

    Attributes
    ----------
    n_rows : int

    Raises
    ------
    ValueError
        If ``public`` is not True, there is no row, there are not as many targets as rows, or a
        target is no class or no number.
    SchemaError
        If the rows lack features of the model.
    """

    def __init__(
        self,
        base: AdditiveModel,
        build: Callable[[AdditiveModel], Any],
        X: Any,
        y: Any,
        *,
        public: bool,
    ) -> None:
        if public is not True:
            raise ValueError(
                f"public is {public!r}; metrics are exact, and an exact figure of private rows "
                "leaks information about them. Pass public rows (simulated, published, your own) "
                "with public=True. For private rows use "
                "interpret_dp.private_metrics({'original': model, 'current': session.model}, X, "
                "y, epsilon=..., delta=...), which adds noise and charges the ledger."
            )
        self._base, self._build, self._X = base, build, X
        # States and models are immutable. Cards show the same ones again and again.
        self._predicted = lru_cache(maxsize=8)(self._predict)
        self._figures = lru_cache(maxsize=64)(self._compute)
        self._mask = lru_cache(maxsize=16)(self._find)
        self.n_rows = len(self._predicted(base))
        self._truth = _classes_of(y, base.classes) if base.classes is not None else _numbers_of(y)
        if not self.n_rows or len(self._truth) != self.n_rows:
            raise ValueError(
                f"X has {self.n_rows} rows and y has {len(self._truth)} targets; there must be "
                "as many of them, and one at least."
            )

    def __repr__(self) -> str:
        """Show the number of rows, and none of them."""
        return f"PublicRows({self.n_rows} rows)"

    def metrics(
        self, versions: Mapping[str, State | AdditiveModel], subset: Subset
    ) -> pd.DataFrame:
        """Return the metrics of each version on a part of the rows.

        Parameters
        ----------
        versions : mapping of str to State or AdditiveModel
        subset : Subset
            Empty for all rows.

        Returns
        -------
        DataFrame
            A row for each version; figures of a part without a row are NaN.
        """
        import pandas as pd

        figures = {name: self._figures(version, subset) for name, version in versions.items()}
        return pd.DataFrame.from_dict(figures, orient="index")

    # ------------------------------------------------------------------- what is computed once

    def _predict(self, version: State | AdditiveModel) -> NDArray[np.float64]:
        """Return probabilities, shape (n_rows, n_classes), or predictions, shape (n_rows,)."""
        model, base = version, self._base
        if isinstance(model, State):
            state = model
            model = dataclasses.replace(base, terms=state.terms, intercept=state.intercept(base))
        estimator = self._build(model)
        method = estimator.predict if base.classes is None else estimator.predict_proba
        return np.asarray(method(self._X), dtype=np.float64)

    def _compute(self, version: State | AdditiveModel, subset: Subset) -> dict[str, float]:
        rows = self._mask(subset)
        truth, predicted = self._truth[rows], self._predicted(version)[rows]
        classes = self._base.classes
        if classes is None:
            figures = _regression(truth, predicted)
        else:
            figures = _classification(truth, predicted, len(classes))
        return {**figures, "n_rows": int(rows.sum())}

    def _find(self, subset: Subset) -> NDArray[np.bool_]:
        """Return which rows belong to a subset, shape (n_rows,)."""
        inside = np.ones(self.n_rows, dtype=np.bool_)
        for index, bins in subset:
            inside &= np.isin(self._codes(index), bins)
        return inside

    def _codes(self, index: int) -> NDArray[np.float64]:
        """Return the bin or cell of each row, shape (n_rows,).

        The estimator of a model that scores each bin with its number says them.
        """
        term = self._base.terms[index].as_released
        numbers = np.arange(len(term.weights), dtype=np.float64)
        scores = np.broadcast_to(
            numbers.reshape(-1, *[1] * (term.scores.ndim - 1)), term.scores.shape
        )
        probe = AdditiveTerm(term.feature, scores, term.weights, None, partner=term.partner)
        estimator = self._build(dataclasses.replace(self._base, terms=(probe,), edits=()))
        codes = np.asarray(estimator.eval_terms(self._X), dtype=np.float64)
        return np.rint(codes.reshape(self.n_rows, -1)[:, 0])


def _classes_of(y: Any, classes: Sequence[Any]) -> NDArray[np.int64]:
    """Return the number of each label's class; the text "1" is not the number 1."""
    numbers = {(isinstance(label, str), label): place for place, label in enumerate(classes)}
    labels = np.asarray(y, dtype=object).ravel().tolist()
    codes = np.array([numbers.get((isinstance(label, str), label), -1) for label in labels])
    n_unknown = int((codes < 0).sum())
    if n_unknown:
        raise ValueError(
            f"y has {n_unknown} values that are no class of the model; its classes are "
            f"{', '.join(map(repr, classes))}. Leave these rows out, or mend their labels."
        )
    return codes


def _numbers_of(y: Any) -> NDArray[np.float64]:
    try:
        numbers = np.asarray(y, dtype=np.float64).ravel()
    except (TypeError, ValueError):
        numbers = np.array([np.nan])
    if not np.isfinite(numbers).all():
        raise ValueError("y has values that are no finite numbers. Leave these rows out.")
    return numbers


class MeasuredHistory(EditHistory):
    """The history of a session, with metrics of its versions on public rows."""

    def __init__(
        self, base: AdditiveModel, build: Callable[[AdditiveModel], Any], author: str | None
    ) -> None:
        super().__init__(base, author)
        self._build = build
        self._public_rows: PublicRows | None = None

    @property
    def public_rows(self) -> PublicRows | None:
        """Rows that :meth:`use_public_rows` took; None before."""
        return self._public_rows

    def use_public_rows(self, X: Any, y: Any, *, public: bool = False) -> None:
        """Take rows for :meth:`metrics`, and show metrics in every view of the session.

        The rows stay in the memory of this process: no file, edit or model holds one. Each edit
        from now on says in the history that its author saw metrics, and on how many rows.

        Parameters
        ----------
        X : DataFrame, array or list of rows, shape (n_rows, n_features)
        y : array-like, shape (n_rows,)
        public : bool, default=False
            Must be True. The guarantee does not cover edits that follow from rows that are not
            public.

        Raises
        ------
        ValueError
            If ``public`` is not True, there is no row, there are not as many targets as rows, or a
            target is no class or no number.
        SchemaError
            If the rows lack features of the model.
        """
        rows = PublicRows(self._base, self._build, X, y, public=public)
        with self._lock:
            self._public_rows, self._n_public_rows = rows, rows.n_rows
            self._version += 1
        self._notify()

    def metrics(
        self,
        X: Any = None,
        y: Any = None,
        *,
        public: bool = False,
        where: Mapping[str, Mapping[str, Any]] | None = None,
        preview: Preview | None = None,
    ) -> pd.DataFrame:
        """Return metrics of the model before and after editing, on public rows.

        Parameters
        ----------
        X : DataFrame, array or list of rows, shape (n_rows, n_features), default=None
            The rows that :meth:`use_public_rows` took if None.
        y : array-like, shape (n_rows,), default=None
        public : bool, default=False
            Must be True if rows are given: the figures are exact, and exact figures of private
            rows are a leak. Each edit from then on says that its author saw metrics.
        where : mapping, default=None
            The part of the rows that counts, all by default: terms by name, each with its
            selection in the words of :meth:`preview`, such as ``{"age": {"between": (40, 60)},
            "site": {"levels": ["north"]}}``. A row must be in all of them.
        preview : Preview, default=None
            An edit that was not made, which gets a row of its own.

        Returns
        -------
        DataFrame
            Rows ``original``, ``committed`` (after the last edit that has a message), ``last``
            (before the latest edit), ``current`` and, if one was given, ``preview``. Columns
            ``log_loss``, ``accuracy`` and, with two classes, ``auroc``, or ``rmse``, ``mae`` and
            ``r2``; then ``n_rows``, the number of rows that count. Without any, figures are NaN.

        Raises
        ------
        TypeError, ValueError
            If there are no rows, given ones are not declared public or do not fit their targets,
            or ``where`` is no selection.
        SchemaError
            If the rows lack features of the model.
        """
        rows, is_given = self._public_rows, X is not None or y is not None
        if is_given:
            rows = PublicRows(self._base, self._build, X, y, public=public)
        elif rows is None:
            raise ValueError(
                "The session has no public rows. Call session.use_public_rows(X, y, public=True) "
                "first, or pass X, y and public=True."
            )
        subset = self._subset(where or {})
        with self._lock:
            if is_given:
                self._n_public_rows = rows.n_rows
            versions: dict[str, Any] = {
                "original": self._start,
                "committed": self._state_at_commit,
                "last": self._state_before_last,
                "current": self._state,
            }
        if preview is not None:
            versions["preview"] = preview.released
        return rows.metrics(versions, subset)

    def _subset(self, where: Mapping[str, Mapping[str, Any]]) -> Subset:
        if not isinstance(where, Mapping) or not all(
            isinstance(v, Mapping) for v in where.values()
        ):
            raise TypeError(
                f"where is {where!r}; it must be a mapping of terms to selections, such as "
                "{'age': {'between': (40, 60)}}."
            )
        indices = [find_term(self._base, term) for term in where]
        chosen = []
        for index, selection in zip(indices, where.values(), strict=True):
            unknown = set(selection) - {"between", "levels", "bins"}
            if unknown or not selection:
                raise TypeError(
                    f"where has {selection!r} for {self._base.term_names[index]!r}; it must have "
                    "one of between, levels and bins."
                )
            subject = self._base.subject(self._base.terms[index])
            chosen.append(select_codes(subject, **selection))
        return tuple(zip(indices, chosen, strict=True))


def _classification(
    truth: NDArray[Any], probabilities: NDArray[np.float64], n_classes: int
) -> dict[str, float]:
    from sklearn.metrics import accuracy_score, log_loss, roc_auc_score

    # The area is not defined where all rows are of one class.
    is_defined = n_classes == 2 and len(np.unique(truth)) == 2
    names = ["accuracy"] if n_classes == 1 else ["log_loss", "accuracy"]
    names += ["auroc"] * (n_classes == 2)
    figures = dict.fromkeys(names, np.nan)
    if len(truth):
        if n_classes > 1:
            figures["log_loss"] = float(log_loss(truth, probabilities, labels=range(n_classes)))
        figures["accuracy"] = float(accuracy_score(truth, probabilities.argmax(axis=1)))
    if is_defined:
        figures["auroc"] = float(roc_auc_score(truth == 1, probabilities[:, 1]))
    return figures


def _regression(truth: NDArray[Any], predicted: NDArray[np.float64]) -> dict[str, float]:
    if not len(truth):
        return dict.fromkeys(("rmse", "mae", "r2"), np.nan)
    errors = predicted - truth
    total = float(((truth - truth.mean()) ** 2).sum())
    return {
        "rmse": float(np.sqrt((errors**2).mean())),
        "mae": float(np.abs(errors).mean()),
        "r2": 1.0 - float((errors**2).sum()) / total if total > 0 else np.nan,
    }
