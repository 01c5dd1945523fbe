"""Fits on Dask collections equal those in memory bit for bit, and refuse what they cannot read."""

import pickle
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

import interpret_dp as dp
from interpret_dp.backends.dask import rows as tasks
from interpret_dp.backends.dask.parts import Part, changed_part
from interpret_dp.backends.local import LocalBinaryRows
from interpret_dp.fitting import partitioned
from interpret_dp.schema import units

dask = pytest.importorskip("dask")
dd = pytest.importorskip("dask.dataframe")
da = pytest.importorskip("dask.array")

FEATURES = {
    "age": dp.Continuous(20, 80),
    "dose": dp.Continuous(0, 9),
    "sex": dp.Categorical(["f", "m"]),
}
NAMES = list(FEATURES)
N_ROWS = 700

pytestmark = [
    pytest.mark.filterwarnings("ignore:random_state:interpret_dp.PrivacyWarning"),
    pytest.mark.filterwarnings("ignore:No class label:interpret_dp.DeclarationWarning"),
    pytest.mark.filterwarnings("ignore:The released number of ev:interpret_dp.DeclarationWarning"),
]


@pytest.fixture(autouse=True)
def one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def cohort():
    """Rows with cells of every kind, people with many rows, and an index that repeats."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": rng.uniform(10, 90, N_ROWS),
            "dose": rng.uniform(0, 9, N_ROWS),
            "sex": pd.array(rng.choice(["f", "m", "x", None], N_ROWS), dtype="string"),
            "person": rng.integers(0, 90, N_ROWS),
            "weight": rng.uniform(-1, 6, N_ROWS),
            "score": rng.normal(size=N_ROWS),
        }
    )
    frame.loc[rng.uniform(size=N_ROWS) < 0.1, ["age", "weight", "score"]] = np.nan
    risk = 1 / (1 + np.exp(-(frame["dose"] - 4)))
    frame["yes"] = pd.array(np.where(rng.uniform(size=N_ROWS) < risk, "yes", "no"), dtype="string")
    frame["kind"] = rng.integers(0, 3, N_ROWS)
    frame["amount"] = np.exp(frame["dose"] / 4) * rng.uniform(0.5, 1.5, N_ROWS)
    frame["house"] = pd.array([None, 1, 2, 2] * (N_ROWS // 4), dtype="Int64")
    frame.index = np.arange(N_ROWS) // 2
    return frame


ROWS = cohort()
CLASSES = dp.Categorical(["no", "yes"])
CLASSIFIER, REGRESSOR = dp.DPExplainableBoostingClassifier, dp.DPExplainableBoostingRegressor
BINARY = {"schema": dp.Schema(FEATURES, target=CLASSES)}
KINDS = {"schema": dp.Schema(FEATURES, target=dp.Categorical([0, 1, 2]))}
AMOUNTS = {"schema": dp.Schema(FEATURES, target=dp.Continuous(0.2, 12))}
PEOPLE = {"schema": dp.Schema(FEATURES, target=CLASSES, unit=dp.PrivacyUnit("person", max_rows=3))}
HOUSES = {"schema": PEOPLE["schema"].replace(unit=dp.PrivacyUnit(["house", "person"], 2))}
DROP = {"schema": PEOPLE["schema"].replace(unit=dp.PrivacyUnit("house", 40, missing="drop"))}
WEIGHTS = {"sample_weight": "weight"}
COUNTS = {"objective": "poisson_deviance", "privacy_exposure_max": 2.0, "interactions": 0}
TIMES = {"objective": "survival_cox", "max_rounds": 6, "interactions": 1, "privacy_target_max": 2.0}
TIMES |= {"schema": dp.Schema(FEATURES)}
HALF_WAY = {"epsilon": 12.0, "max_rounds": 16, "interactions": 1}

# Estimator, its parameters, the target's column, and columns given to fit by argument.
CASES = {
    "binary": (CLASSIFIER, BINARY, "yes", {}),
    "classes": (CLASSIFIER, KINDS, "kind", {}),
    "classes, half-way": (CLASSIFIER, KINDS | {"max_rounds": None}, "kind", {}),
    "regression": (REGRESSOR, AMOUNTS, "amount", {}),
    "poisson": (REGRESSOR, AMOUNTS | {"objective": "poisson_deviance"}, "amount", {}),
    "gamma": (REGRESSOR, AMOUNTS | {"objective": "gamma_deviance"}, "amount", {}),
    "tweedie": (REGRESSOR, AMOUNTS | {"objective": "tweedie_deviance"}, "amount", {}),
    "quantile": (REGRESSOR, AMOUNTS | {"objective": "quantile", "max_rounds": 4}, "amount", {}),
    "weights": (CLASSIFIER, BINARY | {"privacy_weight_max": 5.0}, "yes", WEIGHTS),
    "scores": (CLASSIFIER, BINARY, "yes", {"init_score": "score"}),
    "scores of a regression": (REGRESSOR, AMOUNTS, "amount", {"init_score": "score"}),
    "exposures": (REGRESSOR, AMOUNTS | COUNTS, "amount", {"exposure": "weight"}),
    "times": (REGRESSOR, TIMES, "score", {}),
    "their logarithms": (REGRESSOR, AMOUNTS | COUNTS, "amount", {"init_score": "score"}),
    "nothing declared": (CLASSIFIER, {"epsilon": 30.0}, "yes", WEIGHTS),
    "no bounds": (REGRESSOR, {"epsilon": 20.0}, "amount", {}),
    "one label": (CLASSIFIER, {"epsilon": 0.01}, "yes", {}),
    "people": (CLASSIFIER, PEOPLE, "yes", {"unit": "person"}),
    "two columns": (CLASSIFIER, HOUSES, "yes", {}),
    "dropped": (CLASSIFIER, DROP, "yes", {"unit": "house"}),
    "pairs": (CLASSIFIER, BINARY | {"interactions": 2}, "yes", {}),
    "half-way": (REGRESSOR, AMOUNTS | HALF_WAY, "amount", {}),
    "monotone": (REGRESSOR, AMOUNTS | {"monotone_constraints": {"dose": 1}}, "amount", {}),
}


def released(model):
    """Return all that a fit publishes but for the ledger's head."""
    document = model.to_released().to_dict()
    document.pop("guarantee")
    return document


