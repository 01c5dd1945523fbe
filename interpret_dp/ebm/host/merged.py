"""Machines that interpret put together of ours: they hold scores and nothing published."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

__all__ = ["check_published"]


def check_published(estimator: Any) -> None:
    """Refuse an estimator that is not fitted, or that ``interpret.glassbox.merge_ebms`` made.

    Raises
    ------
    NotFittedError
        If nothing was fitted.
    ValueError
        If there is no released model behind the scores.
    """
    check_is_fitted(estimator, "has_fitted_")
    if not hasattr(estimator, "released_"):
        raise ValueError(
            f"This {type(estimator).__name__} is no fit's: interpret's merge_ebms keeps neither "
            "schema nor guarantee of private models. Fit once on all rows, or average what the "
            "models predict."
        )
