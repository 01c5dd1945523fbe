"""Steps of DP-LLM on MNIST by one engine in one process: ``python -m benchmarks.llm_engines JSON``.

Ours is the trainer of the package, with everything that a step of a fit does. The others are
Opacus' PrivacyEngine around the same model, written in every way that it takes; loops hand it
batches by index, since its DataLoader collates row by row.
"""

from __future__ import annotations

import dataclasses
import json
import math
import resource
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from opacus import PrivacyEngine
from opacus.grad_sample import register_grad_sampler
from opacus.grad_sample.utils import register_norm_sampler
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from benchmarks.papers.harder import STANDARDS, load_images
from benchmarks.stages import Stage, timed_stages
from interpret_dp.accounting.plans import PlannedSampling, ReleasePlan
from interpret_dp.ledger import PrivacyLedger
from interpret_dp.llm.config import TrainingSettings, default_settings
from interpret_dp.llm.request import GRADIENTS
from interpret_dp.llm.training import Training, projected_features, public_projections
from interpret_dp.mechanisms import SystemRandomness
from interpret_dp.release import ReleaseRequest

__all__ = [
    "LAYOUTS",
    "N_MAPS",
    "Job",
    "PeerModel",
    "folded_norms",
    "grouped_gradients",
    "grouped_norms",
    "peak_megabytes",
    "projected",
    "run_job",
    "squared_norms",
    "training_rows",
]

N_MAPS = 30
CLIP_NORM = 0.5
TEMPERATURE = 1 / 30
_IMAGE = (28, 28)
_ROWS_AT_A_TIME = 2000

