"""The common base of both DP-EBM estimators: fitting, interpret's attributes, explanations."""

from __future__ import annotations

import copy
import dataclasses
import functools
import json
import os
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from interpret_dp._documents import check_keys, write_file, write_sealed
from interpret_dp._optional import import_optional
from interpret_dp._validate import check_int
from interpret_dp.accounting.guarantee import Guarantee
from interpret_dp.ebm.interpret_api import (
    actual_values,
    completed,
    drop_features,
    labels_in_explanations,
    predict_lazily,
    with_privacy,
)
from interpret_dp.ebm.publishing import (
    SAVED_PARAMETERS,
    current_model,
    fitted_model,
    interpret_bins,
    interpret_bounds,
    interpret_table,
    interpret_target_bounds,
)
from interpret_dp.ebm.rate import limited_rows, with_rate
from interpret_dp.ebm.request import open_request
from interpret_dp.ebm.training import has_one_class, train, train_constant
from interpret_dp.explanation.guarantee_card import ShowsGuarantee
from interpret_dp.explanation.spend import PrivacySpend
from interpret_dp.fitting.account import ledger_of
from interpret_dp.fitting.declaring import declare
from interpret_dp.fitting.pipelines import ScoredByHand, warn_of_learning_steps
from interpret_dp.fitting.tags import estimator_tags, with_substitutes
from interpret_dp.released import AdditiveModel
from interpret_dp.released.background import public_generator
from interpret_dp.released.lookup import lookup_tables
from interpret_dp.released.origin import file_of, note_file
from interpret_dp.released.summary import average_sentence, warn_after_fit
from interpret_dp.schema import Schema, canonical_frame
from interpret_dp.schema.containers import is_dask

if TYPE_CHECKING:
    import pandas as pd

    from interpret_dp.editor import EditSession
    from interpret_dp.explanation.card import ModelCard


