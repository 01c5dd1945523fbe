"""Without the extra `llm`, as in the environment of the lowest versions, its tests are left out."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

# What needs no torch (the coding of inputs, the install hint) is tested all the same.
collect_ignore = (
    [
        "test_adversary.py",
        "test_estimator.py",
        "test_explanations.py",
        "test_gradients.py",
        "test_speed.py",
        "test_training.py",
    ]
    if find_spec("torch") is None
    else []
)


@pytest.fixture(autouse=True)
def _hint_was_given_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the hint that a process gives once: whichever test runs first would get it."""
    from interpret_dp.ebm import declaring

    monkeypatch.setattr(declaring, "_hint_was_given", True)
