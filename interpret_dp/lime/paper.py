"""PaperLimeTabular: the paper's algorithms as one explainer, which pays for each row."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from interpret_dp._validate import check_choice, check_flag, check_int, check_real
from interpret_dp._version import __version__
from interpret_dp.accounting.composition import GdpPair
from interpret_dp.accounting.gaussian import largest_mu, mu_of_budget
from interpret_dp.accounting.guarantee import DEFAULT_ASSUMPTIONS, Guarantee
from interpret_dp.accounting.plans import ReleasePlan
from interpret_dp.exceptions import BudgetExceededError, LedgerError, SchemaError
from interpret_dp.fitting.account import (
    account_of,
    checked_budget,
    neighbourhood_of,
    randomness_of,
    refuse_unnamed_unit,
)
from interpret_dp.fitting.rows import new_key
from interpret_dp.lime import adaptive
from interpret_dp.lime.adaptive import Explained, ExplanationData, Queries
from interpret_dp.lime.black_box import Floats, Labels, black_box
from interpret_dp.lime.coordinates import (
    Coordinates,
    WeightFunction,
    exponential_weight,
    stable_weight,
    weight_table,
)
from interpret_dp.lime.outputs import (
    ExplainedRows,
    OpenedRows,
    Outputs,
    conditional_guarantee,
    kind_of_container,
    open_model_rows,
    open_query_rows,
)
from interpret_dp.mechanisms import active_randomness
from interpret_dp.release import ReleaseRequest, ReleaseSession, request_assumptions
from interpret_dp.schema import Schema, interpret_type
from interpret_dp.schema.containers import kinds_of, refuse_mismatches
from interpret_dp.schema.units import kept_rows

if TYPE_CHECKING:
    from interpret_dp.ledger import PrivacyLedger


METHODS = ("interactive", "adaptive", "enhanced", "non_interactive")

_WEIGHTS: Mapping[str, WeightFunction] = {
    "stable": stable_weight,
    "exponential": exponential_weight,
}
_USUAL_QUERIES = 100
_MECHANISM = (
    "discrete Gaussian noise on integer sums over the explanation data, exactly sampled; the "
    "squares of mu of all requests add up"
)
_ASSUMPTION = (
    "what the model answers about a row depends on that row alone, and is the same whenever it is "
    "asked"
)
_ROUNDING = 1e-12


class PaperLimeTabular:
    """The explanations of Patel, Shokri and Zick (2022), for comparison.

    Around each explained row, a linear function is fitted to the model's predictions of all private
    rows, with noise that hides whether any one person is among them. Each explanation is paid
    for. For explanations that are closer to the model, and cost once, take
    :class:`~interpret_dp.DPLimeTabular`.

    Parameters
    ----------
    model : object
        With ``predict_proba`` or ``predict``, or callable on rows. It labels the private
        rows once, inside this process.
    data : DataFrame, pyarrow.Table, ndarray, sparse matrix or list of rows
        Private explanation data, shape (n_rows, n_columns), as the model takes it.
    feature_names : sequence of str, default=None
        Names of the columns of data without names; or the columns to explain.
    trained_on_same_people : bool
        Whether people in the explanation data were used to train the model.
    schema : Schema
        Bounds of numbers and levels of categories of every column.
    method : {"interactive", "adaptive", "enhanced", "non_interactive"}, default="interactive"
        Algorithm 1, 2, 3 or 4.
    epsilon, delta : float, default=1.0, 1e-6
        The promise for everything that this explainer ever releases.
    per_query : float, default=None
        Epsilon of one explanation that is computed in full, at ``delta``; None leaves room for a
        hundred.
    ledger, dataset, neighboring, unit, random_state
        As :class:`~interpret_dp.DPLimeTabular` takes them.
    output_bounds : (lower, upper), default=None
        Public bounds of a regression's output; None: outputs are probabilities.
    centered : bool, default=True
        Explain by how much the model's output differs from that at the row itself. False:
        equation 1 as printed, whose linear function is 0 at the row, even if the model's output is
        not: features that the model does not use then get effects.
    weight : {"stable", "exponential"} or callable, default="stable"
        Weight of a row by its distance, which runs from 0 to 1; cut to c / (2 d (d + 1)).
    c : float, default=0.5
        Sensitivity constant: larger ones count more near rows fully and add more noise.
    steps : int, default=300
        Gradients of an explanation that is computed in full.
    reuse_distance : float, default=0.06
        Up to this distance "adaptive" and "enhanced" take explanations over.
    n_rows : float, default=None
        Public number of rows. The adaptive methods need it and otherwise pay for an estimate.

    Attributes
    ----------
    guarantee_ : Guarantee
        Of everything that the explainer releases within its budget.
    history_ : tuple of Explained
        Explanations so far; public, except for the explained rows.

    Raises
    ------
    TypeError, ValueError, SchemaError, LedgerError
        If an argument is of another form. Nothing was read or spent.

    Notes
    -----
    With the corrections of docs/proofs/dp_lime.md: Algorithm 2 is not private as printed. The
    paper states no error of its explanations, and neither does this class.
    """

    def __init__(
        self,
        model: Any,
        data: Any,
        feature_names: Sequence[str | None] | None = None,
        *,
        trained_on_same_people: bool,
        schema: Schema,
        method: str = "interactive",
        epsilon: float = 1.0,
        delta: float = 1e-6,
        per_query: float | None = None,
        ledger: PrivacyLedger | str | None = None,
        dataset: str | None = None,
        output_bounds: tuple[float, float] | None = None,
        centered: bool = True,
        weight: str | WeightFunction = "stable",
        c: float = 0.5,
        steps: int = 300,
        reuse_distance: float = adaptive.DEFAULT_REUSE_DISTANCE,
        n_rows: float | None = None,
        neighboring: str = "add_or_remove_one",
        unit: Any = None,
        random_state: int | None = None,
    ) -> None:
        self.model = model
        self.method = check_choice("method", method, METHODS)
        self.centered = check_flag("centered", centered)
        self.steps = check_int("steps", steps, low=8, high=10**9, mend="The paper takes 300.")
        self.reuse_distance = check_real("reuse_distance", reuse_distance, low=0, high=1)
        self._same_people = check_flag("trained_on_same_people", trained_on_same_people)
        self._epsilon, self._delta = checked_budget(epsilon, delta)
        self._mu = largest_mu(self._epsilon, self._delta) * (1.0 - _ROUNDING)
        self._query_mu = self._mu / math.sqrt(_USUAL_QUERIES)
        if per_query is not None:
            per_query = check_real("per_query", per_query, low=0, high=epsilon, low_open=True)
            self._query_mu = min(self._mu, mu_of_budget(per_query, self._delta))
        self._n_rows = None if n_rows is None else check_real("n_rows", n_rows, low=1)
        if not isinstance(schema, Schema):
            raise SchemaError(
                f"schema is {schema!r} ({type(schema).__name__}); it must be a Schema that "
                "declares every column, such as Schema({'age': Integer(17, 90)})."
            )
        self._box = black_box(model, output_bounds)
        self._schema, self._feature_names = schema, feature_names
        self._data, privacy_unit = open_model_rows(
            data, feature_names=feature_names, schema=schema, unit=unit
        )
        refuse_unnamed_unit(ledger, unit, schema)
        self._neighbourhood = neighbourhood_of(neighboring, privacy_unit)
        self._ledger, self._dataset = account_of(ledger, dataset, self._neighbourhood)
        self._coordinates = Coordinates.of_schema(schema, self._data.table.names)
        table = self._data.table
        refuse_mismatches(table.names, kinds_of(table), self._coordinates.specs)
        self._weights = weight_table(
            weight if callable(weight) else _WEIGHTS[check_choice("weight", weight, _WEIGHTS)],
            c,
            self._coordinates.largest_square,
            self._coordinates.stretch,
        )
        self._randomness = randomness_of(random_state)
        self._labelled: ExplanationData | None = None
        self._history: list[Explained] = []
        self._charged: list[float] = []
        self._head: str | None = None
        self._owner, self._lock = os.getpid(), threading.Lock()
        self.feature_names_in_ = list(self._coordinates.names)

    def explain_local(
        self,
        X: Any,
        name: str | None = None,
        *,
        method: str | None = None,
        explained_class: Any = None,
    ) -> Any:
        """Explain the model's predictions of rows.

        Parameters
        ----------
        X : as ``data``, shape (n_queries, n_columns)
            The rows: public, synthetic, or your own. Nothing protects them, and the explanation
            shows them.
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
            With ``privacy``. The effect of a number is over its whole declared range, that of a
            category is against the mean of the other levels.

        Raises
        ------
        TypeError, ValueError, SchemaError
            If an argument is of another form, or the model cannot read X. Nothing was spent.
        BudgetExceededError
            If the rows do not fit into the budget of the explainer or of the data set. Nothing
            was spent.
        ReleaseError
            If the computation failed. What was charged is in the message.
        """
        from interpret_dp.explanation.budget import QueryBudget, RowSpend
        from interpret_dp.explanation.local_objects import local_explanation
        from interpret_dp.explanation.spend import PrivacySpend

        method = check_choice("method", method or self.method, METHODS)
        opened, predictions, labels = self._queries(X)
        outputs = Outputs.of_model(
            self.model, labels.shape[1], has_classes=self._box.gives_probabilities
        )
        outputs_at = outputs.explained(explained_class, labels)
        queries = Queries(
            self._coordinates.points(opened.table),
            outputs_at,
            tuple(int(labels[row, output]) for row, output in enumerate(outputs_at)),
            self.centered,
        )
        with self._lock:
            before = self.spent_mu
            explained = self._explained(queries, labels.shape[1], method)
            self._history += explained
            mu = math.sqrt(max(0.0, self.spent_mu**2 - before**2))
        rows = tuple(
            RowSpend(self._epsilon_of(one.mu), one.origin, one.method) for one in explained
        )
        explained_rows = ExplainedRows.of(opened, outputs, outputs_at, predictions)
        documents = [
            explained_rows.document(row, self._effects(one), method=one.method, origin=one.origin)
            for row, one in enumerate(explained)
        ]
        is_paid = any(one.origin == "released" for one in explained)
        privacy = PrivacySpend(
            guarantee=self.guarantee_,
            explanation_epsilon=self._epsilon_of(mu),
            origin="released" if is_paid else explained[0].origin,
            rows=rows,
            subject="explainer",
            queries=QueryBudget(GdpPair(self.spent_mu), self._epsilon_of(self._left_mu)),
            account=self._ledger,
        )
        return local_explanation(
            documents,
            privacy=privacy.as_of_now(),
            name=name or type(self).__name__,
            feature_names=self.feature_names_in_,
            feature_types=[interpret_type(spec) for spec in self._coordinates.specs],
        )

    @property
    def spent_mu(self) -> float:
        """The mu of everything that was released so far."""
        return math.sqrt(math.fsum(mu * mu for mu in self._charged))

    @property
    def _left_mu(self) -> float:
        return math.sqrt(max(0.0, self._mu**2 - self.spent_mu**2))

    @property
    def guarantee_(self) -> Guarantee:
        """The promise for everything that the explainer releases within its budget."""
        guarantee = Guarantee(
            epsilon=self._epsilon,
            delta=self._delta,
            mu=self._mu,
            mechanism=_MECHANISM,
            neighboring=self._neighbourhood.relation,
            unit=self._neighbourhood.unit_text,
            assumptions=(
                *DEFAULT_ASSUMPTIONS,
                _ASSUMPTION,
                *request_assumptions(self._ledger, self._neighbourhood),
            ),
            dataset=self._dataset,
            ledger_head=self._head,
            tests_only=(active_randomness() or self._randomness).tests_only,
            package_version=__version__,
        )
        return conditional_guarantee(guarantee, None, self._same_people)

    @property
    def history_(self) -> tuple[Explained, ...]:
        """Explanations so far."""
        return tuple(self._history)

    def __repr__(self) -> str:
        """Return the class and the guarantee; the rows stay out of it."""
        return f"<{type(self).__name__}: {self.guarantee_.brief}>"

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        """Refuse copies and pickles."""
        raise TypeError(
            "An explainer that pays for each row holds private rows and a budget that a copy could "
            "spend again; it can be neither copied nor pickled. Make a new one on its ledger."
        )

    def _queries(self, X: Any) -> tuple[OpenedRows, Floats, Labels]:
        """Open the queries, which are public, and return the model's outputs and labels."""
        data_kind, query_kind = kind_of_container(self._data.X), kind_of_container(X)
        if data_kind != query_kind:
            # A model that cannot read the explanation data would fail on every row of it in
            # silence, and the budget would buy noise.
            raise TypeError(
                f"X is a {query_kind}, and the explanation data are a {data_kind}; the model "
                f"gets both as they are, and must be able to read both. Pass X as a {data_kind}."
            )
        has_names = data_kind not in ("list", "numpy array", "scipy sparse matrix")
        names = self.feature_names_in_ if has_names else self._feature_names
        opened = open_query_rows(X, names, self._schema)
        return opened, *self._box.ask(opened.X, opened.table.n_rows)

    def _explained(self, queries: Queries, n_outputs: int, method: str) -> list[Explained]:
        """Explain every row, by a request or from the history."""

        def explained(phis: Iterable[Floats], origin: str, mu: float) -> list[Explained]:
            parts = zip(queries.points, queries.outputs, queries.labels, phis, strict=True)
            return [Explained(*part, method, origin, mu) for part in parts]

        if method == "non_interactive":
            phis = adaptive.explain_from_history(queries, self._weights, self._history)
            return explained(phis, "post-processed", 0.0)
        mu = self._query_mu
        config = adaptive.AdaptiveConfig(
            self.steps, mu, method == "enhanced", self.reuse_distance, self._n_rows
        )
        weights, neighbourhood, count = self._weights, self._neighbourhood, len(queries)
        if method == "interactive":
            release = adaptive.gradients_release(
                weights, neighbourhood, mu * math.sqrt(count), count, self.steps
            )
            plan = ReleasePlan((release,))
        else:
            plan = ReleasePlan(
                adaptive.adaptive_plan(weights, neighbourhood, config, count, self._history)
            )
        self._check_room(plan)
        request = ReleaseRequest(
            epsilon=self._epsilon_of(plan.cost.mu),
            delta=self._delta,
            neighbourhood=self._neighbourhood,
            plan=plan,
            randomness=active_randomness() or self._randomness,
            ledger=self._ledger,
            dataset=self._dataset,
        )
        session = request.opened(type(self).__name__, charges_used=method != "interactive")
        try:
            with session:
                data = self._labelled_rows(session, n_outputs)
                if method == "interactive":
                    coefficients = adaptive.descend(session, data, queries, weights, self.steps)
                    return explained(coefficients, "released", mu)
                answer, n_rows = adaptive.explain_adaptively(
                    session, data, queries, weights, config, self._history
                )
        finally:
            # Every charge to the ledger counts here as well, also that of a failed request.
            self._charged.append(session.charged.mu)
            self._head = session.head or self._head
        self._n_rows = n_rows
        return answer

    def _labelled_rows(self, session: ReleaseSession, n_outputs: int) -> ExplanationData:
        """Return the rows that are used, with the model's labels; private.

        At most as many rows of each unit are used as the neighbourhood says, and the same ones in
        every request.
        """
        if self._labelled is None:
            table, identifiers = self._data.table, self._data.identifiers
            labels = self._box.labels(self._data.X, table.n_rows, n_outputs)
            data = ExplanationData(self._coordinates.points(table), labels)
            if identifiers is not None:
                key = new_key(session.public_choices)
                data = data.rows(kept_rows(identifiers, session.neighbourhood.max_rows, key))
            self._labelled = data
        return self._labelled

    def _check_room(self, plan: ReleasePlan) -> None:
        """Refuse a request that does not fit into the explainer's remaining budget."""
        if os.getpid() != self._owner:
            raise LedgerError(
                "The explainer belongs to another process, from which this one was forked. Make a "
                "new explainer here: it is charged to the same ledger."
            )
        needed, left = plan.cost.mu, self._left_mu
        if needed > left * (1.0 + _ROUNDING):
            raise BudgetExceededError(
                self._dataset,
                requested_epsilon=self._epsilon_of(needed),
                requested_delta=self._delta,
                requested_mu=needed,
                remaining_mu=left,
                largest_epsilon=self._epsilon_of(left),
            )

    def _effects(self, explained: Explained) -> Floats:
        """Return an explanation in units of the explained output."""
        # Labels run from -1 to 1, and half of how outputs differ is explained.
        unit = self._box.half_width * (2.0 if self.centered else 1.0)
        return self._coordinates.effects(explained.coefficients * unit, explained.point)

    def _epsilon_of(self, mu: float) -> float:
        return GdpPair(mu).epsilon_at(self._delta) if mu else 0.0
