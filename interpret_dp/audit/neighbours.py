"""Replays of a fit on a neighbouring table, and explainers in the form that audits need.

A fit is run on a table while every release is recorded, and run again on a neighbour with each
release answered by the recorded output. Both runs then go the same way, so that two things can
be checked exactly, without statistics. Every sum that the second run would have released lies
within its declared sensitivity of the first run's: that is what the noise covers. And whatever
the two fits publish is the same bit for bit: what differs reached the public without noise.

One replay is a test of one pair of tables, not a proof.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import itertools
import pickle
import re
import struct
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from interpret_dp._documents import SEAL
from interpret_dp._validate import check_int
from interpret_dp.accounting.guarantee import Guarantee
from interpret_dp.audit.replaying import Recording, Replaying, ReplayReport, Violation
from interpret_dp.exceptions import SchemaError
from interpret_dp.mechanisms import SeededRandomness, use_randomness
from interpret_dp.schema import Categorical, Continuous, Schema

if TYPE_CHECKING:
    import pandas as pd

    from interpret_dp.ledger import PrivacyLedger


_HEAD = "(ledger head)"
_SEAL = re.compile(rf'(?<="{SEAL}": ")[0-9a-f]{{64}}')
_Table = TypeVar("_Table")
_RELATIVE_TOLERANCE = 1e-9


def published_parts(explainer: Any) -> dict[str, Any]:
    """Return what a fitted explainer publishes, by name.

    Parameters
    ----------
    explainer : object
        A fitted explainer. Its attributes and its pickle are always taken; ``to_json(file)``,
        ``save(path)`` and ``explain_global()`` where it has them.

    Returns
    -------
    dict of str to object
        ``"attributes"``, ``"pickle"``, ``"repr"``, ``"to_json"``, ``"save"`` and
        ``"explain_global"``. Ledgers are left out and the ledger's head is masked, and with it
        the seal of a file that holds it: they are public bookkeeping that differs from one fit to
        the next.

    Examples
    --------
    >>> from interpret_dp import Categorical, Continuous, DPExplainableBoostingClassifier, Schema
    >>> from interpret_dp.audit import canary_tables, published_parts, refit
    >>> schema = Schema({"age": Continuous(0, 100)}, target=Categorical(["no", "yes"]))
    >>> tables = canary_tables(schema)
    >>> fit = refit(DPExplainableBoostingClassifier(schema=schema, max_rounds=1))
    >>> sorted(published_parts(fit(tables.with_row)))
    ['attributes', 'explain_global', 'pickle', 'repr', 'save', 'to_json']
    """
    guarantee = _guarantee_of(explainer)
    head = None if guarantee is None else guarantee.ledger_head
    parts: dict[str, Any] = {
        "attributes": {name: _without_head(part, head) for name, part in vars(explainer).items()},
        "pickle": _pickled(explainer, head),
    }
    # The default of `object` shows a memory address.
    if any("__repr__" in vars(kind) for kind in type(explainer).__mro__[:-1]):
        parts["repr"] = repr(explainer)
    if hasattr(explainer, "to_json"):
        file = io.StringIO()
        with warnings.catch_warnings():
            # interpret warns that its format may change, which does not matter here.
            warnings.simplefilter("ignore")
            explainer.to_json(file)
        parts["to_json"] = file.getvalue()
    if hasattr(explainer, "save"):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model"
            explainer.save(path)
            # A function of all the rest of the file, of which only the head is masked.
            parts["save"] = _SEAL.sub("(seal)", path.read_bytes().decode("utf-8"))
    # A background has none of its own: it explains whatever model it is given.
    if hasattr(explainer, "explain_global") and not hasattr(explainer, "background_"):
        parts["explain_global"] = explanation_parts(explainer.explain_global(name="replay"))
    if head is not None:
        for name, part in parts.items():
            if isinstance(part, str):
                parts[name] = part.replace(head, _HEAD)
    return parts


def differences(first: Any, second: Any) -> list[str]:
    """Return the paths at which two structures differ, bit for bit; empty if they are the same.

    Parameters
    ----------
    first, second : object
        Arrays, numbers, texts, containers, pandas objects, and objects made of them. Types,
        dtypes, shapes, the order of keys and every bit of a float count; ledgers do not.

    Examples
    --------
    >>> from interpret_dp.audit import differences
    >>> differences({"a": [1, 2]}, {"a": [1, 3]})
    ["['a'][1]"]
    """
    return list(_differences("", first, second, {}))


def _guarantee_of(explainer: Any) -> Guarantee | None:
    # Released figures, which are no estimator, carry it without the underscore.
    guarantee = getattr(explainer, "guarantee_", getattr(explainer, "guarantee", None))
    return guarantee if isinstance(guarantee, Guarantee) else None


def _without_head(part: Any, head: str | None) -> Any:
    if isinstance(part, Guarantee) and part.ledger_head == head is not None:
        return dataclasses.replace(part, ledger_head=_HEAD)
    if dataclasses.is_dataclass(part) and isinstance(getattr(part, "guarantee", None), Guarantee):
        return {
            field.name: _without_head(getattr(part, field.name), head)
            for field in dataclasses.fields(part)
        }
    return part


def explanation_parts(explanation: Any) -> dict[str, Any]:
    """Return all data that one of interpret's explanations shows, by key."""
    selector = getattr(explanation, "selector", None)
    keys = [None, -1, *range(0 if selector is None else len(selector))]
    return {"selector": selector} | {f"data({key})": explanation.data(key) for key in keys}


