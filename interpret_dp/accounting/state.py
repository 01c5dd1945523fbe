"""State of a guarantee: it holds, it holds if conditions are met, or it does not hold."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

HOLDS, HOLDS_IF, DOES_NOT_HOLD = "holds", "holds if", "does not hold"
"""States of a guarantee, from the best to the worst."""

SEEDED = "the noise was drawn from a fixed seed, which is for tests only"
"""Why a promise of seeded noise does not hold."""


@dataclass(frozen=True)
class Doubts:
    """On what a promise depends, and why it does not hold, beyond what every fit assumes.

    Attributes
    ----------
    conditions, failures : tuple of str
        Clauses, as in :class:`~interpret_dp.accounting.guarantee.Guarantee`.
    """

    conditions: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()

    def __or__(self, other: Doubts) -> Doubts:
        """Return the clauses of both, each once."""
        return Doubts(
            tuple(dict.fromkeys(self.conditions + other.conditions)),
            tuple(dict.fromkeys(self.failures + other.failures)),
        )

    @property
    def state(self) -> str:
        """The worst state that any clause gives."""
        return state_of(self.conditions, self.failures)

    @property
    def sentence(self) -> str:
        """The state in a sentence, with every condition or reason; empty if the promise holds."""
        needed = f"only if {'; and if '.join(self.conditions)}." if self.conditions else ""
        if self.failures:
            without = f" Without that it would hold {needed}" if needed else ""
            return f"The promise does not hold: {'; '.join(self.failures)}.{without}"
        return f"The promise holds {needed}" if needed else ""


def state_of(conditions: Collection[str], failures: Collection[str]) -> str:
    """Return the state of a guarantee, or of several together: the worst that any clause gives."""
    if failures:
        return DOES_NOT_HOLD
    return HOLDS_IF if conditions else HOLDS
