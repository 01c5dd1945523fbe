"""Explanations of one black box from a private background: DPLimeTabular and DPShapTabular."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from interpret_dp._optional import explainer_base, load_shap
from interpret_dp._validate import check_flag
from interpret_dp.accounting.guarantee import Guarantee
from interpret_dp.fitting.estimator import Published
from interpret_dp.lime.background import PrivateBackground
from interpret_dp.lime.background_explanation import Perturbations, ShapValues, explain_rows
from interpret_dp.lime.black_box import PublicModel
from interpret_dp.lime.outputs import conditional_guarantee, model_promise, warn_of_two_names
from interpret_dp.released.background import Background
from interpret_dp.schema import Schema

if TYPE_CHECKING:
    from interpret_dp.explanation import PrivacySpend
    from interpret_dp.ledger import PrivacyLedger

_PAID_ONCE = (
    "it is charged once, when made, for any number of explanations; epsilon covers them all"
)
_PAID_BY_ROW = (
    "it belonged to explanations that were paid for row by row, which are gone; all are free now"
)
_ELSEWHERE = {
    "predict_fn": "older versions of interpret called model so",
    "per_query": _PAID_ONCE,
    "cost": _PAID_ONCE,
    "remaining_queries": _PAID_ONCE,
    "history_": "the background is all that was released: explainer.background",
    "surrogate_": "docs/surrogate.md shows how to fit a model of the model",
    "output_bounds": "outputs need no bounds, since no private row is put to the model",
    "representation": "each value is compared with typical ones",
    "dependence": "pass background=PrivateBackground(..., dependence=False).fit(data), and no data",
    "n_bins": "the cells of a column follow its released counts",
} | dict.fromkeys(
    ("method", "centered", "weight", "c", "steps", "reuse_distance", "n_rows"), _PAID_BY_ROW
)
"""Hints for parameters and attributes of an earlier form of the explainer, or of a background."""


class BackgroundExplainer(Published, explainer_base()):  # type: ignore[misc]
    """Common base of explainers of one black box from a background."""

    available_explanations = ("local", "global")
    explainer_type = "blackbox"

    def __init__(
        self,
        model: Any = None,
        data: Any = None,
        feature_names: Sequence[str | None] | None = None,
        feature_types: Sequence[str | None] | None = None,
        *,
        trained_on_same_people: bool | None = None,
        background: PrivateBackground | Background | None = None,
        schema: Schema | None = None,
        epsilon: float = 0.1,
        delta: float = 1e-6,
        ledger: PrivacyLedger | str | None = None,
        dataset: str | None = None,
        model_guarantee: Guarantee | tuple[float, float] | None = None,
        neighboring: str = "add_or_remove_one",
        unit: Any = None,
        random_state: int | None = None,
        verbose: bool = False,
        **unknown: Any,
    ) -> None:
        for name in unknown:
            taken = [own for own in inspect.signature(type(self)).parameters if own != "unknown"]
            raise TypeError(
                f"{type(self).__name__} has no parameter {name}{_replacement(name)}. It takes "
                f"{', '.join(taken)}."
            )
        if model is None:
            raise TypeError(
                "model is missing; pass the model to be explained, or a function of rows such as "
                "model.predict_proba."
            )
        self._load_libraries()
        box = PublicModel.of(model)
        self.model = model
        self.verbose = check_flag("verbose", verbose)
        self._same_people = check_flag("trained_on_same_people", trained_on_same_people)
        self._model_promise = model_promise(model, model_guarantee)
        if (data is None) == (background is None):
            both = "neither" if data is None else "both"
            raise TypeError(
                f"{both} of data and background are given; pass the private rows, of which a "
                "background is released, or a background that was released before."
            )
        parameters: dict[str, Any] = {
            "schema": schema,
            "epsilon": epsilon,
            "delta": delta,
            "dataset": dataset,
            "neighboring": neighboring,
            "feature_names": feature_names,
            "feature_types": feature_types,
            "random_state": random_state,
        }
        if background is None:
            background = PrivateBackground(ledger=ledger, **parameters)._release(data, unit, box)
        elif not isinstance(background, PrivateBackground | Background):
            raise TypeError(
                f"background is of type {type(background).__name__}; it must be a fitted "
                "PrivateBackground, or what background.to_released() returns."
            )
        else:
            own = {"ledger": ledger} if isinstance(background, PrivateBackground) else {}
            _refuse_both(parameters | {"unit": unit} | own)
        if isinstance(background, Background):
            background = PrivateBackground.from_released(background, ledger)
        background.to_released()  # raises unless it is fitted
        self.background = background
        warn_of_two_names(self._model_promise, self._same_people, self.guarantee_.dataset)

    def _load_libraries(self) -> None:
        """Raise if a library that explanations need is not installed: before anything is spent."""

    def explain_local(
        self, X: Any, y: Any = None, name: str | None = None, *, explained_class: Any = None
    ) -> Any:
        """Explain the model's predictions of rows; free, for any number of rows.

        Parameters
        ----------
        X : DataFrame, pyarrow.Table, ndarray, sparse matrix or list of rows
            The rows, in the form that the model takes. Nothing protects them, and the explanation
            shows them.
        y : array-like, shape (n_rows,), default=None
            True values, to be shown beside the prediction.
        name : str, default=None
            Of the explanation, in interpret's dashboard.
        explained_class : object, default=None
            The class whose probability is explained. None: the second of two classes, and the
            predicted one of more.

        Returns
        -------
        interpret's explanation
            As :meth:`PrivateBackground.explain_local` returns it.

        Raises
        ------
        TypeError, ValueError, SchemaError
            If an argument is of another form, or the model cannot read X.
        """
        return self._conditional(
            explain_rows(
                self.background,
                self._row_method,
                self.model,
                X,
                y,
                explained_class,
                name=name or type(self).__name__,
                verbose=self.verbose,
            )
        )

    def _row_method(self, background: Background) -> Perturbations | ShapValues:
        """Return the method of explaining a row."""
        return self.background._row_method(background)

    def explain_global(
        self, name: str | None = None, *, rows: Any = None, explained_class: Any = None
    ) -> Any:
        """Explain the model as a whole by its partial dependence on each column; free.

        Parameters
        ----------
        name : str, default=None
            Of the explanation, in interpret's dashboard.
        rows, explained_class
            As :meth:`PrivateBackground.explain_global` takes them.

        Returns
        -------
        interpret's explanation
            As :meth:`PrivateBackground.explain_global` returns it.
        """
        return self._conditional(
            self.background.explain_global(
                self.model,
                name or type(self).__name__,
                rows=rows,
                explained_class=explained_class,
                verbose=self.verbose,
            )
        )

    def to_released(self) -> Background:
        """Return the background: all that was released."""
        return self.background.to_released()

    @property
    def privacy_spend_(self) -> PrivacySpend:
        """The cost of any explanation, with the ledger's figures as of now."""
        return dataclasses.replace(self.background.privacy_spend_, guarantee=self.guarantee_)

    def _page_explanation(self) -> Any:
        return self.explain_global()

    @property
    def guarantee_(self) -> Guarantee:
        """Guarantee of the background; its scope names the people whom it protects."""
        return conditional_guarantee(
            self.background.guarantee_, self._model_promise, self._same_people
        )

    @property
    def feature_names_in_(self) -> list[str]:
        """Names of the columns."""
        return self.background.feature_names_in_

    def _conditional(self, explanation: Any) -> Any:
        """Return an explanation with the promise of the explainer."""
        explanation.privacy = dataclasses.replace(explanation.privacy, guarantee=self.guarantee_)
        return explanation

    def __getattr__(self, name: str) -> Any:
        """Raise AttributeError, with a hint for names that other explainers have."""
        raise AttributeError(f"{type(self).__name__} has no {name}{_replacement(name)}.")

    def __repr__(self) -> str:
        """Return the class and the guarantee."""
        return f"<{type(self).__name__}: {self.guarantee_.brief}>"


