"""One-run audits of DP-LLM: a table of canaries, each of which alone moves weights of its own.

Canary ``i`` has a cell in column ``i`` at the upper bound and is 0 elsewhere, so that its gradient
falls on the weights of that column, and the canaries do not disturb each other. Every row of the
table is a canary: others would only add noise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp._validate import check_int
from interpret_dp.accounting.gaussian import mu_of_budget
from interpret_dp.audit.one_run import OneRunBound, guesses_for, judge_guesses
from interpret_dp.audit.replaying import Recorded
from interpret_dp.audit.watching import Watching
from interpret_dp.mechanisms import use_randomness

__all__ = ["MapsAudit", "audit_maps"]

Floats = NDArray[np.float64]

_GRADIENTS = "gradients"
# Columns are divided by this share of their bound: a row of length 10, whose gradient falls on the
# column's weights but for a half percent, which the intercept gets.
_SPREAD = 0.1
# Far below the length of a canary's gradient, so that each adds as much as a row may.
_CLIP_NORM = 0.5
# As slow as this the canaries' gradients stay above the clipping norm to the end.
_LEARNING_RATE = 3e-3


@dataclass(frozen=True)
class MapsAudit:
    """What one run proved.

    Attributes
    ----------
    by_releases : OneRunBound
        From every sum of gradients that passed the session.
    by_model : OneRunBound
        From the released model.
    confidence : float
        With which both hold together.
    """

    by_releases: OneRunBound
    by_model: OneRunBound
    confidence: float

    @property
    def best(self) -> tuple[str, OneRunBound]:
        """The larger bound, with what it comes from."""
        named = (("all releases", self.by_releases), ("released model", self.by_model))
        return max(named, key=lambda pair: pair[1].epsilon)


def audit_maps(
    epsilon: float,
    delta: float = 1e-5,
    *,
    n_canaries: int = 5000,
    sampling_rate: float = 1.0,
    epochs: float = 20.0,
    confidence: float = 0.95,
    noise: Callable[[], Watching] = Watching,
) -> MapsAudit:
    """Train :class:`interpret_dp.DPLocallyLinearClassifier` once on canaries, and guess them.

    Parameters
    ----------
    epsilon, delta : float
        The claim, and what the training asks for.
    n_canaries : int, default=5000
        Columns of the table; half of the canaries, by fair coins, are its rows.
    sampling_rate, epochs : float
        Of the training. 1.0 makes the attack strongest: then no row is hidden by not being sampled.
    confidence : float, default=0.95
    noise : callable
        Returns the source of noise: the system's, or a control's.

    Returns
    -------
    MapsAudit

    Raises
    ------
    ModuleNotFoundError
        If torch is not installed.
    TypeError, ValueError
        If an argument is out of range.

    Notes
    -----
    Steinke, Nasr and Jagielski (2023), with the "Dirac" canaries of their section 6 made of rows.
    The number of guesses follows from the claim alone.
    """
    from interpret_dp.ledger import PrivacyLedger
    from interpret_dp.llm.estimator import DPLocallyLinearClassifier
    from interpret_dp.schema import Categorical, Continuous, Schema

    n_canaries = check_int("n_canaries", n_canaries, low=20)
    # In one dtype throughout: which canaries are there must not decide how cells are stored.
    rows = np.eye(n_canaries, dtype=np.float32)
    labels = np.arange(n_canaries) % 2
    source = noise()
    included = source.public.integers(0, 2, size=n_canaries).astype(bool)
    model = DPLocallyLinearClassifier(
        epsilon=epsilon,
        delta=delta,
        n_maps=1,
        projection_dim=0,
        sampling_rate=sampling_rate,
        epochs=epochs,
        learning_rate=_LEARNING_RATE,
        clip_norm=_CLIP_NORM,
        averaging=0.0,
        # The whole budget is for the gradients, by which the canaries are guessed.
        centring=0.0,
        standardize=(0.0, _SPREAD),
        schema=Schema(default=Continuous(-1, 1), target=Categorical([0, 1])),
        device="cpu",
        ledger=PrivacyLedger.in_memory(),
        dataset="canaries",
    )
    with use_randomness(source):
        model.fit(rows[included], labels[included])
    single = 1.0 - (1.0 - confidence) / 2.0
    # Made to find half of the noise: fewer guesses, even if all are right, could not refute much
    # more than what is claimed.
    size, _ = guesses_for(
        n_canaries, 2.0 * mu_of_budget(epsilon, delta), delta=delta, confidence=single
    )

    def judged(scores: Floats) -> OneRunBound:
        return judge_guesses(scores, included, n_guesses=size, delta=delta, confidence=single)

    return MapsAudit(
        judged(_moved(source.record, labels)), judged(_margins(model, rows, labels)), confidence
    )


def _moved(record: Sequence[Recorded], labels: NDArray[np.int64]) -> Floats:
    """Return how far all released gradients point where each canary's does."""
    n_canaries = len(labels)
    columns = np.arange(n_canaries)
    total = np.zeros(n_canaries)
    for one in record:
        if one.name == _GRADIENTS:
            # Weights come first, by class and then by column; the intercepts follow.
            weights = one.output.ravel()[: 2 * n_canaries].reshape(2, n_canaries) / one.sigma
            total += weights[1 - labels, columns] - weights[labels, columns]
    return total


def _margins(model: Any, rows: NDArray[np.float32], labels: NDArray[np.int64]) -> Floats:
    """Return by how much the released model prefers each canary's own label."""
    scores = np.asarray(model.decision_function(rows), dtype=np.float64)
    return np.where(labels == 1, scores, -scores)
