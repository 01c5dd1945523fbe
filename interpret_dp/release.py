"""Release sessions: the only way by which numbers computed from rows enter anything published.

A request says in advance, as a plan, every release it may make and what each costs. The session
reserves the whole cost in the ledger, hands out noise for planned releases only, and commits.
Nothing else in the package may turn private sums into public numbers. The exact counts of
``interpret_dp.schema.draft`` are for the curator alone, and are not to be published.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, ParamSpec, Protocol, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from interpret_dp._documents import digest_of
from interpret_dp._version import __version__
from interpret_dp.accounting import plans
from interpret_dp.accounting.composition import GdpPair, compose_repeated
from interpret_dp.accounting.guarantee import (
    DEFAULT_ASSUMPTIONS,
    SEEDED,
    Doubts,
    Guarantee,
    ReleaseShare,
)
from interpret_dp.accounting.lattice import LATTICE, Neighbourhood
from interpret_dp.exceptions import BackendError, ReleaseError, SitesError
from interpret_dp.mechanisms import additive
from interpret_dp.mechanisms.entropy import Randomness, refuse_seed, shared_choices

if TYPE_CHECKING:
    from interpret_dp.ledger import PrivacyLedger, Reservation

_FAILURE = (
    "The computation on the private rows failed. Its own message is withheld, because it may "
    "speak of the rows. {charge} Run the same call on public or simulated rows of the same types "
    "to see the cause."
)


_UNRECORDED = (
    "somebody counts what this cost: it was charged to the memory of a process, which no ledger "
    "holds and no head can show once that process has ended"
)

_TRUSTED = DEFAULT_ASSUMPTIONS[0]

_PLAN = "Plan every release before the request starts."

_ONE_ROW = Neighbourhood()

_Planned = TypeVar("_Planned", bound=plans.PlannedRelease)
_Model = TypeVar("_Model", bound=Any)
_P = ParamSpec("_P")
_T = TypeVar("_T")


# At sites, the noise that 64 bits must hold is that of 256 times larger sums: leaf sums are whole
# multiples of what one curator releases, and all pairs are compared in one release.
_SCALE_AT_SITES = 2**8


class Sharing(Protocol):
    """One of the sites that fit a model together, as :class:`interpret_dp.sites.Site` is.

    Attributes
    ----------
    n_sites, n_shares, max_sites : int
        All of them; those whose noise must suffice; and those that may have rows of one unit.
    token : str
        Of this fit alone: by it a ledger knows what it has reserved before a crash.
    has_released : bool
        Whether sums of this fit may have left the site, before a crash too.
    clauses : tuple of str
        What the promise assumes of sites.
    scope : str
        What a promise at sites says of itself.
    """

    n_sites: int
    n_shares: int
    max_sites: int
    token: str

    @property
    def has_released(self) -> bool: ...  # noqa: D102

    @property
    def clauses(self) -> tuple[str, ...]: ...  # noqa: D102

    @property
    def scope(self) -> str: ...  # noqa: D102

    def open(self, terms: Mapping[str, str]) -> int:
        """Agree with all sites on public terms, by name; return a seed that all have alike."""

    def total(self, noisy: NDArray[np.int64], facts: Mapping[str, Any]) -> NDArray[np.int64]:
        """Return the sum of all sites' noisy sums, of a release with these public facts."""

    def close(self, head: str, digest: str) -> tuple[str, ...]:
        """Tell the ledger's head and the digest of what was released; return those of all."""

    def stop(self) -> None:
        """Tell the other sites that this one does not go on; no reason is given."""


def stopping(checking: Callable[_P, _T]) -> Callable[_P, _T]:
    """Let a check before a fit tell the other sites, by its argument ``site``, if it refuses."""

    @functools.wraps(checking)
    def checked(*args: _P.args, **given: _P.kwargs) -> _T:
        try:
            return checking(*args, **given)
        except BaseException:
            site = cast("Sharing | None", given.get("site"))
            if site is not None:
                site.stop()
            raise

    return checked


