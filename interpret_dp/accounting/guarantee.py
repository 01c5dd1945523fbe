"""The guarantee of a fit: its figures, its state, one plain sentence, true as printed."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from interpret_dp._documents import check_keys, open_document
from interpret_dp._validate import (
    ceil_text,
    check_choice,
    check_flag,
    check_int,
    check_name,
    check_real,
    notebook_table,
)
from interpret_dp.accounting.composition import GdpPair, compose
from interpret_dp.accounting.gaussian import delta_of_mu, detection_power
from interpret_dp.accounting.lattice import Neighbourhood
from interpret_dp.accounting.registry import PREPARATION, check_text, registry_record, registry_yaml

# State of a guarantee: it holds, it holds if conditions are met, or it does not hold.

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
        if self.failures:
            return DOES_NOT_HOLD
        return HOLDS_IF if self.conditions else HOLDS

    @property
    def sentence(self) -> str:
        """The state in a sentence, with every condition or reason; empty if the promise holds."""
        needed = f"only if {'; and if '.join(self.conditions)}." if self.conditions else ""
        if self.failures:
            without = f" Without that it would hold {needed}" if needed else ""
            return f"The promise does not hold: {'; '.join(self.failures)}.{without}"
        return f"The promise holds {needed}" if needed else ""


DEFAULT_ASSUMPTIONS = (
    "the curator who runs the fit is trusted with the rows",
    "the operating system's randomness is unpredictable",
    "the ledger is neither rolled back nor copied",
    "every refit and every tuned fit on these rows is charged to the ledger",
    "steps before the fit, such as scaling, imputing or choosing columns, learned nothing from "
    "these rows",
    "neighbouring tables have the same columns, of the same names and types",
    "the schema (names, types, bounds and levels) is public and was not read off the rows",
)
"""Assumptions of every guarantee of this package, as clauses of a sentence."""

UNDECLARED_ASSUMPTIONS = (
    *DEFAULT_ASSUMPTIONS[:-1],
    "the names and types of the columns, and the bounds and levels that were declared, are public "
    "and were not read off the rows",
    "bounds and levels that were not declared were released within this promise",
)
"""The same where something was left undeclared."""

FALSE_ALARMS = 0.05
"""Share of absent persons whom the attacker of our plain sentences is ready to accuse."""

MOST_CENTRED_BEFORE = 32_767
"""Features of a row that 0.1.0 and 0.2.0.dev0 could centre without an overflow."""
VOID_CENTRE = (
    f"its maps centred rows of more than {MOST_CENTRED_BEFORE:,} features by a version before "
    "0.2.0.dev1, in which a sum of squares overflowed and one row could move the release by any "
    "amount"
)
"""Why the promise of such maps does not hold."""

_FORMAT = "interpret_dp.guarantee"
_VERSION = 1
_RELATIVE_TOLERANCE = 1e-9
# Fields that documents of older versions lack, and that are left out where they are empty.
_OPTIONAL = ("scope", "conditions", "failures", "package_version", "sites")

_PAIRS_OF_TABLES = {
    "add_or_remove_one": "any two tables that differ by adding or removing {unit}",
    "replace_one": "any two tables that differ in the content of {unit}",
}
_NUMBER_OF_ROWS = {
    "add_or_remove_one": "The number of rows is protected.",
    "replace_one": "The number of rows is not protected.",
}
# Those who are wrongly accused, and the one who is spotted: of people, and of rows.
_SUSPECTS = {
    "add_or_remove_one": (
        ("people who are not in the data", "a person who is in the data"),
        ("rows that are not in the data", "a row that is in the data"),
    ),
    "replace_one": (
        ("people with one of two contents", "a person with the other"),
        ("rows with one of two contents", "a row with the other"),
    ),
}


def detection_text(probability: str, *, relation: str, of_rows: bool, seen: str = "") -> str:
    """Return how well an attacker can tell that a person is in the data, in odds.

    Parameters
    ----------
    probability : str
        Of spotting a person, in percent.
    relation : {"add_or_remove_one", "replace_one"}
        Relation of neighbouring tables.
    of_rows : bool
        Whether one row is protected, and not all rows of a person.
    seen : str
        What the attacker sees, such as "that the model published".
    """
    alarms = f"{100 * FALSE_ALARMS:g}"
    innocent, guilty = _SUSPECTS[relation][of_rows]
    who = f"wrongly accuses {alarms} of 100 {innocent}"
    who = f"who sees everything {seen}, and {who}," if seen else f"who {who}"
    return (
        f"Someone {who} would spot {guilty} with probability at most {probability}; guessing gives "
        f"{alarms} %."
    )


@dataclass(frozen=True)
class ReleaseShare:
    """One line of the bill: releases of one name and what they cost together.

    Attributes
    ----------
    name : str
        What was released, such as ``"boosting"``.
    mu : float
        Gaussian differential privacy of all ``count`` releases together.
    count : int
        Number of releases, a public figure.
    delta : float
        Of all of them together, where they are selections among what occurs in the rows; 0 for
        purely Gaussian releases.

    Examples
    --------
    >>> from interpret_dp.accounting import ReleaseShare
    >>> ReleaseShare("boosting", mu=0.2, count=480).to_dict()
    {'name': 'boosting', 'mu': 0.2, 'count': 480}
    """

    name: str
    mu: float
    count: int
    delta: float = 0.0

    def __post_init__(self) -> None:
        """Check the figures."""
        check_text("name", self.name)
        object.__setattr__(self, "mu", check_real("mu", self.mu, low=0))
        object.__setattr__(self, "count", check_int("count", self.count, low=1, high=10**12))
        delta = check_real("delta", self.delta, low=0, high=1, high_open=True)
        object.__setattr__(self, "delta", delta)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a JSON object; a delta of 0 is left out."""
        document = dataclasses.asdict(self)
        if not self.delta:
            del document["delta"]
        return document


