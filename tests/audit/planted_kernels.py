"""Kernels of the backend with a fault, for controls that must find it."""

import numpy as np

from interpret_dp.backends import kernels
from interpret_dp.backends.local import LocalRegressionRows


def without_clip(
    codes,
    widths,
    weights,
    target,
    table,
    lowest,
    largest,
    updated,
    updates,
    saturate,
    wanted,
    scores,
    first,
    last,
    sums,
):
    """Sum residuals that are not clipped, in place of `LocalRegressionRows._kernel`."""
    rows, cells = (first, last), np.empty(last - first, dtype=np.uint16)
    kernels._add_updates(codes, widths, updated, updates, saturate, scores, *rows, cells)
    for slot, group in enumerate(wanted):
        kernels._fill_cells(codes, group, widths, *rows, cells)
        np.add.at(sums[slot], cells, (target - scores)[first:last])


def centre_residuals(monkeypatch):
    """Subtract the exact mean of the target, so that a row moves those of all others."""
    original = LocalRegressionRows.clip_residuals

    def centring(self, clip, exposure=1.0, mean=1.0):
        original(self, clip, exposure, mean)
        self._target = (self._target - self._target.mean()).astype(np.int32)

    monkeypatch.setattr(LocalRegressionRows, "clip_residuals", centring)
