"""Assumptions of a guarantee about the rows and the computer, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interpret_dp.accounting.neighbourhood import Neighbourhood

if TYPE_CHECKING:
    from interpret_dp.ledger import PrivacyLedger

__all__ = [
    "DASK_ASSUMPTION",
    "INIT_SCORE_ASSUMPTION",
    "ledger_assumptions",
    "unit_assumptions",
]

INIT_SCORE_ASSUMPTION = (
    "each row's init_score was computed from that row alone, to the last bit, by what is public or "
    "charged by itself, and which fails for no row"
)
DASK_ASSUMPTION = (
    "the Dask scheduler and workers, and whoever reads their memory, disks, logs and traffic, are "
    "the curator's own, and the collections hold the same rows whenever they are computed"
)

_FORGOTTEN = (
    "somebody counts what this cost: it was charged to the memory of a process, which no ledger "
    "holds and no head can show once that process has ended"
)


def ledger_assumptions(ledger: PrivacyLedger) -> tuple[str, ...]:
    """Return what a promise assumes where its charge is kept nowhere; nothing for a stored ledger.

    Without it such a promise looks like one that a ledger can confirm.
    """
    return () if ledger.persistent else (_FORGOTTEN,)


def unit_assumptions(neighbourhood: Neighbourhood) -> tuple[str, ...]:
    """Return what a promise about people assumes of their identifiers; nothing for rows."""
    if neighbourhood.unit is None:
        return ()
    return (
        f"all rows of a person carry the same {neighbourhood.unit!r}, which is not missing, in "
        "every request on this data set",
    )
