"""Replays that were not written for the code under test: neighbours over dtypes and containers.

Each example is drawn from a number, so that a failure is repeated by that number alone.
"""

import datetime
import decimal
import fractions
import math
import uuid
import warnings
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import dask.dataframe
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from hypothesis import Phase, given, settings, strategies as st

import interpret_dp
from interpret_dp import Categorical, Continuous, Integer, PrivacyLedger, PrivacyUnit, Schema
from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.backends.survival import LocalSurvivalRows
from interpret_dp.ebm import training
from interpret_dp.lime import background
from interpret_dp.llm.estimator import DPLocallyLinearClassifier
from interpret_dp.release import ReleaseSession
from tests.audit.at_the_door import changes, faults, run
from tests.schema.tables import Liar


class Odd:
    """A cell of which every use raises."""

    def _raise(self, *_):
        raise RuntimeError("private")

    __float__ = __int__ = __index__ = __str__ = __repr__ = __len__ = __iter__ = __bool__ = _raise
    __eq__ = __hash__ = __lt__ = __array__ = __getitem__ = _raise


class OddText(str):
    """A text that cannot be compared."""

    __eq__ = __hash__ = Odd._raise


class OddDecimal(decimal.Decimal):
    """A number that cannot be compared."""

    __eq__ = __hash__ = __float__ = Odd._raise


NUMBERS = [0.0, 1.0, 2.0, 40.0, -0.0, 5e-324, 1e308, -3e9, math.inf, -math.inf, math.nan, 2.0**63]
TEXTS = ["a", "b", "1", "", "nan", "A" * 9000, "é", "a\x00b", " a", "Zebulon"]
ODD = [
    *("a", "b", 1, 2.0, 40, True, None, math.nan, "1", 10**400, 2**63, -(2**63), 1e308, -0.0),
    *(Odd(), OddText("a"), OddDecimal(2), Liar(str), Liar(None), 1j, np.complex128(2 + 1j)),
    *(b"a", [1], (1, 2), {1: 2}),
    *(decimal.Decimal("sNaN"), decimal.Decimal("1E+999999"), fractions.Fraction(10**400, 3)),
    *(pd.NA, pd.NaT, pd.Timestamp(0), np.datetime64("NaT"), np.ma.masked, pd.Interval(0, 1)),
    *(np.array([1.0, 2.0]), np.float16("inf"), np.longdouble("1e4000"), np.str_("b"), object),
    *("\ud800", "9" * 5000, "1_0", "\u0661", pd.Series([1]), np.zeros(0), memoryview(b"1")),
    range(3),
]
LIMITS = {
    kind: [0, 1, 2, 40, np.iinfo(kind).min, np.iinfo(kind).max]
    for kind in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
}
# The cells and the dtype of a column; a dtype of None is made from the cells.
KINDS = {
    **{kind: (cells, kind) for kind, cells in LIMITS.items()},
    **{kind: (NUMBERS, kind) for kind in ("float16", "float32", "float64", "longdouble")},
    "bool": ([True, False], "bool"),
    "object": (ODD, object),
    "Int64": ([0, 1, 40, None, 2**62], "Int64"),
    "Float32": ([0.0, 2.5, None], "Float32"),
    "boolean": ([True, None, False], "boolean"),
    "string": ([*TEXTS, None], "string"),
    "category": (["a", "b", None, "Zebulon"], "category"),
    "numbers as categories": ([1, 2.5, 40, None], "category"),
    "ordered": (["a", "b", None], pd.CategoricalDtype(["b", "a", "never"], ordered=True)),
    "sparse": ([0.0, 1.0, math.nan], pd.SparseDtype("float64")),
    "datetime": ([pd.Timestamp(0), pd.NaT], "datetime64[ns]"),
    "complex": ([1j, 2.0], "complex128"),
    **{
        f"arrow {kind}": (cells, pd.ArrowDtype(kind))
        for kind, cells in {
            pa.int64(): [1, None, -(2**63)],
            pa.uint8(): [1, None, 255],
            pa.float32(): [*NUMBERS[:5], None],
            pa.bool_(): [True, None],
            pa.string(): [*TEXTS, None],
            pa.decimal128(38, 2): [decimal.Decimal("1.50"), None, decimal.Decimal(10**30)],
            pa.date32(): [None],
        }.items()
    },
}
ARRAYS = [*LIMITS, "float16", "float32", "float64", "longdouble", "bool", "object", "complex"]
_READ = [
    kind for kind in KINDS if kind not in ("sparse", "datetime", "complex", "arrow date32[day]")
]
SPECS = [
    *(Continuous(0, 50), Continuous(0, 1e308), Continuous(-1, 1e-300), Continuous(5, 5)),
    *(Continuous(0, 1e6, scale="log"), Continuous(-50, 50, scale="symlog"), Integer(0, 40)),
    *(Categorical(["a", "b", 1, 2, 40]), Categorical([2, 1, "a"], ordered=True), None),
]


