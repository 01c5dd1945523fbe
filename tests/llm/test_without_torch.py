"""The class without its extra: importable, and clear about what is missing."""

import sys

import pytest

from interpret_dp.llm.estimator import DPLocallyLinearClassifier


def test_without_torch_the_class_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'interpret-dp\[llm\]'"):
        DPLocallyLinearClassifier()
