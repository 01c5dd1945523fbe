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
    TypeError
        If it is no subclass of :class:`RegressionLoss`.
    ValueError
        If it has no name or another loss has it, its rule is none that bounds residuals or does not
        suit its link, or ``residual`` fails, is not finite, falls, or (with the rule "gap") rises
        faster than the gap. Residuals are tried at gaps of 1/128.

    Notes
    -----
    No loss can break the guarantee. It sees public and released numbers alone; its ``residual`` is
    read into a table once, from gaps that are public. The loop over rows clips each residual to one
    unit of the clip, so that ``residual_norm`` holds for any table. A rule that is not among
    :data:`~interpret_dp.ebm.losses.base.RULES` belongs to ``backends`` and owes two steps of the
    proof in docs/proofs/dp_ebm.md: the residual follows from one row and public numbers alone, and
    the integers themselves stay within ``residual_norm``.
    """
    _check_declarations(loss)
    if loss.rule in ("gap", "log gap"):
        # Found now, and not when a fit has paid for its first release.
        for clip in _CLIPS:
            _check_residual(loss, clip)
    known = LOSSES.get(loss.name)
    # A notebook's cell that runs again defines the same class anew.
    is_again = known is not None and (known.__module__, known.__qualname__) == (
        loss.__module__,
        loss.__qualname__,
    )
    if loss.name in (*LOSSES, *_LATER_NAMES) and not is_again:
        raise ValueError(f"A loss named {loss.name!r} is registered; choose another name.")
    LOSSES[loss.name] = loss
    return loss


def _check_declarations(loss: type[RegressionLoss]) -> None:
    if not (isinstance(loss, type) and issubclass(loss, RegressionLoss)):
        raise TypeError(
            f"loss is {loss!r}; it must be a subclass of interpret_dp.ebm.losses.RegressionLoss, "
            "the class itself and not an instance."
        )
    if not isinstance(getattr(loss, "name", None), str):
        raise ValueError(f"{loss.__name__} needs a class attribute name, as objective takes it.")
    if loss.rule not in RULES:
        raise ValueError(
            f"{loss.__name__}.rule is {loss.rule!r}; it must be one of {', '.join(RULES)}, which "
            "clip each row's residual. Another rule needs a loop over rows in "
            "interpret_dp.backends and the proof of its bound, residual_norm."
        )
    if loss.link != ("log" if loss.rule in ("mean", "log gap") else "identity"):
        raise ValueError(
            f"{loss.__name__}.link is {loss.link!r} and its rule {loss.rule!r}; the link 'log' "
            "goes with the rules 'mean' and 'log gap', 'identity' with 'difference' and 'gap'."
        )
    if loss.rule in ("gap", "log gap") and loss.residual is RegressionLoss.residual:
        raise ValueError(
            f"{loss.__name__} has the rule {loss.rule!r} and no residual; define residual(gap, "
            "clip), in units of the clip."
        )


def _check_residual(loss: type[RegressionLoss], clip: float) -> None:
    gaps = np.linspace(-16.0, 16.0, 4097)
    try:
        residuals = np.asarray(loss.residual(gaps, clip), dtype=np.float64)
    except Exception as error:
        raise ValueError(
            f"{loss.__name__}.residual fails for an array of gaps ({error}); it must be a "
            "staticmethod of (gap, clip) that returns an array like gap."
        ) from error
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
            "the derivative of a convex loss by the score, which never falls."
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
        "amounts. Others: register them in Python by interpret_dp.ebm.losses.register_loss.",
    )
    return _LATER_NAMES.get(name, name)