LAYOUTS = {
    "one linear": "nn.Linear of all maps and classes, where all maps see the same inputs",
    "linears": "an nn.Linear for each map",
    "grouped": "one layer of our own, with a grad sampler and a norm sampler registered",
    "folded": "a layer that multiplies weights and projections first, as ours, and has our closed "
    "form of the norms registered as its norm sampler",
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Job:
    """What a process measures.

    Attributes
    ----------
    engine : {"closed form", "hooks", "ghost", "functorch", "ew", "nothing"}
        "nothing" imports and loads what the others do.
    layout : str
        Of the model, one of ``LAYOUTS``; empty for ours.
    projection : {"none", "cosine", "gaussian"}
        "cosine": one for all maps, by the rule for images. "gaussian": one for each map, as in the
        paper.
    dimension : int
        Of the projections.
    is_given : bool
        Projected inputs are computed once, before the epoch; else in every batch.
    batch_sizes : tuple of int
        One after the other.
    threads : int
    n_classes : int
        Labels beyond MNIST's ten are drawn at random.
    limit : float
        Processor seconds after which an epoch is cut and scaled.
    has_stages : bool
        Of ours: say where the time of one more epoch goes.
    """

    engine: str
    layout: str = ""
    projection: str = "none"
    dimension: int = 0
    is_given: bool = True
    batch_sizes: tuple[int, ...] = (2000,)
    threads: int = 1
    n_classes: int = 10
    limit: float = 10.0
    has_stages: bool = False

    @property
    def settings(self) -> TrainingSettings:
        """The trainer's settings, of the paper but for the projections."""
        return dataclasses.replace(
            default_settings(math.prod(_IMAGE), _IMAGE),
            n_maps=N_MAPS,
            projection_dim=self.dimension or None,
            projection="gaussian" if self.projection == "none" else self.projection,
            smoothing=0.0,
            centring=0.0,
            inverse_temperature=TEMPERATURE,
            clip_norm=CLIP_NORM,
        )


def peak_megabytes() -> float:
    """Return the largest resident size of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def training_rows(n_classes: int) -> tuple[NDArray[np.float32], NDArray[np.int16]]:
    """Return MNIST's training rows, standardised; no copy is larger than what is returned."""
    images, labels, _, _ = load_images("MNIST")
    flat = images.reshape(len(images), -1)
    inputs = np.empty(flat.shape, dtype=np.float32)
    for start in range(0, len(flat), _ROWS_AT_A_TIME):
        rows = flat[start : start + _ROWS_AT_A_TIME].astype(np.float32)
        inputs[start : start + _ROWS_AT_A_TIME] = (rows - STANDARDS[0]) / STANDARDS[1]
    classes = labels.astype(np.int16)
    if n_classes > 10:
        classes = np.random.default_rng(0).integers(n_classes, size=len(flat), dtype=np.int16)
    return inputs, classes


class GroupedMaps(nn.Module):
    """All maps as one layer on projected inputs, shape (n_rows, n_maps, dimension)."""

    def __init__(self, dimension: int, n_classes: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(_start(N_MAPS, n_classes, dimension))
        self.bias = nn.Parameter(torch.zeros(N_MAPS, n_classes))

    def forward(self, projected: torch.Tensor) -> torch.Tensor:
        """Return shape (n_rows, n_maps, n_classes)."""
        by_map = torch.bmm(projected.transpose(0, 1), self.weight.transpose(1, 2))
        return by_map.transpose(0, 1) + self.bias


@register_grad_sampler(GroupedMaps)
def grouped_gradients(
    layer: GroupedMaps, activations: list[torch.Tensor], backprops: torch.Tensor
) -> dict[nn.Parameter, torch.Tensor]:
    """Return the gradient of each row."""
    by_weight = backprops[:, :, :, None] * activations[0][:, :, None, :]
    return {layer.weight: by_weight, layer.bias: backprops}


@register_norm_sampler(GroupedMaps)
def grouped_norms(
    layer: GroupedMaps, activations: list[torch.Tensor], backprops: torch.Tensor
) -> dict[nn.Parameter, torch.Tensor]:
    """Return the norm of each row's gradient."""
    squares = backprops.square().sum(dim=2)
    lengths = activations[0].square().sum(dim=2)
    by_weight = (squares * lengths).sum(dim=1).sqrt()
    return {layer.weight: by_weight, layer.bias: squares.sum(dim=1).sqrt()}


class FoldedMaps(nn.Module):
    """Maps in the space of the inputs; takes the norms of projected rows beside the rows."""

    def __init__(self, projections: torch.Tensor, n_classes: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(_start(N_MAPS, n_classes, projections.shape[1]))
        self.bias = nn.Parameter(torch.zeros(N_MAPS, n_classes))
        self._projections = projections

    def forward(self, inputs: torch.Tensor, _lengths: torch.Tensor) -> torch.Tensor:
        """Return shape (n_rows, n_maps, n_classes)."""
        full = torch.bmm(self.weight, self._projections).flatten(0, 1)
        values = nn.functional.linear(inputs, full, self.bias.reshape(-1))
        return values.reshape(len(inputs), *self.bias.shape)


@register_norm_sampler(FoldedMaps)
def folded_norms(
    layer: FoldedMaps, activations: list[torch.Tensor], backprops: torch.Tensor
) -> dict[nn.Parameter, torch.Tensor]:
    """Return the norm of each row's gradient, in our closed form."""
    squares = backprops.square().sum(dim=2)
    by_weight = (squares * activations[1]).sum(dim=1).sqrt()
    return {layer.weight: by_weight, layer.bias: squares.sum(dim=1).sqrt()}


class PeerModel(nn.Module):
    """The locally linear model for autograd, in one of the layouts."""

    def __init__(self, job: Job, n_inputs: int, projections: torch.Tensor | None) -> None:
        super().__init__()
        dimension = job.dimension or n_inputs
        self._n_classes, self._layout = job.n_classes, job.layout
        self._projections = None if job.is_given else projections
        if job.layout == "one linear":
            self.maps: nn.Module = nn.Linear(dimension, N_MAPS * job.n_classes)
        elif job.layout == "linears":
            self.maps = nn.ModuleList(nn.Linear(dimension, job.n_classes) for _ in range(N_MAPS))
        elif job.layout == "folded" and projections is not None:
            self.maps = FoldedMaps(projections, job.n_classes)
        else:
            self.maps = GroupedMaps(dimension, job.n_classes)

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        """Return the class scores."""
        values = self._values(*inputs)
        shares = torch.softmax(TEMPERATURE * values, dim=1)
        return (shares * values).sum(dim=1)

    def _values(self, inputs: torch.Tensor, *lengths: torch.Tensor) -> torch.Tensor:
        if self._layout == "folded":
            return self.maps(inputs, *lengths)
        if self._layout == "one linear":
            return self.maps(inputs).reshape(len(inputs), N_MAPS, self._n_classes)
        if self._projections is not None:
            flat = self._projections.flatten(0, 1)
            inputs = (inputs @ flat.T).reshape(len(inputs), N_MAPS, -1)
        if inputs.dim() == 2:
            inputs = inputs[:, None].expand(-1, N_MAPS, -1)
        if self._layout == "grouped":
            return self.maps(inputs)
        assert isinstance(self.maps, nn.ModuleList)
        return torch.stack([layer(inputs[:, i]) for i, layer in enumerate(self.maps)], dim=1)


def _start(*shape: int) -> torch.Tensor:
    limit = 1.0 / np.sqrt((shape[-1] + 1) * shape[-2])
    return torch.empty(shape).uniform_(-limit, limit)


def _peer_step(job: Job, batch_size: int, arrays: list[torch.Tensor], model: PeerModel) -> Any:
    """Return what takes one step by Opacus: its own Poisson sample, clipping, noise and Adam."""
    *inputs, classes = arrays
    rate = batch_size / len(classes)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    made = PrivacyEngine().make_private(
        module=model,
        optimizer=optimizer,
        criterion=nn.CrossEntropyLoss(),
        data_loader=DataLoader(TensorDataset(*arrays), batch_size=batch_size),
        noise_multiplier=1.0,
        max_grad_norm=CLIP_NORM,
        grad_sample_mode=job.engine,
    )
    private, optimizer = made[0], made[1]
    criterion = made[2] if job.engine == "ghost" else nn.CrossEntropyLoss()

    def step() -> None:
        sampled = torch.nonzero(torch.rand(len(classes)) < rate)[:, 0]
        optimizer.zero_grad()
        scores = private(*(array.index_select(0, sampled) for array in inputs))
        criterion(scores, classes.index_select(0, sampled)).backward()
        optimizer.step()

    return step


def _given(job: Job, rows: torch.Tensor, projections: torch.Tensor) -> list[torch.Tensor]:
    """Return what the model of a peer gets of each row."""
    if job.layout == "folded":
        return [rows, squared_norms(rows, projections)]
    if job.projection == "cosine":
        return [torch.from_numpy(projected_features(rows.numpy(), projections[0].numpy()))]
    return [projected(rows, projections) if job.is_given else rows]


def projected(inputs: torch.Tensor, projections: torch.Tensor) -> torch.Tensor:
    """Return projected rows, shape (n_rows, n_maps, dimension)."""
    found = torch.empty(len(inputs), *projections.shape[:2])
    flat = projections.flatten(0, 1).T.contiguous()
    for rows, out in zip(inputs.split(_ROWS_AT_A_TIME), found.split(_ROWS_AT_A_TIME), strict=True):
        torch.mm(rows, flat, out=out.flatten(1))
    return found


def squared_norms(inputs: torch.Tensor, projections: torch.Tensor) -> torch.Tensor:
    """Return the squared norms of projected rows, which are not kept; shape (n_rows, n_maps)."""
    parts = inputs.split(_ROWS_AT_A_TIME)
    return torch.cat([projected(part, projections).square().sum(dim=2) for part in parts])


def _epoch(step: Callable[[], None], n_steps: int, limit: float) -> dict[str, float]:
    """Time steps after a first one that is not counted, and scale them to an epoch."""
    step()
    processor, wall = time.process_time(), time.perf_counter()
    done = 0
    while done < n_steps and time.process_time() - processor < limit:
        step()
        done += 1
    scale = n_steps / done
    return {
        "processor": (time.process_time() - processor) * scale,
        "wall": (time.perf_counter() - wall) * scale,
        "steps": done,
    }


def _stages() -> dict[str, Stage]:
    """Return the parts of a step, as they are looked up."""
    from interpret_dp.llm import training

    return {
        "noise": [(SystemRandomness, "noise")],
        "drawing the sample": [(SystemRandomness, "sample")],
        "gradients of the maps' values": [(training, "map_gradients")],
        "clipping each row": [(training, "clipped_integers")],
        "Adam": [(training._Adam, "update")],
    }


def _our_epoch(
    job: Job, batch_size: int, inputs: NDArray[np.float32], classes: NDArray[np.int16], n_steps: int
) -> tuple[dict[str, Any], float]:
    """Time steps of a fit; also return the seconds that are spent before the first one."""
    rate = batch_size / len(inputs)
    n_planned = 1 + n_steps + (n_steps if job.has_stages else 0)
    plan = PlannedSampling.calibrated(GRADIENTS, 0.5, 1e-6, probability=rate, count=n_planned)
    assert plan.steps is not None
    request = ReleaseRequest(
        epsilon=2.0,
        delta=1e-5,
        plan=ReleasePlan((plan,)),
        randomness=SystemRandomness(),
        ledger=PrivacyLedger.in_memory(),
        dataset="mnist",
    )
    with request.opened("benchmark") as session:
        began = time.process_time()
        training = Training(
            inputs,
            classes,
            job.n_classes,
            job.settings,
            plan.steps,
            session,
            image_shape=_IMAGE,
            engine="closed_form",
        )
        once = time.process_time() - began
        epoch: dict[str, Any] = _epoch(training.step, n_steps, job.limit)
        if job.has_stages:
            with timed_stages(_stages()) as stages:
                for _ in range(n_steps):
                    training.step()
            epoch["stages"] = stages
    n_parameters = N_MAPS * job.n_classes * ((job.dimension or inputs.shape[1]) + 1)
    began = time.process_time()
    for _ in range(n_steps):
        request.randomness.sample(len(inputs), rate)
        request.randomness.noise(2.0**30, n_parameters)
    return epoch | {"random numbers": time.process_time() - began}, once


def run_job(job: Job) -> dict[str, Any]:
    """Return seconds of an epoch for each batch size, seconds spent once, and the peak."""
    torch.set_num_threads(job.threads)
    inputs, classes = training_rows(job.n_classes)
    rows, labels = torch.from_numpy(inputs), torch.from_numpy(classes.astype(np.int64))
    began = time.process_time()
    arrays, projections = [rows, labels], None
    if job.dimension and job.engine != "closed form":
        found = public_projections(inputs.shape[1], job.settings, _IMAGE, np.random.default_rng(0))
        assert found is not None
        projections = torch.from_numpy(found)
        arrays = [*_given(job, rows, projections), labels]
    once = time.process_time() - began
    result: dict[str, Any] = {"epochs": {}, "once": once}
    for batch_size in job.batch_sizes if job.engine != "nothing" else ():
        n_steps = round(len(inputs) / batch_size)
        if job.engine == "closed form":
            result["epochs"][batch_size], result["once"] = _our_epoch(
                job, batch_size, inputs, classes, n_steps
            )
        else:
            model = PeerModel(job, inputs.shape[1], projections)
            step = _peer_step(job, batch_size, arrays, model)
            result["epochs"][batch_size] = _epoch(step, n_steps, job.limit)
    return result | {"peak": peak_megabytes()}


if __name__ == "__main__":
    # Opacus warns of its own random numbers, and torch of hooks that see no gradients by inputs.
    warnings.simplefilter("ignore")
    print(json.dumps(run_job(Job(**json.loads(sys.argv[1])))))