class _MaskingPickler(pickle.Pickler):
    """Pickles everything but ledgers and the ledger's head."""

    def __init__(self, file: io.BytesIO, head: str | None) -> None:
        super().__init__(file, protocol=5)
        self._head = head

    def persistent_id(self, obj: Any) -> str | None:
        if _is_ledger(obj):
            return "ledger"
        return _HEAD if isinstance(obj, str) and obj == self._head else None


def _pickled(explainer: Any, head: str | None) -> bytes:
    file = io.BytesIO()
    _MaskingPickler(file, head).dump(explainer)
    return file.getvalue()


def _is_ledger(value: Any) -> bool:
    from interpret_dp.ledger import PrivacyLedger

    return isinstance(value, PrivacyLedger)


def _differences(
    path: str, first: Any, second: Any, seen: dict[tuple[int, int], tuple[Any, Any]]
) -> Iterator[str]:
    """Walk both structures in step; a pair that is under way or done is not walked again."""
    if first is second or (_is_ledger(first) and _is_ledger(second)):
        return
    if type(first) is not type(second):
        yield path
        return
    if isinstance(first, float):
        if struct.pack("d", first) != struct.pack("d", second):
            yield path
        return
    if isinstance(first, str | bytes | int | complex | type) or callable(first):
        if first != second:
            yield path
        return
    if (id(first), id(second)) in seen:
        return
    # The pair is kept alive, so that no other object gets its identity.
    seen[id(first), id(second)] = first, second
    if isinstance(first, np.ndarray | np.generic) and first.dtype != object:
        if _raw(first) != _raw(second):
            yield path
        return
    first_parts, second_parts = _children(first), _children(second)
    if list(first_parts) != list(second_parts):
        yield path
        return
    for name, part in first_parts.items():
        yield from _differences(f"{path}{name}", part, second_parts[name], seen)


def _raw(array: Any) -> tuple[str, tuple[int, ...], bytes]:
    return str(array.dtype), array.shape, array.tobytes()


def _children(value: Any) -> dict[str, Any]:
    """Return the parts of a composed value by the text that leads to them."""
    if isinstance(value, Mapping):
        return {f"[{key!r}]": part for key, part in value.items()}
    if isinstance(value, list | tuple):
        return {f"[{index}]": part for index, part in enumerate(value)}
    if isinstance(value, set | frozenset):
        return {f"{{{part!r}}}": None for part in sorted(value, key=repr)}
    if isinstance(value, np.ndarray):
        return {".shape": value.shape} | _children(list(value.ravel()))
    if hasattr(value, "iloc"):  # a pandas object
        labels = getattr(value, "columns", ())
        return {".labels": list(labels), ".index": list(value.index), ".cells": value.to_numpy()}
    if isinstance(value, Guarantee) and value.ledger_head is not None:
        value = dataclasses.replace(value, ledger_head=_HEAD)
    slots = [slot for kind in type(value).__mro__ for slot in getattr(kind, "__slots__", ())]
    parts = {f".{slot}": getattr(value, slot) for slot in slots if hasattr(value, slot)}
    parts |= {f".{name}": part for name, part in getattr(value, "__dict__", {}).items()}
    # Without visible parts (a compiled type) the pickle is all there is to compare.
    return parts or {".pickle": pickle.dumps(value)}