@dataclass(frozen=True)
class Rows:
    """Rows of a table by their parts; of each, one entry a row."""

    cells: tuple[tuple[Any, ...], ...]
    target: tuple[Any, ...]
    weight: tuple[Any, ...]
    start: tuple[Any, ...]
    exposure: tuple[Any, ...]
    unit: tuple[Any, ...]

    def taken(self, order, more=None):
        """Return rows in an order, which may reach into more of them."""
        parts = [getattr(self, name) + (getattr(more, name) if more else ()) for name in _PARTS]
        return Rows(*(tuple(part[at] for at in order) for part in parts))


_PARTS = ("cells", "target", "weight", "start", "exposure", "unit")
NAMES = ["a", "b", "c"]


def _objects(cells):
    found = np.empty(len(cells), dtype=object)
    for at, cell in enumerate(cells):
        found[at] = cell
    return found


def _column(cells, kind):
    dtype = KINDS[kind][1]
    if kind in ARRAYS:
        return _objects(cells).astype(dtype)
    if dtype == "category":
        # Categories follow from the cells, and their type does not.
        of_cells = "str" if kind == "category" else "float64"
        return pd.Series(_objects(cells), dtype=of_cells).astype("category")
    return pd.Series(_objects(cells), dtype=dtype)


def _frame(rows, kinds):
    columns = {}
    for at, (name, kind) in enumerate(zip(NAMES, kinds, strict=True)):
        column = _column([row[at] for row in rows.cells], kind)
        # Said once more: pandas makes dates of objects that are all dates.
        columns[name] = pd.Series(column, dtype=column.dtype)
    return pd.DataFrame(columns)


def _array(rows, kinds):
    return _column([cell for row in rows.cells for cell in row], kinds[0]).reshape(-1, len(NAMES))


_POLARS = {
    **{kind: getattr(pl, kind.replace("i", "I").replace("u", "U")) for kind in LIMITS},
    **{"float32": pl.Float32, "float64": pl.Float64, "bool": pl.Boolean, "Int64": pl.Int128},
    **{"object": pl.Object, "string": pl.String, "category": pl.Categorical},
    **{"ordered": pl.Enum(["b", "a"]), "Float32": pl.Decimal(20, 2)},
}


def _polars(rows, kinds):
    columns = [
        pl.Series(name, [row[at] for row in rows.cells], dtype=_POLARS[kind], strict=False)
        for at, (name, kind) in enumerate(zip(NAMES, kinds, strict=True))
    ]
    return pl.DataFrame(columns)


CONTAINERS = {
    "frame": _frame,
    "array": _array,
    "masked": lambda rows, kinds: np.ma.masked_equal(_array(rows, kinds), 1),
    "list": lambda rows, kinds: [list(row) if type(row) is tuple else row for row in rows.cells],
    "tuples": lambda rows, kinds: tuple(rows.cells),
    "arrow": lambda rows, kinds: pa.Table.from_pandas(_frame(rows, kinds)),
    "polars": _polars,
    "dask": lambda rows, kinds: dask.dataframe.from_pandas(_frame(rows, kinds), npartitions=1),
    "sparse": lambda rows, kinds: scipy.sparse.csr_array(_array(rows, kinds)),
    "dict": lambda rows, kinds: {name: [row[0] for row in rows.cells] for name in NAMES},
}


