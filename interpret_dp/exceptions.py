"""Errors and warnings of the package; each error carries the objects it speaks of."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping
from functools import partial
from types import FrameType, MappingProxyType
from typing import ClassVar

from interpret_dp._validate import floor_text

# Frames of these packages are not where the user wrote the call.
_FRAMEWORKS = {"imblearn", "interpret_dp", "joblib", "sklearn"}


def warn_caller(text: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the user's line, however many functions of frameworks lie between."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and package_of(frame) in _FRAMEWORKS:
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level)


def package_of(frame: FrameType) -> str:
    """Return the name of the package whose code a frame runs."""
    return str(frame.f_globals.get("__name__")).split(".")[0]


class InterpretDPError(Exception):
    """Base class of every error that this package raises on purpose.

    Examples
    --------
    >>> from interpret_dp import Continuous
    >>> from interpret_dp.exceptions import InterpretDPError
    >>> try:
    ...     Continuous(95, 18)
    ... except InterpretDPError as error:
    ...     print(type(error).__name__)
    SchemaError
    """

    def __reduce__(self) -> tuple[object, ...]:
        """Rebuild with the message and the attributes, so that an error crosses process borders."""
        # Not through the constructor, of which the message is no argument.
        return partial(type(self).__new__, type(self)), self.args, vars(self)


class SchemaError(InterpretDPError, ValueError):
    """A schema is incomplete or contradicts itself, or a table does not fit it.

    The message speaks of names, types and declared bounds only, never of a value in a row.

    Examples
    --------
    >>> from interpret_dp import Continuous, SchemaError
    >>> try:
    ...     Continuous(95, 18)
    ... except SchemaError as error:
    ...     print(str(error)[:30])
    lower is 95 and upper is 18; l
    """


class LedgerError(InterpretDPError, RuntimeError):
    """The ledger is locked, corrupt, of a foreign version, or has no such budget.

    Examples
    --------
    >>> from interpret_dp import LedgerError, PrivacyLedger
    >>> try:
    ...     PrivacyLedger.in_memory().raise_budget("ward", epsilon=4, delta=1e-6, reason="more")
    ... except LedgerError as error:
    ...     print(str(error)[:40])
    The ledger has no budget for data set 'w
    """


class ReleaseError(InterpretDPError, RuntimeError):
    """A computation on rows failed or asked for more than it had reserved.

    The message never holds a value, a level or a count of the private table.
    """


class BackendError(ReleaseError):
    """The machines that hold the rows failed, or what they hold does not fit together.

    Parameters
    ----------
    reason : str
        A key of ``REASONS``. The message is a fixed text, so that it cannot speak of a row.
    charge : str, default=""
        What the request was charged, as a sentence.

    Attributes
    ----------
    reason : str
    """

    REASONS: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "lost": (
                "The connection to the Dask scheduler was lost, or workers died again and again, "
                "so that the rows could not be summed. Start a cluster whose workers have enough "
                "memory, connect a new Client, and fit again."
            ),
            "unaligned": (
                "Partitions of X and of y (or another argument) that stand in the same place "
                "differ in their number of rows, or those of X and unit in their index. "
                "Take them as columns of one Dask DataFrame, or repartition them alike."
            ),
            "identifiers": (
                "A partition holds the identifiers of the privacy unit in another type than the "
                "collection declares, or as floats, in which large integers cannot be told apart. "
                "Read them as 'Int64' or 'string' from the start."
            ),
            "arithmetic": (
                "A worker computes other public tables (bin edges, exponentials) than this "
                "process, so that its sums would not be those of one machine. Run the same "
                "version of NumPy on the same kind of processor everywhere."
            ),
            "failed": (
                "A worker failed on its partition of the rows. Its own message is withheld, "
                "because it may speak of them. Run the same call on public or simulated rows of "
                "the same types to see the cause."
            ),
        }
    )

    def __init__(self, reason: str, charge: str = "") -> None:
        self.reason = reason
        self.charge = charge
        super().__init__(f"{self.REASONS[reason]} {charge}".strip())


class SitesError(ReleaseError):
    """Sites cannot begin, or go on with, a fit that they make together.

    The message speaks of names of sites and of what they declared: never of rows.
    """


class BudgetExceededError(InterpretDPError, RuntimeError):
    """A request does not fit into what is left of a data set's budget; nothing was spent.

    Attributes
    ----------
    dataset : str
        Name of the data set in the ledger.
    requested_epsilon, requested_delta : float
        The guarantee that was asked for.
    requested_mu : float
        The same as Gaussian differential privacy.
    remaining_mu : float
        The largest mu of one more Gaussian release that would fit.
    largest_epsilon : float
        The largest epsilon, at ``requested_delta``, of one more Gaussian release that would fit.

    Examples
    --------
    >>> from interpret_dp import DPExplainableBoostingClassifier, PrivacyLedger
    >>> from interpret_dp.datasets import make_cohort
    >>> patients, ledger = make_cohort(100), PrivacyLedger.in_memory()
    >>> budget = ledger.create_budget("ward", epsilon=1, delta=1e-6)
    >>> model = DPExplainableBoostingClassifier(
    ...     epsilon=2, delta=1e-6, schema=patients.schema, ledger=ledger, dataset="ward")
    >>> try:
    ...     model.fit(patients.X, patients.y)
    ... except BudgetExceededError as error:
    ...     print(f"epsilon {error.largest_epsilon:.2f} would fit")
    epsilon 1.00 would fit
    """

    def __init__(
        self,
        dataset: str,
        *,
        requested_epsilon: float,
        requested_delta: float,
        requested_mu: float,
        remaining_mu: float,
        largest_epsilon: float,
    ) -> None:
        self.dataset = dataset
        self.requested_epsilon = requested_epsilon
        self.requested_delta = requested_delta
        self.requested_mu = requested_mu
        self.remaining_mu = remaining_mu
        self.largest_epsilon = largest_epsilon
        mend = "Have the owner of the data raise the budget"
        if largest_epsilon > 0:
            most = f"epsilon <= {floor_text(largest_epsilon)} at delta {requested_delta:g}"
            mend = f"Either ask for {most}, or have the owner of the data raise the budget"
        super().__init__(
            f"The budget of data set {dataset!r} does not cover this request: it needs epsilon "
            f"{requested_epsilon:.4g} at delta {requested_delta:g} (mu {requested_mu:.4g}), and mu "
            f"{remaining_mu:.4g} is left. Nothing was spent. {mend} (ledger.raise_budget, "
            "`interpret-dp ledger raise`)."
        )


class PrivacyWarning(UserWarning):
    """Something the user does weakens or voids the privacy promise."""


class DeclarationWarning(UserWarning):
    """Declarations that do not seem to match the rows; the guarantee holds all the same.

    After a fit it is computed from the released model alone, and names the columns and the mend.
    """


class UndeclaredWarning(UserWarning):
    """Something is undeclared, so the fit spends a part of its budget on estimating it.

    The guarantee still holds. Each message is shown once per process.
    """


class ConnectionLostError(LedgerError):
    """The connection was lost and nothing was written, so that it may be tried again."""


class RoleError(LedgerError):
    """The user may not do this; nothing was changed or spent.

    Attributes
    ----------
    user : str
        Who tried.
    allowed : tuple of str
        The users who may.
    """

    def __init__(self, message: str, user: str, allowed: tuple[str, ...]) -> None:
        super().__init__(message)
        self.user, self.allowed = user, allowed


class BudgetExpiredError(LedgerError):
    """The time for which a budget was granted is over; nothing was spent.

    Attributes
    ----------
    dataset : str
        Name of the data set.
    expired : str
        The moment when it ended, ISO 8601.
    """

    def __init__(self, message: str, dataset: str, expired: str) -> None:
        super().__init__(message)
        self.dataset, self.expired = dataset, expired


class ApprovalNeededError(LedgerError):
    """An officer must approve the request first; nothing was spent.

    Attributes
    ----------
    dataset : str
        Name of the data set.
    number : int
        Of the request for approval, in the log.
    state : {"waiting", "rejected"}
        Whether an answer is still to come.
    """

    def __init__(self, message: str, dataset: str, number: int, state: str) -> None:
        super().__init__(message)
        self.dataset, self.number, self.state = dataset, number, state
