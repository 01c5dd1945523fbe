"""Records for OpenDP's registry of deployments."""

import os
import re
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from interpret_dp.accounting.guarantee import Guarantee, ReleaseShare
from interpret_dp.accounting.registry import FORMAT_DATE, STATEMENTS, registry_yaml

PROMISE = Guarantee(
    epsilon=1.0,
    delta=1e-6,
    mu=0.2367,
    mechanism="discrete Gaussian noise",
    unit="all rows of one 'patient' (at most 3 of them are used)",
    releases=(ReleaseShare("boosting", 0.2, 40),),
    dataset="hospital",
)
STATED = {
    name: ["Ward 5"] if one.is_list else f"A sentence on {name}: \"quoted\", #, 'é'."
    for name, one in STATEMENTS.items()
    if one.default is None
} | {"publication_date": date(2026, 11, 27)}


def read_yaml(text):
    return pytest.importorskip("yaml").safe_load(text)


def test_a_record_has_the_fields_that_the_registry_requires():
    record = PROMISE.to_registry(**STATED)
    assert (record["status"], record["tier"]) == ("Draft", 3)
    assert record["url_slug"] == "a_sentence_on_name_quoted"
    deployment = record["deployment"]
    basic = ("name", "data_curators", "description", "intended_use", "data_product_type")
    assert {*basic, "data_product_region", "publication_date"} <= set(deployment["basic"])
    assert deployment["administrative"]["registry_authors"] == ["Ward 5"]
    assert deployment["privacy_loss"]["privacy_parameters"] == {"epsilon": 1.0, "delta": 1e-6}
    assert "0.2367-Gaussian" in deployment["privacy_loss"]["privacy_parameters_details"]
    assert "'patient'" in deployment["privacy_loss"]["privacy_unit_details"]
    assert "data set 'hospital'" in deployment["accounting"]["composition"]


VARIANTS = [
    ({}, "Approximate DP", "The number of rows is protected."),
    ({"neighboring": "replace_one"}, "Approximate DP", "The number of rows is not protected."),
    ({"delta": 0.0, "mu": None, "releases": ()}, "Pure DP", "is protected."),
]


@pytest.mark.parametrize(("changes", "variant", "says"), VARIANTS)
def test_a_record_says_what_is_promised_and_no_more(changes, variant, says):
    deployment = replace(PROMISE, **changes).to_registry(**STATED)["deployment"]
    assert deployment["dp_variant"]["variant_name"] == variant
    assert says in deployment["dp_variant"]["unprotected_quantities"]
    # What holds of one engine or ledger alone is left to the mechanism and the assumptions.
    assert "exact" not in deployment["implementation"]["mechanisms"]
    assert "'hospital'; its budget, where one is set" in deployment["accounting"]["composition"]


def test_a_record_survives_yaml():
    assert read_yaml(PROMISE.to_registry_yaml(**STATED)) == PROMISE.to_registry(**STATED)
    assert read_yaml(registry_yaml({"delta": 1e-16, "small": 2.5e-7})) == {
        "delta": 1e-16,
        "small": 2.5e-7,
    }


@given(
    text=st.text(st.characters(exclude_categories=["Cs"]))
    | st.text("\x00\x7f\x85\x9f\u2028\ufeff\ufffe\uffff\U0001fffe'\"\\ \n\t")
)
def test_every_text_survives_yaml(text):
    """By PyYAML, and by the rule of YAML 1.2 on characters that a document may hold."""
    written = registry_yaml({"name": text, "list": [text]})
    assert read_yaml(written) == {"name": text, "list": [text]}
    printable = (
        "[\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]*"
    )
    assert re.fullmatch(printable, written)


def test_half_a_character_is_refused():
    with pytest.raises(ValueError, match=r"notes is 'a\\ud800'.*halves of characters"):
        PROMISE.to_registry(**STATED, notes="a\ud800")
    with pytest.raises(ValueError, match=r"registry_authors.*halves"):
        PROMISE.to_registry(**STATED | {"registry_authors": ["a\ud800"]})
    with pytest.raises(ValueError, match=r"scope is .*UTF-8"):
        replace(PROMISE, scope="a\ud800")


@pytest.mark.parametrize(
    "optional",
    [{}, *({name: one} for name, field in STATEMENTS.items() for one in field.choices)],
)
def test_a_record_is_valid_by_the_registrys_schema(optional):
    validate = pytest.importorskip("jsonschema").validate
    shared = os.environ.get("INTERPRET_DP_DATA")
    schema = Path(shared or ".").parent / "registry" / "deployments-schema.yaml"
    if not schema.exists():
        pytest.skip("The registry's schema is not on this machine.")
    validate(PROMISE.to_registry(**STATED | optional), read_yaml(schema.read_text("utf-8")))


def test_every_missing_statement_is_named():
    with pytest.raises(ValueError, match="needs what no model knows") as caught:
        PROMISE.to_registry(name="Readmission", actors="")
    required = {name for name, one in STATEMENTS.items() if one.default is None}
    assert {name for name in STATEMENTS if f"{name} (" in str(caught.value)} == required - {"name"}


UNUSABLE = [
    ({"data_curator": "Ward 5"}, TypeError, "Did you mean 'data_curators'"),
    ({"publication_date": "27.11.2026"}, ValueError, "YYYY-MM-DD"),
    ({"release_type": "Once"}, ValueError, "One release"),
    ({"registry_authors": [5]}, TypeError, "a text or a list of texts"),
    ({"description": 5}, TypeError, "must be a text"),
]


@pytest.mark.parametrize(("statements", "error", "message"), UNUSABLE)
def test_a_wrong_statement_is_refused(statements, error, message):
    with pytest.raises(error, match=message):
        PROMISE.to_registry(**STATED | statements)


def test_nothing_is_registered_where_nothing_is_promised():
    with pytest.raises(ValueError, match="nothing is promised"):
        replace(PROMISE, tests_only=True).to_registry(**STATED)


def test_the_documentation_names_the_date_of_the_format():
    assert f"{FORMAT_DATE:%-d %B %Y}" in str(Guarantee.to_registry.__doc__)
