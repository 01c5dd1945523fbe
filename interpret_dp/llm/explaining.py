"""Explanations of a fitted DP-LLM classifier."""

from __future__ import annotations

import inspect
import itertools
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from interpret_dp._documents import check_keys, kinds_of, write_sealed
from interpret_dp.accounting.plans import SampledSteps
from interpret_dp.exceptions import SchemaError
from interpret_dp.fitting.account import ledger_of
from interpret_dp.llm.config import TrainingSettings
from interpret_dp.llm.inputs import InputCoding
from interpret_dp.llm.request import flat_rows
from interpret_dp.released.locally_linear import LocallyLinearModel
from interpret_dp.schema import Categorical, encode_classes, open_table, open_target
from interpret_dp.schema.kinds import kind_of, mismatch

if TYPE_CHECKING:
    from interpret_dp.explanation.spend import PrivacySpend

_names = itertools.count()


class ExplainedMaps:
    """The explanations and files of a fitted :class:`DPLocallyLinearClassifier`."""

    explainer_type: ClassVar[str] = "model"
    available_explanations: ClassVar[list[str]] = ["local", "global"]

    guarantee_: Any
    ledger: Any
    model_: LocallyLinearModel

    # ------------------------------------------------------------------------ explanations

    @property
    def privacy_spend_(self) -> PrivacySpend:
        """The cost of any explanation of this model, with the ledger's figures as of now."""
        from interpret_dp.explanation.spend import PrivacySpend

        check_is_fitted(self, "model_")
        return PrivacySpend.of_model(self.guarantee_, ledger_of(self.ledger, must_exist=True))

    def explain_global(self, name: str | None = None, *, X: Any = None) -> Any:
        """Return each class's maps; costs nothing, with ``.privacy``.

        Parameters
        ----------
        name : str, default=None
            How interpret's dashboard calls the explanation.
        X : DataFrame or array, shape (n_rows, n_features) or that of images, default=None
            Public rows on which to count how often each map is its class's top one. The shares are
            shown as they are, without noise: never give rows that must be protected. Without
            them this part is left out.

        Raises
        ------
        TypeError, ValueError, SchemaError
            If ``X`` has no rows or another form than the rows of the fit, or ``name`` is no string.
        """
        from interpret_dp.explanation.maps_objects import maps_explanation

        model = self.to_released()
        inputs = None if X is None else self._inputs(X)  # type: ignore[attr-defined]
        return maps_explanation(
            model, privacy=self.privacy_spend_, name=_named(name), inputs=inputs
        )

    def explain_local(self, X: Any, y: Any = None, name: str | None = None) -> Any:
        """Return the contributions of features to the class scores of rows; costs nothing.

        The rows are the caller's own: the explanation shows them, and nothing protects them.

        Parameters
        ----------
        X : DataFrame or array, shape (n_rows, n_features) or that of images
        y : array-like, shape (n_rows,), default=None
            True labels; a missing or undeclared label is left out.
        name : str, default=None
            How interpret's dashboard calls the explanation.

        Returns
        -------
        explanation
            ``figure(row, label=...)`` draws one class, ``reading(row, label)`` has its numbers.

        Raises
        ------
        TypeError, ValueError, SchemaError
            If the rows have another form than those of the fit, or no label of the dtype of ``y``
            can be one of the declared ones.
        """
        from interpret_dp.explanation.maps_objects import rows_explanation

        model = self.to_released()
        inputs = self._inputs(X)  # type: ignore[attr-defined]
        flat, _ = flat_rows(X, model.image_shape)
        table = open_table(flat, list(model.feature_names))
        columns = [table.column(index) for index in range(len(model.feature_names))]
        values = [[plain_value(column[row]) for column in columns] for row in range(table.n_rows)]
        actual = None
        if y is not None:
            labels, opened = Categorical(model.classes), open_target(y, table.n_rows)
            fault = mismatch("y", kind_of(opened), labels)
            # One class stands for none that was released: any label is another one.
            if fault and len(model.classes) > 1:
                raise SchemaError(fault)
            codes = encode_classes(opened, labels)
            actual = [int(code) if code >= 0 else None for code in codes]
        return rows_explanation(
            model, inputs, values, privacy=self.privacy_spend_, name=_named(name), actual=actual
        )

    # -------------------------------------------------------------------------------- files

    def to_released(self) -> LocallyLinearModel:
        """Return the released model, an immutable value."""
        check_is_fitted(self, "model_")
        return self.model_

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the released model as JSON: no row, no pickle. ``load_model`` reads it.

        The file carries the digest of its content, so that a changed byte is an error when it is
        read. That guards against accidents, not against forgery.

        Parameters
        ----------
        path : str or path-like
            Where to write it; a file that is there is replaced.

        Raises
        ------
        OSError
            If the file cannot be written; one that is there then stays as it is.
        """
        write_sealed(path, self.to_released().to_dict())

    @classmethod
    def from_released(cls, model: LocallyLinearModel, ledger: Any = None) -> Self:
        """Return a fitted estimator that holds a released model.

        Parameters
        ----------
        model : LocallyLinearModel
        ledger : PrivacyLedger or str, default=None
            Where the data set's account can be read.

        Raises
        ------
        ValueError
            If the model's settings are not those of this version.
        """
        given = {
            **model.parameters,
            "schema": model.schema,
            "ledger": ledger,
            "dataset": model.guarantee.dataset,
        }
        names = inspect.signature(cls).parameters
        estimator = cls(**{name: value for name, value in given.items() if name in names})
        estimator._hold(model)
        return estimator

    def _hold(self, model: LocallyLinearModel) -> None:
        """Fill the fitted attributes from a released model."""
        fitted: Any = self
        check_keys("settings of the model", model.settings, kinds_of(TrainingSettings))
        fitted.settings_ = TrainingSettings(**model.settings)
        fitted.steps_ = None
        if model.steps is not None:
            check_keys("steps of the model", model.steps, kinds_of(SampledSteps))
            fitted.steps_ = SampledSteps(**model.steps)
        features = tuple(model.schema.features.items())
        fitted.coding_ = InputCoding(
            features,
            tuple(model.centres.tolist()),
            tuple(model.spreads.tolist()),
            model.scattering,
        )
        fitted.model_ = model
        fitted.classes_ = class_array(model.classes)
        fitted.schema_ = model.schema
        fitted.guarantee_ = model.guarantee
        fitted.image_shape_ = model.image_shape
        fitted.n_features_in_ = len(features)
        fitted.feature_names_in_ = np.array(list(model.feature_names), dtype=object)


def _named(name: str | None) -> str:
    if name is None:
        return f"DPLocallyLinearClassifier_{next(_names)}"
    if not isinstance(name, str):
        raise TypeError(
            f"name is of type {type(name).__name__}; it must be a string or None. Pass rows on "
            "which to count maps as explain_global(X=...)."
        )
    return name


def class_array(labels: Sequence[Any]) -> NDArray[Any]:
    """Return class labels as an array; numbers beside texts stay what they are."""
    is_mixed = len({isinstance(label, str) for label in labels}) > 1
    return np.array(labels, dtype=object if is_mixed else None)


def plain_value(value: Any) -> Any:
    """Return a scalar of NumPy as one of Python, and other values as they are."""
    return value.item() if isinstance(value, np.generic) else value


def json_value(value: Any) -> Any:
    """Return a constructor parameter as JSON holds it."""
    if isinstance(value, Mapping):
        return {str(key): json_value(entry) for key, entry in value.items()}
    if isinstance(value, tuple | list | range | np.ndarray):
        return [json_value(entry) for entry in value]
    return plain_value(value)
