"""The public tables of the benchmarks come from a folder or from OpenML."""

import tarfile
from types import SimpleNamespace
from unittest.mock import Mock
from urllib.error import URLError

import numpy as np
import pandas as pd
import pytest

from benchmarks.tables import DATA_VARIABLE, data_file, fetch, load_benchmark


def test_benchmark_comes_from_the_folder(tmp_path, monkeypatch):
    table = pd.DataFrame({"a": [1.0, None], "b": ["x", "y"], "target": [0, 1]})
    table.to_parquet(tmp_path / "adult.parquet")
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path))
    X, y = load_benchmark("adult")
    assert list(X.columns) == ["a", "b"]
    assert y.tolist() == [0, 1]


FROM_OPENML = [
    ("adult", "adult", ["<=50K", ">50K"], [0, 1]),
    ("credit_fraud", "creditcard", ["0", "1"], [0, 1]),
    ("pol", "pol", [10, 100], [10.0, 100.0]),
    ("abalone", "abalone", pd.Categorical(["15", "7"]), [15.0, 7.0]),
]


@pytest.mark.parametrize(("name", "openml_name", "raw", "expected"), FROM_OPENML)
def test_benchmark_falls_back_to_openml(name, openml_name, raw, expected, tmp_path, monkeypatch):
    found = SimpleNamespace(data=pd.DataFrame({"a": [1, 2]}), target=pd.Series(raw, name="class"))
    fetch_openml = Mock(return_value=found)
    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch_openml)
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path))
    X, y = load_benchmark(name)
    assert fetch_openml.call_args.kwargs["name"] == openml_name
    assert list(X.columns) == ["a"]
    assert y.name == "target"
    assert y.tolist() == expected


def test_missing_benchmark_says_how_to_get_it(monkeypatch):
    unreachable = Mock(side_effect=URLError("unreachable"))
    monkeypatch.setattr("sklearn.datasets.fetch_openml", unreachable)
    monkeypatch.delenv(DATA_VARIABLE, raising=False)
    with pytest.raises(FileNotFoundError, match=f"Set {DATA_VARIABLE} to a folder"):
        load_benchmark("elevators")
    with pytest.raises(ValueError, match="'credit_fraud'"):
        load_benchmark("mnist")


def test_images_and_reviews_are_fetched_into_a_folder(tmp_path, monkeypatch):
    images = SimpleNamespace(data=np.full((60_001, 784), 255.0), target=np.array(["9"] * 60_001))
    monkeypatch.setattr("sklearn.datasets.fetch_openml", Mock(return_value=images))
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path / "data"))
    with pytest.raises(FileNotFoundError, match=r"tables FOLDER mnist\.npz` fetches it"):
        data_file("mnist.npz")
    fetch(tmp_path / "data", "mnist.npz")
    with np.load(data_file("mnist.npz")) as arrays:
        assert (arrays["x_train"].shape, arrays["y_test"].tolist()) == ((60_000, 28, 28), [9])
    (tmp_path / "review").write_text("good")
    with tarfile.open(tmp_path / "archive", "w:gz") as files:
        for name in ("aclImdb/train/pos/12_8.txt", "aclImdb/train/unsup/1_0.txt", "aclImdb/README"):
            files.add(tmp_path / "review", name)
    opened = (tmp_path / "archive").open("rb")
    monkeypatch.setattr("benchmarks.tables.urlopen", Mock(return_value=opened))
    fetch(tmp_path / "data", "imdb_reviews.parquet")
    reviews = pd.read_parquet(data_file("imdb_reviews.parquet"))
    assert reviews.to_numpy().tolist() == [["train", 12, 8, "good", 1]]
