"""Sums of clipped gradients in closed form: nothing of size batch x parameters is ever made.

With p the predicted probabilities, the gradient of the cross-entropy of one example by the value
g_km is c_km = (p_k - y_k) s_km (1 + beta (g_km - f_k)); by the weights of map (k, m) it is
c_km P_m, with P_m = R_m x. So its squared norm is sum_km c_km^2 (||P_m||^2 + 1), and a sum of
clipped gradients is (sum over examples of c_km x) R_m^T: two matrix products in the space of the
inputs, whatever the projections. The norms ||P_m||^2 do not change and are computed once.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch

from interpret_dp.llm.config import CLIP_SHARE, rows_at_a_time

__all__ = ["ClosedForm", "TrainingRows", "map_gradients", "projected_norms"]


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
    values : Tensor, shape (n_rows, n_classes, n_maps)
        g, the values of the maps.
    classes : Tensor of int64, shape (n_rows,)
        -1 for none.
    inverse_temperature : float

    Returns
    -------
    Tensor, same shape as ``values``
    """
    shares = torch.softmax(inverse_temperature * values, dim=2)
    scores = (shares * values).sum(dim=2)
    errors = torch.softmax(scores, dim=1)
    labelled = classes >= 0
    errors.scatter_add_(1, classes.clamp(min=0)[:, None], torch.full_like(errors[:, :1], -1.0))
    errors *= labelled[:, None]
    slopes = (values - scores[:, :, None]).mul_(inverse_temperature).add_(1.0)
    return slopes.mul_(shares).mul_(errors[:, :, None])


def projected_norms(inputs: torch.Tensor, projections: torch.Tensor | None) -> torch.Tensor:
    """Return ||R_m x||^2 of each row and map, shape (n_rows, n_maps); (n_rows, 1) without R."""
    if projections is None:
        return inputs.square().sum(dim=1, keepdim=True)
    n_maps, dimension, _ = projections.shape
    norms = inputs.new_empty((len(inputs), n_maps))
    step = rows_at_a_time(dimension, inputs.shape[1])
    for start in range(0, len(inputs), step):
        rows = inputs[start : start + step]
        for index in range(n_maps):
            norms[start : start + step, index] = (rows @ projections[index].T).square().sum(dim=1)
    return norms


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
        self._rows = rows
        self._projections = projections
        self._inverse_temperature = inverse_temperature
        self._limit = clip_norm * CLIP_SHARE
        self._norms = projected_norms(rows.inputs, projections)

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
        projections = self._projections
        full = weights if projections is None else torch.bmm(weights, projections)
        n_maps, n_classes, n_inputs = full.shape
        flat = full.reshape(-1, n_inputs)
        by_weights = torch.zeros_like(flat, dtype=torch.float64)
        by_biases = torch.zeros(len(flat), dtype=torch.float64, device=flat.device)
        for part in positions.split(rows_at_a_time(len(flat), n_inputs)):
            inputs = self._rows.inputs[part]
            values = torch.addmm(biases.reshape(-1), inputs, flat.T)
            clipped = self._clipped(values.reshape(-1, n_maps, n_classes), part)
            by_weights += clipped.T @ inputs
            by_biases += clipped.sum(dim=0, dtype=torch.float64)
        if projections is None:
            return torch.cat([by_weights.reshape(-1), by_biases])
        of_inputs = by_weights.reshape(full.shape).to(projections.dtype)
        projected = torch.bmm(of_inputs, projections.transpose(1, 2))
        return torch.cat([projected.to(torch.float64).reshape(-1), by_biases])

    def _clipped(self, values: torch.Tensor, part: torch.Tensor) -> torch.Tensor:
        """Return the gradients by the maps' values, clipped, shape (n_rows, n_maps * n_classes)."""
        by_class = values.transpose(1, 2)
        gradients = map_gradients(by_class, self._rows.classes[part], self._inverse_temperature)
        by_map = gradients.transpose(1, 2).contiguous()
        squares = by_map.square().sum(dim=2)
        norms = (squares * (self._norms[part] + 1.0)).sum(dim=1).sqrt_()
        # A row whose values have left the floats adds nothing: no bound would hold for it.
        finite = norms.isfinite()[:, None, None]
        factors = self._limit / norms.clamp(min=self._limit)
        clipped = torch.where(finite, by_map * factors[:, None, None], 0.0)
        return clipped.flatten(1)