def replay(
    fit: Callable[[_Table], Any],
    table: _Table,
    neighbour: _Table,
    *,
    published: Callable[[Any], Mapping[str, Any]] = published_parts,
    seed: int = 0,
) -> ReplayReport:
    """Fit on two neighbouring tables with the same released outputs, and compare.

    Parameters
    ----------
    fit : callable
        Makes a new explainer, fits it on the table that it is given, and returns it. It must
        draw all randomness through the package (no ``random_state``), do the same each time, and
        charge an in-memory ledger or none.
    table, neighbour : object
        What ``fit`` takes, such as ``(X, y)``; they differ in one unit. Which of the two comes
        first decides the path: try both. Samples of rows (DP-LLM) are replayed by position, so the
        rows that differ must be the last ones there.
    published : callable
        Returns what a fitted explainer publishes, by name.
    seed : int
        Seed of the first run's noise and of both runs' public coin flips. The result says
        nothing about the noise itself, which has tests of its own.

    Returns
    -------
    ReplayReport
        Private, as the tables are.

    Raises
    ------
    Exception
        If ``fit`` fails in the same way on both tables, its error on the first one.

    Examples
    --------
    >>> from interpret_dp import Categorical, DPExplainableBoostingClassifier, Integer, Schema
    >>> from interpret_dp.audit import canary_tables, refit
    >>> schema = Schema({"age": Integer(0, 120)}, target=Categorical(["no", "yes"]))
    >>> tables = canary_tables(schema, n_others=20)
    >>> fit = refit(DPExplainableBoostingClassifier(schema=schema, max_rounds=2))
    >>> replay(fit, tables.with_row, tables.without_row).violations
    ()
    """
    recording = Recording(seed)
    first = _run(fit, table, recording, published)
    replaying = Replaying(seed, recording)
    second = _run(fit, neighbour, replaying, published)
    if first.error is not None and first.outcome == second.outcome:
        raise first.error
    replaying.finish()
    violations = (*replaying.violations, *_compared(first, second))
    report = ReplayReport(tuple(replaying.checks), violations)
    guarantee = _guarantee_of(first.explainer)
    pair = None if guarantee is None else guarantee.pair
    if pair is not None and report.mu > pair.mu * (1.0 + _RELATIVE_TOLERANCE):
        detail = f"the releases cost mu {report.mu:.6g}, the guarantee says {pair.mu:.6g}"
        over = Violation("budget", "guarantee_", detail)
        return ReplayReport(report.releases, (*report.violations, over))
    return report


@dataclass(frozen=True)
class _Run:
    """The observable outcome of one fit."""

    explainer: Any
    error: Exception | None
    outcome: dict[str, Any]
    parts: Mapping[str, Any] = field(default_factory=dict)


def _run(
    fit: Callable[[_Table], Any],
    table: _Table,
    randomness: SeededRandomness,
    published: Callable[[Any], Mapping[str, Any]],
) -> _Run:
    explainer, error = None, None
    printed = io.StringIO()
    with (
        use_randomness(randomness),
        warnings.catch_warnings(record=True) as caught,
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(printed),
    ):
        warnings.simplefilter("always")
        try:
            explainer = fit(table)
        except Exception as failure:
            error = failure
    outcome = {
        "error": None if error is None else (type(error).__name__, str(error)),
        "warnings": [(item.category.__name__, str(item.message)) for item in caught],
        "printed": printed.getvalue(),
    }
    parts = {} if error is not None else published(explainer)
    return _Run(explainer, error, outcome, parts)


def _compared(first: _Run, second: _Run) -> list[Violation]:
    """Compare what both fits showed; details name places, never values."""
    violations = [
        Violation("outcome", path, "differs between the two fits")
        for path in differences(first.outcome, second.outcome)
    ]
    if first.error is None and second.error is None:
        violations += [
            Violation("published", path, "differs, and was not charged")
            for path in differences(dict(first.parts), dict(second.parts))
        ]
    return violations


