"""What notebooks show of a declaration."""

from __future__ import annotations

from interpret_dp import Categorical, Continuous, PrivacyUnit, Schema


def test_a_schema_is_a_table_of_its_declarations():
    schema = Schema(
        {"age": Continuous(18, 95), "<b>sex": Categorical(["f", "<i>m"])},
        target=Continuous(0, 1),
        default=Continuous(-1, 1),
        unit=PrivacyUnit("person", 3),
    )
    page = schema._repr_html_()
    assert page.count("<tr>") == 1 + 2 + 3
    assert "Continuous(18, 95)" in page
    assert "&lt;b&gt;sex" in page
    assert "&lt;i&gt;m" in page
    assert "<b>sex" not in page
    assert "every other column" in page
    assert "at most 3 rows of one person" in page
    assert "all rows of one &#x27;person&#x27;" in page


def test_an_empty_schema_has_no_table():
    page = Schema({})._repr_html_()
    assert "<table>" not in page
    assert "Protected: one row" in page
