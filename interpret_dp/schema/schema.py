"""The declaration of a table: all that is public before any row is seen; and its files."""

from __future__ import annotations

import dataclasses
import io
import json
import os
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import EllipsisType, MappingProxyType
from typing import IO, TYPE_CHECKING, Any, Literal

from interpret_dp._documents import check_keys, ending_of, open_document, parse_json, write_file
from interpret_dp._validate import (
    check_choice,
    check_sequence,
    describe_argument,
    did_you_mean,
    listed,
    name_faults,
    notebook_table,
    shortened,
)
from interpret_dp.exceptions import SchemaError
from interpret_dp.schema.declarations import (
    ROWS,
    Categorical,
    Continuous,
    FeatureSpec,
    Integer,
    PrivacyUnit,
    Source,
    check_text,
)

if TYPE_CHECKING:
    from interpret_dp.schema.draft import SchemaReport


# A schema as a file: versioned JSON and TOML that refuse whatever they do not know.

_FORMAT = "interpret_dp.schema"
_MEND_FILE = "Correct it, or write the file again with Schema.save(path)."
_VERSION = 1

# The keys of each table of the document: those that must be there, and those that may.
_KEYS = ("target", "default", "unit", "features")
_UNIT_KEYS = (("column",), ("max_rows", "total_rows", "missing"))
_SPECS: dict[str, tuple[type[Continuous] | type[Categorical], tuple[str, ...], tuple[str, ...]]] = {
    "continuous": (Continuous, ("type", "lower", "upper"), ("scale",)),
    "integer": (Integer, ("type", "lower", "upper"), ("scale",)),
    "categorical": (Categorical, ("type", "levels"), ("ordered",)),
}


def suffix_of(path: str | os.PathLike[str]) -> str:
    """Return ``.toml`` or ``.json``, in lower case; ValueError for any other suffix."""
    return ending_of("path", path, (".toml", ".json"))


def _written(text: str, destination: Source | None) -> str:
    """Write ``text`` to a path or a file object, text or binary; return it in any case."""
    if isinstance(destination, str | os.PathLike):
        write_file(destination, text)
    elif destination is not None:
        file: IO[Any] = destination
        is_binary = isinstance(file, io.RawIOBase | io.BufferedIOBase)
        is_binary = is_binary or "b" in str(getattr(file, "mode", ""))
        file.write(text.encode("utf-8") if is_binary else text)
    return text


def _read(source: Source) -> str:
    """Return the text of a path or a file object, text or binary; SchemaError if not UTF-8."""
    content = Path(source).read_bytes() if isinstance(source, str | os.PathLike) else source.read()
    if isinstance(content, str):
        return content
    try:
        # The mark that some editors put first is not part of the text.
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise SchemaError(f"The schema is not UTF-8 text: {error.reason}. {_MEND_FILE}") from error


def _spec_to_dict(spec: FeatureSpec) -> dict[str, Any]:
    if isinstance(spec, Integer):
        scale = {} if spec.scale == "linear" else {"scale": spec.scale}
        return {"type": "integer", "lower": int(spec.lower), "upper": int(spec.upper), **scale}
    if isinstance(spec, Continuous):
        return {"type": "continuous", **dataclasses.asdict(spec)}
    return {"type": "categorical", "levels": list(spec.levels), "ordered": spec.ordered}


def _spec_from_dict(where: str, spec: Any) -> FeatureSpec:
    kind = spec.get("type") if isinstance(spec, Mapping) else None
    if not isinstance(kind, str) or kind not in _SPECS:
        raise SchemaError(
            f"{where}: type is {kind!r}; it must be one of {', '.join(map(repr, _SPECS))}, with "
            "the keys that belong to it."
        )
    make, required, optional = _SPECS[kind]
    check_keys(where, spec, required, optional, mend=_MEND_FILE)
    arguments = {key: value for key, value in spec.items() if key != "type"}
    try:
        return make(**arguments)
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


