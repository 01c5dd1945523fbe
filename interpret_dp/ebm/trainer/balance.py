"""The release after boosting by which predictions have the right total."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.backends.base import AdditiveRows, RegressionRows
from interpret_dp.ebm.config import TrainerConfig
from interpret_dp.ebm.losses import RegressionLoss, Start
from interpret_dp.ebm.losses.shape import clip_of_total, error_of_total
from interpret_dp.ebm.trainer.binning import Bins
from interpret_dp.release import ReleaseSession

FloatArray = NDArray[np.float64]

# In lattice units, well inside int32.
_LARGEST_SCORE = 2**29


def score_rows(
    rows: AdditiveRows, scores: Sequence[FloatArray], intercept: FloatArray, wanted: Sequence[int] = ()
) -> NDArray[np.int64]:
    """Give every row the score of some curves; return the sums of the residuals of some terms.

    Parameters
    ----------
    rows : AdditiveRows
        Private.
    scores : sequence of ndarray of float64, shape (n_codes, n_scores) each
        In units of the score lattice.
    intercept : ndarray of float64, shape (n_scores,)
    wanted : sequence of int
        Terms whose residuals are summed, as by :meth:`AdditiveRows.advance`.
    """
    width = max(len(curve) for curve in scores)
    updates = np.zeros((len(scores), width, len(intercept)), dtype=np.int32)
    for k, curve in enumerate(scores):
        change = np.clip(np.rint(curve * LATTICE), -_LARGEST_SCORE, _LARGEST_SCORE)
        updates[k, : len(curve)] = change
    rows.begin(np.rint(intercept * LATTICE).astype(np.int64))
    return rows.advance(np.arange(len(scores)), updates, np.array(wanted, dtype=np.int64), width)


def released_shift(
    rows: RegressionRows,
    bins: Sequence[Bins],
    scores: Sequence[FloatArray],
    intercept: float,
    start: Start,
    config: TrainerConfig,
    session: ReleaseSession,
) -> float:
    """Release the sum of what predictions lack; return what the intercept must be moved by.

    Parameters
    ----------
    rows : RegressionRows
        Private; their residuals are clipped at another bound afterwards.
    bins : sequence of Bins
    scores : sequence of ndarray of float64, shape (n_codes,) each
        Final curves, in units of the target or its logarithm.
    intercept : float
    start : Start
        With the released number of rows, and the loss with the target's shape.
    config : TrainerConfig
    session : ReleaseSession

    Notes
    -----
    A row adds its residual, so that the norm is the clip, which is as wide as the noise allows. The
    sum is shrunk by its error against the error that the clip of boosting may have left.
    """
    loss = start.loss
    if not isinstance(loss, RegressionLoss) or loss.shape is None or loss.half <= 0:
        return 0.0
    noise = config.balance_noise(start.n_rows, start.scale.norm)
    clip, error = clip_of_total(loss.shape, loss.clips(), noise, loss.gaps)
    left = error_of_total(loss.shape, np.array([loss.clip]), 0.0, loss.gaps)[0]
    wide = replace(loss, clip=clip)
    rows.narrow(LATTICE)
    rows.clip_residuals(clip)
    unit = wide.score_unit
    first = np.array([(intercept - wide.score_origin) / unit])
    sums = score_rows(rows, [curve[:, np.newaxis] / unit for curve in scores], first, wanted=[0])
    exact = sums.sum(keepdims=True).reshape(1, 1)
    # Residuals of two rows may have opposite signs.
    noisy, _ = session.gaussian("balance", exact, row_norm=rows.residual_norm, aligned=False)
    lacking = clip * float(noisy[0, 0]) / LATTICE / start.n_rows
    share = left**2 / (left**2 + error**2)
    import os
    if os.environ.get("SHOW"): print("   balance: lacking", lacking, "error", error, "left", left, "share", share, "clip", clip)
    return loss.shift(share * lacking, loss.mean_prediction(intercept, scores, [b.weights for b in bins]))
