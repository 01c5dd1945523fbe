"""The guarantee of a fit, and its assumptions."""

from __future__ import annotations

from collections.abc import Iterator

from interpret_dp.accounting.guarantee import (
    DEFAULT_ASSUMPTIONS,
    UNDECLARED_ASSUMPTIONS,
    Guarantee,
)
from interpret_dp.ebm.request import FitRequest
from interpret_dp.fitting.assumptions import (
    DASK_ASSUMPTION,
    INIT_SCORE_ASSUMPTION,
    ledger_assumptions,
    unit_assumptions,
)
from interpret_dp.fitting.partitioned import PartitionedRows

__all__ = ["promise_of"]

_MECHANISM = "discrete Gaussian noise on integer sums, exactly sampled; one mu split by squares"

_CHOICE = "; pairs chosen by the exponential mechanism, exactly sampled"


def promise_of(request: FitRequest) -> Guarantee:
    """Return the guarantee of a request, before it is charged: bill and promise must agree.

    Parameters
    ----------
    request : FitRequest
    """
    return Guarantee(
        epsilon=request.epsilon,
        delta=request.delta,
        mu=request.plan.cost.mu if request.plan.cost.delta == 0.0 else None,
        mechanism=_MECHANISM + (_CHOICE if request.config.n_chosen_pairs else ""),
        neighboring=request.neighbourhood.relation,
        unit=request.neighbourhood.unit_text,
        assumptions=tuple(_assumptions(request)),
        releases=request.plan.shares,
        dataset=request.dataset,
        tests_only=request.randomness.tests_only,
    )


def _assumptions(request: FitRequest) -> Iterator[str]:
    yield from UNDECLARED_ASSUMPTIONS if request.declaring.is_needed else DEFAULT_ASSUMPTIONS
    if request.rows.start is not None:
        yield INIT_SCORE_ASSUMPTION
    if isinstance(request.rows, PartitionedRows):
        yield DASK_ASSUMPTION
    yield from ledger_assumptions(request.ledger)
    yield from unit_assumptions(request.neighbourhood)
    if request.rows.weights is not None and request.declaring.declared_weight is not None:
        yield "the largest sample weight is public and was not read off the rows"
