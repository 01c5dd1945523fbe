"""DP-EBM estimators: drop-in replacements for ``interpret.privacy.DPExplainableBoosting*``."""

from __future__ import annotations

import copy
import dataclasses
import functools
import json
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor
from interpret.privacy import (
    DPExplainableBoostingClassifier as _InterpretClassifier,
    DPExplainableBoostingRegressor as _InterpretRegressor,
)
from sklearn.utils.validation import check_is_fitted

from interpret_dp._documents import check_keys, write_file
from interpret_dp._optional import import_optional
from interpret_dp._validate import check_int
from interpret_dp.ebm import interpret_api
from interpret_dp.ebm.interpret_api import plain_value
from interpret_dp.ebm.planning import plan
from interpret_dp.ebm.request import (
    Bounds,
    Constraints,
    FitSettings,
    Interactions,
    open_request,
    with_rate,
)
from interpret_dp.ebm.training import train
from interpret_dp.exceptions import warn_caller
from interpret_dp.explanation.objects import attach_privacy
from interpret_dp.explanation.spend import PrivacySpend
from interpret_dp.fitting.estimator import FeatureTypes, PrivatePredictor
from interpret_dp.fitting.pipelines import warn_of_learning_steps, with_substitutes
from interpret_dp.release import Sharing
from interpret_dp.released import AdditiveFeature, AdditiveModel, AdditiveTerm, EditRecord
from interpret_dp.released.additive_model import file_of, login_name, lookup_tables, note_file
from interpret_dp.released.background import public_generator
from interpret_dp.released.rating import rating_table, save_rating_table
from interpret_dp.released.summary import average_sentence, warn_after_fit
from interpret_dp.released.survival import SurvivalCurves, survival_curves
from interpret_dp.schema import Continuous, Schema, canonical_frame
from interpret_dp.schema.containers import is_dask

if TYPE_CHECKING:
    import pandas as pd

    from interpret_dp.editor import EditSession
    from interpret_dp.ledger import PrivacyLedger


# The common base of both DP-EBM estimators: fitting, interpret's attributes, explanations.