def _unit_from_dict(unit: Any) -> PrivacyUnit | Literal["rows"]:
    if isinstance(unit, str):
        check_choice("unit", unit, (ROWS,), mend=_MEND_FILE)
        return "rows"
    check_keys("unit", unit, *_UNIT_KEYS, mend=_MEND_FILE)
    try:
        return PrivacyUnit(**unit)
    except (TypeError, ValueError) as error:
        raise SchemaError(f"unit: {error}") from error


@dataclass(frozen=True, repr=False)
class Schema:
    """All that is public about a table before any row is seen; immutable.

    Parameters
    ----------
    features : mapping of str to Continuous, Integer or Categorical, default={}
        The columns by name. The order does not matter.
    target : Continuous, Integer or Categorical, default=None
        The target: levels are class labels, bounds are those of a regression.
    default : Continuous, Integer or Categorical, default=None
        For every column that ``features`` does not list, and so for tables without names.
    unit : PrivacyUnit or "rows", default=None
        The column that says which rows are one person's; ``"rows"``: each row is a person of its
        own. None: the same, unless a column of the table looks like an identifier of people: then
        a fit asks for one of the two.

    Raises
    ------
    TypeError
        If a name is not a string or a declaration is of another type.
    SchemaError
        If a name cannot be encoded as UTF-8, or the unit's column is declared as a feature.

    Notes
    -----
    Everything in a schema is treated as public: it is stored in released models and files.

    Examples
    --------
    >>> Schema({"age": Integer(17, 90)}, target=Categorical(["no", "yes"]))
    Schema({
        'age': Integer(17, 90),
    }, target=Categorical(['no', 'yes']))
    """

    features: Mapping[str, FeatureSpec] = field(default_factory=dict)
    target: FeatureSpec | None = None
    default: FeatureSpec | None = None
    unit: PrivacyUnit | Literal["rows"] | None = None

    def __post_init__(self) -> None:
        """Check names and declarations and freeze the mapping."""
        if not isinstance(self.features, Mapping):
            raise TypeError(
                f"features is of type {type(self.features).__name__}; it must be a mapping such "
                'as {"age": Integer(17, 90)}.'
            )
        for name, spec in self.features.items():
            if not isinstance(name, str):
                raise TypeError(
                    f"The column name {name!r} is of type {type(name).__name__}; it must be a "
                    f"string. Write {str(name)!r}."
                )
            check_text("The column name", name)
            _check_spec(f"features[{name!r}]", spec)
        for role, declared in (("target", self.target), ("default", self.default)):
            if declared is not None:
                _check_spec(role, declared)
        if self.unit is not None:
            _check_unit(self.unit, self.features)
        object.__setattr__(self, "features", MappingProxyType(dict(self.features)))

    @property
    def people(self) -> PrivacyUnit | None:
        """The unit of which a person may have several rows; None where rows are the units."""
        return self.unit if isinstance(self.unit, PrivacyUnit) else None

    def __hash__(self) -> int:
        """Hash consistently with equality, which does not mind the order of columns."""
        return hash((frozenset(self.features.items()), self.target, self.default, self.unit))

    def __reduce__(self) -> tuple[object, ...]:
        """Rebuild through the constructor: a frozen mapping cannot be copied or pickled."""
        return (type(self), (dict(self.features), self.target, self.default, self.unit))

    def __repr__(self) -> str:
        """Show the declaration as it is written, one column a line."""
        lines = [f"    {name!r}: {spec!r},\n" for name, spec in self.features.items()]
        parts = ["{\n" + "".join(lines) + "}" if lines else "{}"]
        parts += [f"target={self.target!r}"] if self.target is not None else []
        parts += [f"default={self.default!r}"] if self.default is not None else []
        parts += [f"unit={self.unit!r}"] if self.unit is not None else []
        return f"Schema({', '.join(parts)})"

    def _repr_html_(self) -> str:
        """Show the declaration as a table in a notebook, escaped."""
        rows = [("feature", name, repr(spec)) for name, spec in self.features.items()]
        if self.default is not None:
            rows.append(("feature", "every other column", repr(self.default)))
        if self.target is not None:
            rows.append(("target", "", repr(self.target)))
        if self.people is not None:
            used = f"a DP-EBM speaks of {self.people.speaks_of()}"
            rows.append(("privacy unit", self.people.name, used))
        unit = "one row" if self.people is None else f"all rows of one {self.people.name!r}"
        return notebook_table(
            f"Schema of {len(self.features)} columns",
            ("role", "column", "public declaration"),
            rows,
            note=f"Protected: {unit}. Everything in this table counts as public.",
        )

    def resolve(self, names: Sequence[str]) -> tuple[FeatureSpec, ...]:
        """Return the declaration of each column, in the order of ``names``.

        Parameters
        ----------
        names : sequence of str, shape (n_features,)
            The columns of the table, which may be fewer than the schema declares.

        Raises
        ------
        SchemaError
            If a column is not declared and there is no default, or the schema seems to be that of
            another table. All such columns are named.
        """
        unlisted = [name for name in names if name not in self.features]
        faults = name_faults(self.features, names, unlisted)
        if unlisted and self.default is None:
            faults.append(
                f"The schema does not declare {listed(unlisted)}. Declare each as "
                "Continuous(lower, upper), Integer(lower, upper) or Categorical(levels), give "
                "Schema(default=...), or drop it from the table."
            )
        if faults:
            raise SchemaError(" ".join(faults))
        # The default is there whenever a name is not listed: checked above.
        specs = [self.features.get(name, self.default) for name in names]
        return tuple(spec for spec in specs if spec is not None)

    def select(self, names: Iterable[str]) -> Schema:
        """Return the schema of some columns; target, default and unit stay.

        Parameters
        ----------
        names : sequence of str
            The columns to keep, in their new order, such as ``X.columns``. The unit's column may
            be among them.

        Raises
        ------
        SchemaError
            If a name is no column of the schema.
        """
        given = check_sequence("names", names, "names of columns")
        unit = () if self.people is None else self.people.columns
        chosen = self._known([str(name) for name in given if name not in unit])
        return dataclasses.replace(self, features={name: self.features[name] for name in chosen})

    def drop(self, names: Iterable[str]) -> Schema:
        """Return the schema without some columns; target, default and unit stay.

        Parameters
        ----------
        names : sequence of str

        Raises
        ------
        SchemaError
            If a name is no column of the schema.
        """
        given = check_sequence("names", names, "names of columns")
        dropped = self._known([str(name) for name in given])
        remaining = {name: spec for name, spec in self.features.items() if name not in dropped}
        return dataclasses.replace(self, features=remaining)

    def replace(
        self,
        features: Mapping[str, FeatureSpec] | None = None,
        *,
        target: FeatureSpec | EllipsisType | None = ...,
        default: FeatureSpec | EllipsisType | None = ...,
        unit: PrivacyUnit | Literal["rows"] | EllipsisType | None = ...,
    ) -> Schema:
        """Return the schema with other declarations.

        Parameters
        ----------
        features : mapping of str to Continuous or Categorical, default=None
            Columns to declare anew, or to add; all others stay.
        target, default : Continuous, Categorical or None, default=...
            None removes the declaration; the default ``...`` keeps it.
        unit : PrivacyUnit, "rows" or None, default=...
            As ``target``.

        Examples
        --------
        >>> schema = Schema({"age": Integer(17, 90)}, target=Categorical(["no", "yes"]))
        >>> schema.replace({"age": Integer(0, 120)}, target=None)
        Schema({
            'age': Integer(0, 120),
        })
        """
        given: dict[str, Any] = {"target": target, "default": default, "unit": unit}
        changes = {role: value for role, value in given.items() if value is not ...}
        declared = {} if features is None else Schema(features).features
        return dataclasses.replace(self, features={**self.features, **declared}, **changes)

    def _known(self, names: list[str]) -> list[str]:
        """Return the names, or raise SchemaError if one is no column of the schema."""
        unknown = [name for name in names if name not in self.features]
        if unknown:
            raise SchemaError(
                f"The schema does not declare {listed(unknown)}; it has "
                f"{shortened(list(self.features))}.{did_you_mean(unknown[0], self.features)}"
            )
        return names

    def check(self, X: Any, y: Any = None) -> SchemaReport:
        """Count what the schema would change in a table. Private: for the curator's eyes only.

        Of a column that is not declared, missing cells are counted alone.

        Parameters
        ----------
        X : DataFrame, array or list of rows, shape (n_rows, n_features)
            The private table.
        y : array-like, shape (n_rows,), default=None
            The private target; needs a declared target.

        Returns
        -------
        SchemaReport
            Exact counts per column of missing, clipped and unseen cells. They are outside the
            privacy promise: do not publish them.

        Raises
        ------
        SchemaError
            If the schema seems to be that of another table, or a fit would refuse the dtype of a
            column that identifies people.
        """
        from interpret_dp.schema.draft import check_table

        return check_table(X, y, self.features, self.target, self.default, self.people)

    @classmethod
    def draft(
        cls,
        frame: Any,
        target: str | None = None,
        max_levels: int = 64,
        *,
        task: str = "auto",
        unit: PrivacyUnit | None = None,
    ) -> Schema:
        """Draft a schema from a table that you declare to be public.

        It reads minima, maxima and levels off the rows. Use it on public data, or as a draft
        whose every bound and level you replace by public knowledge; it issues a PrivacyWarning.

        Parameters
        ----------
        frame : DataFrame, array or list of rows, shape (n_rows, n_columns)
            A public table.
        target : str, default=None
            Name of the target column, if there is one in ``frame``.
        max_levels : int, default=64
            Most levels that a column may have.
        task : {"auto", "classification", "regression"}, default="auto"
            How to declare the target. ``"auto"`` takes numbers of more than two different values
            as a regression and everything else as classes.
        unit : PrivacyUnit, default=None
            Its column, which must be in ``frame``, is no feature.

        Returns
        -------
        Schema
            Numbers as Integer(minimum, maximum) if all are whole, and otherwise, and for a target,
            as Continuous; over the finite values. Everything else as Categorical(sorted levels).
            Missing cells are left out.

        Raises
        ------
        SchemaError
            If a column has no value, more than ``max_levels`` levels, numbers as text among blanks,
            or cells that are neither text nor numbers; all such columns are named.
        """
        from interpret_dp.schema.draft import draft_declarations

        if unit is not None:
            # Checked first: a wrong type has an error of its own, not that of a missing column.
            cls(unit=unit)
        features, target_spec = draft_declarations(frame, target, max_levels, task, unit)
        return cls(features, target=target_spec, unit=unit)

    @staticmethod
    def skeleton(dtypes: Any) -> str:
        """Return a schema as Python source, with blanks for what only you know; reads no row.

        Parameters
        ----------
        dtypes : Series, mapping of str to dtype, or pyarrow.Schema
            The dtype of each column, such as ``X.dtypes``. Neither bounds nor levels are taken
            from it: the categories of a dtype may be those of private rows.

        Returns
        -------
        str
            To print, paste and fill in: ``lower``, ``upper`` and ``level`` stand for what is
            public knowledge.

        Raises
        ------
        TypeError
            If it is none of these, or holds something that is no dtype.

        Examples
        --------
        >>> print(Schema.skeleton({"cost": "float64", "smoker": "bool"}))
        from interpret_dp import Categorical, Continuous, Integer, Schema
        <BLANKLINE>
        schema = Schema(
            {
                'cost': Continuous(lower, upper),
                'smoker': Categorical([False, True]),
            },
            target=Categorical([label, ...]),  # or Continuous(lower, upper)
            # Where a person has several rows: unit=PrivacyUnit("person_id", max_rows=3),
        )
        """
        from interpret_dp.schema.draft import skeleton_text

        return skeleton_text(dtypes)

    def to_dict(self) -> dict[str, Any]:
        """Return the schema as plain dicts, lists, strings and numbers."""
        document: dict[str, Any] = {"format": _FORMAT, "version": _VERSION}
        for role, spec in (("target", self.target), ("default", self.default)):
            if spec is not None:
                document[role] = _spec_to_dict(spec)
        if self.unit is not None:
            document["unit"] = ROWS if self.people is None else _unit_to_dict(self.people)
        document["features"] = {name: _spec_to_dict(spec) for name, spec in self.features.items()}
        return document

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Schema:
        """Rebuild what :meth:`to_dict` returned; SchemaError names whatever does not belong.

        Parameters
        ----------
        document : mapping
        """
        writer = "Schema.save(path)"
        try:
            content = open_document(
                "schema", document, _FORMAT, (_VERSION,), (), _KEYS, writer=writer, mend=_MEND_FILE
            )
            features = content.pop("features", {})
            if not isinstance(features, Mapping):
                raise SchemaError(
                    f"features is of type {type(features).__name__}; it must map each column's "
                    'name to its declaration. Write {"age": {"type": ...}}.'
                )
            unit = _unit_from_dict(content.pop("unit")) if "unit" in content else None
            target_and_default = {
                role: _spec_from_dict(role, spec) for role, spec in content.items()
            }
            declared = {
                name: _spec_from_dict(f"features.{name}", spec) for name, spec in features.items()
            }
            return cls(declared, **target_and_default, unit=unit)
        except SchemaError:
            raise
        except ValueError as error:
            raise SchemaError(str(error)) from error

    def to_json(self, destination: Source | None = None) -> str:
        """Return the schema as JSON text, written to a path or file object if one is given.

        Parameters
        ----------
        destination : str, path-like or file, default=None
        """
        text = json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)
        return _written(f"{text}\n", destination)

    @classmethod
    def from_json(cls, source: Source) -> Schema:
        """Read a JSON schema from a path or file object; SchemaError if it is not a valid one.

        Parameters
        ----------
        source : str, path-like or file
        """
        text = _read(source)
        try:
            document = parse_json(text, "The schema", _MEND_FILE)
        except ValueError as error:
            raise SchemaError(str(error)) from error
        return cls.from_dict(document)

    def to_toml(self, destination: Source | None = None) -> str:
        """Return the schema as TOML text, written to a path or file object if one is given.

        Parameters
        ----------
        destination : str, path-like or file, default=None
        """
        import tomli_w

        return _written(tomli_w.dumps(self.to_dict()), destination)

    @classmethod
    def from_toml(cls, source: Source) -> Schema:
        """Read a TOML schema from a path or file object; SchemaError if it is not a valid one.

        Parameters
        ----------
        source : str, path-like or file
        """
        text = _read(source)
        try:
            document = tomllib.loads(text)
        except (ValueError, RecursionError) as error:
            # Not only TOML's own: dates that are none, numbers of very many digits, deep nesting.
            raise SchemaError(f"The schema is not valid TOML: {error}. {_MEND_FILE}") from error
        return cls.from_dict(document)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the schema to ``path``, as TOML or JSON by its suffix.

        Parameters
        ----------
        path : str or path-like
            Ends in ``.toml`` or ``.json``.
        """
        if suffix_of(path) == ".toml":
            self.to_toml(path)
        else:
            self.to_json(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Schema:
        """Read a schema from ``path``, as TOML or JSON by its suffix.

        Parameters
        ----------
        path : str or path-like
            Ends in ``.toml`` or ``.json``.
        """
        return cls.from_toml(path) if suffix_of(path) == ".toml" else cls.from_json(path)


def _check_spec(role: str, spec: object) -> None:
    if not isinstance(spec, Continuous | Categorical):
        raise TypeError(
            f"{describe_argument(role, spec)}; it must be Continuous(lower, upper), "
            "Integer(lower, upper) or Categorical(levels)."
        )


def _check_unit(unit: object, features: Mapping[str, FeatureSpec]) -> None:
    if isinstance(unit, str) and unit == ROWS:
        return
    if not isinstance(unit, PrivacyUnit):
        raise TypeError(
            f'{describe_argument("unit", unit)}; it must be PrivacyUnit("column", max_rows=...), '
            'or "rows" if each row is a person of its own.'
        )
    for column in unit.columns:
        if column in features:
            raise SchemaError(
                f"Column {column!r} is declared as a feature and as the unit; it identifies "
                "people, and a model may not depend on it. Remove it from the features."
            )