class Answers:
    """A black box that looks at one row alone, and knows as many labels as it is given."""

    def __init__(self, n_classes):
        self.classes_ = np.arange(n_classes)

    def predict_proba(self, X):
        X = X.toarray() if hasattr(X, "toarray") else X
        X = X.to_pandas() if hasattr(X, "to_pandas") else X
        if hasattr(X, "iloc"):
            cells = list(X.iloc[:, 0])
        else:
            cells = [row[0] if len(row) else 0 for row in X if isinstance(row, Iterable)]
        plain = [float(cell) if type(cell) in _PLAIN else 0.0 for cell in cells]
        high = np.clip(np.nan_to_num(np.array(plain)), 0.0, 50.0) / 50.0
        # What is no number is an answer too.
        high[high == 0.8] = np.nan
        rest = np.repeat((1.0 - high)[:, None], len(self.classes_) - 1, axis=1)
        return np.column_stack([rest / rest.shape[1], high])


_PLAIN = (int, float, np.float64, np.int64)


@dataclass(frozen=True)
class Case:
    """What is public of an example."""

    subject: str
    container: str
    kinds: list[str]
    beside: dict[str, str]
    schema: Schema
    epsilon: float
    relation: str
    settings: dict[str, Any]

    def built(self, rows):
        """Return a table and what stands beside it; whatever a library raises if it cannot."""
        parts = {"cells": CONTAINERS[self.container](rows, self.kinds)}
        for name, kind in self.beside.items():
            cells = getattr(rows, name)
            parts[name] = list(cells) if self.container == "list" else _column(cells, kind)
            if self.container == "dask":
                parts[name] = dask.dataframe.from_pandas(pd.Series(parts[name]), npartitions=1)
        return parts


def _account():
    return {"ledger": PrivacyLedger.in_memory(), "dataset": "d"}


def _common(case):
    of_case = {"schema": case.schema, "epsilon": case.epsilon, "neighboring": case.relation}
    return of_case | {"feature_names": NAMES, **_account()}


def _ebm_for(case):
    is_number = isinstance(case.schema.target, Continuous) or case.subject == "regression"
    kind = "Regressor" if is_number else "Classifier"
    return getattr(interpret_dp, f"DPExplainableBoosting{kind}")


def _ebm(case, rows):
    settings = {"max_rounds": 2, "max_bins": 8, "n_jobs": 1, **case.settings, **_common(case)}
    names = {"target": "y", "weight": "sample_weight", "start": "init_score", "unit": "unit"}
    names["exposure"] = "exposure"
    given = {names[own]: rows[own] for own in case.beside}
    return _ebm_for(case)(**settings).fit(rows["cells"], **given)


def _llm(case, rows):
    settings = {"n_maps": 2, "epochs": 1.5, **case.settings, **_common(case)}
    settings |= {} if "batch_size" in settings else {"sampling_rate": 0.5}
    del settings["neighboring"]
    X = rows["cells"]
    if case.subject == "images":
        X, settings["feature_names"] = np.tile(X, 22)[:, :64].reshape(len(X), 8, 8), None
    return DPLocallyLinearClassifier(**settings).fit(X, rows["target"], unit=rows.get("unit"))


def _background(case, rows):
    background = interpret_dp.PrivateBackground(**_common(case), **case.settings)
    return background.fit(rows["cells"], unit=rows.get("unit"))


def _explainer(case, rows):
    of_people = {"unit": rows.get("unit"), "trained_on_same_people": False, **_common(case)}
    explainer = case.settings["kind"](Answers(2), rows["cells"], **of_people)
    return [explainer.background, explainer.guarantee_]


def _metrics(case, rows):
    public = pd.DataFrame([[1, 2, 40], [2, 40, 1]] * 9, columns=NAMES).astype(object)
    settings = {"epsilon": 8.0, "max_rounds": 2, "n_jobs": 1, **case.settings}
    model = _ebm_for(case)(schema=case.schema, **settings)
    own = {"exposure": np.ones(18)} if "exposure" in case.beside else {}
    model.fit(public, _objects([2, "a"] * 9), unit=case.schema.unit and [*range(18)], **own)
    common = {"delta": 1e-6, "unit": rows.get("unit"), **_common(case)}
    common["exposure"] = rows.get("exposure")
    del common["schema"], common["feature_names"]
    specs = model.schema_.features
    common["by"] = next((name for name in NAMES if isinstance(specs[name], Categorical)), None)
    return interpret_dp.private_metrics({"a": model}, rows["cells"], rows["target"], **common)


