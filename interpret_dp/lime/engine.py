"""Where the explanations of a batch come from: paid for, taken over, or from the history."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from interpret_dp.accounting.gaussian import epsilon_of_mu
from interpret_dp.accounting.guarantee import Guarantee
from interpret_dp.accounting.neighbourhood import Neighbourhood
from interpret_dp.lime.adaptive import (
    DEFAULT_REUSE_DISTANCE,
    AdaptiveConfig,
    adaptive_plan,
    explain_adaptively,
)
from interpret_dp.lime.answering import BatchMethod, chunks
from interpret_dp.lime.asked import AskedRows
from interpret_dp.lime.budget import ExplainerBudget
from interpret_dp.lime.features import LocalFeatures, Points
from interpret_dp.lime.fitted import LinearFit
from interpret_dp.lime.history import Explained, History
from interpret_dp.lime.partitioned import PartitionedData
from interpret_dp.lime.private_data import PrivateData
from interpret_dp.lime.proxies import explain_from_history
from interpret_dp.lime.settings import Settings
from interpret_dp.lime.surrogate import Surrogate, fit_surrogate
from interpret_dp.lime.weighting import WeightTable
from interpret_dp.mechanisms import Randomness
from interpret_dp.release import PlannedRelease, ReleaseDoor, ReleasePlan
from interpret_dp.schema import Schema

__all__ = ["ExplanationEngine"]

_EXPLAINER = "DPLimeTabular"
# What "auto" pays with: at every number of coordinates and epsilon that was measured its loss was
# the lowest (benchmarks/lime_wide.py), since noise on A acts on a phi of length 1 or less, and so
# costs about as much as the noise of a single gradient, of which "interactive" takes hundreds.
_AUTO = "statistics"
_FREE_ADVICE = (
    "Explain fewer rows; or use method='non_interactive', which is computed from what was released "
    "and is free; or ask the owner of the data for a larger budget."
)


@dataclass
class ExplanationEngine:
    """Answers batches of queries, and remembers what it released.

    Attributes
    ----------
    settings : Settings
    schema : Schema
    image_shape : (int, int) or None
    features : LocalFeatures
    weights : WeightTable
    neighbourhood : Neighbourhood
    data : PrivateData
    budget : ExplainerBudget
    randomness : callable
        Returns the source of noise for one request.
    history : History
        Public but for the queries.
    head : str
        Hash of the ledger after the last request; empty before the first.
    """

    settings: Settings
    schema: Schema
    image_shape: tuple[int, int] | None
    features: LocalFeatures
    weights: WeightTable
    neighbourhood: Neighbourhood
    data: PrivateData
    budget: ExplainerBudget
    randomness: Callable[[], Randomness]
    history: History = field(default_factory=History)
    head: str = ""
    _n_rows: float | None = None

    @property
    def radius(self) -> float:
        """Of the ball of explanations, where what is released does not depend on it.

        Effects that are together as large as the whole range of the output fit into it. The paper's
        is 1, of which the unit is the largest distance: with 14 columns a fifth of that.
        """
        return float(self.features.stretch) if self.settings.centered else 1.0

    def answer(self, asked: AskedRows, method: str) -> list[Explained]:
        """Explain every row of a batch.

        Parameters
        ----------
        asked : AskedRows
        method : str
            One of those that pay for each query, "auto", or "non_interactive".

        Raises
        ------
        BudgetExceededError
            If what is to be paid does not fit and there is no history to fall back on; nothing
            was spent on the rows that it speaks of.
        """
        everything = range(len(asked))
        if method == "non_interactive":
            return self._from_history(asked, list(everything))
        if method in ("statistics", "interactive"):
            self._check_room(len(asked))
            return self._pay_for_batch(asked, list(everything), method)
        if method == "auto":
            return self._answer_automatically(asked)
        return self._answer_adaptively(asked, is_enhanced=method == "enhanced")

    # ------------------------------------------------------------------------------- paid for

    def _check_room(self, n_queries: int) -> None:
        if n_queries > self.budget.n_left():
            raise self.budget.refusal(n_queries, _FREE_ADVICE)

    def _pay_for_batch(
        self, asked: AskedRows, indices: Sequence[int], method: str
    ) -> list[Explained]:
        """Explain some of the rows at full cost, all in one request."""
        if not indices:
            return []
        own = BatchMethod(method, self.weights, self.settings.steps, self.radius)
        planned = own.planned(self.neighbourhood, self.budget.query_mu, len(indices))
        fits = []
        n_coordinates = asked.queries.points.shape[1]
        with self._door((planned,), len(indices)) as door:
            data = self.data.labelled(door, asked.labels.shape[1])
            for part in chunks(indices, n_coordinates, verbose=self.settings.verbose):
                fits += own.explain(door, data, asked.queries.at(part))
        mu = self.budget.query_mu
        return [
            self._kept(self._explained(asked, index, fit, method, "released", mu))
            for index, fit in zip(indices, fits, strict=True)
        ]

    def _answer_adaptively(self, asked: AskedRows, *, is_enhanced: bool) -> list[Explained]:
        """Algorithms 2 and 3: explain as many rows as the budget covers, the rest from history."""
        found: list[Explained] = []
        while len(found) < len(asked):
            room = self.budget.n_left()
            rest = list(range(len(found), len(asked)))
            if room == 0:
                return found + self._rest(asked, rest)
            part = next(chunks(rest, asked.queries.points.shape[1], verbose=False))[:room]
            found += self._adaptive_request(asked, part, is_enhanced=is_enhanced)
        return found

    def _adaptive_request(
        self, asked: AskedRows, indices: Sequence[int], *, is_enhanced: bool
    ) -> list[Explained]:
        distance = self.settings.reuse_distance
        config = AdaptiveConfig(
            steps=self.settings.steps,
            mu=self.budget.query_mu,
            enhanced=is_enhanced,
            reuse_distance=DEFAULT_REUSE_DISTANCE if distance is None else distance,
            n_rows=self.settings.n_rows if self._n_rows is None else self._n_rows,
        )
        queries = asked.queries.at(indices)
        labels = [asked.own_labels[index] for index in indices]
        plan = adaptive_plan(self.weights, self.neighbourhood, config, len(indices), self.history)
        with self._door(plan, len(indices), charges_used=True) as door:
            data = self.data.labelled(door, asked.labels.shape[1])
            answer = explain_adaptively(
                door, data, queries, labels, self.weights, config, self.history
            )
        self._n_rows = answer.n_rows
        return [self._kept(one) for one in answer.explained]

    # ------------------------------------------------------------------------------------ free

    def _answer_automatically(self, asked: AskedRows) -> list[Explained]:
        """Pay for what is new, take over what was explained before, and fall back on history."""
        outputs = asked.queries.outputs
        keys = [_key(*one) for one in zip(asked.queries.points, outputs, strict=True)]
        known = {
            _key(one.point, one.output): one for one in self.history if one.origin == "released"
        }
        first = {key: index for index, key in reversed(list(enumerate(keys)))}
        new = sorted(index for key, index in first.items() if key not in known)
        room = self.budget.n_left()
        paid, rest = new[:room], new[room:]
        covered = {outputs[index] for index in paid}
        # Refused before anything is spent: the history would not help.
        if any(outputs[i] not in covered and not self.history.released(outputs[i]) for i in rest):
            raise self.budget.refusal(len(new), _FREE_ADVICE)
        found = dict(zip(paid, self._pay_for_batch(asked, paid, _AUTO), strict=True))
        found |= dict(zip(rest, self._rest(asked, rest), strict=True))
        return [
            found[index] if index in found else self._again(known.get(key) or found[first[key]])
            for index, key in enumerate(keys)
        ]

    def _again(self, explained: Explained) -> Explained:
        """Return an explanation of the same point once more."""
        origin = "reused" if explained.origin == "released" else explained.origin
        return self._kept(dataclasses.replace(explained, origin=origin, mu=0.0))

    def _rest(self, asked: AskedRows, indices: Sequence[int]) -> list[Explained]:
        """Explain rows from the history because the budget does not cover them, and say so."""
        if not indices:
            return []
        if any(not self.history.released(asked.queries.outputs[index]) for index in indices):
            raise self.budget.refusal(len(indices), _FREE_ADVICE)
        warnings.warn(
            f"The budget has no room for {len(indices):,} of the {len(asked):,} rows. They are "
            "explained from earlier explanations, which is free and less exact; "
            "explanation.privacy.per_row says which rows.",
            UserWarning,
            stacklevel=5,
        )
        return self._from_history(asked, indices)

    def _from_history(self, asked: AskedRows, indices: Sequence[int]) -> list[Explained]:
        labels = [asked.own_labels[index] for index in indices]
        fits = explain_from_history(asked.queries.at(indices), labels, self.weights, self.history)
        return [
            self._kept(self._explained(asked, index, fit, "non_interactive", "post-processed", 0.0))
            for index, fit in zip(indices, fits, strict=True)
        ]

    # ------------------------------------------------------------------------------- surrogate

    def fit_surrogate(self, n_outputs: int, promise: Callable[[Guarantee], Guarantee]) -> Surrogate:
        """Spend all that is left on a private additive model of the black box.

        Parameters
        ----------
        n_outputs : int
            Of the black box.
        promise : callable
            Adds to the guarantee what is known of the black box.

        Raises
        ------
        TypeError
            If the explanation data are a Dask collection. Nothing was spent.
        BudgetExceededError
            If nothing is left.
        """
        if isinstance(self.data, PartitionedData):
            raise TypeError(
                "method is 'surrogate', and the explanation data are a Dask collection, of which "
                "labels stay with the workers. Use method='statistics', or pass data.compute()."
            )
        mu = self.budget.left_mu()
        if mu == 0.0:
            raise self.budget.refusal(1, _FREE_ADVICE)
        box, rows, is_labelled = self.data.box, self.data.rows, False

        def labels() -> NDArray[np.float64]:
            nonlocal is_labelled
            found = box.values(self.data.labels(n_outputs))
            is_labelled = True
            return found

        try:
            surrogate = fit_surrogate(
                rows.table,
                labels,
                n_outputs=n_outputs,
                schema=self.schema,
                bounds=box.bounds,
                mu=mu,
                delta=self.budget.delta,
                complementary=n_outputs == 2 and box.gives_probabilities,
                ledger=self.budget.ledger,
                dataset=self.budget.dataset,
                neighboring=self.neighbourhood.relation,
                unit=rows.identifiers,
                image_shape=self.image_shape,
                promise=promise,
                randomness=self.randomness(),
                verbose=self.settings.verbose,
            )
        except BaseException:
            # Nothing is released before the labels are there. After that something may have been,
            # whatever the error is, and counts as spent.
            if is_labelled:
                self.budget.charge(mu)
            raise
        self.budget.charge(mu)
        self.head = surrogate.guarantee.ledger_head or self.head
        return surrogate

    # ---------------------------------------------------------------------------------- common

    def _door(
        self, planned: Sequence[PlannedRelease], n_queries: int, *, charges_used: bool = False
    ) -> _ChargedDoor:
        plan = ReleasePlan(tuple(planned))
        if not self.budget.admits(plan.cost):
            raise self.budget.refusal(n_queries, _FREE_ADVICE)
        door = ReleaseDoor(
            self.budget.ledger,
            self.budget.dataset,
            plan,
            self.randomness(),
            neighbourhood=self.neighbourhood,
            charges_used=charges_used,
            explainer=_EXPLAINER,
            epsilon=epsilon_of_mu(plan.cost.mu, self.budget.delta),
            delta=self.budget.delta,
        )
        return _ChargedDoor(self, door)

    def _explained(
        self, asked: AskedRows, index: int, fit: LinearFit, method: str, origin: str, mu: float
    ) -> Explained:
        return Explained(
            asked.queries.points[index],
            asked.queries.outputs[index],
            asked.own_labels[index],
            fit,
            method,
            origin,
            mu,
        )

    def _kept(self, explained: Explained) -> Explained:
        self.history.add(explained)
        return explained


class _ChargedDoor:
    """A door whose charge counts in the explainer's own budget, however the request ends."""

    def __init__(self, engine: ExplanationEngine, door: ReleaseDoor) -> None:
        self._engine, self._door = engine, door

    def __enter__(self) -> ReleaseDoor:
        return self._door.__enter__()

    def __exit__(self, *error: object) -> None:
        try:
            self._door.__exit__(*error)  # type: ignore[arg-type]
        finally:
            self._engine.budget.charge(self._door.charged.mu)
            self._engine.head = self._door.head or self._engine.head


def _key(point: Points, output: int) -> tuple[bytes, int]:
    return point.tobytes(), output
