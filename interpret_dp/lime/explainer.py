"""DPLimeTabular: private local explanations of any black box, out of a budget that lasts."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from interpret_dp._interpret import explainer_base
from interpret_dp._validate import check_choice, check_int
from interpret_dp.accounting.composition import GdpPair
from interpret_dp.accounting.gaussian import epsilon_of_mu
from interpret_dp.accounting.guarantee import Guarantee
from interpret_dp.lime.asked import AskedRows, actual_values, ask_model
from interpret_dp.lime.building import Charging, Opening, open_engine
from interpret_dp.lime.cost import ExplanationCost
from interpret_dp.lime.history import History
from interpret_dp.lime.labels import black_box
from interpret_dp.lime.opening import open_model_rows
from interpret_dp.lime.partitioned import PartitionedData
from interpret_dp.lime.promise import explainer_guarantee, model_promise, warn_of_two_names
from interpret_dp.lime.records import Effects, effects_of, mean_absolute, origin_of, record
from interpret_dp.lime.settings import (
    METHODS,
    checked_flag,
    checked_schema,
    checked_settings,
    output_bounds_of,
)
from interpret_dp.lime.weighting import WeightFunction
from interpret_dp.schema import Continuous, Schema

if TYPE_CHECKING:
    from interpret_dp.explanation.spend import PrivacySpend
    from interpret_dp.ledger import PrivacyLedger
    from interpret_dp.lime.surrogate import Surrogate

__all__ = ["DPLimeTabular"]

_FREE = "post-processed"

_COPY = (
    "An explainer holds private rows and a budget, of which a copy could spend as much again; it "
    "can be neither copied nor pickled. Keep the explanations, which are public but for the rows "
    "that they explain, or make a new explainer: it is charged to the same ledger."
)


class DPLimeTabular(explainer_base()):  # type: ignore[misc]
    """Differentially private local explanations of a black box.

    In the place of ``interpret.blackbox.LimeTabular``: the explanation data may be private. Around
    each row that is asked about, a linear function is fitted to what the model says of the
    explanation data, with noise that hides whether any one person is in it.

    Parameters
    ----------
    model : object
        With ``predict_proba`` or ``predict``, or callable on rows. It is asked about the private
        rows once, inside this process.
    data : DataFrame, pyarrow.Table, ndarray, sparse matrix or list of rows
        Private explanation data, shape (n_rows, n_columns), as the model takes it; images also as
        (n_rows, height, width). Of a Dask DataFrame or array the workers ask the model, which is
        pickled to them, and return sums; for all methods but "surrogate".
    feature_names : sequence of str, default=None
        Names of the columns of data without names; or the columns to explain.
    feature_types : sequence of {"continuous", "nominal", "ordinal", None}, default=None
        As interpret's; the schema decides, and a contradiction is an error.
    schema : Schema
        Bounds of numbers and levels of categories, which must be public; required.
        ``Schema.draft`` writes one from a public table. Its ``unit`` names the column that says
        which rows are one person's.
    epsilon, delta : float, default=1.0 and 1e-6
        The promise for everything that this explainer ever releases.
    ledger : PrivacyLedger or str, default=None
        Where each request is charged; None: the in-memory ledger of the process.
    dataset : str, default=None
        Name of the people's data set in the ledger; required with a ledger.
    method : str, default="auto"
        "statistics" releases the weighted second moments around a row once and solves for the
        explanation; "interactive" is the paper's noisy gradient descent, for inputs too wide for
        that; "adaptive" and "enhanced" take explanations over from near rows and start from good
        ones, so that later rows cost less; "non_interactive" computes from what was released, free;
        "surrogate" pays once for a private additive model of the black box, which explains every
        row for ever. "auto" is "statistics", or "interactive" for wide inputs; it never pays twice
        for one row, and falls back on "non_interactive" when the budget is spent.
    per_query : float, default=None
        Epsilon of one explanation that is computed in full, at ``delta``; None leaves room for a
        hundred.
    trained_on_same_people : bool
        Whether people in the explanation data were used to train the model; required, since the
        promise depends on it.
    model_guarantee : Guarantee or (epsilon, delta), default=None
        Under which the model was trained; taken from ``model.guarantee_`` where there is one.
    output_bounds : (lower, upper), default=None
        Public bounds of a regression's output; the schema's target is taken where it has bounds.
        None otherwise: outputs are probabilities.
    representation : {"values", "bins"}, default="values"
        Whether a number acts by its value, as in the paper, or by being in the row's own bin or
        not, as in LIME.
    n_bins : int, default=4
        How many bins "bins" makes of a number.
    centered : bool, default=True
        Explain by how much the model's output differs from that at the row itself. False:
        equation 1 of the paper as printed, whose linear function is 0 at the row, whatever the
        model says there: features that the model does not use then get effects.
    weight : {"stable", "exponential"} or callable, default="stable"
        Weight of a row by its distance, which runs from 0 to 1; cut to c / (2 d (d + 1)).
    c : float, default=0.5
        Sensitivity constant: larger ones count more near rows fully and add more noise.
    steps : int, default=300
        Gradients of a fully computed explanation, for the methods that descend.
    reuse_distance : float, default=None
        Up to this distance the adaptive methods take explanations over; None: a rule.
    n_rows : float, default=None
        Public number of rows. The adaptive methods need it and otherwise pay for an estimate.
    image_shape : (int, int), default=None
        Height and width, if rows are images: explanations are drawn as heat maps.
    neighboring : {"add_or_remove_one", "replace_one"}
    unit : array-like, shape (n_rows,), default=None
        Identifiers of people, where they are no column of ``data``.
    random_state : int, default=None
        For tests only: voids the promise.
    verbose : bool, default=False
        Show a progress bar.

    Attributes
    ----------
    guarantee_ : Guarantee
        Of everything that the explainer releases within its budget; says whom it is about.
    history_ : History
        What was released so far; public but for the rows that were asked about.
    surrogate_ : Surrogate or None
        The private additive model, once method "surrogate" was used.
    feature_names_in_, feature_types_in_ : list of str

    Raises
    ------
    TypeError, ValueError, SchemaError, LedgerError
        If an argument is of another form. Nothing was read or spent.

    Notes
    -----
    Patel, Shokri and Zick (2022), with the corrections of docs/proofs/dp_lime.md: their
    Algorithm 2 is not private as printed. It protects the people in ``data``, with the model taken
    as given. Rows that are asked about are not protected: they must be public, synthetic, the
    asker's own, or chosen from earlier explanations.

    Examples
    --------
    >>> from interpret_dp import DPLimeTabular
    >>> from interpret_dp.datasets import make_cohort
    >>> patients = make_cohort(1_000)
    >>> explainer = DPLimeTabular(
    ...     lambda X: X["age"].to_numpy() / 100,  # any model, or a function of rows
    ...     patients.X, schema=patients.schema, output_bounds=(0, 1), epsilon=1.0, per_query=0.3,
    ...     delta=1e-6, trained_on_same_people=False)
    >>> print(explainer.cost(3))  # doctest: +ELLIPSIS
    3 explanations by method 'auto' cost at most epsilon 0.54 at delta 1e-06. ...
    """

    available_explanations = ("local", "global")
    explainer_type = "blackbox"

    def __init__(
        self,
        model: Any,
        data: Any,
        feature_names: Sequence[str | None] | None = None,
        feature_types: Sequence[str | None] | None = None,
        *,
        trained_on_same_people: bool,
        schema: Schema | None = None,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        ledger: PrivacyLedger | str | None = None,
        dataset: str | None = None,
        method: str = "auto",
        per_query: float | None = None,
        model_guarantee: Guarantee | tuple[float, float] | None = None,
        output_bounds: tuple[float, float] | None = None,
        representation: str = "values",
        n_bins: int = 4,
        centered: bool = True,
        weight: str | WeightFunction = "stable",
        c: float = 0.5,
        steps: int = 300,
        reuse_distance: float | None = None,
        n_rows: float | None = None,
        image_shape: tuple[int, int] | None = None,
        neighboring: str = "add_or_remove_one",
        unit: Any = None,
        random_state: int | None = None,
        verbose: bool = False,
    ) -> None:
        settings = checked_settings(
            epsilon=epsilon,
            delta=delta,
            per_query=per_query,
            method=method,
            weight=weight,
            c=c,
            steps=steps,
            reuse_distance=reuse_distance,
            n_rows=n_rows,
            centered=centered,
            verbose=verbose,
        )
        self._same_people = checked_flag("trained_on_same_people", trained_on_same_people)
        self._schema = checked_schema(schema)
        self._image_shape, self._feature_names = image_shape, feature_names
        self.model = model
        self._engine = open_engine(
            black_box(model, output_bounds_of(output_bounds, self._schema, model)),
            data,
            settings,
            Opening(
                feature_names, feature_types, self._schema, representation, n_bins, image_shape
            ),
            Charging(ledger, dataset, neighboring, unit, random_state),
        )
        self._model_promise = model_promise(model, model_guarantee)
        warn_of_two_names(self._model_promise, self._same_people, self._engine.budget.dataset)
        self._lock = threading.Lock()
        self._shown: list[Effects] = []
        self.surrogate_: Surrogate | None = None
        features = self._engine.features
        self.feature_names_in_ = list(features.names)
        self.feature_types_in_ = [
            "continuous" if isinstance(spec, Continuous) else "nominal" for spec in features.specs
        ]

    # ------------------------------------------------------------------------------ explaining

    def explain_local(
        self,
        X: Any,
        y: Any = None,
        name: str | None = None,
        *,
        method: str | None = None,
        explained_class: Any = None,
    ) -> Any:
        """Explain what the model says of rows.

        Parameters
        ----------
        X : as ``data``, shape (n_queries, n_columns)
            The rows: public, synthetic, your own, or chosen from earlier explanations. Nothing
            protects them, and the explanation shows them.
        y : array-like, shape (n_queries,), default=None
            What came true, to be shown beside the prediction.
        name : str, default=None
            Of the explanation, in interpret's dashboard.
        method : str, default=None
            Of this batch; None: that of the explainer.
        explained_class : object, default=None
            The class whose probability is explained. None: the second of two classes, and the
            predicted one of more.

        Returns
        -------
        interpret's explanation
            With ``privacy``: what each row cost, where it comes from and what is left. Effects are
            in units of the explained output: over a number's whole range, or of having the row's
            level. Each has the standard error that the added noise causes.

        Raises
        ------
        TypeError, ValueError, SchemaError
            If an argument is of another form, or the model cannot read X. Nothing was spent.
        BudgetExceededError
            If the rows do not fit into the budget of the explainer or of the data set, and there
            is nothing to fall back on. Nothing was spent on the rows that it speaks of.
        ReleaseError
            If the computation failed. What was charged is in the message.
        """
        chosen = check_choice("method", method or self._engine.settings.method, METHODS)
        opened, _ = open_model_rows(
            X,
            feature_names=self._query_names(X),
            schema=self._schema,
            image_shape=self._image_shape,
            needs_unit=False,
        )
        engine = self._engine
        asked, outputs = ask_model(
            self.model,
            engine.data.box_for(opened.X),
            engine.features,
            opened,
            explained_class,
            centered=engine.settings.centered,
        )
        actual = np.full(len(asked), np.nan)
        if y is not None:
            actual = actual_values(y, outputs, asked.queries.outputs)
        with self._lock:
            shown, costs = self._answered(asked, chosen)
            self._shown += shown
            privacy = self._privacy(shown, costs)
        documents = [
            record(asked, row, one, engine.features, outputs, actual[row], self._image_shape)
            for row, one in enumerate(shown)
        ]
        from interpret_dp.explanation.local_objects import local_explanation

        return local_explanation(
            documents,
            privacy=privacy,
            name=name or type(self).__name__,
            feature_names=self.feature_names_in_,
            feature_types=self.feature_types_in_,
        )

    def explain_global(self, name: str | None = None) -> Any:
        """Summarise all explanations so far: free, and without the rows that were asked about.

        Parameters
        ----------
        name : str, default=None
            Of the explanation, in interpret's dashboard.

        Returns
        -------
        interpret's explanation
            Mean absolute effect of each feature over the explained rows, beside what noise alone
            would give, and how the effects of each feature are spread.

        Raises
        ------
        ValueError
            If nothing was explained yet.
        """
        with self._lock:
            shown = list(self._shown)
            privacy = self._privacy([], [])
        if not shown:
            raise ValueError(
                "Nothing was explained yet, so that there is nothing to summarise. Call "
                "explain_local(X) first, on rows that stand for those you care about."
            )
        from interpret_dp.explanation.local_objects import influence_explanation

        effects = np.array([one.effects for one in shown])
        errors = np.array([one.standard_errors for one in shown])
        return influence_explanation(
            self.feature_names_in_,
            self.feature_types_in_,
            mean_absolute(effects),
            mean_absolute(errors) * np.sqrt(2.0 / np.pi),
            np.nan_to_num(effects),
            privacy=privacy,
            name=name or type(self).__name__,
            image_shape=self._image_shape,
        )

    # -------------------------------------------------------------------------------- spending

    def cost(self, n_queries: int = 1, method: str | None = None) -> ExplanationCost:
        """Return what explanations would cost, before anything is spent.

        Parameters
        ----------
        n_queries : int, default=1
        method : str, default=None
            That of the explainer if None.
        """
        n_queries = check_int("n_queries", n_queries, low=1)
        chosen = check_choice("method", method or self._engine.settings.method, METHODS)
        budget = self._engine.budget
        with self._lock:
            left = budget.left_mu()
            n_left = budget.n_left(left)
            mu = budget.query_mu * np.sqrt(n_queries)
            fits = n_queries <= n_left
            if chosen == "non_interactive" or (chosen == "surrogate" and self.surrogate_):
                mu, fits = 0.0, True
            elif chosen == "surrogate":
                mu, n_left, fits = left, 0, left > 0
        return ExplanationCost(
            n_queries=n_queries,
            method=chosen,
            epsilon=epsilon_of_mu(mu, budget.delta) if mu else 0.0,
            delta=budget.delta,
            mu=float(mu),
            fits=fits,
            n_left=n_left,
            remaining_epsilon=epsilon_of_mu(left, budget.delta) if left else 0.0,
        )

    def remaining_queries(self) -> int:
        """Return how many more explanations, computed in full, fit into the budget.

        The smaller of what the explainer and what the data set's account have room for. Adaptive
        methods explain more rows than that.
        """
        with self._lock:
            return self._engine.budget.n_left()

    def __repr__(self) -> str:
        """Name what it explains with what promise; the rows stay out of it."""
        return f"<{type(self).__name__}: {self.guarantee_.brief}>"

    @property
    def guarantee_(self) -> Guarantee:
        """The promise for everything that the explainer releases within its budget."""
        engine = self._engine
        return explainer_guarantee(
            epsilon=engine.budget.epsilon,
            delta=engine.budget.delta,
            mu=engine.budget.mu,
            neighbourhood=engine.neighbourhood,
            model=self._model_promise,
            trained_on_same_people=self._same_people,
            ledger=engine.budget.ledger,
            dataset=engine.budget.dataset,
            head=engine.head,
            tests_only=engine.randomness().tests_only,
            on_dask=isinstance(engine.data, PartitionedData),
        )

    @property
    def history_(self) -> History:
        """What was released so far: a copy, since later explanations start from the explainer's."""
        return History(tuple(self._engine.history))

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        """Refuse copies and pickles."""
        raise TypeError(_COPY)

    # ---------------------------------------------------------------------------------- common

    def _answered(self, asked: AskedRows, method: str) -> tuple[list[Effects], list[float]]:
        """Return the explanation of each row and the mu that it cost."""
        if method == "surrogate":
            return self._answered_by_surrogate(asked)
        engine = self._engine
        explained = engine.answer(asked, method)
        shown = [
            effects_of(
                one, engine.features, self._engine.data.box, centered=engine.settings.centered
            )
            for one in explained
        ]
        return shown, [one.mu for one in explained]

    def _answered_by_surrogate(self, asked: AskedRows) -> tuple[list[Effects], list[float]]:
        """Read explanations off the surrogate, which the first call pays for."""
        costs = [0.0] * len(asked)
        if self.surrogate_ is None:
            costs[0] = self._engine.budget.left_mu()
            self.surrogate_ = self._engine.fit_surrogate(asked.labels.shape[1], self._promised)
        shown = self.surrogate_.explain(asked.rows.table, asked.queries.outputs)
        rows = zip(shown.effects, shown.standard_errors, shown.intercepts.tolist(), strict=True)
        found = [
            Effects(effects, errors, None, intercept, "surrogate", _FREE)
            for effects, errors, intercept in rows
        ]
        if costs[0]:
            # The first row bears the price of the surrogate, so that it is shown where it is paid.
            found[0] = dataclasses.replace(found[0], origin="released")
        return found, costs

    def _promised(self, guarantee: Guarantee) -> Guarantee:
        """Return a guarantee of the surrogate, with what is known of the black box."""
        own = self.guarantee_
        return dataclasses.replace(guarantee, scope=own.scope, assumptions=own.assumptions)

    def _query_names(self, X: Any) -> Sequence[str | None] | None:
        """Return the columns to open: the explained ones where X has names of its own."""
        has_names = not isinstance(X, list | tuple | np.ndarray) and not hasattr(X, "tocsc")
        return self.feature_names_in_ if has_names else self._feature_names

    def _privacy(self, shown: Sequence[Effects], costs: Sequence[float]) -> PrivacySpend:
        from interpret_dp.explanation.spend import PrivacySpend, QueryBudget, RowSpend

        budget = self._engine.budget
        left = budget.left_mu()
        remaining = epsilon_of_mu(left, budget.delta) if left else 0.0
        rows = tuple(
            RowSpend(
                epsilon_of_mu(mu, budget.delta) if mu else 0.0, one.origin, one.method, remaining
            )
            for one, mu in zip(shown, costs, strict=True)
        )
        mu = float(np.sqrt(np.square(costs).sum()))
        origins = {row.origin for row in rows}
        return PrivacySpend(
            guarantee=self.guarantee_,
            explanation_epsilon=epsilon_of_mu(mu, budget.delta) if mu else 0.0,
            origin=origin_of(origins),
            rows=rows,
            subject="explainer",
            queries=QueryBudget(GdpPair(budget.spent_mu), remaining, budget.n_left(left)),
            account=budget.ledger,
        ).as_of_now()
