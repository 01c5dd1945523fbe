"""Imports of libraries that an extra brings, with a hint on how to get them."""

from __future__ import annotations

import warnings
from importlib import import_module  # noqa: TID251
from types import ModuleType


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