@dataclass(frozen=True, kw_only=True)
class ReleaseRequest:
    """A checked request for a guarantee, and the account that pays for it; public.

    Attributes
    ----------
    epsilon, delta : float
        The guarantee that is asked for.
    neighbourhood : Neighbourhood
        Whom the guarantee protects.
    plan : plans.ReleasePlan
        Every release of the request.
    randomness : Randomness
    ledger : PrivacyLedger
    dataset : str
    conditions, failures : tuple of str
        As in :class:`~interpret_dp.accounting.guarantee.Guarantee`. They follow from arguments and
        from the calling code, never from a value in a row.
    site : Sharing or None
        The site that holds the rows, where others hold more; None: there are no others.
    """

    epsilon: float
    delta: float
    neighbourhood: Neighbourhood = _ONE_ROW
    plan: plans.ReleasePlan
    randomness: Randomness
    ledger: PrivacyLedger
    dataset: str
    conditions: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()
    site: Sharing | None = None

    @property
    def terms(self) -> Mapping[str, str]:
        """What all sites of a request must have alike, by name."""
        return {
            "interpret_dp": __version__,
            "numpy": np.__version__,
            "plan": digest_of({"releases": [repr(part) for part in self.plan.releases]}),
            "privacy unit": repr(self.neighbourhood),
        }

    def doubting(self, doubts: Doubts) -> Self:
        """Return the request with more conditions of its promise, or reasons why it is void."""
        both = Doubts(self.conditions, self.failures) | doubts
        return dataclasses.replace(self, conditions=both.conditions, failures=both.failures)

    def opened(self, explainer: str, *, charges_used: bool = False) -> ReleaseSession:
        """Return the context in which the request runs; the ledger's log names the explainer."""
        try:
            return ReleaseSession(self, explainer, charges_used=charges_used)
        except BaseException:
            if self.site is not None:
                self.site.stop()
            raise

    def guarantee(
        self,
        mechanism: str,
        assumptions: Sequence[str] = DEFAULT_ASSUMPTIONS,
        *,
        releases: Sequence[ReleaseShare] | None = None,
        scope: str | None = None,
    ) -> Guarantee:
        """Return the promise of the request, which its charge must agree with.

        Parameters
        ----------
        mechanism : str
            How the noise is made, in words.
        assumptions : sequence of str
            Those of the ledger and of the unit are added.
        releases : sequence of ReleaseShare, default=None
            What was released; None: the whole plan.
        scope : str, default=None
            As in :class:`~interpret_dp.accounting.guarantee.Guarantee`.
        """
        cost, site = self.plan.cost, self.site
        if site is not None:
            # Nobody is trusted with all rows.
            mechanism += "; each site adds a share of the noise, before masks that cancel"
            assumptions = (*(a for a in assumptions if a != _TRUSTED), *site.clauses)
            scope = " ".join(part for part in (scope, site.scope) if part)
        return Guarantee(
            epsilon=self.epsilon,
            delta=self.delta,
            mu=cost.mu if cost.delta == 0.0 else None,
            mechanism=mechanism,
            neighboring=self.neighbourhood.relation,
            unit=self.neighbourhood.unit_text,
            assumptions=(*assumptions, *_request_assumptions(self.ledger, self.neighbourhood)),
            releases=self.plan.shares if releases is None else tuple(releases),
            dataset=self.dataset,
            scope=scope,
            tests_only=self.randomness.tests_only,
            conditions=self.conditions,
            failures=self.failures,
            package_version=__version__,
        )