class PrivateEBM(PrivatePredictor[AdditiveModel]):
    """Mixin in front of interpret's DP-EBM classes; replaces ``fit`` and reads rows by schema."""

    _model_attribute = "released_"
    _model_type = AdditiveModel
    released_: AdditiveModel

    @with_substitutes
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        bags: Any = None,
        init_score: Any = None,
        unit: Any = None,
        exposure: Any = None,
        site: Sharing | None = None,
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
            explanations hold the part that this model adds. Under a log link an array of the
            logarithms of exposures.
        unit : array-like, shape (n_rows,), or "rows", default=None
            Private. Who each row belongs to, where ``schema.unit`` names no column of ``X``.
            Without a ``schema.unit`` one row of each unit is used. In pandas: indexed as ``X``.
            ``"rows"``: each row is a person of its own, although a column looks like an identifier.
        exposure : array-like, shape (n_rows,), default=None
            Private; under a log link. How long, or over how much, each row's target was counted:
            its mean is the exposure times what the model predicts. Clipped at
            ``privacy_exposure_max``. A row whose exposure is missing, or not above a millionth of
            that, contributes nothing.
        site : interpret_dp.sites.Site, default=None
            This site, where others hold more rows: all sites fit one model, with their own
            ledgers, and masked noisy sums alone leave them.

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
        given = {"sample_weight": sample_weight, "init_score": init_score, "exposure": exposure}
        given |= {"unit": unit, "site": site, "reads_dask": True}
        request = open_request(FitSettings.of(self), X, y, **given).doubting(doubts)
        promise = request.promise()
        with request.opened(type(self).__name__) as session:
            request = dataclasses.replace(request, rows=request.rows.with_init_scores())
            rows = request.limited_rows(session)
            request = request.declared(rows, session)
            trained = train(
                rows,
                request.task,
                request.config,
                session,
                n_threads=request.n_threads,
                verbose=bool(request.settings.verbose),
            )
            model = interpret_api.fitted_model(request, trained, promise)
            model = with_rate(request, model, trained, session, self._with_model)
        self._publish(session.concluded(model))
        self.boosting_record_ = tuple(tuple(updates) for updates in trained.boosting.updates)
        self.pair_record_ = tuple(pair.gain for pair in trained.pairs)
        warn_after_fit(self.released_, *trained.boosting.start.loss.findings())
        return self

    def _publish(self, model: AdditiveModel) -> None:
        """Fill interpret's fitted attributes from the released model."""
        super()._publish(model)
        features, terms = model.features, model.terms
        self.n_features_in_ = len(features)
        self.feature_names_in_ = [f.name for f in features]
        self.feature_types_in_ = [f.kind for f in features]
        self.feature_bounds_ = np.array(
            [interpret_api.bounds_of(f) for f in features], dtype=np.float64
        )
        self.bins_: list[Any] = [interpret_api.bins_of(f) for f in features]
        self.term_features_: list[Any] = [term.features for term in terms]
        self.term_names_ = list(model.term_names)
        table = functools.partial(interpret_api.table_of, model)
        self.bin_weights_ = [table(term, term.weights) for term in terms]
        self.term_scores_ = [table(term, term.scores) for term in terms]
        self.bagged_scores_ = [scores[np.newaxis].copy() for scores in self.term_scores_]
        self.standard_deviations_ = [table(term, term.standard_deviations) for term in terms]
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
            self.min_target_, self.max_target_ = interpret_api.target_bounds_of(model)
        else:
            self.intercept_ = model.intercept.copy()
            if len(model.classes) == 1:
                # interpret's sign of a classifier that has seen one label.
                self.intercept_ = np.array([-np.inf])
            mixed = len({isinstance(label, str) for label in model.classes}) > 1
            self.classes_ = np.array(model.classes, dtype=object if mixed else None)

    def _with_model(self, model: AdditiveModel) -> Self:
        """Return a copy that predicts with a model; it has no ledger, and fits on workers."""
        other = copy.copy(self)
        other.ledger = None
        other._publish(model)
        return other

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

    # ------------------------------------------------------------ reading rows by the schema

    def _readable(self, X: Any) -> Any:
        """Return rows in the form in which interpret finds the bins of the fit."""
        check_is_fitted(self, self._model_attribute)
        return canonical_frame(X, self._current_schema(), self.feature_names_in_)

    def _current_schema(self) -> Schema:
        """Return the schema of the features that are still in the model."""
        known = self.schema_.features
        return Schema({name: known[name] for name in self.feature_names_in_})

    def predict(self, X: Any, init_score: Any = None, exposure: Any = None) -> Any:
        """Return predictions, shape (n_rows,); cells are read by the schema's rule.

        Parameters
        ----------
        X : DataFrame, array or list of rows, shape (n_rows, n_features)
            Rows to predict; nothing protects them, and nothing is charged. Of a Dask collection,
            here and in the other methods that score rows, a lazy Dask array.
        init_score : array-like, shape (n_rows,), default=None
            Scores to start from, as interpret's estimators take them.
        exposure : array-like, shape (n_rows,), default=None
            Under a log link, what predictions are multiplied by; by default 1.
        """
        return self._of_rows("predict", X, self._start(init_score, exposure))

    def _start(self, init_score: Any, exposure: Any) -> Any:
        """Return the scores that predictions start from."""
        if exposure is not None:
            interpret_api.refuse_exposure(self.released_)
        return interpret_api.start_scores(init_score, exposure)

    def _of_rows(self, method: str, X: Any, *start: Any) -> Any:
        """Return what a method of interpret gives for rows; of a Dask collection lazily."""
        if is_dask(X):
            return interpret_api.predict_lazily(self, method, X, *start)
        return getattr(super(), method)(self._readable(X), *start)

    def predict_with_uncertainty(self, X: Any, init_score: Any = None, exposure: Any = None) -> Any:
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
        exposure : array-like, shape (n_rows,), default=None
            Under a log link: its logarithm is added to the score.

        Returns
        -------
        ndarray of float64, shape (n_rows, 2), or (n_rows, 2, n_classes) for more than two classes
        """
        init_score = self._start(init_score, exposure)
        if is_dask(X):
            return interpret_api.predict_lazily(self, "predict_with_uncertainty", X, init_score)
        rows = self._readable(X)
        scores = super()._predict_score(rows, init_score)
        deviations = [d for d in self.standard_deviations_ if d is not None]
        if len(deviations) < len(self.standard_deviations_):
            return np.stack([scores, np.full_like(scores, np.nan)], axis=1)
        variance = self._looked_up(rows, [d**2 for d in deviations]).sum(axis=1)
        return np.stack([scores, np.sqrt(variance)], axis=1)

    def predict_survival(
        self, X: Any, times: Any = None, confidence: float = 0.95
    ) -> SurvivalCurves:
        """Return curves of survival of a fit with ``objective="survival_cox"``.

        Bands hold the noise of scores, and noise and sampling error of the cumulative hazard. Not
        in them is what bins and shrinkage do to curves (docs/counts_costs_times.md).

        Parameters
        ----------
        X : DataFrame, array or list of rows, shape (n_rows, n_features)
            Rows to predict; nothing protects them, and nothing is charged.
        times : array-like of float, shape (n_times,), default=None
            From 0 to the target's upper bound; None: 33 of them.
        confidence : float, default=0.95
            Of the bands.

        Returns
        -------
        SurvivalCurves
            A named tuple of ``times``, shape (n_times,), and of ``survival``, ``lower`` and
            ``upper``, each of shape (n_rows, n_times).

        Raises
        ------
        TypeError, ValueError
            If the model is none of survival, ``X`` is a Dask collection, or an argument is out of
            range.
        """
        check_is_fitted(self, self._model_attribute)
        if is_dask(X):
            raise TypeError("X is a Dask collection; pass rows in memory, such as X.compute().")
        scores = self.predict_with_uncertainty(X)
        return survival_curves(*self.released_.baseline_of_times, scores, times, confidence)

    def _looked_up(self, rows: Any, tables: list[Any]) -> Any:
        """Return each row's entry in tables that are shaped as ``term_scores_``.

        interpret's look-up of scores serves for any figures of bins.
        """
        probe = copy.copy(self)
        probe.term_scores_ = tables
        return super(PrivateEBM, probe).eval_terms(rows)

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
            n_classes) for more than two classes, in the units of scores. Where shap is not
            installed, an :class:`~interpret_dp.ebm.interpret_api.AdditiveShapValues` with the same
            attributes.
        """
        rows = self._readable(X)
        return interpret_api.shap_values(self, rows, functools.partial(self._looked_up, rows))

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
            np.stack([interpret_api.table_of(model, term, draw) for draw in term.sample(n, rng)])
            for term in model.terms
        ]

    def eval_terms(self, X: Any) -> Any:
        """Return each term's score, pairs included, shape (n_rows, n_terms).

        Parameters
        ----------
        X : DataFrame, array or list of rows, shape (n_rows, n_features)
        """
        return self._of_rows("eval_terms", X)

    # ------------------------------------------------------------------------- explanations

    @property
    def privacy_spend_(self) -> PrivacySpend:
        """The cost of any explanation of this model, with the ledger's figures as of now."""
        spend, model = super().privacy_spend_, self.released_
        return dataclasses.replace(spend, edits=len(model.edits), average=average_sentence(model))

    def explain_global(self, name: str | None = None) -> Any:
        """Return the shape functions and importances; costs nothing, with ``.privacy``.

        Parameters
        ----------
        name : str, default=None
            Title in the dashboard.
        """
        check_is_fitted(self, self._model_attribute)
        shown: Any = copy.copy(self)
        classes: Any = getattr(self, "classes_", ())
        if len(classes) > 2:
            # Of more than two classes interpret would leave out pairs.
            shown.classes_, shown.term_importances = classes[:2], self.term_importances
        explanation = super(PrivateEBM, shown).explain_global(name)
        for part in explanation.data(-1)["specific"]:
            if "meta" in part:
                part["meta"]["label_names"] = classes.tolist()
        return self._with_privacy(explanation)

    def _with_privacy(self, explanation: Any) -> Any:
        """Return interpret's explanation with its cost, editor and planner."""
        open_session = functools.partial(interpret_api.shared_session, build=self._build)
        return attach_privacy(
            explanation, self.privacy_spend_, self.to_released(), open_session, plan
        )

    def explain_local(
        self,
        X: Any,
        y: Any = None,
        name: str | None = None,
        init_score: Any = None,
        exposure: Any = None,
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
        exposure : array-like, shape (n_rows,), default=None
            Under a log link, what predictions are multiplied by; by default 1.
        """
        init_score = self._start(init_score, exposure)
        rows = self._readable(X)
        classes = getattr(self, "classes_", None)
        actual = None if y is None else interpret_api.actual_values(y, classes)
        shown: Any = copy.copy(self)
        if classes is not None:
            shown.classes_ = interpret_api.labels_in_explanations(classes)
        explanation = super(PrivateEBM, shown).explain_local(rows, actual, name, init_score)
        private = self._with_privacy(explanation)
        private.explained = rows, y, name, init_score
        if classes is None or len(classes) < 2:
            return private
        return private.with_decisions(self.predict_with_uncertainty(X, init_score))

    # -------------------------------------------------------------------------------- files

    def to_released(self) -> AdditiveModel:
        """Return the model as it is now, edits by interpret's methods included."""
        check_is_fitted(self, self._model_attribute)
        base, names = self.released_, self.feature_names_in_
        has_one_class = base.classes is not None and len(base.classes) == 1
        fitted = dict(zip(base.term_names, base.terms, strict=True))
        terms = []
        for indices, scores, weights in zip(
            self.term_features_, self.term_scores_, self.bin_weights_, strict=True
        ):
            original = fitted[" & ".join(names[index] for index in indices)]
            feature, partner = (*indices, None)[:2]
            if partner is not None:
                scores, weights = scores.reshape(weights.size, *scores.shape[2:]), weights.ravel()
            is_as_fitted = np.array_equal(scores, original.scores)
            # What is known of its noise is kept only while its scores are those of the fit.
            known: dict[str, Any] = {"covariance": None}
            if is_as_fitted:
                known = {name: getattr(original, name) for name in interpret_api.NOISE}
            before = original.released or (None if is_as_fitted else original)
            if before is not None:
                moved = np.zeros(len(base.intercept)) if original.moved is None else original.moved
                before = dataclasses.replace(before, feature=feature, partner=partner)
                known |= {"released": before, "moved": moved}
            terms.append(AdditiveTerm(feature, scores, weights, partner=partner, **known))
        declared = base.schema
        model = dataclasses.replace(
            base,
            schema=dataclasses.replace(
                self._current_schema(), target=declared.target, unit=declared.unit
            ),
            features=self._current_features(),
            terms=tuple(terms),
            # That of a model with one class is interpret's sign, minus infinity.
            intercept=base.intercept if has_one_class else np.ravel(self.intercept_),
            guarantee=self.guarantee_,
            correlations=tuple(
                entry for entry in base.correlations if set(entry[:2]) <= set(names)
            ),
            clipped=tuple(entry for entry in base.clipped if entry[0] in (*names, None)),
        )
        note_file(model, file_of(base))
        return model

    def _current_features(self) -> tuple[AdditiveFeature, ...]:
        """Return the features that are still in the model, with their bins."""
        known = self.schema_.features
        # interpret's sweep takes the bins of a feature without a term away.
        return tuple(
            AdditiveFeature(
                name,
                known[name],
                (bins[0] if bins else np.zeros(0)) if kind == "continuous" else None,
                bins[1] if kind == "continuous" and len(bins) > 1 else None,
            )
            for name, kind, bins in zip(
                self.feature_names_in_, self.feature_types_in_, self.bins_, strict=True
            )
        )

    @property
    def _build(self) -> Callable[[AdditiveModel], Self]:
        """What makes estimators of released models; explanations keep it, and not the estimator."""
        return functools.partial(type(self).from_released, ledger=self.ledger)

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

        session = EditSession(self.to_released(), self._build, author=author, autosave=autosave)
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
        check_is_fitted(self, self._model_attribute)
        names = self.feature_names_in_
        dropped = interpret_api.positions_of(features, names)
        places_of_terms = [
            place for place, term in enumerate(self.term_features_) if dropped.intersection(term)
        ]
        gone = [self.term_names_[place] for place in places_of_terms]
        self.remove_terms(places_of_terms)
        who = login_name()
        records = [EditRecord.of_now(name, "removed with its feature", who) for name in gone]
        edits = (*self.released_.edits, *records)
        self.released_ = dataclasses.replace(self.released_, edits=edits)
        kept = [index for index in range(len(names)) if index not in dropped]
        places = {index: place for place, index in enumerate(kept)}
        self.term_features_ = [tuple(places[k] for k in term) for term in self.term_features_]
        for attribute in ("bins_", "feature_names_in_", "feature_types_in_"):
            setattr(self, attribute, [getattr(self, attribute)[index] for index in kept])
        self.feature_bounds_ = self.feature_bounds_[kept]
        self.n_features_in_ = len(kept)
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
        super().save(path)
        note_file(self.released_, path)

    def to_tables(self) -> dict[str, pd.DataFrame]:
        """Return one lookup table a term, and one with the intercept and the link.

        See :func:`interpret_dp.released.additive_model.lookup_tables` for the columns.
        """
        return lookup_tables(self.to_released())

    def rating_table(self) -> pd.DataFrame:
        """Return the factors whose product is a prediction, one row a level; costs nothing.

        For log links and two classes. See :func:`interpret_dp.released.rating.rating_table` for
        the columns and the errors.
        """
        return rating_table(self.to_released())

    def save_rating_table(self, path: str | os.PathLike[str]) -> None:
        """Write :meth:`rating_table` with the guarantee's sentence, as CSV or Excel.

        See :func:`interpret_dp.released.rating.save_rating_table` for both forms and the errors.

        Parameters
        ----------
        path : str or path-like
            Ends in ``.csv`` or, with the extra ``excel``, in ``.xlsx``.
        """
        save_rating_table(self.to_released(), path)

    def to_interpret(self) -> ExplainableBoostingClassifier | ExplainableBoostingRegressor:
        """Return interpret's own model with the same curves, for tools that ask for its class.

        Costs no privacy. The result is a copy without ledger and schema: edit before. Its
        ``privacy_guarantee_`` (str) is the guarantee's sentence, which interpret's ``to_json`` and
        ``merge_ebms`` leave out. Nobody promises anything of a model that was merged with another.

        Of the constructor's parameters ``feature_names``, ``interactions`` and ``objective`` are
        set. ``histogram_weights_`` are the released weights of bins, spread evenly, and
        ``unique_val_counts_`` are numbers of bins: how many values differ in the rows is private.

        Returns
        -------
        interpret.glassbox.ExplainableBoostingClassifier or ExplainableBoostingRegressor
            Of the same task.

        Raises
        ------
        ValueError
            If the model knows one class alone, which has no scores.

        Notes
        -----
        It predicts the same of DataFrames of pandas with the columns of the fit; missing cells,
        undeclared levels and numbers beyond the bounds included. A model that was fitted with
        ``init_score`` needs it there too. But interpret reads rows by another rule:

        - the text ``"1"`` is the level 1, and the number 1 is the level ``"1"`` (here undeclared);
        - in a continuous column, text that is no number is undeclared, and so are booleans among
          other objects (here missing, and 0 or 1);
        - bytes are text (here undeclared);
        - columns match by their order where a name is unknown (here an error).

        With `ebm2onnx <https://github.com/interpretml/ebm2onnx>`_ the model becomes an ONNX file,
        which can hold the sentence::

            graph = ebm2onnx.to_onnx(model.to_interpret(), {"age": "double", "sex": "str"})
            onnx.helper.set_model_props(graph, {"privacy_guarantee": model.guarantee_.sentence})
            onnx.save_model(graph, "model.onnx")

        There a missing text is ``"nan"``, and bools are of the type ``"int"``. ebm2onnx 3.3.1
        returns the logarithm of the prediction under a log link, refuses pairs of a regression,
        and fails where a feature has no term: ``model.sweep(features=True)`` drops such features.

        Examples
        --------
        >>> from interpret_dp import DPExplainableBoostingClassifier
        >>> from interpret_dp.datasets import make_cohort
        >>> patients = make_cohort(500)
        >>> model = DPExplainableBoostingClassifier(schema=patients.schema, max_rounds=2)
        >>> model.fit(patients.X, patients.y).to_interpret().privacy_guarantee_[:18]
        'For any two tables'
        """
        model = self.to_released()
        return interpret_api.interpret_model(self._with_model(model), model)

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

        Returns
        -------
        dict
            Added are, for each feature, ``num_unique_vals`` (its number of bins: how many values
            differ in the rows is private), for a continuous one ``histogram_weights`` (the released
            weights spread evenly within each bin), for terms that were edited standard deviations
            of NaN and the scores themselves as the only bag. Parameters become plain JSON values.
        """
        document: dict[str, Any] = super().to_jsonable(detail)
        inner = document["ebm"]
        if "implementation_params" in inner:
            inner["implementation_params"] = plain_value(inner["implementation_params"])
        if sentence := self.guarantee_.state_sentence:
            inner["promise"] = sentence
        if detail == "minimal":
            return document
        # Not of a released model, which holds finite scores: a person may have set one to NaN.
        features = self._current_features()
        terms = zip(self.term_features_, self.bin_weights_, strict=True)
        weights = {indices[0]: own for indices, own in terms if len(indices) == 1}
        for index, (entry, feature) in enumerate(zip(inner["features"], features, strict=True)):
            entry.setdefault("num_unique_vals", feature.n_codes - 2)
            if isinstance(feature.spec, Continuous):
                own = weights.get(index)
                histogram = interpret_api.histogram_of(feature, own, self.released_.n_rows)
                entry.setdefault("histogram_weights", histogram.tolist())
        for entry in inner["terms"]:
            scores = np.array(entry["scores"])
            entry.setdefault("standard_deviations", np.full(scores.shape, "nan").tolist())
            if detail != "interpretable":
                entry.setdefault("bagged_scores", [entry["scores"]])
        return document

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
    def _parameters_of(cls, model: AdditiveModel) -> Mapping[str, Any]:
        """Return the constructor's parameters that a released model holds."""
        if model.task != cls._task:
            raise ValueError(
                f"The model is a {model.task}; {cls.__name__} holds a {cls._task}. Use "
                "interpret_dp.load_model(path), which finds the class."
            )
        check_keys("parameters of the model", model.parameters, (), interpret_api.SAVED_PARAMETERS)
        return model.parameters


class DPExplainableBoostingClassifier(PrivateEBM, _InterpretClassifier):
    """Differentially private explainable boosting classifier, for two classes and more.

    Subclasses interpret's class of the same name and can take its place: same constructor
    parameters, same fitted attributes, same explanations.

    Parameters
    ----------
    feature_names : list of str, default=None
        Names of the columns; by default those of the DataFrame.
    feature_types : list, default=None
        For each column ``"continuous"``, ``"nominal"``, ``"ordinal"``, a list of ordered levels, or
        ``"auto"`` or None: then its dtype says whether it holds numbers. ``schema`` says the same
        and more.
    max_bins : int, default=64
        Most bins of a continuous feature, 2 to 65,535. Noisy counts merge bins, so fewer remain at
        small epsilon.
    exclude : list of str, int or 1-tuples of them, or pairs, default=None
        Features that get no term; they cost nothing. Pairs that are not to be chosen.
    validation_size, outer_bags
        Only 0 and 1: the noise is known, so error bands need no held-out rows and no bags, which
        would divide the budget.
    learning_rate : float, default=None
        Score per unit of mean residual that one update moves. None: by a rule in public numbers
        (:class:`interpret_dp.ebm.config.TrainerConfig`).
    max_rounds : int, default=None
        Rounds of boosting; the second half's extrapolated iterates are averaged.
        None: by the rule.
    max_leaves : int, default=None
        Leaves of each round's partition of an ordered feature. None: by the rule.
    n_jobs : int, default=-1
        Threads that sum over rows, as joblib counts them. The result does not depend on it.
    random_state : int, default=None
        For tests only: any value but None voids the promise, with a warning.
    epsilon, delta : float, default=1.0, 1e-5
        The promise for everything that the fit publishes.
    composition : {"gdp", "classic"}, default="gdp"
        ``"gdp"`` composes Gaussian releases exactly. ``"classic"`` is the strong composition
        formula of the paper: more noise for the same promise.
    bin_budget_frac : float, default=0.1
        Share of the budget (of mu squared) for the histograms: half for finding bins, half for
        counting the rows of each.
    privacy_bounds : array of shape (n_features, 2) or mapping, default=None
        Public (minimum, maximum) of the continuous columns, as interpret takes them.
    privacy_weight_max : float, default=None
        Public maximum of ``sample_weight``. None: estimated privately if weights are given, out of
        the fit's budget.
    neighboring : {"add_or_remove_one", "replace_one"}, default="add_or_remove_one"
        Which tables are neighbours: those that differ by the presence of one unit, or by its
        content. The second is the weaker promise per epsilon as defined here (it does not hide
        how many units there are) and needs up to twice the noise.
    monotone_constraints : list of int, or mapping of str to int, default=None
        1 for a column whose curve is to increase, -1 to decrease, 0 for any shape: one entry a
        column, as interpret takes them, or by name, as scikit-learn does. After each round such a
        curve is replaced by the nearest monotone one, which costs no privacy and removes noise; its
        missing and unseen bins have no place in the order. For two classes and regressions, and
        columns that have an order.
    schema : Schema, default=None
        Public declaration of the columns and of the class labels. Whatever neither it nor the
        arguments above declare is released privately, out of the fit's budget: frequent levels
        and labels with a tenth of delta, rough bounds without (docs/proofs). Up to 12.5 % of the
        budget (of mu squared) goes there: 7.5 % to columns, and 2.5 % each to the target and to an
        unknown ``privacy_weight_max``. What is declared costs nothing and is exact. Columns of
        numbers are taken as continuous and all others as nominal, by their dtype.
    ledger : PrivacyLedger or str, default=None
        Where the fit is charged; a string is the ledger's URL. None: the in-memory ledger of the
        process, which records without a limit while it has no budget.
        A cross-validation of scikit-learn charges each fold, and no fold knows of the next: compare
        ``ledger.remaining(dataset, delta)`` with the cost of all folds before.
    dataset : str, default=None
        Name of the data set in the ledger; required with a ledger. Without one it is written into
        the guarantee, and nothing is kept.
    verbose : bool, default=False
        Show a progress bar with rounds and time, never a loss.
    interactions : list of pairs, int, float or str, default=0
        Pairs of features that get a heat map of their own, as interpret's other EBMs take them:
        ``[("age", "bmi"), (0, 3)]`` by name or index, which costs nothing to choose; or a number
        of them, a share of the number of features (0.5) or a multiple (``"3x"``), chosen privately
        for 5 % of the boosting's budget. Every pair takes a share of the budget as a term does,
        and so from all other terms: the default is none, since noise is what limits a private
        fit. Its grid is coarse, by a rule in released numbers. Categorical features need at most 64
        declared levels.
    backend : {"auto", "local", "dask"}, default="auto"
        Where rows are summed. ``"dask"`` takes Dask DataFrames and arrays, on the workers of the
        current ``distributed`` client or, without one, on threads of this process; needs the
        extra ``dask``. ``"auto"`` takes it for Dask collections, and this process's memory for all
        else. Noise is drawn here in any case, and the result does not depend on it.
    population : {"rows", "people"}, default="rows"
        Whom the model speaks of where ``schema.unit`` is declared. ``"rows"``: of the rows that
        ``max_rows`` leaves, and on average of up to ``total_rows`` rows a person.
        ``"people"``: of people, whose rows have a weight of 1 together; noise then does not grow
        with ``max_rows``. All columns must be declared.
    classes : sequence of str, int, float or bool, default=None
        The class labels, where ``schema`` does not declare the target. They must be public
        knowledge, and then cost nothing.

    Attributes
    ----------
    guarantee_ : Guarantee
        The promise, its assumptions, and the ledger's head.
    released_ : AdditiveModel
        Everything the fit published, as one immutable value.
    schema_ : Schema
        The declaration in force.
    boosting_record_ : tuple of tuple of TermUpdate
        For each feature's term, the public record of every round: partition, step and
        noise.
    pair_record_ : tuple of ndarray
        For each pair, the gain of its cells, which is that of every round.
    classes_ : ndarray of shape (n_classes,)
        The declared labels, or those found privately, sorted.
    standard_deviations_ : list of ndarray
        Root of the expected squared distance of each score from that of the same fit without noise:
        right on average over bins, and wide for levels with too few rows. Bands that are right in
        each bin are ``band()`` of each of ``released_.terms``, and the deviation of the noise
        itself is ``noise_deviations``.
    bin_weights_, bag_weights_ : list of ndarray, ndarray
        Released (noisy) numbers of rows.
    noise_scale_binning_, noise_scale_boosting_ : float
        Standard deviation of the noise of the weight of a bin (in rows; up to 1.4 times as much for
        one that was merged of many fine ones) and of a sum of the last rounds (in score).
    total_error_ : float or None
        Of a regression: standard deviation of the mean prediction about the rows' mean.

    Notes
    -----
    Nori et al. (2021), with the corrections of docs/proofs. Private: the rows, their number, and
    which levels occur. Released: every fitted attribute.

    Examples
    --------
    >>> from interpret_dp import DPExplainableBoostingClassifier, PrivacyLedger
    >>> from interpret_dp.datasets import make_cohort
    >>> patients = make_cohort(2_000)
    >>> ledger = PrivacyLedger.in_memory()
    >>> budget = ledger.create_budget("ward", epsilon=4, delta=1e-6)
    >>> model = DPExplainableBoostingClassifier(
    ...     epsilon=1.0, delta=1e-6, schema=patients.schema, ledger=ledger, dataset="ward"
    ... ).fit(patients.X, patients.y)
    >>> model.predict_proba(patients.X[:3]).shape
    (3, 2)
    >>> model.guarantee_.epsilon, round(ledger.remaining("ward"), 3)
    (1.0, 3.798)
    """

    _task = "classification"

    @with_substitutes
    def __init__(
        self,
        feature_names: Sequence[str | None] | None = None,
        feature_types: FeatureTypes | None = None,
        max_bins: int = 64,
        exclude: Sequence[Any] | None = None,
        validation_size: int | float | None = 0,
        outer_bags: int = 1,
        learning_rate: float | None = None,
        max_rounds: int | None = None,
        max_leaves: int | None = None,
        n_jobs: int | None = -1,
        random_state: int | None = None,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        composition: str = "gdp",
        bin_budget_frac: float = 0.1,
        privacy_bounds: Bounds | None = None,
        privacy_weight_max: float | None = None,
        neighboring: str = "add_or_remove_one",
        monotone_constraints: Constraints | None = None,
        schema: Schema | None = None,
        ledger: PrivacyLedger | str | None = None,
        dataset: str | None = None,
        verbose: bool = False,
        interactions: Interactions = 0,
        backend: str = "auto",
        population: str = "rows",
        classes: Sequence[Any] | None = None,
    ) -> None:
        parameters = locals()
        super().__init__()
        self._keep(parameters)

    def predict_proba(self, X: Any, init_score: Any = None) -> Any:
        """Return class probabilities, shape (n_rows, n_classes); cells are read by the schema.

        Parameters
        ----------
        X : DataFrame, array or list of rows, shape (n_rows, n_features)
            Rows to predict; nothing protects them, and nothing is charged.
        init_score : array-like, shape (n_rows,), default=None
            Scores to start from, as interpret's estimators take them.
        """
        return self._of_rows("predict_proba", X, init_score)

    def decision_function(self, X: Any, init_score: Any = None) -> Any:
        """Return logits of the second class, shape (n_rows,), or of all of more classes.

        Parameters
        ----------
        X : DataFrame, array or list of rows, shape (n_rows, n_features)
            Rows to predict; nothing protects them, and nothing is charged.
        init_score : array-like, shape (n_rows,), default=None
            Scores to start from, as interpret's estimators take them.
        """
        return self._of_rows("decision_function", X, init_score)


@interpret_api.with_parameters_of(DPExplainableBoostingClassifier)
class DPExplainableBoostingRegressor(PrivateEBM, _InterpretRegressor):
    """Differentially private explainable boosting regressor.

    Subclasses interpret's class of the same name and can take its place. Residuals are clipped at
    0.75 to 1.75 released standard deviations of the target, fewer where there is more noise, and
    at half of its range at most (interpret's own class bounds the residual by the range, which does
    not hold: docs/proofs/dp_ebm.md).

    Parameters
    ----------
    privacy_target_min, privacy_target_max : float, default=None
        Public bounds of the target; ``schema`` with a Continuous target says the same.
    privacy_exposure_max : float, default=None
        Public maximum of ``exposure``; required where exposures are given.
    objective : str, default="rmse"
        What is minimised, by interpret's names: ``"rmse"`` for any number, ``"poisson_deviance"``
        for counts, ``"gamma_deviance"`` for positive amounts, ``"tweedie_deviance"`` for amounts of
        which many are zero, such as claims, and ``"quantile"`` for a quantile. The last two have a
        parameter: ``"tweedie_deviance:variance_power=1.5"``, the power of the mean to which the
        variance is in proportion, between 1 and 2; and ``"quantile:alpha=0.5"``, the share of the
        rows below their prediction. Deviances have scores that are logarithms: terms multiply the
        mean, and ``predict`` returns means. ``"poisson"``, ``"gamma"`` and ``"tweedie"``, as
        interpret's development branch calls them, mean the same, and so do the names of losses of
        your own (:func:`interpret_dp.ebm.losses.register_loss`). Targets outside the bounds count
        as the bounds, which must not be negative; for gamma deviance the lower one must be declared
        above 0. Residuals are clipped, by released histograms of the target: those of counts and
        amounts at a multiple of its standard deviation, those of gamma deviance at twice the mean.
        Those of a quantile are ``alpha`` at most or ``alpha - 1`` at least; no mean or total is
        promised, ``predict`` returns the quantile, and a warning says if many rows seem to have one
        value. ``"survival_cox"`` is for times until an event, negative where a row was censored:
        the bounds are minus the latest time and that, ``predict`` returns hazard ratios, and
        :meth:`predict_survival` curves. From times in whole months or years subtract half of one:
        a row counts up to its time. A given ``learning_rate`` is the share of a Newton step.

    Attributes
    ----------
    min_target_, max_target_ : float
        The declared bounds, or those found privately.
    link_ : {"identity", "log"}
        Scale of the scores.

    See Also
    --------
    DPExplainableBoostingClassifier : All other attributes are alike.

    Examples
    --------
    >>> from interpret_dp import DPExplainableBoostingRegressor
    >>> from interpret_dp.datasets import make_cohort
    >>> patients = make_cohort(2_000, task="regression")
    >>> model = DPExplainableBoostingRegressor(epsilon=1.0, delta=1e-6, schema=patients.schema)
    >>> model.fit(patients.X, patients.y).predict(patients.X[:3]).shape
    (3,)
    >>> float(model.min_target_), float(model.max_target_)  # declared, not looked up
    (0.0, 50000.0)
    """

    _task = "regression"

    @with_substitutes
    def __init__(
        self,
        feature_names: Sequence[str | None] | None = None,
        feature_types: FeatureTypes | None = None,
        max_bins: int = 64,
        exclude: Sequence[Any] | None = None,
        validation_size: int | float | None = 0,
        outer_bags: int = 1,
        learning_rate: float | None = None,
        max_rounds: int | None = None,
        max_leaves: int | None = None,
        n_jobs: int | None = -1,
        random_state: int | None = None,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        composition: str = "gdp",
        bin_budget_frac: float = 0.1,
        privacy_bounds: Bounds | None = None,
        privacy_target_min: float | None = None,
        privacy_target_max: float | None = None,
        privacy_weight_max: float | None = None,
        neighboring: str = "add_or_remove_one",
        monotone_constraints: Constraints | None = None,
        objective: str = "rmse",
        schema: Schema | None = None,
        ledger: PrivacyLedger | str | None = None,
        dataset: str | None = None,
        verbose: bool = False,
        interactions: Interactions = 0,
        backend: str = "auto",
        population: str = "rows",
        privacy_exposure_max: float | None = None,
    ) -> None:
        parameters = locals()
        super().__init__()
        self._keep(parameters)

    def score(self, X: Any, y: Any, sample_weight: Any = None, exposure: Any = None) -> float:
        """Return R squared on public rows, as other estimators' ``score`` does.

        Of a model of survival Harrell's concordance of hazard ratios and times.

        Parameters
        ----------
        X : as ``predict`` takes it, shape (n_rows, n_features)
        y : array-like, shape (n_rows,)
        sample_weight : array-like, shape (n_rows,), default=None
        exposure : array-like, shape (n_rows,), default=None
            Required of a model that was fitted with exposures.

        Raises
        ------
        ValueError
            If the model was fitted with exposures, and none are given.
        """
        check_is_fitted(self, self._model_attribute)
        if self.released_.baseline is not None:
            self._note_score()
            return interpret_api.concordance_score(y, self.predict(X), sample_weight, exposure)
        if exposure is None and self.released_.exposure is not None:
            raise ValueError("The model was fitted with exposures. Pass exposure=...")
        if exposure is None:
            return super().score(X, y, sample_weight)
        from sklearn.metrics import r2_score

        predicted = self.predict(X, exposure=exposure)
        self._note_score()
        return float(r2_score(y, predicted, sample_weight=sample_weight))


def from_document(
    document: Any, ledger: PrivacyLedger | str | None
) -> DPExplainableBoostingClassifier | DPExplainableBoostingRegressor:
    """Return the estimator of an additive model's document.

    Raises
    ------
    ValueError
        If the document is not such a model, or is incomplete or contradicts itself.

    Warns
    -----
    UserWarning
        If it is a regression without a released total, as of older versions.
    """
    model = AdditiveModel.from_dict(document)
    objective = str(model.parameters.get("objective", "rmse")).removesuffix("_deviance")
    fits_mean = model.task == "regression" and objective in ("rmse", "poisson", "gamma")
    if fits_mean and model.total_error is None:
        warn_caller(
            "This regression released no total, as versions before 0.2.0.dev2 did not. Where few "
            "rows hold much of the total, as of costs, its predictions add up to too little, by up "
            "to a half. Compare their sum with a total that you know before you use it.",
        )
    if model.task == "classification":
        return DPExplainableBoostingClassifier.from_released(model, ledger)
    return DPExplainableBoostingRegressor.from_released(model, ledger)
