"""Every format that is read back: how a file of it is made, and what it says."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import interpret_dp as dp
from benchmarks.audit.results import AttackLine, ReplayLine, draw_figure, to_json
from benchmarks.audit_page import from_json
from interpret_dp._documents import SEAL, write_file
from interpret_dp.cli.console import pending_file
from interpret_dp.explanation.pages import render_html
from interpret_dp.ledger import verify_archive
from interpret_dp.ledger.chain import read_archive
from tests.editor.models import Holder, build_model
from tests.golden.kinds import FILES
from tests.ledger.requests import reserve

HOSTILE = 'caf\u00e9, "quoted"; =1+1 \U0001f600'


@dataclass(frozen=True)
class Format:
    """One format.

    Attributes
    ----------
    file : str
        Name of a file of it.
    write : callable (path) -> None
    read : callable (path) -> comparable value
        All that the file says; two files that say the same give equal values.
    errors : tuple of exception types
        The only ones that a file may raise.
    says_when_changed : bool
        Whether a file shows that it was changed. A schema is written by hand, and a model of an
        older version has no seal: what is valid there is taken.
    """

    file: str
    write: Callable[[Path], None]
    read: Callable[[Path], Any]
    errors: tuple[type[Exception], ...]
    says_when_changed: bool = True

    def outcome(self, path, content):
        """Return what changed content says, or the error that refuses it; other errors pass."""
        path.write_bytes(content)
        try:
            return self.read(path)
        except self.errors as error:
            return error


# ------------------------------------------------------------------------------------- models


@cache
def _edited():
    session = Holder(build_model(3)).edit()
    session.shift("age", 0.25, bins=[2, 3])
    session.commit(HOSTILE)
    return session


def _write_additive(path):
    dp.DPExplainableBoostingClassifier.from_released(_edited().released).save(path)


def _write_regression(path):
    """Write a regression."""
    dp.DPExplainableBoostingRegressor.from_released(build_model(0)).save(path)


def _write_maps(path):
    dp.load_model(FILES / "maps_table.json").save(path)


def _write_unsealed(path):
    _write_regression(path)
    document = json.loads(path.read_text(encoding="utf-8"))
    del document[SEAL]
    path.write_text(json.dumps(document), encoding="utf-8")


def _read_model(path):
    return dp.load_model(path).to_released().digest


# ----------------------------------------------------------------------------------- sessions


def _write_session(path):
    _edited().save(path)


def _read_session(path):
    return dp.EditSession.load(path, Holder(_edited().base)).to_dict()


# ------------------------------------------------------------------------------------ schemas

SCHEMA = dp.Schema(
    {
        "age": dp.Continuous(17, 90.5),
        HOSTILE: dp.Categorical(["a", 'b"', HOSTILE]),
        "grade": dp.Categorical([1, 2, 3], ordered=True),
        "dose": dp.Continuous(0, 1e6, scale="log"),
    },
    target=dp.Categorical([False, True]),
    unit=dp.PrivacyUnit("person", max_rows=3),
)


def _read_schema(path):
    found = dp.Schema.load(path)
    assert dp.Schema.from_dict(found.to_dict()) == found
    return found


# ------------------------------------------------------------------------------------ ledgers


@cache
def memory_ledger():
    return _filled(dp.PrivacyLedger.in_memory())


def _filled(ledger):
    ledger.create_budget("ward", 3.0, 1e-6, purpose=HOSTILE)
    ledger.commit(reserve(ledger, "ward"))
    ledger.cancel(reserve(ledger, "ward"))
    reserve(ledger, "ward")
    ledger.link("copy", to="ward", reason="same people")
    return ledger


def _write_archive(path):
    memory_ledger().export(path)


def _read_archive(path):
    verify_archive(path, memory_ledger().head)
    return read_archive(path)


_HEADS = []


def _write_ledger(path):
    head = _filled(dp.PrivacyLedger(f"sqlite:///{path}")).head
    assert head is not None
    _HEADS[:] = [head]


def _read_ledger(path):
    """Read a ledger as somebody does who kept its head, as each guarantee does."""
    ledger = dp.PrivacyLedger(f"sqlite:///{path}")
    ledger.verify(_HEADS[0])
    accounts = {name: ledger.spent(name) for name in ledger.datasets()}
    return ledger.entries(), accounts, ledger.remaining("ward")


# ------------------------------------------------------------------------------------- audits

LINES = [
    AttackLine(
        **{"subject": HOSTILE, "attack": "membership", "epsilon": 1.0, "delta": 1e-6},
        **{"bound": 0.25, "gaussian_bound": None, "confidence": 0.95, "runs": 7},
        **{"evidence": "a score", "finds": 3.5, "is_refuted": False, "expected": "stands"},
        seconds=0.5,
    ),
    ReplayLine("b", 3, 40, 0.75, ("one",), 0.25),
]


def _write_audit(path):
    path.write_text(to_json(LINES), encoding="utf-8")


def _read_audit(path):
    return from_json(path.read_bytes())


# --------------------------------------------------------------------- what is written alone


def _write_page(path):
    model = build_model()
    write_file(path, render_html(model, dp.PrivacySpend(guarantee=model.guarantee)))


def _write_for_interpret(path):
    dp.DPExplainableBoostingRegressor.from_released(build_model(0)).to_json(path)


def _write_result(path):
    with pending_file(str(path), overwrite=True) as pending:
        pending.write_text(HOSTILE * 100, encoding="utf-8")


OURS = (ValueError,)
# Histories of explainers are no format: `DPLimeTabular` refuses pickles and writes no file.
FORMATS = {
    "additive model": Format("m.json", _write_additive, _read_model, OURS),
    "regression": Format("m.json", _write_regression, _read_model, OURS),
    "model without a seal": Format(
        "m.json", _write_unsealed, _read_model, OURS, says_when_changed=False
    ),
    "locally linear model": Format("m.json", _write_maps, _read_model, OURS),
    "session": Format("s.json", _write_session, _read_session, OURS),
    "schema in TOML": Format("s.toml", SCHEMA.save, _read_schema, OURS, says_when_changed=False),
    "schema in JSON": Format("s.json", SCHEMA.save, _read_schema, OURS, says_when_changed=False),
    "ledger": Format("l.db", _write_ledger, _read_ledger, (dp.LedgerError,)),
    "archive of lines": Format("a.jsonl", _write_archive, _read_archive, (dp.LedgerError,)),
    "archive as a table": Format("a.csv", _write_archive, _read_archive, (dp.LedgerError,)),
    "audit": Format("audit.json", _write_audit, _read_audit, OURS),
}

# All that write a file.
WRITERS = {
    **{
        name: (kind.file, kind.write)
        for name, kind in FORMATS.items()
        # The ledger has transactions; the tests themselves write the other two.
        if name not in ("ledger", "model without a seal", "audit")
    },
    "page": ("page.html", _write_page),
    "model for interpret": ("ebm.json", _write_for_interpret),
    "picture of an audit": ("audit.png", lambda path: draw_figure(LINES, path)),
    "result of a command": ("report.json", _write_result),
}

JSON_WITH_SEAL = ["additive model", "regression", "locally linear model", "session", "audit"]
