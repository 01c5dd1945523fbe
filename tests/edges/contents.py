"""Documents of every kind, with one value of another type, form or size; sealed again.

A seal shows accidents. What a document holds is checked besides: whatever it says, it is refused
with a message of ours, or everything that can be done with it works.
"""

import copy
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.audit.results import to_json, to_markdown
from benchmarks.audit_page import from_json
from interpret_dp import EditSession, Guarantee, PrivateBackground, Schema, load_model
from interpret_dp._documents import SEAL, canonical_json, sealed
from interpret_dp.ledger.chain import GENESIS, Entry
from interpret_dp.ledger.folding import Running
from interpret_dp.ledger.reader import account_document, oversight_document
from tests.accounting.test_registry import STATED
from tests.edges.formats import LINES, memory_ledger
from tests.golden.kinds import FILES, asked

WRONG = [
    *(None, True, "x", "", -1, 0, 0.5, 1e308, -1e308, 1e-320, 2**70, 10**400),
    *([], {}, [[]], [1, 2], ["x"], {"x": 1}, "\ud800", [[1, 2], [3]], float("nan"), float("inf")),
]
REMOVED = object()


@dataclass(frozen=True)
class Contents:
    """Documents of one kind.

    Attributes
    ----------
    document : dict
        One of them.
    read : callable (document) -> object
    use : callable (object) -> dict or None
        Do everything that can be done with it; return what it says as a document, if it can.
    above : int
        Levels that stay as they are.
    """

    document: dict[str, Any]
    read: Callable[[Any], Any]
    use: Callable[[Any], Any]
    above: int = 0

    def paths(self):
        """Return where each value is; of a list of numbers, the first and the last one."""
        paths = _paths(self.document)
        return [path for path in paths if len(path) > self.above and path[-1] != SEAL]

    def values(self, path):
        """Return what may stand there instead."""
        old = _at(self.document, path)
        own = [[old], str(old)]
        if isinstance(old, list):
            own += [old + old[:1], old[:-1], old[::-1]]
        elif isinstance(old, dict):
            own += [{**old, "more": 1}]
        elif isinstance(old, str):
            own += [old + " ", old + "\x00"]
        elif old is not None:
            own += [-old, old + 0.5, int(old)]
        return [*WRONG, REMOVED, *own]

    def changed(self, path, value):
        """Return the document with another value there, sealed again."""
        document = copy.deepcopy(self.document)
        parent = _at(document, path[:-1])
        if value is REMOVED:
            del parent[path[-1]]
        else:
            parent[path[-1]] = copy.deepcopy(value)
        if document.pop(SEAL, None) is not None:
            try:
                return sealed(document)
            except ValueError:  # not a number that JSON has
                return document
        return document


def _paths(value, path=()):
    yield path
    if isinstance(value, dict):
        keys = value
    elif isinstance(value, list):
        are_numbers = not any(isinstance(item, dict | list | str) for item in value)
        keys = sorted({0, len(value) - 1} - {-1}) if are_numbers else range(len(value))
    else:
        return
    for key in keys:
        yield from _paths(value[key], (*path, key))


def _at(document, path):
    for key in path:
        document = document[key]
    return document


def says_the_same(first, second):
    """Whether two documents are equal; True is no number, and files round some figures."""
    if isinstance(first, bool) or isinstance(second, bool):
        return first is second
    if isinstance(first, int | float) and isinstance(second, int | float):
        return first == second or abs(first - second) <= 1e-6 * abs(first)
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(
            says_the_same(first[key], second[key]) for key in first
        )
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(says_the_same, first, second))
    return type(first) is type(second) and bool(first == second)


# ------------------------------------------------------------------------------- kinds of documents


def _through_a_file(read):
    def written_and_read(document):
        with TemporaryDirectory() as folder:
            path = Path(folder) / "it.json"
            path.write_text(json.dumps(document), encoding="utf-8")
            return read(path)

    return written_and_read