_CLASSES = [Categorical(["a", "b"]), Categorical([1, 2]), None]
_LABELS = [Categorical(["a", "b", "1"]), Categorical([1, 40, 2])]
_NUMBERS = [Continuous(0, 50), Continuous(-1e9, 1e15), Integer(0, 40), None]
_SHAPED = [
    *({}, {"interactions": 1}, {"interactions": [("a", "b")]}, {"interactions": "3x"}),
    *({"monotone_constraints": {"a": 1}}, {"composition": "classic"}, {"max_leaves": 2}),
    *({"privacy_weight_max": 2.0}, {"privacy_weight_max": 1e9}),
]
_MAPPED = [
    *({}, {"projection_dim": 0, "centring": 0.0}, {"batch_size": 4}, {"clip_norm": 1e-9}),
    *({"projection": "gaussian", "projection_dim": 2}, {"inverse_temperature": 1e9}),
    *({"projection": "orthonormal", "projection_dim": 2}, {"standardize": (0, 1e-300)}),
]
_PICTURED = [
    *({"projection": "cosine", "projection_dim": 5}, {"features": "scattering"}),
    *({"projection_dim": 0, "standardize": (0.13, 0.31)}, {"smoothing": 1.0}),
]
_PAIRED = [{"interactions": 1}, {"interactions": [("a", "b")]}]
_LOSSES = [
    {"objective": objective, "privacy_exposure_max": most} | pairs
    for objective in ("poisson", "gamma", "tweedie", "tweedie_deviance:variance_power=1.99")
    for most, pairs in zip((1.0, 40.0, 40.0), ({}, *_PAIRED), strict=True)
]
_TIMES = [
    {"objective": "survival_cox", "max_rounds": n} | more for n in (2, 4) for more in ({}, *_PAIRED)
]
_QUANTILES = [{"objective": "quantile"}, {"objective": "quantile:alpha=0.99"}]
_KINDS = [{"kind": interpret_dp.DPLimeTabular}, {"kind": interpret_dp.DPShapTabular}]
# How each explainer is fitted, to which targets, with which settings.
SUBJECTS = {
    "two classes": (_ebm, _CLASSES, _SHAPED),
    "classes": (_ebm, _LABELS, [{}, {"composition": "classic"}, *_PAIRED]),
    "regression": (_ebm, _NUMBERS, [*_SHAPED, *_QUANTILES]),
    "counts": (_ebm, [Continuous(1, 40), Continuous(1e-6, 1e9)], _LOSSES),
    "times": (_ebm, [Continuous(-40, 40), Continuous(0, 1e9)], _TIMES),
    "llm": (_llm, [*_CLASSES, *_LABELS], _MAPPED),
    "images": (_llm, _LABELS, _PICTURED),
    "background": (_background, [None], [{}, {"dependence": False}]),
    "explainers": (_explainer, [None], _KINDS),
    "metrics": (_metrics, [*_CLASSES[:2], *_LABELS, *_NUMBERS[:3]], [{}]),
    "metrics of times": (_metrics, [Continuous(-40, 40)], _TIMES),
    "metrics of counts": (_metrics, [Continuous(1, 40)], _LOSSES),
}
_DECLARED = ("metrics", "metrics of counts", "metrics of times", "images")
_UNITS = {
    "int64": ([1, 2, 3], [7, -(2**63)]),
    "Int64": ([1, 2, None], [7, None]),
    "string": (["a", "b", None], ["1", "", "a\x00b", None]),
    "category": (["a", "b", None], ["Zebulon", None]),
    "object": (
        ["a", "1", 1, 2, None, decimal.Decimal("2.5"), 10**400],
        [
            *(7, 7.0, "\ud800", 2**63 + 1, 1e300, decimal.Decimal("sNaN"), 10**401, None, b"a"),
            *(Odd(), OddText("a\ud800"), OddDecimal(9), Liar(str), Liar(None), math.nan, pd.NaT),
            *(uuid.UUID(int=5), (5, "a"), datetime.date(2020, 1, 1)),
            *(np.str_("A" * 9000), (1, None)),  # (1,) is the row of a column, and so is read as 1
        ],
    ),
}
_RAGGED = [None, 5, "abc", (), [], [1], [1, 2, 3, 4], Odd(), np.zeros(3), {1: 2}, b"abc", object()]


