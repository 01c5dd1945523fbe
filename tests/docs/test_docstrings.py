"""Public names have examples in their docstrings; `make test` runs them (`--doctest-modules`)."""

import doctest
from importlib import import_module

import pytest

import interpret_dp
from interpret_dp import accounting, audit, datasets, editor, explanation, ledger, released
from tests.processes import ROOT

# What is only caught, or would take long to make.
WITHOUT = {
    interpret_dp: {"BackendError", "PrivacyWarning", "ReleaseError"}
    | {"DeclarationWarning", "UndeclaredWarning"},
    accounting: set(),
    audit: {"MapsAudit", "MembershipReport", "Watching", "audit_maps", "membership_attack"}
    | {"metric_statistics"},
    datasets: set(),
    editor: set(),
    explanation: {"PlannedCurve"},
    ledger: {"Account", "Request", "Reservation"}
    | {"ApprovalNeededError", "BudgetExpiredError", "DeltaExceededError", "RoleError"},
    released: set(),
}


def public(module):
    names = [name for name in module.__all__ if not name.isupper() and name[0] != "_"]
    return [name for name in names if callable(getattr(module, name))]


@pytest.mark.parametrize("module", WITHOUT, ids=lambda module: module.__name__)
def test_public_names_have_an_example(module):
    without = {
        name
        for name in public(module)
        if not doctest.DocTestParser().get_examples(getattr(module, name).__doc__ or "")
    }
    assert without == WITHOUT[module]


def test_no_example_is_skipped():
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "interpret_dp").rglob("*.py")]
    assert sum("\n    >>> " in source for source in sources) > 15
    assert not any("doctest: +SKIP" in source for source in sources)


def _sections(api):
    """Return the names that the reference lists, by module."""
    found = {}
    module = ""
    for line in api.splitlines():
        if line.startswith(".. currentmodule::"):
            module = line.split()[-1]
        elif line.startswith("   ") and not line.strip().startswith(":") and line.strip():
            found.setdefault(module, set()).add(line.strip())
    return found


def test_the_reference_lists_every_public_name():
    listed = _sections((ROOT / "docs" / "api" / "index.rst").read_text(encoding="utf-8"))
    for name, names in listed.items():
        module = import_module(name)
        assert {one for one in names if not hasattr(module, one)} == set()
    everywhere = {
        a: getattr(import_module(name), a) for name, names in listed.items() for a in names
    }
    shown = {id(value) for value in everywhere.values()}
    for module in WITHOUT:
        missing = [one for one in public(module) if id(getattr(module, one)) not in shown]
        assert missing == [], module.__name__
