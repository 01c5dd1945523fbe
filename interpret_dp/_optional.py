"""Libraries that may be absent, and differences between versions of interpret."""

from __future__ import annotations

import sys
import warnings
from functools import lru_cache
from importlib import import_module  # noqa: TID251
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


def import_optional(module: str, *, extra: str, purpose: str) -> ModuleType:
    """Import a module that only an extra of this package installs.

    Parameters
    ----------
    module : str
        Dotted name of the module.
    extra : str
        Name of the extra in pyproject.toml that installs it.
    purpose : str
        What it is needed for, as the subject of a sentence ("Training a DP-LLM").

    Returns
    -------
    ModuleType
        The imported module.

    Raises
    ------
    ModuleNotFoundError
        If the library is not installed. A library that is installed but broken, or that misses a
        library of its own, raises its own error, which says more than the hint would.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if module != missing and not module.startswith(f"{missing}."):
            raise
        raise ModuleNotFoundError(
            f"{purpose} needs {missing!r}, which is not installed. "
            f"Install it with: pip install 'interpret-dp[{extra}]'",
            name=missing,
        ) from None


def load_shap() -> ModuleType:
    """Return the library shap, or raise ModuleNotFoundError with the command that installs it."""
    with warnings.catch_warnings():
        # Its plots use what matplotlib is about to deprecate.
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        return import_optional("shap", extra="shap", purpose="Computing SHAP values")


# Differences between interpret 0.7.8 and its later versions, in one place.
#
# Its development branch of August 2026 has no `interpret.api`, and its dashboards list an
# explanation's parts from a mapping in place of a DataFrame. All else that we use is as it was.


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
    return any(type(provider).__name__ == "InlineProvider" for provider in show_providers())


def show_providers() -> tuple[Any, Any]:
    """Return the provider of ``interpret.show`` and the one that it holds; None for either."""
    interactive = sys.modules.get("interpret.visual._interactive")
    outer = None if interactive is None else interactive.get_visualize_provider()
    # The provider that interpret chooses by itself holds the one that draws.
    return outer, getattr(outer, "provider", None)


@lru_cache
def _is_of_the_first_form() -> bool:
    return find_spec("interpret.api") is not None
