"""The states of a guarantee: it holds, holds if conditions are met, or does not hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

MOST_CENTRED_BEFORE = 32_767
"""Features of a row that 0.1.0 and 0.2.0.dev0 could centre without an overflow."""
VOID_CENTRE = (
    f"its maps centred rows of more than {MOST_CENTRED_BEFORE:,} features by a version before "
    "0.2.0.dev1, in which a sum of squares overflowed and one row could move the release by any "
    "amount"
)
"""Why the promise of such maps does not hold."""

HOLDS, HOLDS_IF, DOES_NOT_HOLD = "holds", "holds if", "does not hold"
"""States of a guarantee, from the best to the worst."""


def state_of(conditions: Iterable[str], failures: Iterable[str]) -> str:
    """Return the state of a guarantee, or of several together: the worst that any clause gives."""
    if any(True for _ in failures):
        return DOES_NOT_HOLD
    return HOLDS_IF if any(True for _ in conditions) else HOLDS


def account_states(document: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what a ledger's document of an account, or of a request, says of its guarantees.

    Parameters
    ----------
    document : mapping
        With ``failures`` and ``conditions``, lists of clauses.

    Returns
    -------
    tuple of str
        A sentence on what does not hold and one on what is conditional; none if all hold.
    """
    states = []
    if document["failures"]:
        states.append(f"Not everything holds that was promised: {'; '.join(document['failures'])}.")
    if document["conditions"]:
        states.append(
            f"What was promised holds only if {'; and if '.join(document['conditions'])}."
        )
    return tuple(states)
