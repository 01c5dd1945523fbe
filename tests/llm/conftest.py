"""Without the extra `llm`, as in the environment of the lowest versions, its tests are left out."""

from __future__ import annotations

from importlib.util import find_spec

# What needs no torch (the coding of inputs, the install hint) is tested all the same.
collect_ignore = (
    ["test_estimator.py", "test_gradients.py", "test_training.py"]
    if find_spec("torch") is None
    else []
)
