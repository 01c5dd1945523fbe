"""The same clipped sums by Opacus: hooks and a registered grad sampler, made by its PrivacyEngine.

Sampling, noise, accounting and the optimiser stay ours: what Opacus does here is to find each
example's gradient, to clip it and to add up. It makes a tensor of size batch x parameters, so that
physical batches are small; it is here to check the closed form against, and to compare with.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from opacus import PrivacyEngine
from opacus.grad_sample import register_grad_sampler
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

from interpret_dp.llm.config import (
    CLIP_SHARE,
    TrainingRows,
    lattice_points,
    rounded_rows,
    rows_at_a_time,
)


class MapLayer(nn.Module):
    """The values of all maps: g_mk = weight_mk . P_m + bias_mk."""

    def __init__(self, shape: tuple[int, int, int]) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(shape))
        self.bias = nn.Parameter(torch.zeros(shape[:2]))

    def forward(self, projected: torch.Tensor) -> torch.Tensor:
        """Return shape (n_rows, n_maps, n_classes) of shape (n_rows, n_maps, dimension)."""
        return torch.einsum("bmd,mkd->bmk", projected, self.weight) + self.bias


@register_grad_sampler(MapLayer)
def _map_layer_gradients(
    layer: MapLayer, activations: list[torch.Tensor], backprops: torch.Tensor
) -> dict[nn.Parameter, torch.Tensor]:
    """Return each example's gradients."""
    by_weight = torch.einsum("bmk,bmd->bmkd", backprops, activations[0])
    return {layer.weight: by_weight, layer.bias: backprops}


class LocallyLinearModule(nn.Module):
    """Locally linear maps as a torch module, for training by autograd."""

    def __init__(
        self,
        shape: tuple[int, int, int],
        projections: torch.Tensor | None,
        inverse_temperature: float,
    ) -> None:
        super().__init__()
        self.maps = MapLayer(shape)
        self._projections = projections
        self._inverse_temperature = inverse_temperature

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return the class scores, shape (n_rows, n_classes)."""
        if self._projections is None:
            projected = inputs[:, None, :].expand(-1, self.maps.weight.shape[0], -1)
        else:
            projected = torch.einsum("bi,mdi->bmd", inputs, self._projections)
        values = self.maps(projected)
        shares = torch.softmax(self._inverse_temperature * values, dim=1)
        return (shares * values).sum(dim=1)


class OpacusSums:
    """Sums of clipped gradients by Opacus, of the rounded rows that ``ClosedForm`` sees.

    Parameters
    ----------
    rows, projections, inverse_temperature, clip_norm
        As :class:`ClosedForm` takes them.
    n_parameters : int

    Attributes
    ----------
    row_norm : int
        Bound on the norm of the integers that a row adds; it stands for ``clip_norm``.
    """

    def __init__(
        self,
        rows: TrainingRows,
        projections: NDArray[np.float32] | None,
        inverse_temperature: float,
        clip_norm: float,
        *,
        n_parameters: int,
    ) -> None:
        self._columns, self._classes = rounded_rows(rows.inputs), rows.classes
        self.row_norm = lattice_points(n_parameters)
        self._clip_norm = clip_norm
        # Double precision all through: in single precision one row more moves other rows' values
        # and the sum of many by more than the room that clipping leaves (docs/proofs/dp_llm.md).
        self._projections = None if projections is None else torch.tensor(projections).double()
        self._inverse_temperature = inverse_temperature
        self._made: tuple[Any, Any] | None = None

    def lattice_sum(
        self,
        weights: NDArray[np.float32],
        biases: NDArray[np.float32],
        positions: NDArray[np.int64],
    ) -> NDArray[np.int64]:
        """Return the sum in integers, as :meth:`ClosedForm.lattice_sum` does, truncated."""
        model, optimizer = self._model(weights.shape)
        layer = model.maps
        with torch.no_grad():
            layer.weight.copy_(torch.tensor(weights))
            layer.bias.copy_(torch.tensor(biases))
        size = weights.size + biases.size
        total = np.zeros(size)
        step = rows_at_a_time(2 * size, self._columns.shape[1])
        for start in range(0, len(positions), step):
            optimizer.zero_grad()
            # In the caller's mixed precision, lengths would be right to two digits only.
            with torch.autocast("cpu", enabled=False):
                self._backward(model, positions[start : start + step])
                optimizer.clip_and_accumulate()
            summed = [p.summed_grad.reshape(-1) for p in (layer.weight, layer.bias)]
            total += torch.cat(summed).numpy()
        return np.trunc(total * (self.row_norm / self._clip_norm)).astype(np.int64)

    def _backward(self, model: Any, part: NDArray[np.int64]) -> None:
        columns = self._columns[part].astype(np.float64)
        with warnings.catch_warnings():
            # torch warns that hooks see no gradients by the inputs, which are not needed.
            warnings.filterwarnings("ignore", message="Full backward hook is firing")
            scores = model(torch.tensor(columns[:, :-1] / columns[:, -1:]))
            classes = torch.tensor(self._classes[part])
            loss = functional.cross_entropy(scores, classes, ignore_index=-1, reduction="sum")
            loss.backward()

    def _model(self, shape: tuple[int, ...]) -> tuple[Any, Any]:
        """Return the module and the optimiser that the PrivacyEngine makes, once."""
        if self._made is None:
            n_maps, n_classes, dimension = shape
            module = LocallyLinearModule(
                (n_maps, n_classes, dimension), self._projections, self._inverse_temperature
            ).double()
            with warnings.catch_warnings():
                # It warns that its noise is not cryptographic; none of its noise is used.
                warnings.simplefilter("ignore")
                model, optimizer, _ = PrivacyEngine().make_private(
                    module=module,
                    optimizer=torch.optim.SGD(module.parameters(), lr=0.0),
                    # Unused, and not of the rows: an empty table must not fail as the only one.
                    data_loader=DataLoader(TensorDataset(torch.zeros(1, 1))),
                    noise_multiplier=0.0,
                    max_grad_norm=self._clip_norm * CLIP_SHARE,
                    poisson_sampling=False,
                    loss_reduction="sum",
                )
            self._made = (model, optimizer)
        return self._made
