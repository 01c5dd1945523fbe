"""Questions of NIST SP 800-226 about a privacy guarantee, answered for one published model.

The guidelines ("Guidelines for Evaluating Differential Privacy Guarantees", March 2025) go from the
guarantee itself, through the algorithm, to the deployment that it depends on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from interpret_dp._figures import ceil_text
from interpret_dp.accounting.neighbourhood import Neighbourhood
from interpret_dp.explanation.budget import OF_SEVERAL_ROWS
from interpret_dp.released import AdditiveModel

__all__ = ["NOT_COVERED", "STATED", "Answer", "answers"]

NOT_COVERED, STATED = "Not covered", "Stated by the publishers"
"""Evidence of answers that nothing in the package backs, and of those that people give."""

_NOT_STATED = "Those who publish the model state nothing."
_BOUNDS = (
    "Each row becomes integers by the schema alone: numbers are clipped to the declared bounds, "
    "undeclared levels share one bin, and missing cells have a bin of their own. What a row adds "
    "to a sum is clipped to a norm that is fixed before the fit."
)
_DECLARED = "All bounds and levels were declared, so none was released."
_UNDECLARED = "Bounds or levels that were not declared were released, within this guarantee: {}."
_SELECTIONS = ("levels", "labels", "bounds", "target bounds", "largest weight")
_ARITHMETIC = (
    "Sums are integers. Noise is drawn by an exact sampler on an integer lattice, so that rounding "
    "reveals nothing, unless the assumptions say otherwise."
)
_BIAS = (
    "Noise and denoising draw curves towards zero where rows are rare, so effects in small groups "
    "come out too small. Bias in the rows themselves, and in the use of the model, is not covered."
)
_SIDE_CHANNELS = (
    "Values in rows raise no error and change no message, file name or log. Time and memory of the "
    "fit are not covered: whoever watches the machine learns about the rows."
)
_SECURITY = (
    "The model file holds no row, and reading it executes nothing; its seal shows accidents, and "
    "is no signature. Access to the rows, to the machine and to the ledger is not covered."
)
_COLLECTION = (
    "How the rows were collected, stored, shared and deleted. Differential privacy protects what "
    "is published, and not the table."
)


@dataclass(frozen=True)
class Answer:
    """A question and its answer.

    Attributes
    ----------
    part : {"Guarantee", "Algorithm", "Deployment"}
    topic, question, answer : str
    evidence : tuple of str
        Paths of proofs, pages and tests in the source of the package, or :data:`STATED`; empty
        where it covers nothing of the question.
    """

    part: str
    topic: str
    question: str
    answer: str
    evidence: tuple[str, ...] = ()

    @property
    def evidence_text(self) -> str:
        """The paths, or that the package does not cover the question."""
        return ", ".join(self.evidence) or NOT_COVERED


def answers(model: AdditiveModel, statements: Mapping[str, Any], odds: str) -> list[Answer]:
    """Return the questions in the order of the guidelines, with their answers.

    Parameters
    ----------
    model : AdditiveModel
    statements : mapping of str to str
        What the publishers say, by the names of a registry's record.
    odds : str
        What the guarantee means for an attacker.
    """
    promise = model.guarantee
    known = promise.registry_sections()
    loss, variant = known["privacy_loss"], known["dp_variant"]
    strength = (
        f"{variant['variant_name']}, epsilon {ceil_text(promise.epsilon)} at delta "
        f"{ceil_text(promise.delta)}. {odds}"
    )
    if promise.tests_only:
        strength = promise.sentence
    of_rows = promise.unit == Neighbourhood().unit_text
    billed = [share.name for share in promise.releases]
    undeclared = ", ".join(name for name in _SELECTIONS if name in billed)
    released = _UNDECLARED.format(undeclared) if undeclared else _DECLARED

    def stated(name: str) -> str:
        return str(statements.get(name, _NOT_STATED))

    def source(name: str) -> tuple[str, ...]:
        return (STATED,) if name in statements else ()

    return [
        Answer(
            *("Guarantee", "Epsilon and delta", "How strong is the guarantee?"),
            strength,
            ("docs/proofs/gaussian-accounting.md", "tests/accounting/test_guarantee.py"),
        ),
        Answer(
            *("Guarantee", "Choice of parameters", "Why these figures?"),
            stated("justification"),
            source("justification"),
        ),
        Answer(
            *("Guarantee", "Unit of privacy", "Who or what is protected?"),
            f"{loss['privacy_unit_details']} {OF_SEVERAL_ROWS if of_rows else ''}".strip(),
            (
                "docs/proofs/neighbouring_tables.md",
                "tests/audit/test_units_and_relations.py",
            ),
        ),
        Answer(
            *("Guarantee", "Unprotected quantities", "What counts as public?"),
            variant["unprotected_quantities"],
            ("docs/proofs/encoding.md", "tests/edges/test_nothing_leaks.py"),
        ),
        Answer(
            *("Guarantee", "Composition", "What do other private releases on these rows add?"),
            f"{known['accounting']['composition']} Further use of the rows: "
            f"{stated('release_type_details')}",
            ("docs/proofs/ledger-filter.md", "tests/ledger/test_adaptive_sequences.py"),
        ),
        Answer(
            *("Guarantee", "Other releases", "Was something released without privacy?"),
            "Releases about the same rows that are not in the ledger.",
        ),
        Answer(
            *("Algorithm", "Mechanisms", "Which noise was added to what?"),
            f"{promise.mechanism}. {loss['privacy_parameters_details']}",
            (
                "docs/proofs/releases.md",
                "docs/proofs/dp_ebm.md",
                "tests/mechanisms/test_additive.py",
            ),
        ),
        Answer(
            *("Algorithm", "Bounds", "What limits the contribution of a row?"),
            f"{_BOUNDS} {released}",
            ("docs/proofs/encoding.md", "tests/audit/test_neighbours.py"),
        ),
        Answer(
            *("Algorithm", "Preparation", "What was done to the rows before the fit?"),
            stated("preprocessing_and_hyperparameter_tuning"),
            source("preprocessing_and_hyperparameter_tuning"),
        ),
        Answer(
            *("Algorithm", "Utility", "How accurate are the results?"),
            "Each curve has a band that holds the fit without noise in about 95 of 100 fits, value "
            "by value. The section on accuracy says what was measured.",
            ("docs/noise_bands.md", "tests/statistical/test_noise_bands.py"),
        ),
        Answer(
            *("Algorithm", "Bias", "Are results worse for some groups?"),
            _BIAS,
            ("docs/known_limits.md", "docs/accuracy.md"),
        ),
        Answer(
            *("Deployment", "Trust model", "Who sees what, and must be trusted?"),
            f"{known['deployment_model']['model_name']} model: the curator sees the rows, and the "
            f"guarantee assumes what is listed with it. Actors: {stated('actors')}",
            ("docs/guarantee.md", "tests/explanation/test_guarantee_card.py"),
        ),
        Answer(
            *("Deployment", "Implementation", "Does computer arithmetic keep the guarantee?"),
            _ARITHMETIC,
            ("docs/proofs/vectorised_sampler.md", "tests/mechanisms/test_vectorised.py"),
        ),
        Answer(
            *("Deployment", "Side channels", "Can time, memory or errors reveal rows?"),
            _SIDE_CHANNELS,
            ("docs/known_limits.md", "tests/edges/test_nothing_leaks.py"),
        ),
        Answer(
            *("Deployment", "Security and access control", "Who can reach rows and noise?"),
            _SECURITY,
            ("docs/known_limits.md", "tests/edges/test_files.py"),
        ),
        Answer("Deployment", "Data collection exposure", "Are the rows safe?", _COLLECTION),
    ]
