"""The one door through which anything computed from rows leaves: reserve, run, commit.

A request says in advance, as a plan, every release it may make and what each costs. The door
reserves the whole cost in the ledger, hands out noise for planned releases only, and commits.
Nothing else in the package may turn private sums into public numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, NoReturn

import numpy as np
from numpy.typing import NDArray

from interpret_dp._validate import check_int, check_real
from interpret_dp.accounting.composition import GdpPair, compose_repeated, reduce_event
from interpret_dp.accounting.events import composed_json, gaussian_node, thresholding_node
from interpret_dp.accounting.guarantee import ReleaseShare
from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.accounting.neighbourhood import Neighbourhood
from interpret_dp.exceptions import ReleaseError
from interpret_dp.mechanisms.additive import gaussian_mechanism
from interpret_dp.mechanisms.entropy import Randomness
from interpret_dp.mechanisms.selection import Selection, gaussian_thresholding

if TYPE_CHECKING:
    from interpret_dp.ledger import PrivacyLedger, Reservation

__all__ = ["PlannedRelease", "ReleaseDoor", "ReleasePlan"]

_FAILURE = (
    "The computation on the private rows failed. Its own message is withheld, because it may "
    "speak of the rows. {charge} Run the same call on public or simulated rows of the same types "
    "to see the cause."
)


# With sensitivities around LATTICE units, sigma stays between 2**10, where the lattice rule
# begins, and 2**56, where the noise would no longer fit into the integers.
_SMALLEST_MU, _LARGEST_MU = 2.0**-34, 2.0**10

_ONE_ROW = Neighbourhood()


@dataclass(frozen=True)
class PlannedRelease:
    """``count`` releases of one name that cost ``mu`` each.

    Attributes
    ----------
    name : str
    mu : float
        Gaussian differential privacy of each.
    count : int
    delta : float
        Above 0, each is a selection among the values that occur, and this is its probability of
        naming one that only one of two neighbouring tables has. 0: each is a Gaussian release.

    Raises
    ------
    TypeError, ValueError
        If ``count`` is below 1, ``delta`` is not a probability, or ``mu`` needs noise that the
        lattice cannot carry. Checked here, so that a fit refuses before it reserves.
    """

    name: str
    mu: float
    count: int
    delta: float = 0.0

    def __post_init__(self) -> None:
        """Check the figures."""
        check_int(f"The number of releases {self.name!r}", self.count, low=1)
        check_real(
            f"mu of each release {self.name!r}",
            self.mu,
            low=_SMALLEST_MU,
            high=_LARGEST_MU,
            mend="Ask for another epsilon or delta, or for another number of rounds.",
        )
        check_real(
            f"delta of each release {self.name!r}", self.delta, low=0, high=1, high_open=True
        )

    @property
    def node(self) -> dict[str, object]:
        """One of the releases, as an event."""
        return thresholding_node(self.mu, self.delta) if self.delta else gaussian_node(self.mu)

    @property
    def share(self) -> ReleaseShare:
        """All of them together, as a line of the bill."""
        # As the event is, so that the bill and the charge are the same numbers.
        delta = reduce_event(composed_json([(self.node, self.count)])).delta
        return ReleaseShare(self.name, self.mu * self.count**0.5, self.count, delta)


@dataclass(frozen=True)
class ReleasePlan:
    """All releases that a request may make, fixed before the first row is read.

    Parameters
    ----------
    releases : tuple of PlannedRelease

    Raises
    ------
    ValueError
        If two parts have one name, so that it would not be clear what a release costs.
    """

    releases: tuple[PlannedRelease, ...]

    def __post_init__(self) -> None:
        """Check that names are unique."""
        names = [part.name for part in self.releases]
        if len(set(names)) < len(names):
            raise ValueError(f"The planned releases are named {names}; each needs its own name.")

    @property
    def event(self) -> dict[str, object]:
        """The plan as an event tree, for the ledger."""
        return composed_json([(part.node, part.count) for part in self.releases])

    @property
    def cost(self) -> GdpPair:
        """What the whole plan costs, rounded up: sqrt(sum of squares) of mu, and sum of delta."""
        return reduce_event(self.event)

    @property
    def shares(self) -> tuple[ReleaseShare, ...]:
        """The lines of the bill."""
        return tuple(part.share for part in self.releases)


class ReleaseDoor:
    """Context of one request: reserves on entry, commits on exit.

    Parameters
    ----------
    ledger : PrivacyLedger
        Where the cost is charged.
    dataset : str
        Name of the data set in the ledger.
    plan : ReleasePlan
        What may be released.
    randomness : Randomness
        Source of the noise.
    neighbourhood : Neighbourhood
        Whom the guarantee protects: how much the sums of two neighbouring tables may differ.
    charges_used : bool, default=False
        Charge what was released, not the whole plan: for requests that choose how much they
        release while they run, by what they have released already. An error charges the whole
        plan all the same.
    explainer : str
        Who asks, for the ledger's log.
    epsilon, delta : float
        The guarantee that was asked for, for the ledger's log.

    Raises
    ------
    ValueError
        On construction, if the neighbourhood needs noise that the lattice cannot carry.
    BudgetExceededError
        On entry, if the plan does not fit; nothing is spent.
    ReleaseError
        On exit, in place of any error that the block raised: an error message is a release too.
        The request is charged in full if anything was released, and not at all otherwise.

    Attributes
    ----------
    head : str
        Hash of the ledger after the commit.
    charged : GdpPair
        What the ledger was charged; nothing before the commit.
    """

    def __init__(
        self,
        ledger: PrivacyLedger,
        dataset: str,
        plan: ReleasePlan,
        randomness: Randomness,
        *,
        neighbourhood: Neighbourhood = _ONE_ROW,
        charges_used: bool = False,
        explainer: str,
        epsilon: float,
        delta: float,
    ) -> None:
        self._ledger = ledger
        self._dataset = dataset
        self._plan = plan
        self._randomness = randomness
        self.neighbourhood = neighbourhood
        self._charges_used = charges_used
        self._explainer = explainer
        self._asked = (epsilon, delta)
        self._planned = {part.name: part for part in plan.releases}
        self._left = {part.name: part.count for part in plan.releases}
        self._reservation: Reservation | None = None
        self._anything_released = False
        self.head = ""
        self.charged = GdpPair(0.0)
        self._check_noise()

    def _check_noise(self) -> None:
        """Refuse, before anything is reserved, noise that would leave the lattice."""
        factor = self.neighbourhood.sensitivity(LATTICE, aligned=False) / LATTICE
        for part in self._plan.releases:
            if part.mu < _SMALLEST_MU * factor:
                raise ValueError(
                    f"max_rows is {self.neighbourhood.max_rows}, which needs more noise for "
                    f"{part.name!r} at mu {part.mu:.3g} than 64-bit integers can carry; mu must "
                    f"be at least {_SMALLEST_MU * factor:.3g}. Keep fewer rows of each unit, or "
                    "ask for a larger epsilon or delta."
                )

    @property
    def public_choices(self) -> np.random.Generator:
        """Coin flips that are published with the model."""
        return self._randomness.public

    def __enter__(self) -> ReleaseDoor:
        """Reserve the whole plan."""
        cost = self._plan.cost
        self._reservation = self._ledger.reserve(
            self._dataset,
            protected=self.neighbourhood.protected,
            mu=cost.mu,
            delta=cost.delta,
            event=self._plan.event,
            epsilon=self._asked[0],
            epsilon_delta=self._asked[1],
            explainer=self._explainer,
        )
        return self

    def gaussian(
        self, name: str, exact: NDArray[np.int64], *, row_norm: int, aligned: bool
    ) -> tuple[NDArray[np.int64], float]:
        """Release sums under the planned name.

        Parameters
        ----------
        name : str
            Name of a planned release.
        exact : ndarray of int64, shape (n_releases, ...)
            Private sums; the first axis stacks releases, each charged once.
        row_norm : int
            Bound on the L2 norm of what one row adds to each of them, in lattice units.
        aligned : bool
            Whether what any two rows add has a non-negative inner product
            (:class:`~interpret_dp.accounting.neighbourhood.Neighbourhood`).

        Returns
        -------
        noisy : ndarray of int64, same shape
        sigma : float
            Noise scale in lattice units.

        Raises
        ------
        ReleaseError
            If the plan has no such release left, or the door is not open.
        """
        planned = self._take(name, len(exact), is_selection=False)
        return gaussian_mechanism(
            name,
            exact,
            sensitivity=self.neighbourhood.sensitivity(row_norm, aligned=aligned),
            mu=planned.mu,
            randomness=self._randomness,
        )

    def select(self, name: str, counts: Mapping[str | float, int]) -> Selection:
        """Release which values occur often, with their noisy counts, under the planned name.

        Parameters
        ----------
        name : str
            Name of a planned selection, of which one is used up.
        counts : mapping of str or float to int
            Private: number of rows of each value that occurs; a row counts once.

        Raises
        ------
        ReleaseError
            If the plan has no such selection left, or the door is not open.
        """
        planned = self._take(name, 1, is_selection=True)
        return gaussian_thresholding(
            name,
            counts,
            unit_rows=self.neighbourhood.max_rows,
            sensitivity=self.neighbourhood.sensitivity(LATTICE, aligned=True),
            mu=planned.mu,
            delta=planned.delta,
            randomness=self._randomness,
        )

    def _take(self, name: str, count: int, *, is_selection: bool) -> PlannedRelease:
        """Use up ``count`` planned releases of a name, or refuse."""
        planned = self._planned.get(name)
        is_other_kind = planned is not None and (planned.delta > 0) != is_selection
        left = 0 if is_other_kind or self._reservation is None else self._left.get(name, 0)
        if planned is None or left < count:
            what = "selections" if is_selection else "releases"
            raise ReleaseError(
                f"{count} {what} {name!r} were asked for; the plan has {left} left. Plan every "
                "release before the request starts."
            )
        self._left[name] -= count
        self._anything_released = True
        return planned

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Commit, or return the reservation if nothing was released."""
        reservation, self._reservation = self._reservation, None
        if reservation is None:
            return
        # An interruption comes from the user, not from the rows, and passes.
        failed = isinstance(error, Exception)
        if error is not None and not failed:
            error.__cause__ = error.__context__ = None
        try:
            if error is None or self._anything_released:
                self._commit(reservation, whole=error is not None or not self._charges_used)
            else:
                self._ledger.cancel(reservation)
        except BaseException as ledger_error:
            _cut_out(error, ledger_error)
            raise
        finally:
            # This frame is part of the traceback that the caller sees, with its variables.
            del kind, error, trace
        if failed:
            _raise_failure(self._anything_released)


    def _commit(self, reservation: Reservation, *, whole: bool) -> None:
        # Noted before the commit: if that fails the reservation stays open, which is spent too.
        self.charged = GdpPair(reservation.mu, reservation.delta)
        if whole:
            self.head = self._ledger.commit(reservation)
            return
        used = compose_repeated(
            (reduce_event(composed_json([(part.node, 1)])), part.count - self._left[name])
            for name, part in self._planned.items()
        )
        self.charged = GdpPair(min(used.mu, reservation.mu), reservation.delta)
        self.head = self._ledger.commit(reservation, charged_mu=self.charged.mu)


def _raise_failure(charged: bool) -> NoReturn:
    charge = (
        "The request was charged in full, since part of it had been released."
        if charged
        else "Nothing was released and nothing was charged."
    )
    failure = ReleaseError(_FAILURE.format(charge=charge))
    try:
        raise failure from None
    finally:
        # "from None" only hides the private error; loggers and debuggers follow the link.
        failure.__context__ = None
        del failure


def _cut_out(private: BaseException | None, error: BaseException) -> None:
    """Remove ``private`` from the chain of exceptions that led to ``error``."""
    pending: list[BaseException | None] = [error]
    seen: set[int] = set()
    while pending:
        link = pending.pop()
        if link is None or id(link) in seen:
            continue
        seen.add(id(link))
        if link.__context__ is private:
            link.__context__ = None
        pending += [link.__context__, link.__cause__]