@dataclass(frozen=True, kw_only=True, repr=False)
class Guarantee:
    """The promise of one fit; public, holds no figure of the rows.

    Attributes
    ----------
    epsilon, delta : float
        The whole released object is (epsilon, delta)-differentially private.
    mu : float or None
        Its Gaussian differential privacy; None where the spend is not purely Gaussian. It must
        imply (epsilon, delta). Where the releases have deltas of their own, these and their mu
        together must imply it.
    mechanism : str
        How the noise was made, in words.
    neighboring : {"add_or_remove_one", "replace_one"}
        Which tables are neighbours.
    unit : str
        What is added or removed.
    assumptions : tuple of str
        Clauses under which the promise holds.
    releases : tuple of ReleaseShare
        How the spend was divided.
    dataset, ledger_head : str or None
        Where it was charged: the data set's name, and the hash of the ledger's last entry.
    scope : str or None
        A sentence on whom the promise is about and whom it is not, where that is not everybody in
        the rows without condition: it follows the first sentence wherever that is shown.
    tests_only : bool
        The noise came from a fixed seed: nothing is promised.
    conditions : tuple of str
        Clauses that this very fit depends on, beyond what every fit assumes: it saw something
        that it cannot check. With one the state is "holds if".
    failures : tuple of str
        Clauses on why the promise is void, such as a step that learned from the rows. With one
        the state is "does not hold".
    package_version : str or None
        Version of this package that made the noise; None: one before 0.2.0.dev1.
    sites : tuple of str
        The sites that fitted together, each with the head of its ledger; empty: one place did.

    Raises
    ------
    TypeError, ValueError
        If a field is out of range, if ``mu`` or the bill does not imply (epsilon, delta), or if
        the releases add up to more than ``mu``.

    Examples
    --------
    >>> promise = Guarantee(epsilon=1.0, delta=1e-6, mu=0.2367, mechanism="Gaussian noise")
    >>> print(promise.sentence)  # doctest: +ELLIPSIS
    For any two tables that differ by adding or removing one row, the probability of any outcome ...
    """

    epsilon: float
    delta: float
    mu: float | None
    mechanism: str
    neighboring: str = "add_or_remove_one"
    unit: str = "one row"
    assumptions: tuple[str, ...] = DEFAULT_ASSUMPTIONS
    releases: tuple[ReleaseShare, ...] = ()
    dataset: str | None = None
    ledger_head: str | None = None
    scope: str | None = None
    tests_only: bool = False
    conditions: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()
    package_version: str | None = None
    sites: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check every field, and that mu, (epsilon, delta) and the releases agree."""
        for name, value in {
            "epsilon": check_real("epsilon", self.epsilon, low=0),
            "delta": check_real("delta", self.delta, low=0, high=1, high_open=True),
            "mu": None if self.mu is None else check_real("mu", self.mu, low=0),
            "assumptions": _checked_tuple("assumptions", self.assumptions, str),
            "releases": _checked_tuple("releases", self.releases, ReleaseShare),
            "conditions": _checked_tuple("conditions", self.conditions, str),
            "failures": _checked_tuple("failures", self.failures, str),
            "sites": _checked_tuple("sites", self.sites, str),
        }.items():
            object.__setattr__(self, name, value)
        check_text("mechanism", self.mechanism)
        check_text("unit", self.unit)
        check_choice("neighboring", self.neighboring, _PAIRS_OF_TABLES)
        for name in ("ledger_head", "scope", "package_version"):
            if getattr(self, name) is not None:
                check_text(name, getattr(self, name))
        if self.dataset is not None:
            object.__setattr__(self, "dataset", check_name("dataset", self.dataset))
        for name in ("assumptions", "conditions", "failures", "sites"):
            for clause in getattr(self, name):
                check_text(f"a clause of {name}", clause)
        if not isinstance(self.tests_only, bool):
            raise TypeError(f"tests_only is {self.tests_only!r}; it must be True or False.")
        self._check_agreement()

    @property
    def doubts(self) -> Doubts:
        """Conditions, and every reason why the promise does not hold, a fixed seed among them."""
        seeded = (SEEDED,) if self.tests_only else ()
        return Doubts(self.conditions, seeded + self.failures)

    @property
    def state(self) -> str:
        """Whether the promise "holds", "holds if" conditions are met, or "does not hold"."""
        return self.doubts.state

    @property
    def state_sentence(self) -> str:
        """The state in a sentence, with every condition or reason; empty if the promise holds."""
        return self.doubts.sentence

    def doubting(self, doubts: Doubts) -> Guarantee:
        """Return the guarantee with more conditions, or reasons why it does not hold.

        Parameters
        ----------
        doubts : Doubts
        """
        both = Doubts(self.conditions, self.failures) | doubts
        return dataclasses.replace(self, conditions=both.conditions, failures=both.failures)

    @property
    def pair(self) -> GdpPair | None:
        """The spend as a (mu, delta) pair; None if it is neither purely Gaussian nor billed."""
        if self.mu is not None:
            return GdpPair(self.mu)
        if not self.releases:
            return None
        return compose(GdpPair(share.mu, share.delta) for share in self.releases)

    def _check_agreement(self) -> None:
        billed = compose(GdpPair(share.mu, share.delta) for share in self.releases)
        if self.mu is not None and (
            billed.delta or billed.mu > self.mu * (1.0 + _RELATIVE_TOLERANCE)
        ):
            raise ValueError(
                f"The releases add up to mu {billed.mu:.6g} and delta {billed.delta:.6g}, more "
                f"than the mu {self.mu:.6g} of the whole; mu is None where not purely Gaussian."
            )
        pair = self.pair
        if pair is None:
            return
        implied = pair.delta + (1.0 - pair.delta) * delta_of_mu(pair.mu, self.epsilon)
        if implied > self.delta * (1.0 + _RELATIVE_TOLERANCE):
            raise ValueError(
                f"mu {pair.mu:.6g} at epsilon {self.epsilon:.6g} implies delta {implied:.6g}, more "
                f"than the delta {self.delta:.6g} that is promised. Use mu_of_budget(epsilon, "
                "delta), with gaussian_part(delta, ...) for releases that have deltas of their own."
            )

    @property
    def sentence(self) -> str:
        """The state, the promise and its scope; every figure is rounded up.

        A promise that does not hold is not printed: the sentence says why it does not.
        """
        if self.state == DOES_NOT_HOLD:
            return self.state_sentence
        tables = _PAIRS_OF_TABLES[self.neighboring].format(unit=self.unit)
        text = (
            f"For {tables}, the probability of any outcome differs by at most a factor "
            f"{_factor_text(self.epsilon)}"
        )
        if self.delta > 0:
            text += f", plus {ceil_text(self.delta)}"
        parts, pair = [f"{text}."], self.pair
        if pair is not None:
            power = 100.0 * detection_power(pair.mu, FALSE_ALARMS, pair.delta)
            of_rows = self.unit == Neighbourhood().unit_text
            probability = f"{ceil_text(power, digits=2)} %"
            parts.append(detection_text(probability, relation=self.neighboring, of_rows=of_rows))
        return " ".join(part for part in (self.state_sentence, *parts, self.scope) if part)

    @property
    def brief(self) -> str:
        """Epsilon, delta and data set in a few words, rounded up; with the state."""
        dataset = "" if self.dataset is None else f", data set {self.dataset!r}"
        return f"{self.promised}{dataset}"

    @property
    def promised(self) -> str:
        """Epsilon and delta, rounded up, with the state; no figure if it does not hold."""
        if self.state == DOES_NOT_HOLD:
            return "nothing promised: the guarantee does not hold"
        text = f"epsilon {ceil_text(self.epsilon)} at delta {ceil_text(self.delta)}"
        return text if self.state == HOLDS else f"{text}, on conditions"

    @property
    def shown_assumptions(self) -> tuple[str, ...]:
        """Assumptions; none where nothing is promised, for a failure may say the contrary."""
        return () if self.state == DOES_NOT_HOLD else self.assumptions

    def __str__(self) -> str:
        """Return the sentence and what it assumes."""
        if not self.shown_assumptions:
            return self.sentence
        return f"{self.sentence} This assumes that {'; '.join(self.shown_assumptions)}."

    def __repr__(self) -> str:
        """Return the state and the figures in a few words."""
        return f"<Guarantee that {self.state}: {self.brief}>"

    def _repr_html_(self) -> str:
        """Return the sentence, the figures and the assumptions for a notebook, escaped."""
        figures = {"state": self.state}
        if self.state != DOES_NOT_HOLD:
            figures |= {
                "epsilon": ceil_text(self.epsilon, digits=6),
                "delta": ceil_text(self.delta, digits=6),
                "mu": "not purely Gaussian" if self.mu is None else ceil_text(self.mu, digits=6),
            }
        figures |= {
            "neighbouring tables": self.neighboring.replace("_", " "),
            "unit": self.unit,
            "mechanism": self.mechanism,
            "data set": self.dataset or "not named",
            "ledger head": self.ledger_head or "none",
        }
        if self.sites:
            figures["sites"] = "; ".join(self.sites)
        if self.state != DOES_NOT_HOLD:
            figures |= {f"of which {share.name}": _share_text(share) for share in self.releases}
        clauses = [f"Assumed: {clause}" for clause in self.shown_assumptions]
        return notebook_table(self.sentence, (), list(figures.items()), note="\n".join(clauses))

    def to_dict(self) -> dict[str, Any]:
        """Return a versioned document that JSON can hold; :meth:`from_dict` reads it.

        What older versions did not know is left out where it is empty.
        """
        document = {"format": _FORMAT, "version": _VERSION} | dataclasses.asdict(self)
        document["assumptions"] = list(self.assumptions)
        document["releases"] = [share.to_dict() for share in self.releases]
        for name in _OPTIONAL:
            document[name] = list(value) if isinstance(value := document[name], tuple) else value
            if not value:
                del document[name]
        # Of a fixed seed ``tests_only`` says so, as in documents of older versions.
        if self.conditions or self.failures:
            document["state"] = self.state
        return document

    def to_registry(
        self, *, even_if_void: bool = False, edits: Sequence[str] = (), **statements: Any
    ) -> dict[str, Any]:
        """Return a record of tier 3 for OpenDP's registry of deployments.

        Costs no privacy. Nothing in it was computed from rows; their number is not in it.

        Parameters
        ----------
        even_if_void : bool
            Make the record of a promise that does not hold, which says so and why.
        edits : sequence of str
            What people changed after the release, a text each: it is post-processing.
        **statements : str or list of str
            What only people know, by the registry's names. Required are ``name``,
            ``data_curators``, ``description``, ``intended_use``, ``data_product_region``,
            ``publication_date`` (YYYY-MM-DD), ``actors``, ``release_type_details``,
            ``preprocessing_and_hyperparameter_tuning``, ``justification`` and
            ``registry_authors``. Optional are ``data_product_type``, ``data_product_sector``,
            ``release_type``, ``data_source_type``, ``access_type`` ("Interactive" where an
            explainer answers queries), ``sources`` and ``notes``.

        Returns
        -------
        dict
            Valid by the registry's schema of 15 July 2026, with the status "Draft".

        Raises
        ------
        TypeError, ValueError
            If a statement is missing, unknown or of another form, or the promise does not hold.

        Examples
        --------
        >>> promise = Guarantee(epsilon=1.0, delta=1e-6, mu=0.2367, mechanism="Gaussian noise")
        >>> promise.to_registry(name="Readmission")
        Traceback (most recent call last):
        ValueError: A record of tier 3 needs what no model knows: data_curators ...
        """
        self.refuse_void(even_if_void)
        record = registry_record(self.registry_sections(), statements)
        made = record["deployment"]["implementation"]
        made[PREPARATION] = self.checked_preparation(made[PREPARATION])
        if edits:
            record["deployment"]["accounting"]["post_processing"] += (
                f" After the release people edited it: {'; '.join(edits)}. Edits read nothing from "
                "the data. The guarantee does not cover edits that were chosen by looking at rows "
                "that are not public."
            )
        return record

    def to_registry_yaml(self, **given: Any) -> str:
        """Return the record of :meth:`to_registry` as YAML.

        Parameters
        ----------
        **given
            As :meth:`to_registry` takes it.
        """
        return registry_yaml(self.to_registry(**given))

    def refuse_void(self, even_if_void: bool = False) -> None:
        """Raise ValueError if the promise does not hold, unless it is to be published as void.

        Parameters
        ----------
        even_if_void : bool, default=False
        """
        if self.state == DOES_NOT_HOLD and not check_flag("even_if_void", even_if_void):
            raise ValueError(
                f"{self.state_sentence} Fit again without that, or pass even_if_void=True "
                "(--even-if-void): what is written then says that nothing is promised."
            )

    def checked_preparation(self, stated: str) -> str:
        """Return a statement on what came before the fit, with what the model knows beside it.

        Parameters
        ----------
        stated : str
        """
        if not self.state_sentence:
            return stated
        return f"{stated} The model knows: {self.state_sentence}"

    def registry_sections(self) -> dict[str, dict[str, Any]]:
        """Return the fields of a record that the guarantee and the package know, by section."""
        tables = _PAIRS_OF_TABLES[self.neighboring].format(unit=self.unit)
        account = "" if self.dataset is None else f" of data set {self.dataset!r}"
        head = (
            "" if self.ledger_head is None else f" Its head after this release: {self.ledger_head}."
        )
        return {
            "dp_variant": {
                "variant_name": "Approximate DP" if self.delta else "Pure DP",
                "data_domain": "All tables with the columns of the schema.",
                "unprotected_quantities": (
                    "Names and types of the columns, declared bounds and levels, and the settings "
                    "of the fit. They are public by declaration. "
                    f"{_NUMBER_OF_ROWS[self.neighboring]}"
                ),
            },
            "privacy_loss": {
                "privacy_unit": self.unit,
                "privacy_unit_details": f"Neighbours are {tables}. {self.scope or ''}".strip(),
                # A delta of 1 promises nothing, whatever epsilon is.
                "privacy_parameters": {"delta": 1.0}
                if self.state == DOES_NOT_HOLD
                else {"epsilon": self.epsilon, "delta": self.delta},
                "privacy_parameters_details": " ".join(
                    part for part in (self.state_sentence, _bill_text(self)) if part
                ),
            },
            "deployment_model": {
                "model_name": "Federated" if self.sites else "Central",
                "model_name_details": f"Assumptions: {'; '.join(self.shown_assumptions)}."
                if self.shown_assumptions
                else self.state_sentence,
            },
            "accounting": {
                "post_processing": (
                    "Everything that is shown is computed from the released numbers: curves and "
                    "their bands, importances, explanations of single rows, edits."
                ),
                "composition": (
                    "Gaussian differential privacy composes by the root of the sum of squares of "
                    f"mu. Requests on the rows are charged to the ledger{account}; its budget, "
                    f"where one is set, bounds them together.{head}"
                ),
            },
            "implementation": {
                "mechanisms": (
                    f"{self.mechanism}, by interpret_dp {self.package_version or 'before 0.2.0'}. "
                    "What this assumes of the arithmetic is among the assumptions. Rows cannot "
                    "raise errors or change messages. The time and the memory that a request takes "
                    "are not protected."
                ),
            },
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Guarantee:
        """Return the guarantee of a document that :meth:`to_dict` wrote.

        Parameters
        ----------
        document : mapping

        Raises
        ------
        TypeError, ValueError
            If the document is of another format or version, lacks a key or has one too many, or
            if its figures are out of range or contradict each other.
        """
        keys = [field.name for field in dataclasses.fields(cls) if field.name not in _OPTIONAL]
        writer = "guarantee.to_dict()"
        fields = open_document(
            "guarantee", document, _FORMAT, (_VERSION,), keys, (*_OPTIONAL, "state"), writer=writer
        )
        state = fields.pop("state", None)
        if not isinstance(fields["releases"], list):
            raise TypeError("The guarantee's releases must be a list.")
        for share in fields["releases"]:
            check_keys("A release", share, ("name", "mu", "count"), ("delta",))
        fields["releases"] = tuple(ReleaseShare(**share) for share in fields["releases"])
        guarantee = cls(**fields)
        if state not in (None, guarantee.state):
            raise ValueError(
                f"The guarantee's state is {state!r}; by its clauses it is {guarantee.state!r}."
            )
        return guarantee


def _bill_text(guarantee: Guarantee) -> str:
    """Return mu, and what of it each kind of release took; nothing of a void promise."""
    if guarantee.state == DOES_NOT_HOLD:
        return ""
    shares = ", ".join(f"{share.name} {_share_text(share)}" for share in guarantee.releases)
    own = ""
    if guarantee.mu is not None:
        figure = ceil_text(guarantee.mu, digits=6)
        own = f"{figure}-Gaussian differential privacy, which implies (epsilon, delta)."
    return f"{own} Releases: {shares}.".strip() if shares else own or guarantee.sentence


def _factor_text(epsilon: float) -> str:
    """Return "e^1 (2.72)" with both figures rounded up."""
    exponent = ceil_text(epsilon, digits=6)
    try:
        factor = math.nextafter(math.exp(float(exponent)), math.inf)
    except OverflowError:
        return f"e^{exponent}"
    return f"e^{exponent} ({ceil_text(factor)})"


def _checked_tuple(name: str, values: Any, kind: type) -> tuple[Any, ...]:
    if not isinstance(values, list | tuple) or not all(isinstance(v, kind) for v in values):
        raise TypeError(f"{name} is {values!r}; it must be a tuple of {kind.__name__}.")
    return tuple(values)


def _share_text(share: ReleaseShare) -> str:
    own = f" and delta {ceil_text(share.delta, digits=6)}" if share.delta else ""
    return f"mu {ceil_text(share.mu, digits=6)}{own} ({share.count} releases)"
