"""PrivateBackground: the distribution of explanation data, released once for every explanation."""

from __future__ import annotations

import dataclasses
import os
from typing import TYPE_CHECKING, Any, ClassVar, Self

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from interpret_dp._documents import read_json, write_sealed
from interpret_dp.explanation.guarantee_card import ShowsGuarantee
from interpret_dp.explanation.spend import PrivacySpend
from interpret_dp.fitting.account import ledger_of
from interpret_dp.fitting.declaring import declare
from interpret_dp.fitting.pipelines import warn_of_learning_steps
from interpret_dp.lime.background_explanation import explain_model, explain_rows
from interpret_dp.lime.background_releases import release_dependence, release_histograms
from interpret_dp.lime.background_request import background_promise, open_background_request
from interpret_dp.lime.black_box import PublicModel
from interpret_dp.lime.local_effects import Perturbations
from interpret_dp.lime.public_rows import example_row
from interpret_dp.released.background import Background
from interpret_dp.released.summary import warn_after_fit
from interpret_dp.schema import Schema

if TYPE_CHECKING:
    import pandas as pd

    from interpret_dp.ledger import PrivacyLedger


class PrivateBackground(ShowsGuarantee, BaseEstimator):
    """Private distribution of each column, released once for explanations of any model.

    An explanation of a black box compares its prediction of a row with predictions of the same row
    with typical values in place of some of its own. Which values are typical is all that it needs
    of private rows. So this is released once, and every explanation computed from it is free.

    Parameters
    ----------
    schema : Schema, default=None
        Public declaration of the columns. What it does not declare is released privately, out of
        the same budget. Its ``unit`` names the column of person identifiers.
    epsilon, delta : float, default=0.1, 1e-6
        The promise for the background and for everything that is computed from it.
    dependence : bool, default=True
        Also release how columns depend on each other, with a tenth of the budget (of mu squared).
        Rows are drawn column by column, independently, without it.
    ledger : PrivacyLedger or str, default=None
        Where it is charged; None: the in-memory ledger of the process.
    dataset : str, default=None
        Name of the people's data set in the ledger; required with a ledger.
    neighboring : {"add_or_remove_one", "replace_one"}, default="add_or_remove_one"
        Which tables are neighbours.
    feature_names : sequence of str, default=None
        Names of the columns of data without names.
    feature_types : sequence, shape (n_columns,), default=None
        As the private EBMs take them; the schema wins, and a contradiction is an error.
    backend : {"auto", "local", "dask"}, default="auto"
        Where rows are counted; "auto" takes Dask for Dask collections.
    n_jobs : int, default=-1
        Threads that count Dask collections where there is no Dask client.
    random_state : int, default=None
        For tests only: voids the promise.

    Attributes
    ----------
    background_ : Background
        Released; public.
    guarantee_ : Guarantee
    schema_ : Schema
        Declaration of every column, released bounds and levels included.
    n_features_in_ : int
    feature_names_in_ : list of str

    Notes
    -----
    Of each column two histograms are released: one of many cells, from which cells with enough rows
    are merged, and one of these. Of each two columns the sum of the products of their signs is
    released: in which half of its column each row is (docs/proofs/private_background.md). Rows are
    drawn from a Gaussian copula with these correlations.

    Examples
    --------
    >>> from interpret_dp import PrivateBackground
    >>> from interpret_dp.datasets import make_cohort
    >>> patients = make_cohort(1_000)
    >>> background = PrivateBackground(patients.schema, epsilon=0.5).fit(patients.X)
    >>> background.sample(3).shape == (3, len(patients.X.columns))
    True
    >>> background.guarantee_.epsilon
    0.5
    """

    # Rows on Dask workers are opened for a task; this one has no target.
    _task: ClassVar[str] = "background"

    def __init__(
        self,
        schema: Schema | None = None,
        *,
        epsilon: float = 0.1,
        delta: float = 1e-6,
        dependence: bool = True,
        ledger: PrivacyLedger | str | None = None,
        dataset: str | None = None,
        neighboring: str = "add_or_remove_one",
        feature_names: Any = None,
        feature_types: Any = None,
        backend: str = "auto",
        n_jobs: int | None = -1,
        random_state: int | None = None,
    ) -> None:
        self.schema = schema
        self.epsilon = epsilon
        self.delta = delta
        self.dependence = dependence
        self.ledger = ledger
        self.dataset = dataset
        self.neighboring = neighboring
        self.feature_names = feature_names
        self.feature_types = feature_types
        self.backend = backend
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, unit: Any = None) -> Self:
        """Release the background of private rows and charge the ledger.

        Parameters
        ----------
        X : DataFrame, array, list of rows or Dask collection, shape (n_rows, n_columns)
            Private. Missing cells and undeclared levels are counted as such.
        y : None
            In scikit-learn's signature; not read.
        unit : array-like, shape (n_rows,), or "rows", default=None
            Private. Who each row belongs to, where ``schema.unit`` names no column of ``X``.

        Returns
        -------
        self

        Raises
        ------
        TypeError, ValueError, SchemaError, LedgerError
            If a parameter, the form of the data or the declaration is wrong; nothing was spent.
        BudgetExceededError
            If the data set's budget does not cover it; nothing was spent.
        ReleaseError
            If the computation failed. What was charged is in the message.
        """
        return self._release(X, unit)

    def _release(self, X: Any, unit: Any, model: PublicModel | None = None) -> Self:
        """Fit; a model that is to be explained is tried before anything is charged."""
        request = open_background_request(self, X, unit, model)
        request = request.doubting(warn_of_learning_steps())
        promise = background_promise(request)
        with request.opened(type(self).__name__) as session:
            rows = request.rows.limited(request.neighbourhood.max_rows, session.public_choices)
            schema = request.declaring.without_rows()
            if request.declaring.is_needed:
                schema = declare(request.declaring, rows, session).schema
            specs = tuple(schema.features.values())
            columns, n_rows = release_histograms(rows, request.declaring.names, specs, session)
            dependence = None
            if request.has_dependence:
                dependence = release_dependence(rows, columns, session)
        promise = dataclasses.replace(promise, ledger_head=session.head)
        self._publish(Background(schema, columns, n_rows, promise, dependence))
        self._example, self._said = example_row(request.example, schema.features), request.said
        warn_after_fit(self.background_)
        return self

    def _publish(self, background: Background) -> None:
        self.background_ = background
        self._perturbations: Perturbations | None = None
        # A public row in the form of the data, and what was said of values that models refuse.
        self._example, self._said = None, set[str]()
        self.guarantee_ = background.guarantee
        self.schema_ = background.schema
        self.feature_names_in_ = list(background.names)
        self.n_features_in_ = len(background.columns)

    def explain_data(self, name: str | None = None) -> Any:
        """Show the released distribution of each column, with the noise.

        Parameters
        ----------
        name : str, default=None
            Of the explanation, in interpret's dashboard.

        Returns
        -------
        interpret's explanation
            With ``privacy``, for ``interpret.show``.
        """
        from interpret_dp.explanation.background_objects import background_explanation

        return background_explanation(
            self.to_released(), privacy=self.privacy_spend_, name=name or type(self).__name__
        )

    def explain_local(
        self,
        model: Any,
        X: Any,
        y: Any = None,
        name: str | None = None,
        *,
        explained_class: Any = None,
        verbose: bool = False,
    ) -> Any:
        """Explain any model's predictions of rows; free, for any number of rows.

        Values of the row are replaced by typical ones, and the model predicts 4,096 such rows (more
        where there are more than 511 columns). An effect is the mean change of the output if the
        row's value replaces a typical one.

        Parameters
        ----------
        model : object
            With ``predict_proba`` or ``predict``, or callable on rows. It is taken as given: only
            its own guarantee protects the people that it was trained on.
        X : DataFrame, pyarrow.Table, ndarray, sparse matrix or list of rows
            The rows, in the form that the model takes: public, synthetic, or your own. Nothing
            protects them, and the explanation shows them. Columns that the background does not
            have stay as they are.
        y : array-like, shape (n_rows,), default=None
            True values, to be shown beside the prediction.
        name : str, default=None
            Of the explanation, in interpret's dashboard.
        explained_class : object, default=None
            The class whose probability is explained. None: the second of two classes, and the
            predicted one of more.
        verbose : bool, default=False
            Show a progress bar over the rows.

        Returns
        -------
        interpret's explanation
            With ``privacy``. Standard errors are those of the noise of the background and of the
            sampled rows together, against the same explanation from a background without noise.
            The noise of the dependence between columns is not in them.

        Raises
        ------
        TypeError, ValueError, SchemaError
            If an argument is of another form, or the model cannot read X.

        Warns
        -----
        DeclarationWarning
            If the model refuses a level, or a missing cell, in place of that of the first row. It
            is said once, and no row is drawn with it.
        """
        return explain_rows(
            self,
            self._row_method,
            model,
            X,
            y,
            explained_class,
            name=name or type(self).__name__,
            verbose=verbose,
        )

    def _row_method(self, background: Background) -> Perturbations:
        """Return how rows are explained; computed once, since it takes longer than a row."""
        if background is not self.background_:
            return Perturbations(background)
        if self._perturbations is None:
            self._perturbations = Perturbations(self.background_)
        return self._perturbations

    def explain_global(
        self,
        model: Any,
        name: str | None = None,
        *,
        rows: Any = None,
        explained_class: Any = None,
        verbose: bool = False,
    ) -> Any:
        """Explain any model as a whole by its partial dependence on each column; free.

        Parameters
        ----------
        model, name, verbose
            As for :meth:`explain_local`. For each column, the model predicts 4,096 rows of the
            background in which its value is replaced (more if it has more than 128 cells).
        rows : DataFrame, pyarrow.Table, ndarray, sparse matrix or list of rows, default=None
            Your own rows, which nothing protects: the model gets rows in their form, and figures
            have up to ten lines of them (ICE). None: an array if the model was fitted with one,
            else the form and types of the data; of a background that was loaded, a DataFrame.
        explained_class : object, default=None
            The class whose probability is explained. None: the second of two, and all of more.

        Returns
        -------
        interpret's explanation
            The importance of a column is the mean absolute height of its curve, as for a term of an
            EBM: 0 if it acts through interactions alone. The overview shows the share of the
            outputs' variance that all curves explain. Bands hold 95 % of noise and sampling
            together.

        Warns
        -----
        DeclarationWarning
            As :meth:`explain_local` warns.

        Notes
        -----
        Categories of a categorical type may come from rows, so the model gets the declared levels
        instead: in the order of an ordered type of pandas, else as declared. A model that reads
        codes needs all levels declared, in the order of the categories that it was trained with.
        """
        return explain_model(
            self,
            model,
            explained_class,
            rows,
            name=name or type(self).__name__,
            verbose=verbose,
        )

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the perturbations, which are computed again when needed."""
        state: dict[str, Any] = super().__getstate__()
        return state | ({"_perturbations": None} if "_perturbations" in state else {})

    def sample(self, n_rows: int, random_state: int | None = None) -> pd.DataFrame:
        """Draw public rows; free.

        Parameters
        ----------
        n_rows : int
            At least 1.
        random_state : int, default=None
            Seed; None: other rows in each call. No part of the promise depends on it.

        Returns
        -------
        DataFrame
            Numbers are spread evenly within their cell; in a tail, near the other cells.
        """
        return self.to_released().sample(n_rows, random_state)

    @property
    def privacy_spend_(self) -> PrivacySpend:
        """The cost of the background, with the ledger's figures as of now."""
        guarantee = self.to_released().guarantee
        spend = PrivacySpend.of_model(guarantee, ledger_of(self.ledger, must_exist=True))
        return dataclasses.replace(spend, subject="background")

    def to_released(self) -> Background:
        """Return the released background."""
        check_is_fitted(self, "background_")
        return self.background_

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the background as JSON; :meth:`load` reads it.

        Parameters
        ----------
        path : str or path-like
            Where to write it; a file that is there is replaced.
        """
        write_sealed(path, self.to_released().to_dict(), indent=1)

    @classmethod
    def load(cls, path: str | os.PathLike[str], ledger: PrivacyLedger | str | None = None) -> Self:
        """Read a background that :meth:`save` wrote.

        Parameters
        ----------
        path : str or path-like
        ledger : PrivacyLedger or str, default=None
            Where the data set's account can be read.

        Raises
        ------
        FileNotFoundError
            If there is no such file.
        ValueError
            If the file is not a background, or was changed after it was written.
        """
        return cls.from_released(Background.from_dict(read_json(path)), ledger)

    @classmethod
    def from_released(cls, background: Background, ledger: Any = None) -> Self:
        """Return a fitted estimator that holds a released background.

        Parameters
        ----------
        background : Background
        ledger : PrivacyLedger or str, default=None
            Where the data set's account can be read.
        """
        guarantee = background.guarantee
        estimator = cls(
            background.schema,
            epsilon=guarantee.epsilon,
            delta=guarantee.delta,
            neighboring=guarantee.neighboring,
            dependence=background.dependence is not None,
            ledger=ledger,
            dataset=guarantee.dataset,
        )
        estimator._publish(background)
        return estimator
