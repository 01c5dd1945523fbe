"""Losses of DP-EBM, one file each, and the registry by which an estimator finds them by name."""

from __future__ import annotations

import numpy as np

from interpret_dp._validate import check_choice
from interpret_dp.ebm.losses.base import RULES, Loss, RegressionLoss, Start
from interpret_dp.ebm.losses.gamma import GammaDeviance
from interpret_dp.ebm.losses.log_loss import LogLoss
from interpret_dp.ebm.losses.poisson import PoissonDeviance
from interpret_dp.ebm.losses.squared_error import SquaredError

__all__ = [
    "LOSSES",
    "LogLoss",
    "Loss",
    "RegressionLoss",
    "Start",
    "checked_objective",
    "link_of",
    "register_loss",
]

#: Losses of a regression, by the names of interpret 0.7.8, which files hold.
LOSSES: dict[str, type[RegressionLoss]] = {}

# At which a new loss is tried, in units of the target.
_CLIPS = (0.01, 1.0, 100.0)
_ROUNDING = 1e-6

# What interpret's development branch of August 2026 calls them.
_LATER_NAMES = {"poisson": "poisson_deviance", "gamma": "gamma_deviance"}


def register_loss(loss: type[RegressionLoss]) -> type[RegressionLoss]:
    """Register a loss of a regression, so that ``objective`` takes its name.

    Parameters
    ----------
    loss : type
        With ``name``, ``link``, ``rule`` and, for the rules of a gap, ``residual``.

    Raises
    ------
    ValueError
        If the name is taken, the rule is none that bounds residuals, or ``residual`` is not finite,
        falls, or (with the rule "gap") rises faster than the gap.

    Notes
    -----
    No loss can break the guarantee. It sees public and released numbers alone; its ``residual`` is
    read into a table once, from gaps that are public. The loop over rows clips each residual to one
    unit of the clip, so that ``residual_norm`` holds for any table. A rule that is not among
    :data:`~interpret_dp.ebm.losses.base.RULES` belongs to ``backends`` and owes two steps of the
    proof in docs/proofs/dp_ebm.md: the residual follows from one row and public numbers alone, and
    the integers themselves stay within ``residual_norm``.
    """
    if loss.rule not in RULES:
        raise ValueError(
            f"{loss.__name__}.rule is {loss.rule!r}; it must be one of {', '.join(RULES)}, which "
            "clip each row's residual. Another rule needs a loop over rows in "
            "interpret_dp.backends and the proof of its bound, residual_norm."
        )
    if loss.rule in ("gap", "log gap") and loss.residual is RegressionLoss.residual:
        raise ValueError(
            f"{loss.__name__} has the rule {loss.rule!r} and no residual; define residual(gap, "
            "clip), in units of the clip."
        )
    if loss.rule in ("gap", "log gap"):
        # Found now, and not when a fit has paid for its first release.
        for clip in _CLIPS:
            _check_residual(loss, clip)
    if loss.name in (*LOSSES, *_LATER_NAMES):
        raise ValueError(f"A loss named {loss.name!r} is registered; choose another name.")
    LOSSES[loss.name] = loss
    return loss


def _check_residual(loss: type[RegressionLoss], clip: float) -> None:
    gaps = np.linspace(-16.0, 16.0, 65)
    residuals = np.asarray(loss.residual(gaps, clip), dtype=np.float64)
    if residuals.shape != gaps.shape or not np.isfinite(residuals).all():
        raise ValueError(
            f"{loss.__name__}.residual returns values that are not finite or of shape "
            f"{residuals.shape} for gaps of shape {gaps.shape} and clip={clip:g}; it must return a "
            "finite number for each gap from -16 to 16."
        )
    slopes = np.diff(residuals) / np.diff(gaps)
    if slopes.min() < -_ROUNDING:
        raise ValueError(
            f"{loss.__name__}.residual falls as the gap grows (clip={clip:g}); it must be minus "
            "the derivative of a convex loss by the score, which has the sign of the gap."
        )
    if loss.rule == "gap" and slopes.max() > 1.0 + _ROUNDING:
        raise ValueError(
            f"{loss.__name__}.residual has the slope {slopes.max():.3g} (clip={clip:g}); divide it "
            "so that no slope is above 1. A steeper one reaches the clip early, and the fit "
            "minimises another loss."
        )


register_loss(SquaredError)
register_loss(PoissonDeviance)
register_loss(GammaDeviance)


def link_of(objective: str) -> str:
    """Return the link of a regression's objective, in interpret's words."""
    return LOSSES[objective].link


def checked_objective(objective: object) -> str:
    """Return the name of a regression's objective in LOSSES, or raise ValueError."""
    name = check_choice(
        "objective",
        objective,
        (*LOSSES, *_LATER_NAMES),
        mend="'rmse' suits any target, 'poisson_deviance' counts, 'gamma_deviance' positive "
        "amounts. Others can be registered: register_loss.",
    )
    return _LATER_NAMES.get(name, name)
