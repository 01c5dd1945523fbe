"""Without the extra `llm`, as in the environment of the lowest versions, its tests are left out."""

from importlib.util import find_spec
from pathlib import Path

# What needs no torch is tested all the same: the coding of inputs, and the install hint.
_NEED_NO_TORCH = ("test_inputs.py", "test_without_torch.py")

collect_ignore = (
    []
    if find_spec("torch")
    else [
        path.name
        for path in Path(__file__).parent.glob("test_*.py")
        if path.name not in _NEED_NO_TORCH
    ]
)