class DPLimeTabular(BackgroundExplainer):
    """Differentially private local explanations of a black box.

    Replaces ``interpret.blackbox.LimeTabular`` where the explanation data are private. Making it
    releases one :class:`PrivateBackground`; every explanation after that is free.

    Parameters
    ----------
    model : object
        With ``predict_proba`` or ``predict``, or callable on rows. It never sees a
        private row.
    data : DataFrame, array, list of rows or Dask collection, shape (n_rows, n_columns)
        Private explanation data. None where ``background`` is given.
    feature_names : sequence of str, default=None
        Names of the columns of data without names.
    feature_types : sequence of {"continuous", "nominal", "ordinal", None}, default=None
        As interpret's; a contradiction to the schema is an error.
    trained_on_same_people : bool
        Whether people in the explanation data were used to train the model; required, since the
        promise depends on it.
    background : PrivateBackground, default=None
        One that was released before, in place of ``data``: nothing is charged.
    schema : Schema, default=None
        Public declaration of the columns. What it does not declare is released privately, out of
        the same budget. Its ``unit`` names the column of person identifiers.
    epsilon, delta : float, default=0.1, 1e-6
        The price of the background, and the promise for all explanations together.
    ledger : PrivacyLedger or str, default=None
        Where it is charged; None: the in-memory ledger of the process.
    dataset : str, default=None
        Name of the people's data set in the ledger; required with a ledger.
    model_guarantee : Guarantee or (epsilon, delta), default=None
        Under which the model was trained; taken from ``model.guarantee_`` where there is one.
    neighboring : {"add_or_remove_one", "replace_one"}, default="add_or_remove_one"
        Which tables are neighbours.
    unit : array-like, shape (n_rows,), or "rows", default=None
        Identifiers of people, where they are no column of ``data``.
    random_state : int, default=None
        For tests only: voids the promise.
    verbose : bool, default=False
        Show a progress bar over the rows that are explained.

    Attributes
    ----------
    background : PrivateBackground
    guarantee_ : Guarantee
        Of everything that is computed from the background; its scope names whom it protects.
    feature_names_in_ : list of str

    Raises
    ------
    TypeError, ValueError, SchemaError, LedgerError
        If an argument is of another form, or the model fails on all rows that are made from the
        schema (where columns are undeclared: if it is not fitted). Nothing was read or spent.
    BudgetExceededError
        If the data set's budget does not cover the background. Nothing was spent.

    Warns
    -----
    DeclarationWarning
        If the model refuses a declared level, which is then not drawn, or the smallest or largest
        declared integer.

    Notes
    -----
    The promise is about the people in ``data``, with the model taken as given. Explained
    rows are not protected: they must be public, synthetic, or the user's own.

    Examples
    --------
    >>> from interpret_dp import DPLimeTabular
    >>> from interpret_dp.datasets import make_cohort
    >>> patients = make_cohort(1_000)
    >>> explainer = DPLimeTabular(
    ...     lambda X: X["age"].to_numpy() / 100,  # any model, or a function of rows
    ...     patients.X, schema=patients.schema, epsilon=0.5, trained_on_same_people=False)
    >>> explanation = explainer.explain_local(explainer.background.sample(2, random_state=0))
    >>> explanation.privacy.explanation_epsilon
    0.0
    """


