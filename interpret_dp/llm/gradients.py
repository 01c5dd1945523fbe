"""Sums of clipped gradients in closed form: nothing of size batch x parameters is ever made.

With p the predicted probabilities, the gradient of the cross-entropy of one example by the value
g_km is c_km = (p_k - y_k) s_km (1 + beta (g_km - f_k)); by the weights of map (k, m) it is
c_km P_m, with P_m = R_m x. So its squared norm is sum_km c_km^2 (||P_m||^2 + 1), and a sum of
clipped gradients is a matrix product of c and P; also (sum over examples of c_km x) R_m^T, so that
projected rows need not be kept. The norms ||P_m||^2 do not change and are computed once.

The products are most of the work, and the rest is kept out of their way: rows are the last axis
of what is computed, and on a processor a part of a batch is as small as its cache.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch

from interpret_dp.llm.config import CLIP_SHARE, rows_at_a_time

__all__ = ["ClosedForm", "TrainingRows", "map_gradients", "products", "project_rows"]

# Numbers that stay in a core's cache from pass to pass; parts have a multiple of so many rows.
_CACHED_NUMBERS = 2**19
_MULTIPLE = 128
_ROWS_AT_ONCE = 1024

# Projected rows are kept where they take at most so many times the memory of the rows.
_MOST_KEPT = 4

# Least squared length of a projected row, over what it is on average for rows of its length.
_SMALLEST_PROJECTION = 0.01


@dataclass(frozen=True)
class TrainingRows:
    """Encoded rows on the device. Private, and so left out of the representation.

    Attributes
    ----------
    inputs : Tensor of float32, shape (n_rows, n_inputs)
    classes : Tensor of int64, shape (n_rows,)
        -1 for a label that is missing or undeclared: the row adds nothing.
    """

    inputs: torch.Tensor = field(repr=False)
    classes: torch.Tensor = field(repr=False)


def map_gradients(
    values: torch.Tensor, classes: torch.Tensor, inverse_temperature: float
) -> torch.Tensor:
    """Return the gradient of each example's cross-entropy by the values of the maps.

    Parameters
    ----------
    values : Tensor, shape (n_maps, n_classes, n_rows)
        g, the values of the maps.
    classes : Tensor of int64, shape (n_rows,)
        -1 for none.
    inverse_temperature : float

    Returns
    -------
    Tensor, same shape as ``values``
    """
    shares = torch.softmax(inverse_temperature * values, dim=0)
    scores = (shares * values).sum(dim=0)
    errors = torch.softmax(scores, dim=0)
    labelled = classes >= 0
    errors.scatter_add_(0, classes.clamp(min=0)[None], torch.full_like(errors[:1], -1.0))
    errors *= labelled
    # s (1 + beta (g - f)), in one pass
    slopes = torch.addcmul(shares, shares, values - scores, value=inverse_temperature)
    return slopes.mul_(errors)


def project_rows(
    inputs: torch.Tensor, projections: torch.Tensor | None, *, keep: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the rows to compute with, and the squared norms of the projected ones.

    Parameters
    ----------
    inputs : Tensor, shape (n_rows, n_inputs)
    projections : Tensor, shape (n_maps, dimension, n_inputs), or None
    keep : bool
        Return projected rows, if there are projections; else the inputs.

    Returns
    -------
    rows : Tensor, shape (n_rows, n_maps, dimension) or (n_rows, 1, n_inputs)
    norms : Tensor, shape (n_rows, n_maps), or (n_rows, 1) without projections

    Notes
    -----
    A row that a projection hides (R_m x = 0, whatever the size of x) would never be clipped, while
    floating point loses the sums of all others beside it. So no projection is taken to be shorter
    than a hundredth of the average one; a norm that is too large clips more than it must.
    """
    n_rows, n_inputs = inputs.shape
    if projections is None:
        norms = torch.cat([part.square().sum(dim=1) for part in inputs.split(_ROWS_AT_ONCE)])
        return inputs[:, None], norms[:, None]
    n_maps, dimension, _ = projections.shape
    # In double precision, whatever torch was told to make of products of single precision.
    flat = projections.flatten(0, 1).T.to(torch.float64)
    smallest = projections.square().sum(dim=(1, 2)) * (_SMALLEST_PROJECTION / n_inputs)
    norms = inputs.new_empty((n_rows, n_maps))
    kept = inputs.new_empty((n_rows, n_maps, dimension)) if keep else inputs[:, None]
    step = min(_ROWS_AT_ONCE, rows_at_a_time(n_maps * dimension, n_inputs))
    for start in range(0, n_rows, step):
        rows = inputs[start : start + step]
        projected = products(rows, flat).reshape(-1, n_maps, dimension)
        if keep:
            kept[start : start + step] = projected
        lengths = rows.square().sum(dim=1, keepdim=True)
        squares = projected.square_().sum(dim=2)
        norms[start : start + step] = torch.maximum(squares, smallest * lengths)
    return kept, norms


def products(rows: torch.Tensor, matrix: torch.Tensor) -> torch.Tensor:
    """Return rows times a matrix of float64, each row the same bits beside any others."""
    missing = -len(rows) % _MULTIPLE
    filled = torch.nn.functional.pad(rows.to(torch.float64), (0, 0, 0, missing))
    return (filled @ matrix)[: len(rows)]


