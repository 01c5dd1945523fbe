"""PrivateSurrogate: an additive model of a black box, released once for every explanation."""

from __future__ import annotations

import dataclasses
import warnings
from typing import TYPE_CHECKING, Any, Self

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from interpret_dp.accounting.guarantee import Guarantee
from interpret_dp.explanation.budget import SURROGATE, RowSpend
from interpret_dp.explanation.guarantee_card import ShowsGuarantee
from interpret_dp.explanation.spend import PrivacySpend
from interpret_dp.fitting.account import ledger_of
from interpret_dp.fitting.pipelines import warn_of_learning_steps
from interpret_dp.lime.black_box import BlackBox, black_box
from interpret_dp.lime.opening import open_query_rows
from interpret_dp.lime.outputs import ExplainedRows
from interpret_dp.lime.surrogate import fit_surrogate, open_surrogate_request
from interpret_dp.lime.surrogate_model import Surrogate
from interpret_dp.released.summary import ModelSummary
from interpret_dp.schema import Continuous, Schema, interpret_type

if TYPE_CHECKING:
    from interpret_dp.ledger import PrivacyLedger

_FREE = "post-processed"
# A surrogate that explains less of the variance is warned of.
_POOR = 0.5


class PrivateSurrogate(ShowsGuarantee, BaseEstimator):
    """Private additive model of a black box, whose curves explain it.

    A DP-EBM is fitted to the black box's predictions of private rows, which are computed once.
    Curves and explanations of rows are read off the released model, and are free. The fidelity of
    the released model to the black box is released with it.

    Parameters
    ----------
    model : object
        With ``predict_proba`` or ``predict``, or callable on rows. Kept as it is.
    schema : Schema
        Bounds of numbers and levels of categories, which must be public; required. Its ``unit``
        names the column of person identifiers.
    epsilon, delta : float, default=1.0, 1e-6
        The promise for the surrogate and for everything that is read off it.
    ledger : PrivacyLedger or str, default=None
        Where it is charged; None: the in-memory ledger of the process.
    dataset : str, default=None
        Name of the people's data set in the ledger; required with a ledger.
    neighboring : {"add_or_remove_one", "replace_one"}, default="add_or_remove_one"
        Which tables are neighbours.
    trained_on_same_people : bool
        Whether people in the explained rows were used to train the model; required, since the
        promise depends on it.
    model_guarantee : Guarantee or (epsilon, delta), default=None
        Under which the model was trained; taken from ``model.guarantee_`` where there is one.
    output_bounds : (lower, upper), default=None
        Public bounds of a regression's output; the schema's target is taken where it has bounds.
        None otherwise: outputs are probabilities.
    image_shape : (int, int), default=None
        Height and width, if rows are images. Of more than 144 pixels, square patches are explained.
    feature_names : sequence of str, default=None
        Names of the columns of data without names; or the columns to explain.
    n_jobs : int, default=-1
        Threads that sum over rows.
    random_state : int, default=None
        For tests only: voids the promise.
    verbose : bool, default=False
        Show a progress bar.

    Attributes
    ----------
    surrogate_ : Surrogate
        What was released; public.
    fidelity_ : Fidelity
        Of the surrogate to the black box on the private rows, in units of the output.
    guarantee_ : Guarantee
    schema_ : Schema
    n_features_in_ : int
    feature_names_in_ : list of str

    Notes
    -----
    Probabilities are fitted on the scale of log-odds, and effects are in log-odds; a fifth of mu
    squared pays for the fidelity (docs/proofs/dp_lime.md). An additive model has no interactions:
    their share of the variance is missing from the fidelity.

    Examples
    --------
    >>> from interpret_dp import PrivateSurrogate
    >>> from interpret_dp.datasets import make_cohort
    >>> patients = make_cohort(2_000)
    >>> surrogate = PrivateSurrogate(
    ...     lambda X: X["age"].to_numpy() / 120,  # any model, or a function of rows
    ...     patients.schema, epsilon=4.0, output_bounds=(0, 1), trained_on_same_people=False,
    ... ).fit(patients.X)
    >>> surrogate.guarantee_.epsilon
    4.0
    >>> len(surrogate.explain_local(patients.X[:3]).selector)
    3
    """

    def __init__(
        self,
        model: Any,
        schema: Schema | None = None,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        ledger: PrivacyLedger | str | None = None,
        dataset: str | None = None,
        neighboring: str = "add_or_remove_one",
        trained_on_same_people: bool,
        model_guarantee: Guarantee | tuple[float, float] | None = None,
        output_bounds: tuple[float, float] | None = None,
        image_shape: tuple[int, int] | None = None,
        feature_names: Any = None,
        n_jobs: int | None = -1,
        random_state: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.model = model
        self.schema = schema
        self.epsilon = epsilon
        self.delta = delta
        self.ledger = ledger
        self.dataset = dataset
        self.neighboring = neighboring
        self.trained_on_same_people = trained_on_same_people
        self.model_guarantee = model_guarantee
        self.output_bounds = output_bounds
        self.image_shape = image_shape
        self.feature_names = feature_names
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_clone__(self) -> Self:
        """Return an estimator that is not fitted, with the same model: a clone would forget it."""
        return type(self)(**self.get_params(deep=False))

    def fit(self, X: Any, y: Any = None, unit: Any = None, example: Any = None) -> Self:
        """Label private rows by the model, release the surrogate and charge the ledger.

        Parameters
        ----------
        X : DataFrame, pyarrow.Table, ndarray, sparse matrix or list of rows
            Private, in the form that the model takes; images also as (n_rows, height, width).
        y : None
            In scikit-learn's signature; not read.
        unit : array-like, shape (n_rows,), or "rows", default=None
            Private. Who each row belongs to, where ``schema.unit`` names no column of ``X``.
        example : as X, default=None
            One public row, by which the model is tried before anything is spent. None: made from
            the schema, with numbers in the middle of their bounds and a level that it accepts. All
            other levels are tried in its place.

        Returns
        -------
        self

        Raises
        ------
        TypeError, ValueError, SchemaError, LedgerError
            If a parameter or the form of the data is wrong, or the model fails on the example;
            nothing was spent.
        BudgetExceededError
            If the data set's budget does not cover it; nothing was spent.
        ReleaseError
            If the computation failed. What was charged is in the message.

        Warns
        -----
        DeclarationWarning
            If the model refuses a declared level, whose rows count as the middle of the bounds.
        UserWarning
            If the surrogate explains less than half of the variance, by its released fidelity.
        """
        doubts = warn_of_learning_steps()
        request = open_surrogate_request(self, self._box, X, unit, example, doubts)
        surrogate = fit_surrogate(request)
        self.surrogate_ = surrogate
        self.fidelity_ = surrogate.fidelity
        self.guarantee_ = surrogate.guarantee
        self.schema_ = request.schema
        self.feature_names_in_ = list(surrogate.feature_names)
        self.n_features_in_ = len(surrogate.feature_names)
        _warn_of_poor_fidelity(surrogate)
        return self

    def explain_local(
        self, X: Any, y: Any = None, name: str | None = None, *, explained_class: Any = None
    ) -> Any:
        """Explain the model's predictions of rows; free, for any number of rows.

        Parameters
        ----------
        X : as ``fit`` takes it
            The rows: public, synthetic, or your own. Nothing protects them, and the explanation
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
            With ``privacy``. An effect is that of the row's own value, against the mean over the
            private rows: in log-odds of a probability, else in units of the output. Standard errors
            are those of the added noise.

        Raises
        ------
        TypeError, ValueError, SchemaError
            If an argument is of another form, or the model cannot read X.
        """
        from interpret_dp.explanation.local_objects import local_explanation

        surrogate = self.to_released()
        opened = open_query_rows(X, self.feature_names_in_, self.schema_, self.image_shape)
        n_rows = opened.table.n_rows
        predictions, _ = self._box.ask(opened.X, n_rows)
        explained = surrogate.outputs.explained(explained_class, predictions)
        rows = ExplainedRows.of(opened, surrogate.outputs, explained, predictions, y)
        local = surrogate.explain(opened.table, explained)
        shares = surrogate.fidelity.table["r2"].to_numpy()
        documents = [
            rows.document(
                row,
                local.effects[row],
                local.standard_errors[row],
                method=SURROGATE,
                origin=_FREE,
                baseline=("Intercept", float(local.intercepts[row])),
                fit={"prediction": float(prediction), "fidelity": float(shares[output])},
                scale="log-odds" if surrogate.has_logits else None,
                image_shape=None if self.image_shape is None else list(self.image_shape),
            )
            for row, (output, prediction) in enumerate(
                zip(explained, local.predictions, strict=True)
            )
        ]
        free = (RowSpend(0.0, _FREE, SURROGATE),) * n_rows
        return local_explanation(
            documents,
            privacy=dataclasses.replace(self.privacy_spend_, rows=free),
            name=name or type(self).__name__,
            feature_names=self.feature_names_in_,
            feature_types=[interpret_type(spec) for spec in self.schema_.features.values()],
        )

    def explain_global(self, name: str | None = None, *, explained_class: Any = None) -> Any:
        """Show the curves of the surrogate, with bands for the added noise; free.

        Parameters
        ----------
        name : str, default=None
            Of the explanation, in interpret's dashboard.
        explained_class : object, default=None
            The class whose log-odds are shown. None: the last one.

        Raises
        ------
        ValueError
            If the model has no such class; or if it is the first of two, whose curves are those of
            the second, turned over.
        """
        surrogate = self.to_released()
        outputs, output = surrogate.outputs, surrogate.n_outputs - 1
        if explained_class is not None:
            output = outputs.index(explained_class)
        if surrogate.complementary and output == 0:
            raise ValueError(
                f"explained_class is {explained_class!r}, the first of two classes; its curves are "
                "those of the second, mirrored. Leave it None to see these."
            )
        model = surrogate.models[0 if surrogate.complementary else output]
        return model.explain_global(name=name or f"{type(self).__name__}: {outputs.text(output)}")

    def summary(self) -> ModelSummary:
        """Return the model of the last output in one line a column; costs nothing."""
        return self.to_released().models[-1].summary()

    @property
    def privacy_spend_(self) -> PrivacySpend:
        """The cost of the surrogate, with the ledger's figures as of now."""
        guarantee = self.to_released().guarantee
        spend = PrivacySpend.of_model(guarantee, ledger_of(self.ledger, must_exist=True))
        return dataclasses.replace(spend, subject="surrogate")

    def to_released(self) -> Surrogate:
        """Return the released surrogate."""
        check_is_fitted(self, "surrogate_")
        return self.surrogate_

    @property
    def _box(self) -> BlackBox:
        bounds, target = self.output_bounds, getattr(self.schema, "target", None)
        is_regression = not hasattr(self.model, "predict_proba") and isinstance(target, Continuous)
        declared = target if bounds is None and is_regression else bounds
        return black_box(self.model, declared)


def _warn_of_poor_fidelity(surrogate: Surrogate) -> None:
    fidelity = surrogate.fidelity
    # One figure a model: two complementary outputs have the same.
    first = surrogate.n_outputs - len(surrogate.models)
    shares = fidelity.table["r2"].to_numpy()
    poor = [
        fidelity.sentence(output)
        for output in range(first, surrogate.n_outputs)
        if not shares[output] >= _POOR
    ]
    if poor:
        warnings.warn(
            f"The surrogate explains little of the model's outputs. {' '.join(poor)} Its effects "
            "are those of the surrogate, not of the model. Use a larger epsilon, or explain with "
            "PrivateBackground, which asks the model itself.",
            UserWarning,
            stacklevel=3,
        )
