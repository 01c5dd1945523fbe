"""The account of a request, its privacy unit, its random numbers and its progress bar."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from interpret_dp._validate import check_int, check_real, describe_argument
from interpret_dp.accounting.gaussian import mu_of_budget
from interpret_dp.accounting.lattice import ADD_OR_REMOVE_ONE, Neighbourhood
from interpret_dp.accounting.plans import PlannedRelease, ReleasePlan
from interpret_dp.exceptions import LedgerError, PrivacyWarning, SchemaError, warn_caller
from interpret_dp.mechanisms import (
    Randomness,
    SeededRandomness,
    SystemRandomness,
    active_randomness,
)
from interpret_dp.release import ReleaseRequest
from interpret_dp.schema import PrivacyUnit, Schema

if TYPE_CHECKING:
    from interpret_dp.ledger import PrivacyLedger


# Progress bars that cannot fail: an error while rows are summed would cost the whole request.

_Item = TypeVar("_Item")


class _StandardError:
    """The standard error, as far as it can be written: it may be full, closed or not there."""

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.stderr, name)

    def write(self, text: str) -> None:
        with suppress(Exception):
            sys.stderr.write(text)

    def flush(self) -> None:
        with suppress(Exception):
            sys.stderr.flush()


def progress(items: Iterable[_Item], *, verbose: bool, **options: Any) -> Iterable[_Item]:
    """Return the items, with a bar on the standard error if it is wanted.

    Parameters
    ----------
    items : iterable
        What the bar counts. Numbers of rounds and time only: a training loss would be a release.
    verbose : bool
        Whether there is a bar.
    **options
        As ``tqdm.tqdm`` takes them.
    """
    if not verbose:
        return items
    from tqdm.auto import tqdm

    bar: Iterable[_Item] = tqdm(items, file=_StandardError(), dynamic_ncols=True, **options)
    return bar


_ONE_ROW = Neighbourhood()
_UNNAMED = "unnamed"
_LONGEST_HINT = 150  # of a name in the ledger, which takes 200 characters


def ledger_of(value: PrivacyLedger | str | None, *, must_exist: bool = False) -> PrivacyLedger:
    """Return the ledger that an estimator's parameter names.

    Parameters
    ----------
    value : PrivacyLedger, str or None
    must_exist : bool
        Make no new file of a URL, as befits whoever only reads.

    Raises
    ------
    TypeError
        If it is neither a ledger, nor a URL, nor None.
    ValueError
        If the URL holds a password.
    """
    from interpret_dp.ledger import PrivacyLedger, default_ledger

    if value is None:
        return default_ledger()
    if isinstance(value, str):
        _refuse_password(value)
        return PrivacyLedger.existing(value) if must_exist else PrivacyLedger(value)
    if isinstance(value, PrivacyLedger):
        return value
    raise TypeError(
        f"ledger is {value!r} ({type(value).__name__}); it must be a PrivacyLedger, its URL such "
        "as 'sqlite:///privacy.db', or None for the in-memory ledger of this process."
    )


def _refuse_password(url: str) -> None:
    """Raise ValueError if a parameter holds a password: it is shown and pickled with the model."""
    from interpret_dp.ledger.store import resolve_url
    from interpret_dp.ledger.tables import without_password

    resolved = resolve_url(url)
    if resolved.password is not None:
        raise ValueError(
            f"ledger is the URL {without_password(resolved)!r} with a password, which the model "
            "would show and carry into every file. Put the password into ~/.pgpass or the "
            "environment variable PGPASSWORD, or pass PrivacyLedger(url), which keeps it to itself."
        )


def account_of(
    ledger: PrivacyLedger | str | None, dataset: str | None, neighbourhood: Neighbourhood
) -> tuple[PrivacyLedger, str]:
    """Return the ledger, and the name of the data set in it, to which a request is charged.

    Raises
    ------
    TypeError, ValueError, LedgerError
        If one of them is of another form, a ledger was given without a name, or it has no budget
        for that name.

    Warns
    -----
    PrivacyWarning
        If a data set is named, and no ledger is given.
    """
    if dataset is not None and (not isinstance(dataset, str) or not dataset.strip()):
        allowed = "it must be the name of the data set, such as 'hospital-2024', and not blank."
        raise ValueError(f"{describe_argument('dataset', dataset)}; {allowed}")
    if ledger is not None and dataset is None:
        raise LedgerError(
            "A ledger was given without dataset=. Name the data set whose budget is charged, the "
            "same in every fit on the same people, such as dataset='hospital-2024'."
        )
    if dataset is None:
        # Promises about rows and about people have accounts of their own: they do not add up.
        is_usual = neighbourhood.protected == _ONE_ROW.protected
        protected = neighbourhood.protected.removeprefix(f"{ADD_OR_REMOVE_ONE}: ")
        dataset = _UNNAMED if is_usual else f"{_UNNAMED} ({protected[:_LONGEST_HINT]})"
    elif ledger is None:
        warn_caller(
            f"dataset is {dataset!r} and ledger is None: this process alone counts what the "
            "request costs. Pass the ledger of that data set; a model that was loaded from a file "
            "has none, so set it: model.set_params(ledger=...).",
            PrivacyWarning,
        )
    opened = ledger_of(ledger)
    # A data set without a budget must show now, not when the rows were read.
    opened.remaining(dataset)
    return opened, dataset


def checked_budget(epsilon: Any, delta: Any, *, least_delta: float = 0.0) -> tuple[float, float]:
    """Return epsilon and delta as numbers, or raise TypeError or ValueError.

    Parameters
    ----------
    epsilon, delta : object
        As a caller passed them.
    least_delta : float, default=0.0
        Least delta of the request; 0 itself is refused.
    """
    epsilon = check_real("epsilon", epsilon, low=0, low_open=True, mend="1 is a usual start.")
    delta = check_real(
        "delta",
        delta,
        low=least_delta,
        high=1,
        low_open=least_delta == 0.0,
        high_open=True,
        mend="Choose it well below one over the number of people, such as 1e-6.",
    )
    return epsilon, delta


def gaussian_request(
    releases: Mapping[str, tuple[float, int]],
    *,
    epsilon: float,
    delta: float,
    ledger: PrivacyLedger | str | None,
    dataset: str | None,
    neighbourhood: Neighbourhood = _ONE_ROW,
) -> ReleaseRequest:
    """Return the checked request of Gaussian releases; no row was read, and nothing spent.

    Parameters
    ----------
    releases : mapping of str to (float, int)
        Share of mu squared of the releases of each name, which add up to 1, and their number.
    epsilon, delta : float
        The guarantee for all of them.
    ledger, dataset
        As an estimator takes them.
    neighbourhood : Neighbourhood
        Whom the guarantee protects; by default one row.
    """
    epsilon, delta = checked_budget(epsilon, delta)
    account, dataset = account_of(ledger, dataset, neighbourhood)
    mu = mu_of_budget(epsilon, delta)
    planned = [
        PlannedRelease(name, mu * math.sqrt(share / count), count)
        for name, (share, count) in releases.items()
    ]
    return ReleaseRequest(
        epsilon=epsilon,
        delta=delta,
        neighbourhood=neighbourhood,
        plan=ReleasePlan(tuple(planned)),
        randomness=randomness_of(None),
        ledger=account,
        dataset=dataset,
    )


def neighbourhood_of(
    relation: str, unit: PrivacyUnit | None, *, population: str | None = None
) -> Neighbourhood:
    """Return whom a request protects.

    Parameters
    ----------
    relation : str
    unit : PrivacyUnit or None
    population : {"rows", "people"}, default=None
        Over whom a model is right on average; None of a request that does not ask.
    """
    if unit is None:
        return Neighbourhood(relation=relation)
    return Neighbourhood(
        relation=relation,
        unit=unit.name,
        max_rows=unit.max_rows,
        total_rows=unit.total_rows if population == "rows" else None,
        shares_weight=population == "people",
        drops_missing=unit.drops_missing,
    )


def refuse_unnamed_unit(ledger: PrivacyLedger | str | None, unit: object, schema: Schema) -> None:
    """Raise SchemaError if a ledger could not tell whom identifiers identify."""
    is_column = unit is not None and not isinstance(unit, str)
    if ledger is not None and is_column and schema.unit is None:
        raise SchemaError(
            "unit was given, and the schema does not say what it identifies, for the ledger. "
            'Declare Schema(..., unit=PrivacyUnit("patient_id", max_rows=...)).'
        )


def randomness_of(random_state: int | None) -> Randomness:
    """Return the randomness: the system, an enclosing audit, or a seed with a warning."""
    active = active_randomness()
    if active is not None:
        return active
    if random_state is None:
        return SystemRandomness()
    seed = check_int("random_state", random_state, low=0, high=2**32 - 1)
    warn_caller(
        f"random_state={seed} voids the privacy promise: whoever knows it can subtract the noise. "
        "Use it for tests on public data only; leave it None for anything you release.",
        PrivacyWarning,
    )
    return SeededRandomness(seed)


def thread_count(n_jobs: int | None) -> int:
    """Read ``n_jobs`` as joblib does."""
    if n_jobs is None:
        return 1
    jobs = check_int("n_jobs", n_jobs)
    if jobs == 0:
        raise ValueError(
            "n_jobs is 0; it must be a number of threads, or -1 for all processors. Pass n_jobs=1."
        )
    return jobs if jobs > 0 else max(1, (os.cpu_count() or 1) + 1 + jobs)
