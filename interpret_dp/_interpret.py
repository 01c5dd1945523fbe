"""Differences between interpret 0.7.8 and its later versions, in one place.

Its development branch of August 2026 has no `interpret.api`, and its dashboards list an
explanation's parts from a mapping in place of a DataFrame. All else that we use is as it was.
"""

from __future__ import annotations

import sys
from functools import lru_cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


def explainer_base() -> Any:
    """Return the class that interpret's explainers of single rows derive from."""
    if _is_of_the_first_form():
        from interpret.api.base import ExplainerMixin

        return ExplainerMixin
    from interpret.core.base import LocalExplainer

    return LocalExplainer


def explanation_base() -> Any:
    """Return interpret's explanation of effects, one a feature."""
    if _is_of_the_first_form():
        from interpret.api.templates import FeatureValueExplanation
    else:
        from interpret.core.templates import FeatureValueExplanation
    return FeatureValueExplanation


def selector_of(table: pd.DataFrame) -> Any:
    """Return an explanation's list of parts in the form that interpret's dashboards read."""
    if _is_of_the_first_form():
        return table
    return {"columns": list(table.columns), "data": table.to_dict("records")}


def part_count(selector: Any) -> int:
    """Return how many parts an explanation's list has, in either form."""
    return len(selector["data"] if isinstance(selector, dict) else selector)


def shows_inline() -> bool:
    """Return whether ``interpret.show`` draws into cards of a fixed height."""
    interactive = sys.modules.get("interpret.visual._interactive")
    outer = None if interactive is None else interactive.get_visualize_provider()
    # The provider that interpret chooses by itself holds the one that draws.
    providers = (outer, getattr(outer, "provider", None))
    return any(type(provider).__name__ == "InlineProvider" for provider in providers)


@lru_cache
def _is_of_the_first_form() -> bool:
    return find_spec("interpret.api") is not None