def _use_model(model, rows):
    answers = [model.predict(rows)]
    if hasattr(model, "predict_proba"):
        answers.append(model.predict_proba(rows))
    for answer in answers:
        assert answer.dtype.kind != "f" or np.isfinite(answer).all()
    model.explain_global().data(0)
    model.explain_local(rows).data(0)
    model._repr_html_()
    model.card(even_if_void=True).to_markdown()
    if hasattr(model, "to_sql"):
        model.predict_with_uncertainty(rows)
        model.to_tables()
        model.to_sql()
        model.sample_curves(2, random_state=0)
        model.edit(author="Ada", autosave=False).preview("shift", 0, by=0.1)
    with TemporaryDirectory() as folder:
        model.save(Path(folder) / "it.json")
        return load_model(Path(folder) / "it.json").to_released().to_dict()


def _use_background(background):
    numbers = background.sample(5, random_state=0).select_dtypes("number").to_numpy(float)
    assert not np.isinf(numbers).any()
    background.explain_data().data(0)
    background._repr_html_()
    return background.to_released().to_dict()


def _use_session(session):
    session.diff()
    str(session.history)
    session.model.predict(asked("classification"))
    return session.to_dict()


def _use_schema(schema):
    schema.to_toml()
    repr(schema)
    return schema.to_dict()


def _use_guarantee(guarantee):
    str(guarantee)
    guarantee._repr_html_()
    if guarantee.state != "does not hold":
        guarantee.to_registry_yaml(even_if_void=True, **STATED)
    return json.loads(json.dumps(guarantee.to_dict()))


def _ledger_document():
    entries = memory_ledger().entries()
    rows = [{key: entry[key] for key in Entry.__dataclass_fields__} for entry in entries]
    return {"entries": [row | {"event": row["event"] or ""} for row in rows]}


def _read_ledger(document):
    """Chain the entries anew, and read them as a database gives them."""
    entries = []
    for row in document["entries"]:
        fields = dict.fromkeys(Entry.__dataclass_fields__) | row
        for name in ("event", "context"):
            if isinstance(fields[name], dict):
                fields[name] = canonical_json(fields[name])
        fields |= {"number": len(entries) + 1, "previous": entries[-1].hash if entries else GENESIS}
        entries.append(Entry.from_row(fields).sealed())
    log = Running().extended(entries)
    # Details and events are read where they are used.
    accounts = [log.account(entry.dataset) for entry in entries if entry.dataset]
    return json.dumps([[account_document(one), oversight_document(one)] for one in accounts])


@cache
def contents(name):
    """Return the documents of a kind."""
    if name == "ledger":
        return Contents(_ledger_document(), _read_ledger, lambda accounts: None, above=2)
    if name == "audit":
        read = lambda document: from_json(json.dumps(document))  # noqa: E731
        return Contents(json.loads(to_json(LINES)), read, lambda lines: to_markdown(lines) and None)
    document = json.loads((FILES / f"{name.removeprefix('guarantee of ')}.json").read_text("utf-8"))
    if name.startswith("guarantee"):
        return Contents(document["guarantee"], Guarantee.from_dict, _use_guarantee)
    if name.startswith("schema"):
        return Contents(document, Schema.from_dict, _use_schema)
    if name == "background":
        return Contents(document, _through_a_file(PrivateBackground.load), _use_background)
    if name.startswith("session"):
        base = load_model(FILES / f"{'pairs' if '_' in name else 'classification'}.json")
        return Contents(document, lambda it: EditSession.from_dict(it, base), _use_session)
    rows = asked(name)[:4]
    return Contents(document, _through_a_file(load_model), lambda model: _use_model(model, rows))


NAMES = (
    *("classification", "classes", "pairs", "monotone", "poisson", "regression", "search"),
    *("surrogate", "gamma", "maps_table", "maps_images", "background", "session", "session_pair"),
    *("schema_full", "schema_default", "guarantee of search", "ledger", "audit"),
)