# Explainers in the form of audits: a function of a private table, and figures of its result.
#
# The tables of an audit are made up: what is published about them protects nobody.

# Each request reads the log of its ledger: a short one is faster.
_FITS_A_LEDGER = 8
DATASET = "audit"
ROW_COUNT = "number of rows"
"""Name of the statistic that interpret's models publish without noise."""

# Probabilities are turned into logits, which must stay finite.
_SMALLEST_PROBABILITY = 1e-9
Statistics = Mapping[str, float]


def refit(estimator: Any) -> Callable[[tuple[Any, ...]], Any]:
    """Return what fits a clone of an estimator on a table.

    Parameters
    ----------
    estimator : object
        With scikit-learn's parameters: ours, or interpret's. One with a ``ledger`` is given an
        in-memory one, so that audits charge nobody.

    Returns
    -------
    callable
        Takes ``(X, y)``, or whatever ``fit`` takes by position, and returns the fitted clone.

    Examples
    --------
    >>> from interpret_dp import Categorical, Continuous, DPExplainableBoostingClassifier, Schema
    >>> from interpret_dp.audit import canary_tables, refit
    >>> schema = Schema({"age": Continuous(0, 100)}, target=Categorical(["no", "yes"]))
    >>> tables = canary_tables(schema)
    >>> fit = refit(DPExplainableBoostingClassifier(schema=schema, max_rounds=1))
    >>> fit(tables.with_row).classes_.tolist()
    ['no', 'yes']
    """
    from sklearn.base import clone

    ledgers = _ledgers()
    is_ours = "ledger" in estimator.get_params(deep=False)
    settings = estimator.get_params(deep=False) | {"ledger": None, "dataset": None}
    bare = clone(type(estimator)(**settings)) if is_ours else estimator

    def fit(table: tuple[Any, ...]) -> Any:
        model = clone(bare)
        if is_ours:
            model.set_params(ledger=next(ledgers), dataset=DATASET)
        return model.fit(*table)

    return fit


def _ledgers() -> Iterator[PrivacyLedger]:
    """Yield in-memory ledgers, each for a few requests."""
    from interpret_dp.ledger import PrivacyLedger

    while True:
        yield from itertools.repeat(PrivacyLedger.in_memory(), _FITS_A_LEDGER)


@dataclass(frozen=True)
class CanaryTables:
    """A table with a canary, the same without it, and the canary's row.

    Attributes
    ----------
    with_row, without_row : (DataFrame, ndarray)
    row : DataFrame of one row

    Examples
    --------
    >>> from interpret_dp import Categorical, Continuous, Schema
    >>> from interpret_dp.audit import canary_tables
    >>> schema = Schema({"age": Continuous(0, 100)}, target=Categorical(["no", "yes"]))
    >>> tables = canary_tables(schema)
    >>> float(tables.row["age"].iloc[0])
    100.0
    """

    with_row: tuple[pd.DataFrame, NDArray[Any]]
    without_row: tuple[pd.DataFrame, NDArray[Any]]
    row: pd.DataFrame


def canary_tables(schema: Schema, n_others: int = 100) -> CanaryTables:
    """Make up the table on which one row stands out most.

    Parameters
    ----------
    schema : Schema
        Complete, with a target.
    n_others : int, default=100

    Returns
    -------
    CanaryTables
        Everybody is at the lower bound or first level of every column, with the lowest target; the
        canary, last, is at the other end of everything, alone in its bins.

    Raises
    ------
    SchemaError
        If the schema declares no target.

    Examples
    --------
    >>> from interpret_dp import Categorical, Continuous, Schema
    >>> from interpret_dp.audit import canary_tables
    >>> schema = Schema({"age": Continuous(0, 100)}, target=Categorical(["no", "yes"]))
    >>> tables = canary_tables(schema)
    >>> len(tables.with_row[0]) - len(tables.without_row[0])
    1
    """
    import pandas as pd

    n_others = check_int("n_others", n_others, low=0)
    if schema.target is None:
        raise SchemaError(
            "The schema declares no target, and a canary has the worst. Give Schema(target=...)."
        )
    X = pd.DataFrame({name: _column(spec, n_others) for name, spec in schema.features.items()})
    y = _column(schema.target, n_others)
    return CanaryTables((X, y), (X[:-1], y[:-1]), X[-1:])


