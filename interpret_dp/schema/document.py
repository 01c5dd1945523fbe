"""A schema as a file: versioned JSON and TOML that refuse whatever they do not know."""

from __future__ import annotations

import dataclasses
import io
import json
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from interpret_dp._documents import check_keys, open_document, parse_json, write_file
from interpret_dp._validate import check_choice
from interpret_dp.exceptions import SchemaError
from interpret_dp.schema.declarations import (
    ROWS,
    Categorical,
    Continuous,
    FeatureSpec,
    Integer,
    PrivacyUnit,
    Source,
)

_FORMAT = "interpret_dp.schema"
_MEND_FILE = "Correct it, or write the file again with Schema.save(path)."
_VERSION = 1

# The keys of each table of the document: those that must be there, and those that may.
_KEYS = ("target", "default", "unit", "features")
_UNIT_KEYS = (("column",), ("max_rows", "total_rows", "missing"))
_SPEC_KEYS = {
    "continuous": (("type", "lower", "upper"), ("scale",)),
    "integer": (("type", "lower", "upper"), ("scale",)),
    "categorical": (("type", "levels"), ("ordered",)),
}
_CLASSES: dict[str, type[Continuous] | type[Categorical]] = {
    "continuous": Continuous,
    "integer": Integer,
    "categorical": Categorical,
}


def declarations_to_dict(
    features: Mapping[str, FeatureSpec],
    target: FeatureSpec | None,
    default: FeatureSpec | None,
    unit: PrivacyUnit | str | None,
) -> dict[str, Any]:
    """Return a schema's declarations as plain dicts, lists, strings and numbers."""
    document: dict[str, Any] = {"format": _FORMAT, "version": _VERSION}
    for role, spec in (("target", target), ("default", default)):
        if spec is not None:
            document[role] = _spec_to_dict(spec)
    if unit is not None:
        document["unit"] = unit if isinstance(unit, str) else _unit_to_dict(unit)
    document["features"] = {name: _spec_to_dict(spec) for name, spec in features.items()}
    return document


def declarations_from_dict(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of the schema that :func:`declarations_to_dict` wrote.

    Raises
    ------
    SchemaError
        If the format, the version, a key or a value is not one that this version writes.
    """
    writer = "Schema.save(path)"
    try:
        content = open_document(
            "schema", document, _FORMAT, (_VERSION,), (), _KEYS, writer=writer, mend=_MEND_FILE
        )
        return _arguments(content)
    except SchemaError:
        raise
    except ValueError as error:
        raise SchemaError(str(error)) from error


def _arguments(content: Mapping[str, Any]) -> dict[str, Any]:
    features = content.get("features", {})
    if not isinstance(features, Mapping):
        raise SchemaError(
            f"features is of type {type(features).__name__}; it must map each column's name to "
            'its declaration. Write {"age": {"type": ...}}.'
        )
    arguments: dict[str, Any] = {
        role: _spec_from_dict(role, content[role])
        for role in ("target", "default")
        if role in content
    }
    arguments["features"] = {
        name: _spec_from_dict(f"features.{name}", spec) for name, spec in features.items()
    }
    if "unit" in content:
        arguments["unit"] = _unit_from_dict(content["unit"])
    return arguments


def to_json(document: Mapping[str, Any]) -> str:
    """Return a document as indented JSON text."""
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def from_json(text: str) -> Any:
    """Return a document from JSON text; SchemaError if it is not valid."""
    try:
        return parse_json(text, "The schema", _MEND_FILE)
    except ValueError as error:
        raise SchemaError(str(error)) from error


def to_toml(document: Mapping[str, Any]) -> str:
    """Return a document as TOML text."""
    import tomli_w

    return tomli_w.dumps(document)


def from_toml(text: str) -> dict[str, Any]:
    """Return a document from TOML text; SchemaError if it is not valid."""
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        # Not only TOML's own: dates that are none, numbers of very many digits, deep nesting.
        raise SchemaError(f"The schema is not valid TOML: {error}. {_MEND_FILE}") from error


def suffix_of(path: str | os.PathLike[str]) -> str:
    """Return ``.toml`` or ``.json``, in lower case; ValueError for any other suffix."""
    suffix = Path(path).suffix.lower()
    if suffix not in (".toml", ".json"):
        raise ValueError(
            f"path is {os.fspath(path)!r}; its suffix must be .toml or .json, which says how the "
            "schema is written. Rename the file."
        )
    return suffix


def write(text: str, destination: Source | None) -> str:
    """Write ``text`` to a path or a file object, text or binary; return it in any case."""
    if destination is None:
        return text
    if isinstance(destination, str | os.PathLike):
        write_file(destination, text)
    else:
        file: IO[Any] = destination
        file.write(text.encode("utf-8") if _is_binary(file) else text)
    return text


def read(source: Source) -> str:
    """Return the text of a path or a file object, text or binary.

    Raises
    ------
    SchemaError
        If the content is not UTF-8.
    """
    content = Path(source).read_bytes() if isinstance(source, str | os.PathLike) else source.read()
    if isinstance(content, str):
        return content
    try:
        # The mark that some editors put first is not part of the text.
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise SchemaError(f"The schema is not UTF-8 text: {error.reason}. {_MEND_FILE}") from error


def _is_binary(file: IO[Any]) -> bool:
    return isinstance(file, io.RawIOBase | io.BufferedIOBase) or "b" in str(
        getattr(file, "mode", "")
    )


def _spec_to_dict(spec: FeatureSpec) -> dict[str, Any]:
    if isinstance(spec, Integer):
        scale = {} if spec.scale == "linear" else {"scale": spec.scale}
        return {"type": "integer", "lower": int(spec.lower), "upper": int(spec.upper), **scale}
    if isinstance(spec, Continuous):
        return {
            "type": "continuous",
            "lower": spec.lower,
            "upper": spec.upper,
            "scale": spec.scale,
        }
    return {"type": "categorical", "levels": list(spec.levels), "ordered": spec.ordered}


def _spec_from_dict(where: str, spec: Any) -> FeatureSpec:
    kind = spec.get("type") if isinstance(spec, Mapping) else None
    if not isinstance(kind, str) or kind not in _SPEC_KEYS:
        raise SchemaError(
            f"{where}: type is {kind!r}; it must be one of "
            f"{', '.join(map(repr, _SPEC_KEYS))}, with the keys that belong to it."
        )
    check_keys(where, spec, *_SPEC_KEYS[kind], mend=_MEND_FILE)
    arguments = {key: value for key, value in spec.items() if key != "type"}
    try:
        return _CLASSES[kind](**arguments)
    except (TypeError, ValueError) as error:
        raise SchemaError(f"{where}: {error}") from error


def _unit_to_dict(unit: PrivacyUnit) -> dict[str, Any]:
    fields = dataclasses.asdict(unit)
    if not isinstance(unit.column, str):
        fields["column"] = list(unit.column)
    if unit.total_rows is None:
        del fields["total_rows"]  # as in older files; TOML has no null
    if unit.missing == "separate":
        del fields["missing"]
    return fields


def _unit_from_dict(unit: Any) -> PrivacyUnit | str:
    if isinstance(unit, str):
        return check_choice("unit", unit, (ROWS,), mend=_MEND_FILE)
    check_keys("unit", unit, *_UNIT_KEYS, mend=_MEND_FILE)
    try:
        return PrivacyUnit(**unit)
    except (TypeError, ValueError) as error:
        raise SchemaError(f"unit: {error}") from error
