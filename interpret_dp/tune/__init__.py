"""Private hyperparameter search: the best of a random number of fits, for the price of a promise.

Importing it is light: scikit-learn is loaded with the search.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from interpret_dp.tune.search import DPRandomizedSearch

__all__ = ["DPRandomizedSearch"]


def __getattr__(name: str) -> Any:
    if name != "DPRandomizedSearch":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from interpret_dp.tune.search import DPRandomizedSearch

    return DPRandomizedSearch