def _column(spec: Continuous | Categorical, n_others: int) -> NDArray[Any]:
    """Return one end of a column for everybody, and the other for the canary."""
    if isinstance(spec, Continuous):
        return np.append(np.full(n_others, spec.lower), spec.upper)
    column = np.full(n_others + 1, spec.levels[0], dtype=object)
    column[-1] = spec.levels[-1]
    return column


def model_statistics(row: Any) -> Callable[[Any], Statistics]:
    """Return what reads a fitted classifier or regressor, ours or interpret's.

    Parameters
    ----------
    row : array-like, shape (1, n_features)
        The row that the attack is about, in the form that the model predicts.

    Returns
    -------
    callable
        Of a fitted model: its output at the row (a logit for each class but the first, or the
        prediction). Of an additive one also the score and the weight of the row's bins, their
        product, the intercept, and the published number of rows.

    Examples
    --------
    >>> from interpret_dp import Categorical, Continuous, DPExplainableBoostingClassifier, Schema
    >>> from interpret_dp.audit import canary_tables, model_statistics, refit
    >>> schema = Schema({"age": Continuous(0, 100)}, target=Categorical(["no", "yes"]))
    >>> tables = canary_tables(schema)
    >>> fit = refit(DPExplainableBoostingClassifier(schema=schema, max_rounds=1))
    >>> sorted(model_statistics(tables.row)(fit(tables.with_row)))[:3]
    ['intercept', 'logit of class 1', 'number of rows']
    """

    def statistics(model: Any) -> Statistics:
        figures = _outputs(model, row)
        if hasattr(model, "term_scores_") and hasattr(model, "bins_"):
            figures |= _additive(model, np.asarray(row, dtype=object)[0])
        return figures

    return statistics


def metric_statistics(metrics: Any) -> Statistics:
    """Read what :func:`interpret_dp.private_metrics` released: all figures and the row count."""
    table = metrics.table
    figures = {
        f"{figure} of {model}": float(table.loc[model, figure])
        for model in table.index
        for figure in table.columns
    }
    for model, group, figure, value in metrics.by_group.melt(["model", "group"]).to_numpy():
        figures[f"{figure} of {model}, {group}"] = float(value)
    return figures | {ROW_COUNT: float(metrics.n_rows)}


def _outputs(model: Any, row: Any) -> dict[str, float]:
    if not hasattr(model, "predict_proba"):
        return {"prediction": float(np.ravel(model.predict(row))[0])}
    probabilities = np.clip(np.asarray(model.predict_proba(row))[0], _SMALLEST_PROBABILITY, 1.0)
    logits = np.log(probabilities[1:] / probabilities[0])
    return {f"logit of class {at}": float(logit) for at, logit in enumerate(logits, start=1)}


def _additive(model: Any, cells: Any) -> dict[str, float]:
    """Return what an additive model says of the row's bins; of the last class where there are more.

    The number of bins differs between fits, so that whole curves cannot be compared.
    """
    scores = weights = product = 0.0
    for features, curve, weight in zip(
        model.term_features_, model.term_scores_, model.bin_weights_, strict=True
    ):
        at = tuple(_bin(model.bins_[feature][0], cells[feature]) for feature in features)
        score = float(np.ravel(curve[at])[-1])
        scores += score
        weights += float(weight[at])
        product += score * float(weight[at])
    return {
        "score of the bins": scores,
        "weight of the bins": weights,
        "score times weight": product,
        "intercept": float(np.ravel(model.intercept_)[-1]),
        ROW_COUNT: float(np.sum(model.bag_weights_)),
    }


def _bin(bins: Any, cell: Any) -> int:
    """Return the position of a cell in interpret's tables: 0 is the bin of missing values."""
    if isinstance(bins, dict):
        return int(bins.get(str(cell), max(bins.values(), default=0) + 1))
    return int(np.searchsorted(bins, float(cell), side="right")) + 1