def _pick(rng, among):
    return among[int(rng.integers(len(among)))]


def _kinds(rng, container):
    if container in ("list", "tuples"):
        return ["object"] * 3
    if container in ("array", "masked", "sparse"):
        return [_pick(rng, ARRAYS[:-2] if container == "sparse" else ARRAYS)] * 3
    read = [kind for kind in _READ if kind != "object" or container == "frame"]
    read = list(_POLARS) if container == "polars" else read
    return [_pick(rng, list(KINDS) if rng.integers(12) == 0 else read) for _ in NAMES]


def _rows(rng, n, case, units=None):
    """Draw rows; their units are among those given."""
    pools = [KINDS[kind][0] for kind in case.kinds]
    cells = tuple(tuple(_pick(rng, pool) for pool in pools) for _ in range(n))
    parts = []
    for name in _PARTS[1:]:
        pool = KINDS[case.beside[name]][0] if name in case.beside else [None]
        parts.append(tuple(_pick(rng, units if name == "unit" and units else pool) for _ in cells))
    return Rows(cells, *parts)


def _of_target(target):
    """Return kinds of columns that a target may have."""
    numbers = [kind for kind in _READ if KINDS[kind][0][0] in (0, 1)]
    if isinstance(target, Continuous):
        return [*numbers, "object"]
    if target is None or isinstance(target.levels[0], str):
        return ["object", "object", "string", "category", "ordered"]
    return [*numbers, "object", "bool"]


def _case(rng, subject):
    _, targets, settings = SUBJECTS[subject]
    rare = ["dict", "sparse", "dask"]
    usual = [name for name in CONTAINERS if name not in rare]
    container = _pick(rng, rare if rng.integers(9) == 0 else usual)
    container = "array" if subject == "images" else container
    kinds = _kinds(rng, container)
    specs = {name: _pick(rng, SPECS[:-1] if subject in _DECLARED else SPECS) for name in NAMES}
    relation = "add_or_remove_one" if _pick(rng, [0, 1, 1]) else "replace_one"
    unit_rows = _pick(rng, [None, None, 1, 2, 3])
    if subject in ("llm", "images"):
        relation, unit_rows = "add_or_remove_one", unit_rows and 1
    target = _pick(rng, targets)
    beside = {"target": _pick(rng, _of_target(target))} if targets != [None] else {}
    if "classes" in subject or subject in ("regression", "counts", "times"):
        beside |= {"weight": _pick(rng, ["float64", "object", "Int64"])} if rng.integers(2) else {}
        if subject in ("two classes", "regression") and rng.integers(4) == 0:
            beside["start"] = _pick(rng, ["float64", "float32"])
    if "counts" in subject and rng.integers(4):
        kind = _pick(rng, ["float64", "float32", "object", "Int64"])
        beside["exposure" if "metrics" in subject else _pick(rng, ["exposure", "start"])] = kind
    if container == "dask":
        # Dask turns objects into texts by itself, before they are ours.
        beside = {name: "int64" if kind == "object" else kind for name, kind in beside.items()}
    unit = None
    if unit_rows is not None:
        of_units = list(_UNITS)[: -1 if container == "dask" else None]
        total_rows = _pick(rng, [None, unit_rows + 2])
        columns, missing = _pick(rng, ["person", ["bed", "ward"]]), _pick(rng, ["separate", "drop"])
        beside["unit"] = _pick(rng, of_units)
        unit = PrivacyUnit(columns, unit_rows, total_rows, missing)
    declared = {name: spec for name, spec in specs.items() if spec is not None}
    schema = Schema(declared, target=target, unit=unit)
    if subject == "images":
        default = _pick(rng, [Continuous(0, 255), Continuous(0, 65535), Continuous(-5, 1e308)])
        schema = Schema(default=default, target=schema.target, unit=unit)
    epsilon, chosen = _pick(rng, [0.1, 1.0, 8.0, 100.0]), _pick(rng, settings)
    is_declared = target is not None and len(declared) == len(NAMES)
    if SUBJECTS[subject][0] is _ebm and is_declared and "weight" not in beside:
        chosen = chosen | {"population": _pick(rng, ["rows", "people"])}
    return Case(subject, container, kinds, beside, schema, epsilon, relation, chosen)


