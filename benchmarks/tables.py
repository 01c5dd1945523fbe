"""The public tables of the benchmarks, from a folder or from OpenML.

``python -m benchmarks.tables FOLDER`` fetches all of them, images and reviews too, into a folder;
then name it by INTERPRET_DP_DATA.
"""

from __future__ import annotations

import argparse
import io
import os
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.request import urlopen

import numpy as np

from interpret_dp._validate import check_choice

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["BENCHMARKS", "DATA_VARIABLE", "data_file", "fetch", "load_benchmark"]

DATA_VARIABLE = "INTERPRET_DP_DATA"
"""Environment variable that names the folder of the benchmark tables."""


@dataclass(frozen=True)
class _Benchmark:
    """OpenML's identifier of a table, and its positive class (None: a number is predicted)."""

    openml_name: str
    openml_version: int
    positive: str | None


_BENCHMARKS = {
    "adult": _Benchmark("adult", 2, ">50K"),
    "credit_fraud": _Benchmark("creditcard", 1, "1"),
    "wine_quality": _Benchmark("wine_quality", 1, None),
    "elevators": _Benchmark("elevators", 1, None),
    "pol": _Benchmark("pol", 1, None),
    "abalone": _Benchmark("abalone", 1, None),
    "telco": _Benchmark("telco-customer-churn", 1, "Yes"),
}
BENCHMARKS = (*_BENCHMARKS, "california_housing")
"""Names that `load_benchmark` knows: abalone, and the tables of Nori et al. (2021, Table 1)."""

_IMAGES = {"mnist.npz": "mnist_784", "fashion_mnist_train.npz": "Fashion-MNIST"}
_TRAINING_IMAGES = 60_000
_REVIEWS = "imdb_reviews.parquet"
_REVIEWS_URL = "https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz"


def data_file(name: str) -> Path:
    """Return a file of the folder that INTERPRET_DP_DATA names.

    Raises
    ------
    FileNotFoundError
        If it is not there; the message says how to fetch it.
    """
    path = Path(os.environ.get(DATA_VARIABLE, ".")) / name
    if not path.is_file():
        raise FileNotFoundError(
            f"There is no {path}. `python -m benchmarks.tables FOLDER {name}` fetches it; then set "
            f"{DATA_VARIABLE} to that folder."
        )
    return path


def fetch(folder: Path, name: str) -> None:
    """Fetch a public file into a folder, unless it is there.

    Parameters
    ----------
    folder : Path
    name : str
        ``adult.parquet``, so for every table; ``mnist.npz``, ``fashion_mnist_train.npz`` or
        ``imdb_reviews.parquet``.
    """
    import pandas as pd

    path = folder / name
    if path.is_file():
        return
    folder.mkdir(parents=True, exist_ok=True)
    if name in _IMAGES:
        from sklearn.datasets import fetch_openml

        bunch = fetch_openml(name=_IMAGES[name], version=1, as_frame=False, parser="auto")
        X = bunch.data.astype(np.uint8).reshape(-1, 28, 28)
        y = bunch.target.astype(np.uint8)
        parts = {"x_train": X[:_TRAINING_IMAGES], "y_train": y[:_TRAINING_IMAGES]}
        parts |= {"x_test": X[_TRAINING_IMAGES:], "y_test": y[_TRAINING_IMAGES:]}
        np.savez_compressed(path, **parts)
    elif name == _REVIEWS:
        with urlopen(_REVIEWS_URL) as answer:
            pd.DataFrame(_reviews(answer.read())).to_parquet(path)
    else:
        X, y = load_benchmark(name.removesuffix(".parquet"))
        X.assign(target=y).to_parquet(path)


def _reviews(archive: bytes) -> Iterator[dict[str, Any]]:
    """Yield the labelled reviews of Maas et al. (2011)."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        for member in files:
            _, part, label, name = [*member.name.split("/"), "", "", ""][:4]
            opened = files.extractfile(member) if label in ("pos", "neg") and name else None
            if opened is not None:
                number, _, rating = name.removesuffix(".txt").partition("_")
                yield {
                    "split": part,
                    "review_id": int(number),
                    "rating": int(rating),
                    "text": opened.read().decode("utf-8"),
                    "target": int(label == "pos"),
                }


def load_benchmark(name: str) -> tuple[pd.DataFrame, pd.Series[Any]]:
    """Load one of the public benchmark tables.

    The file ``<name>.parquet`` in the folder that the environment variable INTERPRET_DP_DATA
    names is used if it exists (its target is the column ``target``). Otherwise scikit-learn
    downloads the table from OpenML, whose ``adult`` also holds the test part.

    Parameters
    ----------
    name : str
        One of ``BENCHMARKS``.

    Returns
    -------
    X : DataFrame of shape (n, n_features)
        The features; missing values are null.
    y : Series of shape (n,)
        The target: 0 or 1 for adult (income above 50K) and credit_fraud (fraud), else a number.

    Raises
    ------
    ValueError
        If the name is unknown.
    FileNotFoundError
        If there is no such file and OpenML cannot be reached.
    """
    check_choice("name", name, BENCHMARKS)
    folder = os.environ.get(DATA_VARIABLE)
    path = Path(folder) / f"{name}.parquet" if folder else None
    if path is not None and path.is_file():
        import pandas as pd

        table = pd.read_parquet(path)
        return table.drop(columns="target"), table["target"]
    if name == "california_housing":
        from sklearn.datasets import fetch_california_housing

        bunch = fetch_california_housing(as_frame=True)
        return bunch.data, 100_000.0 * bunch.target.rename("target")
    return _from_openml(name, _BENCHMARKS[name])


def _from_openml(name: str, benchmark: _Benchmark) -> tuple[pd.DataFrame, pd.Series[Any]]:
    from sklearn.datasets import fetch_openml

    try:
        bunch = fetch_openml(
            name=benchmark.openml_name,
            version=benchmark.openml_version,
            as_frame=True,
            parser="auto",
        )
    except (OSError, ValueError) as error:  # scikit-learn's own OpenMLError is a ValueError
        raise FileNotFoundError(
            f"The benchmark table {name!r} is neither a file {name}.parquet in the folder that the "
            f"environment variable {DATA_VARIABLE} names ({os.environ.get(DATA_VARIABLE)!r}), nor "
            f"can it be fetched from OpenML ({type(error).__name__}). Set {DATA_VARIABLE} to a "
            "folder that holds it, or connect to the internet."
        ) from error
    y = bunch.target.rename("target")
    if benchmark.positive is None:
        return bunch.data, y.astype("float64")
    return bunch.data, (y.astype(str) == benchmark.positive).astype("int8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    everything = [*(f"{name}.parquet" for name in BENCHMARKS), *_IMAGES, _REVIEWS]
    parser.add_argument("names", nargs="*", default=everything)
    given = parser.parse_args()
    for wanted in given.names:
        fetch(given.folder, wanted)
