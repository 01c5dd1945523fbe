"""The class without its extra: importable, and clear about what is missing."""

import subprocess
import sys

import pytest

from interpret_dp.llm.estimator import DPLocallyLinearClassifier


def test_without_torch_the_class_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'interpret-dp\[llm\]'"):
        DPLocallyLinearClassifier()


@pytest.mark.thorough
def test_importing_the_class_loads_neither_torch_nor_opacus():
    probe = (
        "import sys, interpret_dp; interpret_dp.DPLocallyLinearClassifier; "
        "print(sorted({'torch', 'opacus'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
