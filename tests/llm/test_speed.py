"""The benchmark of speed compares like with like: all models of Opacus are one function."""

import math

import torch

from benchmarks.llm_engines import N_MAPS, Job, PeerModel, projected, squared_norms
from benchmarks.llm_speed import table_of

N_INPUTS, DIMENSION, N_CLASSES, N_ROWS = 6, 3, 4, 50


def drawn(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(math.prod(shape)))


def model(layout, *, is_given=True):
    """Return a model of a layout; weights and biases do not depend on the layout."""
    job = Job(
        engine="ghost",
        layout=layout,
        projection="gaussian",
        dimension=DIMENSION,
        is_given=is_given,
        n_classes=N_CLASSES,
    )
    found = PeerModel(job, N_INPUTS, drawn(N_MAPS, DIMENSION, N_INPUTS))
    weights, biases = drawn(N_MAPS, N_CLASSES, DIMENSION), drawn(N_MAPS, N_CLASSES)
    with torch.no_grad():
        if layout == "linears":
            for layer, weight, bias in zip(found.maps, weights, biases, strict=True):
                layer.weight.copy_(weight)
                layer.bias.copy_(bias)
        else:
            found.maps.weight.copy_(weights)
            found.maps.bias.copy_(biases)
    return found


def test_all_layouts_give_the_same_scores():
    rows, projections = drawn(N_ROWS, N_INPUTS), drawn(N_MAPS, DIMENSION, N_INPUTS)
    kept, norms = projected(rows, projections), squared_norms(rows, projections)
    expected = model("grouped")(kept)
    for scores in (
        model("linears")(kept),
        model("folded")(rows, norms),
        model("grouped", is_given=False)(rows),
        model("linears", is_given=False)(rows),
    ):
        assert torch.allclose(scores, expected, atol=1e-4)


def test_tables_hold_medians_relative_to_ours():
    def result(seconds, peak):
        epoch = {"processor": seconds, "wall": 2 * seconds, "steps": 3}
        return {"epochs": {"2000": epoch}, "peak": peak, "once": 0.5}

    ours = (Job(engine="closed form"), [result(s, 110.0) for s in (2.0, 1.0, 9.0)])
    theirs = (Job(engine="ghost", layout="grouped"), [result(s, 150.0) for s in (5.0, 6.0, 7.0)])
    table = table_of([ours, theirs], nothing=100.0)
    assert table["engine"].tolist() == ["closed form", "ghost, grouped"]
    assert table["processor s"].tolist() == ["2 (1 to 9)", "6 (5 to 7)"]
    assert table["times ours"].tolist() == [1.0, 3.0]
    assert table["MB above"].tolist() == [10.0, 50.0]
