"""Questions of NIST SP 800-226 about a privacy guarantee, answered for one published model.

The guidelines ("Guidelines for Evaluating Differential Privacy Guarantees", March 2025) go from the
guarantee itself, through the algorithm, to the deployment that it depends on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from interpret_dp.accounting.neighbourhood import Neighbourhood
from interpret_dp.accounting.registry import PREPARATION
from interpret_dp.accounting.state import DOES_NOT_HOLD
from interpret_dp.explanation.budget import OF_SEVERAL_ROWS
from interpret_dp.explanation.pages import TextTable
from interpret_dp.released import AdditiveModel

NOT_COVERED, STATED = "Not covered", "Stated by the publishers"
"""Evidence of answers that nothing in the package backs, and of those that people give."""

_NOT_STATED = "Those who publish the model state nothing."
_SELECTIONS = ("levels", "labels", "bounds", "target bounds", "largest weight")
_BOUNDS = (
    "Each row becomes integers by the schema alone: numbers are clipped to the declared bounds, "
    "undeclared levels share one bin, and missing cells have a bin of their own. What a row adds "
    "to a sum is clipped to a norm that is fixed before the fit. "
)
_DECLARED = "All bounds and levels were declared, so none was released."
_UNDECLARED = "Bounds or levels that were not declared were released, within this guarantee: {}."
_OTHERS = (
    *("Other releases", "Was something released without privacy?"),
    *("Releases about the same rows that are not in the ledger.", NOT_COVERED),
)
_UTILITY = (
    *("Utility", "How accurate are the results?"),
    "Each curve has a band that holds the fit without noise in about 95 of 100 fits, value by "
    "value. The section on accuracy says what was measured.",
    "docs/noise_bands.md, tests/statistical/test_noise_bands.py",
)
_BIAS = (
    *("Bias", "Are results worse for some groups?"),
    "Noise and denoising draw curves towards zero where rows are rare, so effects in small groups "
    "come out too small. Bias in the rows themselves, and in the use of the model, is not covered.",
    "docs/known_limits.md, docs/accuracy.md",
)
_ARITHMETIC = (
    *("Implementation", "Does computer arithmetic keep the guarantee?"),
    "Sums are integers. Noise is drawn by an exact sampler on an integer lattice, so that rounding "
    "reveals nothing, unless the assumptions say otherwise.",
    "docs/proofs/vectorised_sampler.md, tests/mechanisms/test_vectorised.py",
)
_SIDE_CHANNELS = (
    *("Side channels", "Can time, memory or errors reveal rows?"),
    "Values in rows raise no error and change no message, file name or log. Time and memory of the "
    "fit are not covered: whoever watches the machine learns about the rows.",
    "docs/known_limits.md, tests/edges/test_values.py",
)
_SECURITY = (
    *("Security and access control", "Who can reach rows and noise?"),
    "The model file holds no row, and reading it executes nothing; its seal shows accidents, and "
    "is no signature. Access to the rows, to the machine and to the ledger is not covered.",
    "docs/known_limits.md, tests/edges/test_files.py",
)
_COLLECTION = (
    *("Data collection exposure", "Are the rows safe?"),
    "How the rows were collected, stored, shared and deleted. Differential privacy protects what "
    "is published, and not the table.",
    NOT_COVERED,
)


def question_table(model: AdditiveModel, statements: Mapping[str, Any]) -> TextTable:
    """Return the questions in the order of the guidelines, with answers and what backs them.

    Parameters
    ----------
    model : AdditiveModel
    statements : mapping of str to str
        What the publishers say, by the names of a registry's record.

    Returns
    -------
    TextTable
        The last column has paths of proofs, pages and tests in the source of the package,
        :data:`STATED` or :data:`NOT_COVERED`.
    """
    promise = model.guarantee
    known = promise.registry_sections()
    loss, variant = known["privacy_loss"], known["dp_variant"]
    strength = f"{variant['variant_name']}, {promise.promised}."
    if promise.state == DOES_NOT_HOLD:
        strength = ""
    billed = {share.name for share in promise.releases}
    undeclared = ", ".join(name for name in _SELECTIONS if name in billed)
    several = f" {OF_SEVERAL_ROWS}" if promise.unit == Neighbourhood().unit_text else ""
    said = {name: str(text) for name, text in statements.items()}
    if promise.state_sentence:
        said[PREPARATION] = promise.checked_preparation(said.get(PREPARATION, _NOT_STATED))

    def stated(topic: str, question: str, name: str) -> tuple[str, ...]:
        return topic, question, said.get(name, _NOT_STATED), STATED if name in said else NOT_COVERED

    parts: dict[str, list[tuple[str, ...]]] = {
        "Guarantee": [
            (
                *("Epsilon and delta", "How strong is the guarantee?"),
                f"{promise.state_sentence} {strength}".strip(),
                "docs/proofs/gaussian-accounting.md, tests/accounting/test_guarantee.py",
            ),
            stated("Choice of parameters", "Why these figures?", "justification"),
            (
                *("Unit of privacy", "Who or what is protected?"),
                f"{loss['privacy_unit_details']}{several}",
                "docs/proofs/neighbouring_tables.md, tests/audit/test_units_and_relations.py",
            ),
            (
                *("Unprotected quantities", "What counts as public?"),
                variant["unprotected_quantities"],
                "docs/proofs/encoding.md, tests/audit/test_planted_everywhere.py",
            ),
            (
                *("Composition", "What do other private releases on these rows add?"),
                known["accounting"]["composition"],
                "docs/proofs/ledger-filter.md, tests/ledger/test_team_sequences.py",
            ),
            stated("Further use", "Will the rows be used again?", "release_type_details"),
            _OTHERS,
        ],
        "Algorithm": [
            (
                *("Mechanisms", "Which noise was added to what?"),
                f"{promise.mechanism}. {loss['privacy_parameters_details']}",
                "docs/proofs/releases.md, docs/proofs/dp_ebm.md, tests/mechanisms/test_additive.py",
            ),
            (
                *("Bounds", "What limits the contribution of a row?"),
                _BOUNDS + (_UNDECLARED.format(undeclared) if undeclared else _DECLARED),
                "docs/proofs/encoding.md, tests/audit/test_neighbours.py",
            ),
            stated(
                *("Preparation", "What was done to the rows before the fit?"),
                PREPARATION,
            ),
            *(_UTILITY, _BIAS),
        ],
        "Deployment": [
            (
                *("Trust model", "Who must be trusted?"),
                f"{known['deployment_model']['model_name']} model: the curator sees the rows, and "
                "the guarantee assumes what is listed with it.",
                "docs/guarantee.md, tests/explanation/test_guarantee_card.py",
            ),
            stated("Actors", "Who sees rows, model and ledger?", "actors"),
            *(_ARITHMETIC, _SIDE_CHANNELS, _SECURITY, _COLLECTION),
        ],
    }
    head = ["part", "topic", "question", "answer", "proof, page or test"]
    return TextTable(head, [[part, *row] for part, rows in parts.items() for row in rows])