def fitted(case, rows, names=NAMES, **more):
    kind, parameters, target, arguments = CASES[case]
    parameters = {"max_rounds": 3, "random_state": 5, "n_jobs": 1, **parameters, **more}
    extras = {name: rows[column] for name, column in arguments.items()}
    names = [*names, *["house", "person"] * (case == "two columns")]
    return kind(**parameters).fit(rows[names], rows[target], **extras)


def cut(rows, borders):
    """Return a Dask DataFrame of partitions that end at the borders; equal ones are empty."""
    edges = [0, *borders, len(rows)]
    parts = [rows.iloc[start:stop] for start, stop in pairwise(edges)]
    return dd.from_map(lambda part: part, parts, meta=rows.iloc[:0])


@pytest.mark.parametrize("case", CASES)
def test_a_fit_on_partitions_is_the_fit_in_memory(case):
    expected = released(fitted(case, ROWS))
    for borders in ([], [1, 1, 300, 699]):
        assert released(fitted(case, cut(ROWS, borders))) == expected


def test_arrays_of_any_chunks_and_threads():
    X = ROWS[["age", "dose"]].to_numpy()
    y = ROWS["kind"].to_numpy()
    schema = dp.Schema(
        {"feature_0000": FEATURES["age"], "feature_0001": FEATURES["dose"]},
        target=dp.Categorical([0, 1, 2]),
    )

    def fit(*rows, **more):
        model = CLASSIFIER(schema=schema, max_rounds=2, random_state=1, **more)
        return released(model.fit(*rows))

    expected = fit(X, y)
    with dask.config.set(scheduler="threads"):
        lazy = da.from_array(X, chunks=(130, 1))
        assert fit(lazy, da.from_array(y, chunks=99), backend="dask", n_jobs=3) == expected