def _request_assumptions(ledger: PrivacyLedger, neighbourhood: Neighbourhood) -> Iterator[str]:
    """Yield what a promise assumes of its ledger and of the identifiers of its unit.

    Without the clause about a ledger in memory, such a promise looks like one that a ledger can
    confirm.
    """
    if not ledger.persistent:
        yield _UNRECORDED
    if neighbourhood.unit is not None:
        has, becomes = "which is not missing", "each row without one counts as a person of its own"
        if neighbourhood.drops_missing:
            has, becomes = "or none", "rows without one are left out"
        yield (
            f"all rows of a person carry the same {neighbourhood.unit!r}, {has}, in every request "
            f"on this data set; {becomes}"
        )


class ReleaseSession:
    """Context of one request: reserves on entry, commits on exit.

    Parameters
    ----------
    request : ReleaseRequest
    explainer : str
        Who asks, for the ledger's log.
    charges_used : bool, default=False
        Charge what was released, not the whole plan: for requests that choose how much they
        release while they run, by what they have released already. An error charges the whole
        plan all the same.

    Raises
    ------
    ValueError
        On construction, if the noise is beyond the lattice, or from a seed for a stored ledger.
    BudgetExceededError
        On entry, if the plan does not fit; nothing is spent.
    ReleaseError
        On exit, in place of any error that the block raised: an error message is a release too. A
        ``BackendError`` keeps its reason, which is one of a few fixed texts.
        The request is charged in full if anything was released, and not at all otherwise.

    Attributes
    ----------
    request : ReleaseRequest
    head : str
        Hash of the ledger after the commit.
    charged : GdpPair
        What the ledger was charged; nothing before the commit.
    """

    def __init__(
        self, request: ReleaseRequest, explainer: str, *, charges_used: bool = False
    ) -> None:
        self.request = request
        self._explainer = explainer
        self._charges_used = charges_used
        self._randomness = request.randomness
        self.neighbourhood = request.neighbourhood
        plan = request.plan
        sampled = [part for part in plan.releases if isinstance(part, plans.PlannedSampling)]
        ordinary = [part for part in plan.releases if isinstance(part, plans.PlannedRelease)]
        self._planned = {part.name: part for part in ordinary}
        self._left = {part.name: part.count for part in ordinary}
        self._sampled = {part.name: plans.SamplingInProgress(part) for part in sampled}
        self._reservation: Reservation | None = None
        self._anything_released = False
        # A warning or an error of what a value did would be a release, whatever NumPy is set to.
        self._silence = np.errstate(all="ignore")
        self.head = ""
        self.charged = GdpPair(0.0)
        if request.ledger.persistent:
            refuse_seed(request.randomness, request.ledger)
        self._check_noise()
        self._shared_choices: np.random.Generator | None = None

    def _check_noise(self) -> None:
        """Refuse, before anything is reserved, noise that would leave the lattice."""
        factor = self.neighbourhood.sensitivity(LATTICE, aligned=False) / LATTICE
        most = self.neighbourhood.sensitivity(LATTICE, aligned=False, of_total=True) / LATTICE
        if self._sampled and (factor != 1.0 or self.neighbourhood.max_rows > 1):
            raise ValueError(
                f"The promise is about {self.neighbourhood.unit_text} "
                f"({self.neighbourhood.relation}); what is trained on samples of rows can promise "
                "privacy only for adding or removing one unit of which one row is used. Declare "
                "PrivacyUnit(..., max_rows=1)."
            )
        site = self.request.site
        scale = 1 if site is None else _SCALE_AT_SITES * site.max_sites
        kinds = {type(part) for part in self.request.plan.releases}
        if site is not None and kinds != {plans.PlannedRelease}:
            raise ValueError(
                "Sites release noisy sums alone: no choices among candidates or values that occur, "
                "and no sums over samples of rows, as DP-LLM needs. Fit at one place, or without."
            )
        for part in self._planned.values():
            least = scale * plans.SMALLEST_MU * (most if part.of_total else factor)
            if part.mu < least:
                name = "total_rows" if part.of_total else "max_rows"
                raise ValueError(
                    f"{name} is {getattr(self.neighbourhood, name)}, which needs more noise for "
                    f"{part.name!r} at mu {part.mu:.3g} than 64-bit integers hold; mu must be at "
                    f"least {least:.3g}. Use fewer rows of each unit, or a larger epsilon or delta."
                )

    @property
    def public_choices(self) -> np.random.Generator:
        """Random numbers on which no privacy rests."""
        return self._shared_choices or self._randomness.public

    def __enter__(self) -> ReleaseSession:
        """Reserve the whole plan; then begin with all sites, or cancel."""
        request, site = self.request, self.request.site
        try:
            self._reservation = self._reserve()
            if site is not None:
                # A journal that was put back knows less than was released.
                self._anything_released = site.has_released or self._reservation.is_resumed
                if self._reservation.committed and not site.has_released:
                    raise SitesError(
                        "The ledger has charged this fit, and the journal knows of no message: it "
                        "is a copy from before. Name a new journal, for a new fit."
                    )
                self._shared_choices = shared_choices(site.open(request.terms))
        except BaseException:
            if site is not None:
                site.stop()
            reservation, self._reservation = self._reservation, None
            # What left the site before a crash stays charged.
            if reservation is not None and not self._anything_released:
                request.ledger.cancel(reservation)
            raise
        self._silence.__enter__()
        return self

    def _reserve(self) -> Reservation:
        request, cost = self.request, self.request.plan.cost
        return request.ledger.reserve(
            request.dataset,
            protected=self.neighbourhood.protected,
            mu=cost.mu,
            delta=cost.delta,
            event=request.plan.event,
            epsilon=request.epsilon,
            epsilon_delta=request.delta,
            explainer=self._explainer,
            token="" if request.site is None else request.site.token,
        )

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
            (:class:`~interpret_dp.accounting.lattice.Neighbourhood`).

        Returns
        -------
        noisy : ndarray of int64, same shape
        sigma : float
            Noise scale in lattice units.

        Raises
        ------
        ReleaseError
            If the plan has no such release left, or the session is not open.
        """
        site = self.request.site
        if site is not None:
            return self._shared(site, name, [exact], [row_norm], aligned)[0]
        planned = self._take(name, len(exact), plans.PlannedRelease)
        sensitivity = self._sensitivity(planned, row_norm, aligned)
        return additive.gaussian_mechanism(
            name,
            exact,
            sensitivity=sensitivity,
            mu=planned.mu,
            randomness=self._randomness,
        )

    def gaussian_each(
        self,
        name: str,
        exact: Sequence[NDArray[np.int64]],
        *,
        row_norms: Sequence[int],
        aligned: bool,
    ) -> list[tuple[NDArray[np.int64], float]]:
        """Release several sums under one planned name; sites exchange one message for all of them.

        Parameters
        ----------
        name, exact, row_norms, aligned
            As for :meth:`gaussian`, which releases one of them.

        Returns
        -------
        list of tuple
            What :meth:`gaussian` returns for each.
        """
        site = self.request.site
        if site is not None:
            return self._shared(site, name, exact, row_norms, aligned)
        return [
            self.gaussian(name, own, row_norm=row_norm, aligned=aligned)
            for own, row_norm in zip(exact, row_norms, strict=True)
        ]

    def _shared(
        self,
        site: Sharing,
        name: str,
        exact: Sequence[NDArray[np.int64]],
        row_norms: Sequence[int],
        aligned: bool,
    ) -> list[tuple[NDArray[np.int64], float]]:
        """Release sums of all sites in one message, each with its own sensitivity and charge."""
        planned = self._take(name, sum(map(len, exact)), plans.PlannedRelease)
        norms = [self._sensitivity(planned, row_norm, aligned) for row_norm in row_norms]
        noisy, shares = additive.shared_gaussian_mechanism(
            name,
            exact,
            # A unit moves the sums of so many sites, each by no more than that of one.
            sensitivities=[norm * site.max_sites for norm in norms],
            mu=planned.mu,
            n_shares=site.n_shares,
            total=site.total,
            randomness=self._randomness,
        )
        of_all = math.sqrt(site.n_sites)
        return [(own, share * of_all) for own, share in zip(noisy, shares, strict=True)]

    def _sensitivity(self, planned: plans.PlannedRelease, row_norm: int, aligned: bool) -> int:
        limits = self.neighbourhood
        return limits.sensitivity(row_norm, aligned=aligned, of_total=planned.of_total)

    def select(self, name: str, counts: Mapping[str | float, int]) -> additive.Selection:
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
            If the plan has no such selection left, or the session is not open.
        """
        planned = self._take(name, 1, plans.PlannedSelection)
        return additive.gaussian_thresholding(
            name,
            counts,
            unit_rows=self.neighbourhood.max_rows,
            sensitivity=self.neighbourhood.sensitivity(LATTICE, aligned=True),
            mu=planned.mu,
            delta=planned.delta,
            randomness=self._randomness,
        )

    def choose(
        self,
        name: str,
        scores: Sequence[int],
        *,
        row_norm: int,
    ) -> int:
        """Release which of some public candidates has one of the highest scores.

        Parameters
        ----------
        name : str
            Name of a planned choice, of which one is used up.
        scores : sequence of int, shape (n_candidates,)
            Private: for each candidate the L2 norm of a sum over rows, rounded down.
        row_norm : int
            Bound on the L2 norm of what one row adds to any of these sums.

        Returns
        -------
        int
            Index of a candidate, chosen by the exponential mechanism.

        Raises
        ------
        ReleaseError
            If the plan has no such choice left, or the session is not open.
        """
        planned = self._take(name, 1, plans.PlannedChoice)
        # A norm changes by no more than its sum does, and rounding down both adds nothing to a
        # bound that is an integer.
        sensitivity = self.neighbourhood.sensitivity(row_norm, aligned=False)
        return additive.exponential_mechanism(
            name,
            [-score for score in scores],
            sensitivity=sensitivity,
            epsilon=planned.epsilon,
            randomness=self._randomness,
        )

    def settle(self, name: str, *, probability: float, count: int) -> plans.SampledSteps:
        """Return the steps of a planned sampling, which follow from what was released before.

        Parameters
        ----------
        name : str
            Name of a planned sampling.
        probability : float
            With which each row is to be in a sample.
        count : int
            Number of samples.

        Raises
        ------
        ReleaseError
            If nothing of that name is planned, or other steps were settled or planned already.
        """
        sampling = self._sampled.get(name)
        if sampling is None or sampling.used or sampling.steps is not None:
            raise ReleaseError(f"There are no steps {name!r} left to settle; plan each name once.")
        sampling.steps = sampling.planned.settled(probability=probability, count=count)
        return sampling.steps

    def sampled_gaussian(
        self,
        name: str,
        n_rows: int,
        sums: Callable[[NDArray[np.int64]], NDArray[np.int64]],
        *,
        row_norm: int,
    ) -> tuple[NDArray[np.int64], float]:
        """Release sums over a fresh Poisson sample of the rows, under the planned name.

        Parameters
        ----------
        name : str
            Name of a planned sampling, of which one step is used up.
        n_rows : int
            Private number of rows.
        sums : callable
            Gives the int64 sums of the rows at given positions.
        row_norm : int
            Bound on the L2 norm of what one row adds, in lattice units.

        Returns
        -------
        noisy : ndarray of int64
        sigma : float
            Noise scale in lattice units.

        Raises
        ------
        ReleaseError
            If the plan has no such step left, or the session is not open.
        """
        sampling = self._sampled.get(name)
        steps = None if sampling is None or self._reservation is None else sampling.steps
        if sampling is None or steps is None or sampling.used >= steps.count:
            raise ReleaseError(f"A step of {name!r} was asked for; the plan has none left. {_PLAN}")
        # A step counts as used from its beginning: an interruption may come after the noise.
        sampling.used += 1
        self._anything_released = True
        return additive.sampled_gaussian_mechanism(
            name,
            n_rows,
            sums,
            sensitivity=row_norm,
            noise_multiplier=steps.noise_multiplier,
            probability=steps.probability,
            randomness=self._randomness,
        )

    def _take(self, name: str, count: int, kind: type[_Planned]) -> _Planned:
        """Use up ``count`` planned releases of a name and a kind, or refuse."""
        found = self._planned.get(name)
        # The exact class: subclasses of a planned release pay for other mechanisms.
        planned = found if type(found) is kind else None
        is_open = planned is not None and self._reservation is not None
        left = self._left[name] if is_open else 0
        if planned is None or left < count:
            what = f"{count} {kind.words} {name!r} were asked for; the plan has {left} left"
            raise ReleaseError(f"{what}. {_PLAN}")
        self._left[name] -= count
        self._anything_released = True
        return planned

    def concluded(self, model: _Model) -> _Model:
        """Return the released model with the ledger's head in its promise, and those of all sites.

        Parameters
        ----------
        model : dataclass
            With ``guarantee`` and ``to_dict``.
        """
        site, heads = self.request.site, tuple[str, ...]()
        if site is not None:
            document = {k: v for k, v in model.to_dict().items() if k != "guarantee"}
            heads = site.close(self.head, digest_of(document))
        promise = dataclasses.replace(model.guarantee, ledger_head=self.head, sites=heads)
        return dataclasses.replace(model, guarantee=promise)

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
        self._silence.__exit__(None, None, None)
        # An interruption comes from the user, not from the rows, and passes.
        failed = isinstance(error, Exception)
        reason = error.reason if isinstance(error, BackendError) else None
        of_sites = str(error) if isinstance(error, SitesError) else None
        if error is not None and not failed:
            error.__cause__ = error.__context__ = None
        try:
            if error is not None and self.request.site is not None:
                self.request.site.stop()
            if error is None or self._anything_released:
                self._commit(reservation, whole=error is not None or not self._charges_used)
            else:
                self.request.ledger.cancel(reservation)
        except BaseException as ledger_error:
            _cut_out(error, ledger_error)
            raise
        finally:
            # This frame is part of the traceback that the caller sees, with its variables.
            del kind, error, trace
        if failed:
            _raise_failure(self._anything_released, reason, of_sites)

    def _commit(self, reservation: Reservation, *, whole: bool) -> None:
        # Noted before the commit: if that fails the reservation stays open, which is spent too.
        self.charged = GdpPair(reservation.mu, reservation.delta)
        if reservation.committed:
            self.head = reservation.committed
            return
        if not whole:
            used = compose_repeated(
                [(part.pair, part.count - self._left[name]) for name, part in self._planned.items()]
                + [(GdpPair(sampling.mu), 1) for sampling in self._sampled.values()]
            )
            self.charged = GdpPair(min(used.mu, reservation.mu), reservation.delta)
        request = self.request
        seeded = (SEEDED,) if request.randomness.tests_only else ()
        self.head = request.ledger.commit(
            reservation,
            charged_mu=None if whole else self.charged.mu,
            conditions=request.conditions,
            failures=(*request.failures, *seeded),
        )


def _raise_failure(charged: bool, reason: str | None, of_sites: str | None) -> NoReturn:
    charge = "Nothing was released and nothing was charged."
    if charged:
        charge = "The request was charged in full, since part of it had been released."
    failure = ReleaseError(_FAILURE.format(charge=charge))
    if of_sites is not None:
        failure = SitesError(f"{of_sites} {charge}")
    if reason is not None:
        # A backend's own reason is one of a few fixed texts.
        failure = BackendError(reason, charge)
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