def _neighbours(rng, case):
    """Return rows, and rows with one unit more or, under replace_one, with another one.

    Where each row is a unit, then come rows with that row twice, and all rows in another order.
    """
    own, new = _UNITS[case.beside["unit"]] if "unit" in case.beside else ([None], [None])
    rows = _rows(rng, int(rng.integers(9)), case, own)
    unit = _pick(rng, new)
    is_alone = any(unit is missing for missing in (None, pd.NaT, math.nan))
    n_more = 1 if is_alone else int(rng.integers(1, 6))
    n, more = len(rows.cells), np.arange(n_more) + len(rows.cells)
    order = np.insert(np.arange(n), np.sort(rng.integers(n + 1, size=n_more)), more)
    added = [_rows(rng, n_more, case, [unit]) for _ in range(2)]
    if case.container == "list" and rng.integers(2):
        added[0] = replace(added[0], cells=tuple(_pick(rng, _RAGGED) for _ in more))
    if case.relation == "replace_one":
        return [rows.taken(order, one) for one in added]
    tables = [rows, rows.taken(order, added[0])]
    if "unit" in case.beside:
        return tables
    orders = np.append(order, n), rng.permutation(order)
    return [*tables, *(rows.taken(other, added[0]) for other in orders)]


def replayed(subject, seed, fit=None):
    """Return an example, what is wrong with it, and its runs; its number repeats it."""
    rng = np.random.default_rng([seed, zlib.crc32(subject.encode())])
    case = _case(rng, subject)
    tables = _neighbours(rng, case)
    is_falling, loudness = rng.integers(2), _pick(rng, [0.0, 1.0])
    try:
        with warnings.catch_warnings(action="ignore"):
            built = [case.built(rows) for rows in tables]
    except (Exception, pl.exceptions.PanicException):
        return case, [], []  # Libraries cannot make such a table.
    fit = fit or SUBJECTS[subject][0]
    runs = []
    for at in [1, 0, 2, 3] if is_falling else [0, 1, 2, 3]:
        if at < len(tables):
            first = runs[0] if runs else None
            runs.append(run(lambda at=at: fit(case, built[at]), first, loudness))
    found = faults(runs[0], runs[1])
    if len(runs) > 2:
        many, few = runs[:2] if is_falling else runs[1::-1]
        found += faults(many, runs[2]) + faults(many, runs[3])
        for a, b, c, d in zip(few.calls, many.calls, runs[2].calls, runs[3].calls, strict=False):
            name = b.public[0]
            if b.is_sum and not _are_alike(changes(a, b), changes(b, c)):
                found.append(f"{name}: a row adds something else the second time")
            if b.exact != d.exact:
                found.append(f"{name}: the order of the rows decides")
    return case, found, runs


def _are_alike(one, other):
    """Return whether changes are the same, but for the rounding of a share of a total."""
    pairs = zip(one, other, strict=True)
    return all(abs(a.get(key, 0) - b.get(key, 0)) <= 1 for a, b in pairs for key in a | b)


def _examples(count):
    """Return a decorator that draws numbers of examples; a smaller number is no simpler example."""
    phases = [Phase.explicit, Phase.generate]
    drawn = given(seed=st.integers(0, 2**32 - 1))
    return lambda test: settings(max_examples=count, phases=phases)(drawn(test))


@pytest.mark.parametrize("subject", SUBJECTS)
@_examples(10)
def test_no_unit_changes_more_than_its_norm(subject, seed):
    case, found, _ = replayed(subject, seed)
    assert not found, f"{case}: {found}"


@pytest.mark.slow
@pytest.mark.parametrize("subject", SUBJECTS)
def test_no_unit_of_many_examples_changes_more_than_its_norm(subject):
    assert [seed for seed in range(30) if replayed(subject, seed)[1]] == []


@pytest.mark.parametrize("subject", SUBJECTS)
def test_some_examples_release_something(subject):
    runs = (replayed(subject, seed)[2] for seed in range(9))
    assert any(of_one and of_one[0].calls for of_one in runs)


def _gaussian(change, norm=lambda exact: 0):
    """Plant a fault in all sums, or in the norm that they are said to have."""

    def planted(real):
        def gaussian(session, name, exact, *, row_norm, aligned):
            norms = row_norm + norm(exact)
            return real(session, name, change(exact), row_norm=norms, aligned=aligned)

        return gaussian

    return ReleaseSession, "gaussian", planted