def _keeps_projected(projections: torch.Tensor | None) -> bool:
    """Return whether projected rows are kept: a public rule."""
    if projections is None:
        return False
    n_maps, dimension, n_inputs = projections.shape
    return bool(n_maps * dimension <= _MOST_KEPT * n_inputs)


def _rows_of_a_part(n_values: int, width: int, device: torch.device) -> int:
    """Return how many rows are worked on at once: a public rule, whatever the sample's size."""
    within_memory = rows_at_a_time(n_values, width)
    if device.type != "cpu":
        return within_memory
    within_cache = _CACHED_NUMBERS // (3 * n_values + width) // _MULTIPLE * _MULTIPLE
    return min(within_memory, max(_MULTIPLE, within_cache))


def _filled(values: torch.Tensor, part: torch.Tensor, fill: float) -> torch.Tensor:
    """Return the values of some rows, filled up with rows that add nothing.

    Matrix products choose their order of summation by the shapes. Filled up, a row's values are
    the same bits beside any other rows.
    """
    size = -(-len(part) // _MULTIPLE) * _MULTIPLE
    found = values.new_empty((size, *values.shape[1:]))
    torch.index_select(values, 0, part, out=found[: len(part)])
    found[len(part) :] = fill
    return found


class ClosedForm:
    """Sums of clipped gradients of a locally linear model.

    Parameters
    ----------
    rows : TrainingRows
    projections : Tensor, shape (n_maps, dimension, n_inputs), or None
    inverse_temperature : float
    clip_norm : float
        Bound on the norm of what one example adds.
    """

    def __init__(
        self,
        rows: TrainingRows,
        projections: torch.Tensor | None,
        inverse_temperature: float,
        clip_norm: float,
    ) -> None:
        self._classes = rows.classes
        self._inverse_temperature = inverse_temperature
        self._limit = clip_norm * CLIP_SHARE
        keep = _keeps_projected(projections)
        self._rows, self._norms = project_rows(rows.inputs, projections, keep=keep)
        # None: the weights fit the rows as they are.
        self._projections = None if keep else projections
        # Converted once: to do it in every step takes longer than the product.
        self._wide = None if self._projections is None else self._projections.to(torch.float64)

    def clipped_sum(
        self, weights: torch.Tensor, biases: torch.Tensor, positions: torch.Tensor
    ) -> torch.Tensor:
        """Return the sum of the clipped gradients of the rows at ``positions``.

        Parameters
        ----------
        weights : Tensor, shape (n_maps, n_classes, dimension)
            Before projection.
        biases : Tensor, shape (n_maps, n_classes)
        positions : Tensor of int64, shape (n_sampled,)

        Returns
        -------
        Tensor of float64, shape (n_parameters,)
            By the weights, then by the biases. Private.
        """
        n_maps, n_classes, _ = weights.shape
        projections = self._projections
        full = weights if projections is None else torch.bmm(weights, projections)
        # In the space of the inputs all maps are one matrix.
        _, n_groups, width = self._rows.shape
        # Graphics cards choose how they add up by shapes of any size, so that filling up does not
        # keep rows apart there; precision does.
        precision = weights.dtype if weights.device.type == "cpu" else torch.float64
        grouped = full.reshape(n_groups, -1, width).to(precision)
        offsets = biases.reshape(n_groups, -1, 1).to(precision)
        by_weights = torch.zeros_like(grouped, dtype=torch.float64)
        by_biases = torch.zeros_like(biases.reshape(-1), dtype=torch.float64)
        step = _rows_of_a_part(n_maps * n_classes, n_groups * width, weights.device)
        for part in positions.split(step):
            rows = _filled(self._rows, part, 0.0)
            values = torch.baddbmm(offsets, grouped, rows.permute(1, 2, 0).to(precision))
            clipped = self._clipped(values.reshape(n_maps, n_classes, -1), part)
            # In single precision, one row more among some thousand like ones would move the sum
            # by more than the room that clipping leaves (docs/proofs/dp_llm.md).
            wide = clipped.reshape(values.shape).to(torch.float64)
            by_weights += torch.bmm(wide, rows.transpose(0, 1).to(torch.float64))
            by_biases += clipped.flatten(0, 1).sum(dim=1, dtype=torch.float64)
        if self._wide is not None:
            by_weights = torch.bmm(by_weights.reshape(full.shape), self._wide.transpose(1, 2))
        return torch.cat([by_weights.reshape(-1), by_biases])

    def _clipped(self, values: torch.Tensor, part: torch.Tensor) -> torch.Tensor:
        """Return the gradients by the maps' values, clipped; both of map_gradients' shape."""
        classes = _filled(self._classes, part, -1)
        gradients = map_gradients(values, classes, self._inverse_temperature)
        lengths = _filled(self._norms, part, 0.0).add_(1.0).T
        squares = gradients.square().sum(dim=1).mul_(lengths)
        norms = squares.sum(dim=0).sqrt_()
        # A row whose values have left the floats adds nothing: no bound would hold for it.
        factors = self._limit / norms.clamp(min=self._limit)
        return torch.where(norms.isfinite(), gradients.mul_(factors), 0.0)