MISFITS = [
    (lambda X, y: (X, y.compute()), "y is of type pandas"),
    (lambda X, y: (X.compute(), y), "y is a Dask collection, and X is of type pandas"),
    (lambda X, y: (X, cut(ROWS, [5])["yes"]), "X has 3 partitions and y has 2"),
    (lambda X, y: (X.rename(columns={"age": "Age"}), y), "did you mean .age."),
]


@pytest.mark.parametrize(("change", "message"), MISFITS)
def test_collections_that_do_not_fit_are_refused_before_anything_is_read(change, message):
    rows = cut(ROWS, [5, 9])
    ledger = dp.PrivacyLedger.in_memory()
    model = CLASSIFIER(**CASES["binary"][1], ledger=ledger, dataset="d")
    with pytest.raises((TypeError, dp.SchemaError), match=message):
        model.fit(*change(rows[NAMES], rows["yes"]))
    assert ledger.datasets() == []


def test_the_backend_is_checked():
    rows = cut(ROWS, [5])
    for backend, given, message in (
        ("local", rows, "backend is 'local', and X is a Dask collection"),
        ("dask", ROWS, "backend is 'dask', and X is of type pandas"),
        ("spark", ROWS, "backend is 'spark'"),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            fitted("binary", given, backend=backend)


def test_partitions_of_other_lengths_are_an_error_of_their_own():
    ledger = dp.PrivacyLedger.in_memory()
    model = CLASSIFIER(**CASES["binary"][1], ledger=ledger, dataset="d")
    with pytest.raises(dp.BackendError, match=r"differ in their.*nothing was charged"):
        model.fit(cut(ROWS, [5, 9])[NAMES], cut(ROWS, [5, 10])["yes"])
    X, others = cut(ROWS, [5]), cut(ROWS.set_axis(range(N_ROWS)), [5])
    people = dp.Schema(FEATURES, target=CLASSES, unit=dp.PrivacyUnit("person"))
    model.set_params(schema=people, dataset="people")
    with pytest.raises(dp.BackendError, match=r"X and unit in their index.*nothing was charged"):
        model.fit(X[NAMES], X["yes"], unit=others["person"])
    assert ledger.spent("people").mu == 0.0
    assert ledger.spent("d").mu == 0.0


def test_identifiers_that_became_floats_are_an_error_of_their_own():
    parts = [ROWS.iloc[:9], ROWS.iloc[9:].assign(person=lambda f: f["person"].astype(float))]
    rows = dd.from_map(lambda part: part, parts, meta=ROWS.iloc[:0])
    with pytest.raises(dp.BackendError, match="identifiers of the privacy unit"):
        fitted("people", rows)


def test_what_a_partition_raises_is_withheld():
    def fail(part):
        raise ValueError("a secret cell")

    rows = cut(ROWS, [5]).map_partitions(fail, meta=ROWS.iloc[:0])
    with pytest.raises(dp.BackendError, match=r"A worker failed.*withheld") as caught:
        fitted("binary", rows)
    assert "secret" not in str(caught.value)
    assert caught.value.__context__ is None


def test_a_part_that_was_changed_is_not_changed_again():
    codes = [np.arange(8, dtype=np.uint8)]
    part = Part(LocalBinaryRows(codes, np.zeros(8, dtype=np.int16)))
    begin = (("begin", (np.zeros(1, dtype=np.int64),)),)
    change = ("merge_bins", ([np.arange(8, dtype=np.uint16) // 2],))
    changed = changed_part(0, begin, change, {}, part)
    assert isinstance(changed, Part)
    sums = changed.follow(0, begin, ("bin_counts", ([4],)))[1]
    assert (np.asarray(sums[0]) > 0).all()
    # Two workers of one process hold the same part: its arrays are merged by now.
    for held in (part, pickle.loads(pickle.dumps(part))):
        again = changed_part(0, begin, change, {}, held)
        assert getattr(again, "reason", None) == "failed"
        with pytest.raises(RuntimeError, match="the new part has its rows"):
            held.total(len)


def test_names_of_tasks_do_not_tell_of_cells(monkeypatch):
    """Two tables give the same names, but for the counter; a hash of cells would differ."""

    def names_of(rows):
        seen = []
        real = tasks._keys
        with monkeypatch.context() as patch:
            patch.setattr(tasks, "_numbers", iter(range(10**6)))
            patch.setattr(tasks, "_keys", lambda *a: seen.extend(real(*a)) or real(*a))
            fitted("people", cut(rows, [100]))
        return seen

    assert names_of(ROWS) == names_of(ROWS.assign(dose=1.0, person=3))


@pytest.mark.parametrize("case", ["binary", "classes", "gamma", "pairs"])
def test_rows_are_scored_where_they_are(case):
    model = fitted(case, ROWS)
    rows = cut(ROWS, [1, 1, 300])[NAMES]
    methods = ["predict", "eval_terms", "predict_with_uncertainty"]
    methods += ["predict_proba", "decision_function"] if case != "gamma" else []
    for method in methods:
        lazy = getattr(model, method)(rows)
        assert isinstance(lazy, da.Array)
        assert lazy.numblocks[0] == 4
        expected = getattr(model, method)(ROWS[NAMES])
        assert lazy.dtype == expected.dtype
        np.testing.assert_array_equal(lazy.compute(), expected)


def test_scores_to_start_from_are_cut_like_the_rows():
    model = fitted("scores", ROWS.fillna({"score": 0.0}))
    rows = cut(ROWS.fillna({"score": 0.0}), [100, 350])
    lazy = model.predict_proba(rows[NAMES], init_score=rows["score"])
    expected = model.predict_proba(ROWS[NAMES], init_score=ROWS["score"].fillna(0.0))
    np.testing.assert_array_equal(lazy.compute(), expected)
    with pytest.raises(TypeError, match="init_score is of type numpy"):
        model.predict_proba(rows[NAMES], init_score=np.zeros(N_ROWS))


def test_other_readers_of_rows_refuse_collections():
    model = fitted("binary", ROWS)
    with pytest.raises(TypeError, match=r"X is lazy .*X\.compute\(\)"):
        model.explain_local(cut(ROWS, [100])[NAMES])


def test_what_dask_says_of_a_cell_is_withheld():
    rows = dd.from_pandas(pd.DataFrame({"age": [1.0, 2.0]}), npartitions=1)
    labels = dd.from_pandas(pd.Series(["no", "secret \ud800"], dtype=object), npartitions=1)
    with pytest.raises(dp.SchemaError, match="withheld") as refused:
        CLASSIFIER(classes=["no", "yes"]).fit(rows, labels)
    assert refused.value.__context__ is None


@pytest.mark.parametrize("n_workers", [2, 5])
def test_control_a_unit_that_is_not_brought_together_keeps_too_many_rows(n_workers, monkeypatch):
    """If every partition kept its own rows of a person, the fit would be another one."""
    expected = released(fitted("people", ROWS))

    def apart(max_rows, key, counts, items):
        return [units.kept_of_units(max_rows, key, counts, [item])[0] for item in items]

    rows = cut(ROWS, list(range(100, 100 * n_workers, 100)))
    assert released(fitted("people", rows)) == expected
    monkeypatch.setattr(partitioned, "kept_of_units", apart)
    assert released(fitted("people", rows)) != expected