def _first_row_is_missing(real):
    def codes_of(*arguments):
        codes = real(*arguments)
        codes[:1] = 0
        return codes

    return codes_of


def _told(real):
    def release(self, X, unit, *others):
        warnings.warn(f"{len(X)} rows", UserWarning, stacklevel=2)
        released = real(self, X, unit, *others)
        released.n_rows_ = len(X)
        return released

    return release


PLANTED = {
    "of its norm": _gaussian(lambda exact: 2 * exact),
    "e+12 of its norm": _gaussian(lambda exact: exact * 2**40),
    "no sums of int64": _gaussian(lambda exact: exact.astype(float)),
    "asked": _gaussian(lambda exact: exact, lambda exact: int(exact.sum() // LATTICE)),
    "the order of the rows decides": (background, "codes_of", _first_row_is_missing),
    "something else the second time": _gaussian(lambda exact: exact * (exact // LATTICE)),
    "n_rows_ differs": (interpret_dp.PrivateBackground, "_release", _told),
    "said": (interpret_dp.PrivateBackground, "_release", _told),
    "": _gaussian(lambda exact: exact + (2**63 - 1)),
}


def _of_all_rows(real):
    def weights_beyond(private, target, task):
        return real(replace(private, exposure=None), target, task)

    return weights_beyond


def test_a_row_without_exposure_that_is_counted_beyond_the_bounds_is_found(monkeypatch):
    """It is in no cell of the target: what is taken from a cell for it would be another row's."""
    planted = _of_all_rows(training._weights_beyond)
    monkeypatch.setattr(training, "_weights_beyond", planted)
    found = [fault for seed in range(24) for fault in replayed("counts", seed)[1]]
    assert any("target cells" in fault and "of its norm" in fault for fault in found)


def test_a_row_that_is_at_risk_with_more_than_the_largest_ratio_is_found(monkeypatch):
    """A ratio that is cut too late adds more than its norm to a cell of time."""
    real = LocalSurvivalRows.risk_sums
    monkeypatch.setattr(LocalSurvivalRows, "risk_sums", lambda *given: 2 * real(*given))
    found = [fault for seed in range(24) for fault in replayed("times", seed)[1]]
    assert any("baseline" in fault and "of its norm" in fault for fault in found)


@pytest.mark.parametrize("words", PLANTED)
def test_planted_faults_are_found(words, monkeypatch):
    """The last one is none: sums are integers modulo 2**64."""
    owner, name, planted = PLANTED[words]
    monkeypatch.setattr(owner, name, planted(getattr(owner, name)))
    found = [fault for seed in range(12) for fault in replayed("background", seed)[1]]
    assert any(words in fault for fault in found) == bool(words)


_WIDE = Schema(default=Continuous(0, 65535), target=Categorical([0, 1]))
_PIXELS = np.array([[0, 65535], [65535, 0], [65535, 65535]], dtype=np.uint16)


def _wide(n_rows, n_inputs, standardize):
    """Fit DP-LLM to few rows of many inputs of 16 bits."""
    model = DPLocallyLinearClassifier(
        **{"schema": _WIDE, "n_maps": 1, "sampling_rate": 1.0, "epochs": 1, "projection_dim": 0},
        standardize=standardize,
        **_account(),
    )
    rows = np.tile(_PIXELS, n_inputs // 2 + 1)[:n_rows, :n_inputs]
    return model.fit(rows, np.arange(n_rows) % 2)


@pytest.mark.parametrize(
    ("n_inputs", "standardize"),
    [
        (182**2, (0.13, 0.31)),
        pytest.param(65_537, (0.13, 0.31), marks=pytest.mark.slow),
        pytest.param(65_537, None, marks=pytest.mark.slow),
    ],
)
def test_a_row_of_many_inputs_changes_no_more_than_its_norm(n_inputs, standardize):
    few = run(lambda: _wide(2, n_inputs, standardize))
    many = run(lambda: _wide(3, n_inputs, standardize), few)
    assert [call.public[0] for call in few.calls] == ["mean of the inputs", "gradients"]
    assert faults(few, many) == []