class PrivateEBM(ShowsGuarantee, ScoredByHand):
    """Mixin in front of interpret's DP-EBM classes; replaces ``fit`` and reads rows by schema."""

    _task: ClassVar[str]
    # What interpret asks of an extension; interpret's own EBMs after 0.7.8 no longer define it.
    available_explanations: ClassVar[tuple[str, ...]] = ("global", "local")
    explainer_type: ClassVar[str] = "model"
    # Fitted attributes that sit beside interpret's own.
    guarantee_: Guarantee
    released_: AdditiveModel
    schema_: Schema

    @with_substitutes
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        bags: Any = None,
        init_score: Any = None,
        unit: Any = None,
    ) -> Self:
        """Fit on private rows and charge the ledger.

        Parameters
        ----------
        X : DataFrame, array or list of rows, shape (n_rows, n_features)
            Private. Missing cells, infinities and undeclared levels are encoded, never refused. A
            Dask DataFrame or array stays where it is; ``y`` and all else that belongs to the rows
            must then be Dask collections too, cut into the same partitions.
        y : array-like, shape (n_rows,)
            Private. Rows whose target is missing or undeclared contribute nothing.
        sample_weight : array-like, shape (n_rows,), default=None
            Private. Clipped into [0, ``privacy_weight_max``]; a missing one counts as 0. The noise
            is made for the largest weight: what is far below it hardly counts.
        bags : None
            In interpret's signature. A model without bags has no use for it.
        init_score : array-like or model, default=None
            Scores that rows start from, in interpret's form: logits of the second class, one score
            a class, or numbers in units of the target; or a model that predicts them from ``X``.
            Private, and free: each row's own. Pass it to ``predict`` as well; tables, SQL and
            explanations hold the part that this model adds. Refused under a log link.
        unit : array-like, shape (n_rows,), or "rows", default=None
            Private. Who each row belongs to, where ``schema.unit`` names no column of ``X``.
            Without a ``schema.unit`` one row of each unit is used. In pandas: indexed as ``X``.
            ``"rows"``: each row is a person of its own, although a column looks like an identifier.

        Returns
        -------
        self

        Raises
        ------
        TypeError, ValueError, SchemaError
            If a parameter, the form of the data or the declaration is wrong; nothing was spent.
        BudgetExceededError
            If the data set's budget does not cover the fit; nothing was spent.
        ReleaseError
            If the computation failed. What was charged is in the message.
        """
        doubts = warn_of_learning_steps()
        if bags is not None:
            raise ValueError(
                "bags was given; it must be None. Bags would divide the budget: the noise is "
                "known, so standard_deviations_ has the error bands without them."
            )
        given = {"sample_weight": sample_weight, "init_score": init_score, "unit": unit}
        request = open_request(self, X, y, **given, reads_dask=True).doubting(doubts)
        promise = request.promise()
        with request.opened(type(self).__name__) as session:
            everyone = request.rows.with_init_scores()
            rows = limited_rows(request, everyone, session)
            if request.declaring.is_needed:
                request = request.completed(declare(request.declaring, rows, session))
            if has_one_class(request.task):
                trained = train_constant(rows, request.task, request.config, session)
            else:
                trained = train(
                    rows,
                    request.task,
                    request.config,
                    session,
                    n_threads=request.n_threads,
                    verbose=bool(self.verbose),  # type: ignore[attr-defined]
                )
            model = fitted_model(self, request, trained, promise)
            model = with_rate(self, model, everyone, trained, request, session)
        promise = dataclasses.replace(promise, ledger_head=session.head)
        self._publish(dataclasses.replace(model, guarantee=promise))
        self.boosting_record_ = tuple(tuple(updates) for updates in trained.boosting.updates)
        self.pair_record_ = tuple(pair.gain for pair in trained.pairs)
        warn_after_fit(self.released_)
        return self

    def _publish(self, model: AdditiveModel) -> None:
        """Fill interpret's fitted attributes from the released model."""
        self.released_ = model
        self.guarantee_ = model.guarantee
        self.schema_ = model.schema
        features, terms = model.features, model.terms
        self.n_features_in_ = len(features)
        self.feature_names_in_ = [f.name for f in features]
        self.feature_types_in_ = [f.kind for f in features]
        self.feature_bounds_ = np.array([interpret_bounds(f) for f in features], dtype=np.float64)
        self.bins_ = [interpret_bins(f) for f in features]
        self.term_features_ = [term.features for term in terms]
        self.term_names_ = list(model.term_names)
        self.bin_weights_ = [interpret_table(model, term, term.weights) for term in terms]
        self.term_scores_ = [interpret_table(model, term, term.scores) for term in terms]
        self.bagged_scores_ = [scores[np.newaxis].copy() for scores in self.term_scores_]
        self.standard_deviations_ = [
            interpret_table(model, term, term.standard_deviations) for term in terms
        ]
        self.bag_weights_ = np.array([model.n_rows])
        shape = (-1,) if len(model.intercept) == 1 else (1, -1)
        self.bagged_intercept_ = model.intercept.copy().reshape(shape)
        self.best_iteration_ = np.array([[model.rounds]], dtype=np.int64)
        self.noise_scale_binning_ = model.noise_scale_binning
        self.noise_scale_boosting_ = model.noise_scale_boosting
        self.total_error_ = model.total_error
        self.link_, self.link_param_ = model.link, float("nan")
        if model.classes is None:
            self.intercept_: Any = float(model.intercept[0])
            self.min_target_, self.max_target_ = interpret_target_bounds(model)
        else:
            self.intercept_ = model.intercept.copy()
            if len(model.classes) == 1:
                # interpret's sign of a classifier that has seen one label.
                self.intercept_ = np.array([-np.inf])
            mixed = len({isinstance(label, str) for label in model.classes}) > 1
            self.classes_ = np.array(model.classes, dtype=object if mixed else None)

    @property
    def has_fitted_(self) -> bool:
        """Whether a released model is held, as interpret's methods ask; absent before that."""
        return self.released_ is not None

    @has_fitted_.setter
    def has_fitted_(self, value: bool) -> None:
        # interpret's merge_ebms and reader of JSON create an EBM without fitting, and set this.
        raise ValueError(
            f"This {type(self).__name__} has no guarantee: merge_ebms and interpret's JSON keep "
            "none. Fit once on all rows, or average predictions. load_model reads what save wrote."
        )

    def __sklearn_tags__(self) -> Any:
        """Return the estimator's tags for scikit-learn."""
        return estimator_tags(self._task)

    # ------------------------------------------------------------ reading rows by the schema

    def _readable(self, X: Any) -> Any:
        """Return rows in the form in which interpret finds the bins of the fit."""
        check_is_fitted(self, "has_fitted_")
        return canonical_frame(X, self._current_schema(), self.feature_names_in_)

    def _current_schema(self) -> Schema:
        """Return the schema of the features that are still in the model."""
        known = self.schema_.features
        return Schema({name: known[name] for name in self.feature_names_in_})

    def predict(self, X: Any, init_score: Any = None) -> Any:
        """Return predictions, shape (n_rows,); cells are read by the schema's rule.

        Parameters
        ----------
        X : DataFrame, array or list of rows, shape (n_rows, n_features)
            Rows to predict; nothing protects them, and nothing is charged. Of a Dask collection,
            here and in the other methods that score rows, a lazy Dask array.
        init_score : array-like, shape (n_rows,), default=None
            Scores to start from, as interpret's estimators take them.
        """
        if is_dask(X):
            return predict_lazily(self, "predict", X, init_score)
        return super().predict(self._readable(X), init_score)  # type: ignore[misc]

    def predict_with_uncertainty(self, X: Any, init_score: Any = None) -> Any:
        """Return the score and the standard deviation that the noise leaves in it.

        Terms count as independent, so variances add: too much where columns are correlated, since
        noise that terms pass to each other cancels there. NaN where a term's noise is unknown, as
        after ``monotonize``. Bins with too few rows have their term's spread.

        Parameters
        ----------
        X : DataFrame, array or list of rows, shape (n_rows, n_features)
            Rows to predict; nothing protects them, and nothing is charged.
        init_score : array-like, shape (n_rows,), default=None
            Scores to start from, as interpret's estimators take them.

        Returns
        -------
        ndarray of float64, shape (n_rows, 2), or (n_rows, 2, n_classes) for more than two classes
        """
        if is_dask(X):
            return predict_lazily(self, "predict_with_uncertainty", X, init_score)
        rows = self._readable(X)
        scores = super()._predict_score(rows, init_score)  # type: ignore[misc]
        deviations = [d for d in self.standard_deviations_ if d is not None]
        if len(deviations) < len(self.standard_deviations_):
            return np.stack([scores, np.full_like(scores, np.nan)], axis=1)
        variance = self._looked_up(rows, [d**2 for d in deviations]).sum(axis=1)
        return np.stack([scores, np.sqrt(variance)], axis=1)

    def _looked_up(self, rows: Any, tables: list[Any]) -> Any:
        """Return each row's entry in tables that are shaped as ``term_scores_``.

        interpret's look-up of scores serves for any figures of bins.
        """
        probe = copy.copy(self)
        probe.term_scores_ = tables
        return super(PrivateEBM, probe).eval_terms(rows)  # type: ignore[misc]

    def shap_values(self, X: Any) -> Any:
        """Return the exact SHAP values of the given rows; costs nothing.

        The reference is the rows of the fit by the released counts: of a term of one feature a
        value is its score less the mean score, and a pair's part is divided between both features
        as Shapley's formula does, in halves beyond what each does by itself. Values and base value
        add up to the score that :meth:`predict_with_uncertainty` returns without ``init_score``.

        Parameters
        ----------
        X : DataFrame, array or list of rows, shape (n_rows, n_features)
            The caller's own: the result shows them, and nothing protects them.

        Returns
        -------
        shap.Explanation
            For shap's plots: ``values`` of shape (n_rows, n_features), or (n_rows, n_features,
            n_classes) for more than two classes, in the units of scores. An
            :class:`~interpret_dp.ebm.shap_values.AdditiveShapValues` with the same attributes where
            shap is not installed.
        """
        from interpret_dp.ebm.shap_values import shap_values

        rows = self._readable(X)
        return shap_values(self, rows, functools.partial(self._looked_up, rows))

    def sample_curves(self, n: int = 100, random_state: int | None = None) -> list[Any]:
        """Draw plausible curves of every term: what a fit without noise could have had.

        Costs no privacy: they follow from the released curves and their noise. Draws of different
        terms are independent, which is too much spread for their sum where columns are correlated.

        Parameters
        ----------
        n : int, default=100
            Number of draws, 1 or more.
        random_state : int, default=None
            Seed; None: other draws in each call.

        Returns
        -------
        list of ndarray of float64
            For each term an array of n draws, each shaped as in ``term_scores_``: normal, around
            these scores, with ``standard_deviations_``. All draws are the scores of a term
            whose noise is not known, as after ``monotonize``.
        """
        n = check_int("n", n, low=1)
        model, rng = self.to_released(), public_generator(random_state)
        return [
            np.stack([interpret_table(model, term, draw) for draw in term.sample(n, rng)])
            for term in model.terms
        ]

    def eval_terms(self, X: Any) -> Any:
        """Return each term's score, pairs included, shape (n_rows, n_terms).

        Parameters
        ----------
        X : DataFrame, array or list of rows, shape (n_rows, n_features)
        """
        if is_dask(X):
            return predict_lazily(self, "eval_terms", X)
        return super().eval_terms(self._readable(X))  # type: ignore[misc]

    # ------------------------------------------------------------------------- explanations

    @property
    def privacy_spend_(self) -> PrivacySpend:
        """The cost of any explanation of this model, with the ledger's figures as of now."""
        check_is_fitted(self, "has_fitted_")
        ledger = ledger_of(self.ledger, must_exist=True)  # type: ignore[attr-defined]
        spend = PrivacySpend.of_model(self.guarantee_, ledger)
        average = average_sentence(self.released_)
        return dataclasses.replace(spend, edits=len(self.released_.edits), average=average)

    def explain_global(self, name: str | None = None) -> Any:
        """Return the shape functions and importances; costs nothing, with ``.privacy``.

        Parameters
        ----------
        name : str, default=None
            Title in the dashboard.
        """
        check_is_fitted(self, "has_fitted_")
        return with_privacy(self, super().explain_global(name))  # type: ignore[misc]

    def explain_local(
        self, X: Any, y: Any = None, name: str | None = None, init_score: Any = None
    ) -> Any:
        """Return each term's part in the predictions of the given rows.

        The rows are the caller's own: the explanation shows them, and nothing protects them. It
        costs nothing with respect to the rows that the model was fitted on. A label that is
        missing or no class counts as unknown. Of a classifier, ``data(row)["same_decision"]`` is
        the share of plausible models (:meth:`sample_curves`) that predict the same class.

        Parameters
        ----------
        X : DataFrame, array or list of rows, shape (n_rows, n_features)
        y : array-like, shape (n_rows,), default=None
            Their labels or targets, to be shown beside the predictions.
        name : str, default=None
            Title in the dashboard.
        init_score : array-like, shape (n_rows,), default=None
            Scores to start from, as interpret's estimators take them.
        """
        rows = self._readable(X)
        classes = getattr(self, "classes_", None)
        actual = None if y is None else actual_values(y, classes)
        shown: Any = copy.copy(self)
        if classes is not None:
            shown.classes_ = labels_in_explanations(classes)
        explanation = super(PrivateEBM, shown).explain_local(rows, actual, name, init_score)  # type: ignore[misc]
        private = with_privacy(self, explanation)
        if classes is None or len(classes) < 2:
            return private
        return private.with_decisions(self.predict_with_uncertainty(X, init_score))

    def card(
        self, accuracy: Any = None, *, even_if_void: bool = False, **statements: Any
    ) -> ModelCard:
        """Return one page about the model for those who read or use it; costs nothing.

        It says what the model predicts, on whom, how well, with which curves, edits and limits,
        what is promised, how to cite it, and answers the questions of NIST SP 800-226.

        Parameters
        ----------
        accuracy : PrivateMetrics or mapping of str to float, default=None
            What :func:`interpret_dp.private_metrics` released; or figures by name that were
            measured on public rows, which the card says. Never measure on private rows unpaid.
        even_if_void : bool, default=False
            Make a card of a model whose promise does not hold; its first line says so.
        **statements : str or list of str
            What only people know, by the names of ``guarantee_.to_registry``, such as ``name``,
            ``description``, ``intended_use`` and ``data_curators``. None is required.

        Returns
        -------
        ModelCard
            With ``to_html()``, ``to_markdown()`` and ``save(path)``.

        Raises
        ------
        TypeError, ValueError
            If a statement is unknown or of another form, ``accuracy`` is neither, or the promise
            does not hold.
        """
        from interpret_dp.explanation.card import ModelCard

        return ModelCard(self.to_released(), statements, accuracy, even_if_void)

    # -------------------------------------------------------------------------------- files

    def to_released(self) -> AdditiveModel:
        """Return the model as it is now, edits by interpret's methods included."""
        check_is_fitted(self, "has_fitted_")
        model = current_model(self)
        note_file(model, file_of(self.released_))
        return model

    def edit(self, author: str | None = None, *, autosave: bool = True) -> EditSession:
        """Open an editing session over the model as it is now; editing costs no privacy.

        A UserWarning names edits that an earlier session left in a file;
        ``session.autosave.take()`` brings them back.

        Parameters
        ----------
        author : str, default=None
            Who is written into the history; the login name if None.
        autosave : bool, default=True
            Whether edits are kept in a file as they are made, once a dashboard or a notebook editor
            shows the session. See :class:`interpret_dp.editor.Autosave`.

        Returns
        -------
        EditSession
            Its ``model`` is a new estimator of this class with the edits made so far; this
            estimator stays as it is.
        """
        from interpret_dp.editor import EditSession

        ledger = self.ledger  # type: ignore[attr-defined]
        session = EditSession(
            self.to_released(),
            lambda released: type(self).from_released(released, ledger),
            author=author,
            autosave=autosave,
        )
        for earlier in session.autosave.earlier:
            if not earlier.problem:
                warnings.warn(
                    f"An earlier session left {earlier}. session.autosave.take() takes them, "
                    "session.autosave.discard() deletes them.",
                    UserWarning,
                    stacklevel=2,
                )
        return session

    def remove_features(self, features: Any) -> Self:
        """Remove features from the fitted model, and every term that uses one of them.

        Costs no privacy. Tables to predict no longer need their columns. Saved models and cards
        list what was removed among the edits.

        Parameters
        ----------
        features : sequence of str, int or bool
            Names, indices, or for each feature whether it goes, as interpret takes them.

        Returns
        -------
        self
        """
        check_is_fitted(self, "has_fitted_")
        drop_features(self, features)
        return self

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
        write_sealed(path, self.to_released().to_dict(), indent=1)
        note_file(self.released_, path)

    def to_tables(self) -> dict[str, pd.DataFrame]:
        """Return one lookup table a term, and one with the intercept and the link.

        See :func:`interpret_dp.released.lookup.lookup_tables` for the columns.
        """
        return lookup_tables(self.to_released())

    def to_sql(
        self,
        dialect: str = "ansi",
        *,
        table: str | Sequence[str] = "data",
        columns: Mapping[str, str] | None = None,
        keep: Sequence[str] = (),
    ) -> str:
        """Return a SELECT statement that predicts for each row of a database's table.

        Needs the extra ``sql``. See :func:`interpret_dp.released.sql.scoring_sql` for the
        parameters, the columns of the result and the errors.

        Parameters
        ----------
        dialect : str, default="ansi"
            Of the statement, such as ``"postgresql"``, ``"duckdb"`` or ``"snowflake"``.
        table : str or sequence of str, default="data"
            Name of the table; parts of a qualified name as a sequence.
        columns : mapping of str to str, default=None
            Names in the table by the model's names, where they differ.
        keep : sequence of str, default=()
            Columns of the table that the result is to hold too.
        """
        import_optional("sqlglot", extra="sql", purpose="Writing SQL")
        from interpret_dp.released.sql import scoring_sql

        sql = scoring_sql(self.to_released(), dialect, table=table, columns=columns, keep=keep)
        state = self.guarantee_.state_sentence
        # Of a block, since a database may join the lines.
        return f"/* {state.replace('*/', '* /')} */\n{sql}" if state else sql

    def to_jsonable(self, detail: str = "all") -> dict[str, Any]:
        """Return interpret's own JSON document, with every key that interpret's reader needs.

        Parameters
        ----------
        detail : {"minimal", "interpretable", "mergeable", "all"}, default="all"
            interpret reads back only ``"all"``. Use :meth:`save` to keep the guarantee as well.
        """
        document = super().to_jsonable(detail)  # type: ignore[misc]
        return completed(document, self, detail)

    def to_json(self, file: Any, detail: str = "all", indent: int | str | None = 2) -> None:
        """Write :meth:`to_jsonable` to a path or an object with ``write``.

        Parameters
        ----------
        file : str, path-like, or an object with ``write``
        detail : {"minimal", "interpretable", "mergeable", "all"}, default="all"
            As in :meth:`to_jsonable`.
        indent : int, str or None, default=2
            As ``json.dumps`` takes it.
        """
        text = json.dumps(self.to_jsonable(detail), allow_nan=False, indent=indent)
        if isinstance(file, str | os.PathLike):
            write_file(file, text)
        else:
            file.write(text)

    @classmethod
    def from_released(cls, model: AdditiveModel, ledger: Any = None) -> Self:
        """Return a fitted estimator that holds a released model.

        Parameters
        ----------
        model : AdditiveModel
        ledger : PrivacyLedger or str, default=None
            Where the data set's account can be read.
        """
        if model.task != cls._task:
            raise ValueError(
                f"The model is a {model.task}; {cls.__name__} holds a {cls._task}. Use "
                "interpret_dp.load_model(path), which finds the class."
            )
        check_keys("parameters of the model", model.parameters, (), SAVED_PARAMETERS)
        estimator = cls(  # type: ignore[call-arg]
            **model.parameters, schema=model.schema, ledger=ledger, dataset=model.guarantee.dataset
        )
        estimator._publish(model)
        return estimator
