"""Records for OpenDP's registry of deployments (opendp/deployments-registry-data), tier 3.

Fields and enumerations are those of the registry's schema of 15 July 2026. The registry asks for
facts of three kinds: what a guarantee says, what follows from the package, and what only the people
who publish a model know. The last are in :data:`STATEMENTS`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from interpret_dp._documents import is_encodable, printable
from interpret_dp._validate import check_choice, did_you_mean

FORMAT_DATE = date(2026, 7, 15)
"""Date of the registry's schema."""


@dataclass(frozen=True)
class Statement:
    """A field that only people know.

    Attributes
    ----------
    section : str
    meaning : str
        For the error that asks for it.
    default : str or None
        None: it must be given.
    choices : tuple of str
        The registry's enumeration; empty for free text.
    is_list : bool
        Whether the field holds several texts.
    """

    section: str
    meaning: str
    default: str | None = None
    choices: tuple[str, ...] = ()
    is_list: bool = False


_PRODUCTS = (
    *("Summary statistics", "Machine learning model", "Dataset", "Synthetic data"),
    *("Interactive API", "SQL queries"),
)
_SECTORS = "Technology", "Healthcare", "Education", "Government", "Energy", "Finance"

PREPARATION = "preprocessing_and_hyperparameter_tuning"
"""The statement that what a fit saw around it can contradict."""

STATEMENTS: dict[str, Statement] = {
    "name": Statement("basic", "name of the model"),
    "data_curators": Statement("basic", "who publishes it", is_list=True),
    "description": Statement("basic", "what it is, in a sentence"),
    "intended_use": Statement("basic", "what it may be used for"),
    "data_product_region": Statement("basic", "region of the data, or whose laws apply"),
    "publication_date": Statement("basic", "date of publication, such as '2026-11-27'"),
    "data_product_type": Statement("basic", "", "Machine learning model", _PRODUCTS),
    "data_product_sector": Statement("basic", "", "", _SECTORS),
    "actors": Statement(
        "deployment_model", "who sees rows, model and ledger, and why they are trusted"
    ),
    "release_type": Statement(
        "deployment_model", "", "One release", ("One release", "Many releases")
    ),
    "release_type_details": Statement(
        "deployment_model", "whether the rows will be used again, and what limits that"
    ),
    "data_source_type": Statement("deployment_model", "", "Static", ("Static", "Dynamic")),
    "access_type": Statement(
        "deployment_model", "", "Non-interactive", ("Non-interactive", "Interactive")
    ),
    PREPARATION: Statement(
        "implementation", "what was done to the rows and how settings were chosen before the fit"
    ),
    "justification": Statement("implementation", "why these parameters, this unit and this method"),
    "registry_authors": Statement("administrative", "who writes this record", is_list=True),
    "sources": Statement("administrative", "", ""),
    "notes": Statement("administrative", "", ""),
}
"""What a record of tier 3 needs and no model knows, by the registry's names."""


def registry_record(
    known: Mapping[str, Mapping[str, Any]], statements: Mapping[str, Any]
) -> dict[str, Any]:
    """Return a record that is valid by the registry's schema.

    Parameters
    ----------
    known : mapping of str to mapping
        Sections with the fields that the guarantee and the package know.
    statements : mapping of str to str or list of str
        Values of :data:`STATEMENTS`.

    Raises
    ------
    TypeError, ValueError
        If one is missing, unknown, or of another form. The message names every missing one.
    """
    given = checked_statements(statements)
    missing = [
        f"{name} ({one.meaning})"
        for name, one in STATEMENTS.items()
        if one.default is None and not given.get(name)
    ]
    if missing:
        raise ValueError(f"A record of tier 3 needs what no model knows: {', '.join(missing)}.")
    deployment: dict[str, dict[str, Any]] = {"basic": {}}
    deployment |= {section: dict(fields) for section, fields in known.items()}
    for name, one in STATEMENTS.items():
        value = given.get(name) or one.default
        if value:
            deployment.setdefault(one.section, {})[name] = value
    slug = re.sub(r"[^a-z0-9]+", "_", deployment["basic"]["name"].lower()).strip("_")
    return {"url_slug": slug or "model", "status": "Draft", "tier": 3, "deployment": deployment}


def checked_statements(statements: Mapping[str, Any]) -> dict[str, Any]:
    """Return the statements in the registry's form: texts, lists of texts, and a date as a text.

    Parameters
    ----------
    statements : mapping of str to str, date or list of str
        Some of :data:`STATEMENTS`. Empty ones are left out.

    Raises
    ------
    TypeError, ValueError
        If one is unknown, or of another form.
    """
    for name in statements:
        if name not in STATEMENTS:
            raise TypeError(
                f"{name!r} is no field that is stated; these are: {', '.join(STATEMENTS)}."
                f"{did_you_mean(name, STATEMENTS)}"
            )
    return {name: _checked(name, STATEMENTS[name], v) for name, v in statements.items() if v}


def _checked(name: str, statement: Statement, value: Any) -> Any:
    if statement.is_list:
        texts = [value] if isinstance(value, str) else value
        if not isinstance(texts, list | tuple) or not all(isinstance(one, str) for one in texts):
            raise TypeError(f"{name} is {value!r}; it must be a text or a list of texts.")
        for one in texts:
            check_text(name, one)
        return list(texts)
    if isinstance(value, date):
        value = value.isoformat()
    if not isinstance(value, str):
        raise TypeError(f"{name} is {value!r} ({type(value).__name__}); it must be a text.")
    check_text(name, value)
    if name == "publication_date":
        _check_date(value)
    return check_choice(name, value, statement.choices) if value and statement.choices else value


def check_text(name: str, value: Any) -> None:
    """Raise ValueError unless a value is a text that a file can hold, and not blank."""
    if not isinstance(value, str) or not value.strip() or not is_encodable(value):
        raise ValueError(
            f"{name} is {value!r}; it must be a text that is not empty, without halves of "
            "characters (surrogates), which UTF-8 cannot store. Remove them."
        )


def _check_date(value: str) -> None:
    try:
        is_date = date.fromisoformat(value).isoformat() == value
    except ValueError:
        is_date = False
    if not is_date:
        raise ValueError(
            f"publication_date is {value!r}; it must be a date as YYYY-MM-DD, such as "
            "'2026-11-27'. Use 01 for an unknown day or month."
        )


def registry_yaml(record: Mapping[str, Any], indent: str = "") -> str:
    """Return a record as YAML: every text is in double quotes, as in JSON, with more escapes.

    Parameters
    ----------
    record : mapping
        Of mappings, lists of texts, texts and numbers.
    indent : str
    """
    lines = []
    for key, value in record.items():
        if isinstance(value, Mapping):
            lines.append(f"{indent}{key}:\n{registry_yaml(value, indent + '  ')}")
        elif isinstance(value, list):
            items = "".join(f"{indent}  - {_scalar(item)}\n" for item in value)
            lines.append(f"{indent}{key}:\n{items}")
        else:
            lines.append(f"{indent}{key}: {_scalar(value)}\n")
    return "".join(lines)


def _scalar(value: Any) -> str:
    # JSON leaves characters as they are that YAML knows as escapes alone.
    text = printable(json.dumps(value, ensure_ascii=False))
    # YAML 1.1 reads 1e-06 as a text, and 1.0e-06 as a number.
    return text.replace("e", ".0e") if isinstance(value, float) and "." not in text else text
