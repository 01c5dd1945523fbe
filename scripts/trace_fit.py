"""Modules of the package that a table and an epsilon enter in one small fit of DP-EBM.

A value enters a module when one of its functions receives it as an argument. The table is the
caller's frame, or the opened table that holds it.

    python -m scripts.trace_fit
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np
import pandas as pd

import interpret_dp
from interpret_dp.exceptions import PrivacyWarning

__all__ = ["trace_fit"]

_EPSILON = 1.37109375
_N_ROWS = 977


def trace_fit() -> dict[str, dict[str, set[str]]]:
    """Return for ``"X"`` and ``"epsilon"`` the functions that receive it, by module."""
    from interpret_dp.schema.containers import Table

    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.uniform(18, 90, _N_ROWS), "bmi": rng.uniform(15, 50, _N_ROWS)})
    y = (X["age"] > 50).astype(int)
    tests: dict[str, Callable[[Any], bool]] = {
        "X": lambda value: value is X or isinstance(value, Table),
        "epsilon": lambda value: type(value) is float and value == _EPSILON,
    }
    entered: dict[str, dict[str, set[str]]] = {name: {} for name in tests}

    def record(frame: FrameType, event: str, _: Any) -> None:
        module = str(frame.f_globals.get("__name__"))
        if event != "call" or module.split(".")[0] != "interpret_dp":
            return
        code = frame.f_code
        n_arguments = code.co_argcount + code.co_kwonlyargcount
        arguments = [frame.f_locals.get(name) for name in code.co_varnames[:n_arguments]]
        for name, is_it in tests.items():
            if any(is_it(value) for value in arguments):
                entered[name].setdefault(module, set()).add(code.co_qualname)

    model = interpret_dp.DPExplainableBoostingClassifier(
        epsilon=_EPSILON, classes=[0, 1], privacy_bounds={"age": (18, 90), "bmi": (15, 50)}
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        sys.setprofile(record)
        try:
            model.fit(X, y)
        finally:
            sys.setprofile(None)
    return entered


def main() -> None:
    """Print the modules and their functions."""
    for name, modules in trace_fit().items():
        print(f"{name} enters {len(modules)} modules")
        for module, functions in sorted(modules.items()):
            print(f"  {module}: {', '.join(sorted(functions))}")


if __name__ == "__main__":
    main()