class DPShapTabular(BackgroundExplainer):
    """SHAP values of a black box whose background data are private.

    Replaces ``interpret.blackbox.ShapKernel``. Making it releases one :class:`PrivateBackground`;
    every explanation after that is free. The library shap computes the values
    (``pip install 'interpret-dp[shap]'``).

    Parameters
    ----------
    model, data, feature_names, feature_types, trained_on_same_people, background, schema
        As :class:`DPLimeTabular` takes them, and so the others.
    epsilon, delta, ledger, dataset, model_guarantee, neighboring, unit, random_state, verbose
        The background is charged once: epsilon is the price of all explanations together.

    Attributes
    ----------
    background : PrivateBackground
    guarantee_ : Guarantee
        Of everything that is computed from the background; its scope names whom it protects.
    feature_names_in_ : list of str

    Raises
    ------
    ModuleNotFoundError
        If shap is not installed. Nothing was spent.
    TypeError, ValueError, SchemaError, LedgerError, BudgetExceededError
        As :class:`DPLimeTabular` raises them. Nothing was spent.

    Notes
    -----
    The values of a row add up to its prediction minus the baseline, which is the mean prediction
    over 1,024 rows of the background. The model predicts ``2 * n_columns + 1`` copies of
    each of them. Error bars hold 95 % of the noise of the background and the sampling of rows and
    permutations together.

    Examples
    --------
    >>> from interpret_dp import DPShapTabular
    >>> from interpret_dp.datasets import make_cohort
    >>> patients = make_cohort(1_000)
    >>> explainer = DPShapTabular(
    ...     lambda X: X["age"].to_numpy() / 100,  # any model, or a function of rows
    ...     patients.X, schema=patients.schema, epsilon=0.5, trained_on_same_people=False)
    >>> row = explainer.explain_local(explainer.background.sample(1, random_state=0)).data(0)
    >>> round(sum(row["scores"]) + row["extra"]["scores"][0] - row["predicted"], 9) + 0.0
    0.0
    """

    def _load_libraries(self) -> None:
        load_shap()

    def _row_method(self, background: Background) -> ShapValues:
        return ShapValues(background)


def _refuse_both(parameters: dict[str, Any]) -> None:
    """Raise if a parameter was given that a background which was released before fixes."""
    defaults = inspect.signature(BackgroundExplainer).parameters
    superfluous = [
        name
        for name, value in parameters.items()
        if value is not None
        and not (isinstance(value, str | float) and value == defaults[name].default)
    ]
    if superfluous:
        raise TypeError(
            f"background and {', '.join(superfluous)} are given; a background that was released "
            "before has its own. Leave them out, or pass data in place of background."
        )


def _replacement(name: str) -> str:
    """Return a hint for a name that the explainer does not have, or an empty text."""
    return f": {_ELSEWHERE[name]}" if name in _ELSEWHERE else ""
