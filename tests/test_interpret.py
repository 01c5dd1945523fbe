"""What interpret has in another place or form after 0.7.8: both forms, whichever is installed."""

import sys
from types import ModuleType

import pandas as pd
import pytest

from interpret_dp import _optional

PARTS = pd.DataFrame({"Name": ["age", "sex"], "Bins": [9, 2]})


@pytest.fixture
def later(monkeypatch):
    """Make the package believe that interpret's development branch of August 2026 is installed."""
    monkeypatch.setattr(_optional, "_is_of_the_first_form", lambda: False)
    for name, owner in (("base", "LocalExplainer"), ("templates", "FeatureValueExplanation")):
        module = ModuleType(f"interpret.core.{name}")
        setattr(module, owner, type(owner, (), {}))
        monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(sys.modules, "interpret.core", ModuleType("interpret.core"))


def test_the_installed_form_is_found():
    assert _optional.explainer_base().__module__.startswith("interpret.")
    assert _optional.explanation_base().__name__ == "FeatureValueExplanation"
    assert _optional.part_count(_optional.selector_of(PARTS)) == 2


def test_the_first_form_lists_parts_in_a_frame(monkeypatch):
    monkeypatch.setattr(_optional, "_is_of_the_first_form", lambda: True)
    assert _optional.selector_of(PARTS) is PARTS
    assert _optional.part_count(PARTS) == 2


@pytest.mark.usefixtures("later")
def test_the_later_form_lists_parts_in_a_mapping_and_has_its_classes_elsewhere():
    assert _optional.explainer_base().__name__ == "LocalExplainer"
    templates = sys.modules["interpret.core.templates"]
    assert _optional.explanation_base() is templates.FeatureValueExplanation
    listed = _optional.selector_of(PARTS)
    assert listed == {
        "columns": ["Name", "Bins"],
        "data": [{"Name": "age", "Bins": 9}, {"Name": "sex", "Bins": 2}],
    }
    assert _optional.part_count(listed) == 2
