"""What requests cost: what the promise says, whatever happens, and nothing if they are refused."""

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

import interpret_dp as dp
from interpret_dp.accounting import GdpPair, compose
from interpret_dp.release import ReleaseSession
from tests.contract.explainers.registry import (
    DATASET,
    EXPLAINERS,
    ONE_EACH,
    OURS,
    Maps,
    Metrics,
    check_error,
    names,
    new_ledger,
)
from tests.contract.explainers.tables import FEATURES, N_ROWS, TARGET, frame, requested
from tests.edges.tables import KINDS, REFUSED
from tests.ledger.requests import budgeted, unchanged


def charged(ledger):
    """Return what a data set was charged; nothing may be left open."""
    spent = ledger.spent(DATASET)
    assert spent.open_reservations == 0
    assert ledger.verify() == ledger.head
    return GdpPair(spent.mu, spent.delta)


def stated(name, result):
    """Return the pair that a result says that it cost; its promise may state a larger one."""
    promise = EXPLAINERS[name].promise(result)
    bill = compose(GdpPair(one.mu, one.delta) for one in promise.releases)
    assert bill.mu == pytest.approx(promise.pair.mu, rel=1e-12)
    assert bill.delta == promise.pair.delta
    return promise.pair


# What a promise says where no ledger keeps its charge.
FORGOTTEN = "charged to the memory of a process"


@pytest.mark.parametrize("name", names())
def test_the_ledger_is_charged_what_the_guarantee_says(name):
    ledger = new_ledger()
    result = requested(name, ledger)
    promise, cost = EXPLAINERS[name].promise(result), stated(name, result)
    assert charged(ledger) == cost
    assert cost.epsilon_at(promise.delta) <= promise.epsilon == 1.0
    assert ledger.spent(DATASET).n_requests == 1
    assert promise.ledger_head == ledger.head
    assert promise.dataset == DATASET
    assert not promise.tests_only
    assert FORGOTTEN in str(promise)
    assert "learned nothing from these rows" in str(promise)
    (entry,) = ledger.report(DATASET).to_dict("records")
    assert entry["asked_delta"] == 1e-6
    requested(name, ledger)
    assert charged(ledger).mu == pytest.approx(math.sqrt(2) * cost.mu, rel=0.02)
    assert charged(ledger).delta == pytest.approx(2 * cost.delta)


@pytest.mark.parametrize("name", names())
def test_a_second_fit_over_the_budget_is_refused_and_nothing_changes(name, tmp_path, monkeypatch):
    trial = new_ledger()
    requested(name, trial)
    once = charged(trial)
    ledger = dp.PrivacyLedger(f"sqlite:///{tmp_path / 'privacy.db'}")
    # Room for once and a little, but not for twice.
    room = once.epsilon_at(1e-5) * 1.2
    ledger.create_budget(DATASET, room, 1e-5, delta_x=once.delta * 1.5)
    kept = requested(name, ledger)
    assert FORGOTTEN not in str(EXPLAINERS[name].promise(kept))
    before, spent, head = ledger.entries(), ledger.spent(DATASET), ledger.head
    monkeypatch.setattr(ReleaseSession, "gaussian", lambda *_, **__: pytest.fail("a row was read"))
    with pytest.raises(dp.BudgetExceededError, match="Nothing was spent") as caught:
        requested(name, ledger)
    check_error(caught.value)
    assert 0 <= caught.value.largest_epsilon < 1.0
    assert caught.value.dataset == DATASET
    assert (ledger.entries(), ledger.spent(DATASET), ledger.verify()) == (before, spent, head)
    monkeypatch.undo()
    if not isinstance(EXPLAINERS[name], Maps):
        requested(name, ledger, epsilon=caught.value.largest_epsilon)
        assert ledger.remaining(DATASET, 1e-5) < 1e-3


@pytest.mark.parametrize("name", names())
def test_a_data_set_without_a_budget_is_refused_before_a_row_is_read(name, tmp_path, monkeypatch):
    kept = dp.PrivacyLedger(f"sqlite:///{tmp_path / 'privacy.db'}")
    memory = dp.PrivacyLedger.in_memory()
    monkeypatch.setattr(ReleaseSession, "__enter__", lambda _: pytest.fail("a request was begun"))
    for ledger in (kept, memory):
        ledger.create_budget(f"{DATASET}s", 9.0, 1e-5)
    for account in (kept, kept.url, memory):
        with pytest.raises(dp.LedgerError, match=r"no budget.*Did you mean.*create_budget"):
            requested(name, account)
    assert len(kept.entries()) == len(memory.entries()) == 1


@pytest.mark.parametrize("name", names())
def test_using_a_result_charges_nothing(name, tmp_path):
    ledger = new_ledger()
    result = requested(name, ledger)
    head = ledger.head
    EXPLAINERS[name].use(result, frame(), TARGET)
    if not isinstance(EXPLAINERS[name], Metrics):
        EXPLAINERS[name].predicted(result, frame())
        for explanation in EXPLAINERS[name].explanations(result, frame(), TARGET):
            assert explanation.privacy.explanation_epsilon == 0.0
            for key in (None, 0):
                notes = [note.text for note in explanation.visualize(key).layout.annotations]
                assert any("Privacy cost of this explanation: 0" in note for note in notes)
    for act in ("save", "to_tables", "edit"):
        if hasattr(result, act):
            getattr(result, act)(*[tmp_path / "model.json"] if act == "save" else [])
    assert ledger.verify() == head
    # Control: another request is charged, and the head shows it.
    requested(name, ledger)
    assert ledger.head != head


# ------------------------------------------------------------------------------------ refusals

ADDITIVE = ("binary", "counts")
ESTIMATORS = (*ADDITIVE, "maps")
MANY_STEPS = {"batch_size": 10, "sampling_rate": None}
NUMBERS = (
    *(None, True, "1", -1.0, 0, np.nan, np.inf, -np.inf, 1j, 10**400, [1.0]),
    np.array([1.0, 2.0]),
)
LEDGERS = ("", "x", 5, b"sqlite://", "sqlite:///", "mysql://h/d", object())
DATASETS = (None, "", " ", 5, "x" * 201, "a\x00b", "a\nb", "\ud800", b"a")
TEXTS = np.array(["0", "1"] * (N_ROWS // 2))
START = np.zeros(N_ROWS)
WEIGHTED = {"sample_weight": np.ones(N_ROWS)}
UNLIKE = LogisticRegression().fit([[0.0, 0], [1, 1]], ["a", "b"])
UNLABELLED = dp.Schema(FEATURES)
INTERVALS = {"X": frame().assign(b=pd.interval_range(0, N_ROWS)), "schema": None}
ONE_LABEL = dp.Schema(FEATURES, target=dp.Categorical([1]))
MANY_LABELS = dp.Schema(FEATURES, target=dp.Categorical(range(2**15)))
NO_COUNTS = dp.Schema(FEATURES, target=dp.Continuous(-1, 9))
ONLY_ZERO = dp.Schema(FEATURES, target=dp.Continuous(0, 0))
FROM_ZERO = dp.Schema(FEATURES, target=dp.Continuous(0, 9))
GAMMA = {"objective": "gamma_deviance"}
TWEEDIE = {"objective": "tweedie_deviance"}
UNFITTED = dp.DPExplainableBoostingClassifier()
RNG = np.random.default_rng(0)
PAIR = {"interactions": [("a", "b")]}
RISING = {"monotone_constraints": {"a": 1}}
SQUARES = {
    **{"X": np.zeros((N_ROWS, 8, 8)), "feature_names": None, "features": "scattering"},
    "schema": dp.Schema(default=dp.Continuous(0, 16), target=dp.Categorical([0, 1])),
}
ON_LOGARITHMS = dp.Schema(default=dp.Continuous(0, 16, scale="log"), target=dp.Categorical([0, 1]))
ODD_FEATURE = dp.Schema({"weight": dp.Continuous(0, 1)}, target=dp.Categorical([0, 1]))


def _undeclared_between(low, high):
    return {"schema": UNLABELLED, "privacy_target_min": low, "privacy_target_max": high}


BAD = [
    *((ONE_EACH, {"epsilon": value}, OURS, "epsilon is ") for value in NUMBERS),
    *((ONE_EACH, {"delta": value}, OURS, "delta is ") for value in (*NUMBERS, 1.0)),
    *((ONE_EACH, {"ledger": ledger}, (TypeError, ValueError), "url|ledger") for ledger in LEDGERS),
    *((ONE_EACH, {"dataset": dataset}, OURS, "dataset") for dataset in DATASETS),
    (ONE_EACH, {"dataset": None}, dp.LedgerError, "without dataset="),
    (ONE_EACH, {"ledger": 7}, TypeError, "ledger is 7 .*a PrivacyLedger, its URL.* or None"),
    ((*ADDITIVE, "lime", "metrics"), {"neighboring": "bounded"}, ValueError, "bounded.*'replace_"),
    (ESTIMATORS, {"random_state": -1}, ValueError, "random_state is -1 .* at least 0"),
    (ESTIMATORS, {"schema": ODD_FEATURE}, dp.SchemaError, "'weight'"),
    (ESTIMATORS, {"schema": "schema.toml"}, TypeError, "Schema.load"),
    (("binary", "maps"), {"schema": ONE_LABEL}, dp.SchemaError, "one declared class, 1"),
    (("binary", "maps"), {"schema": MANY_LABELS}, dp.SchemaError, "32768 class labels; at most"),
    (ADDITIVE, {"composition": "rdp"}, ValueError, "'rdp' .*'gdp', 'classic'.* less noise"),
    (("binary",), {"population": "all"}, ValueError, "population is 'all'"),
    (("binary",), {"population": "people", "schema": UNLABELLED}, ValueError, "is not declared"),
    (ADDITIVE, {"max_bins": 1}, ValueError, "max_bins is 1 .* at least 2"),
    (ADDITIVE, {"max_rounds": -1}, ValueError, "max_rounds is -1 .* at least 0.* None leaves it"),
    (ADDITIVE, {"learning_rate": 0}, ValueError, "learning_rate is 0 .* above 0.* None leaves it"),
    # Larger ones would be taken as they are, and never end or say nothing: docs/known_limits.md.
    (ONE_EACH, {"epsilon": 2e12}, ValueError, "epsilon is 2"),
    (ADDITIVE, {"max_rounds": 100_001}, ValueError, "max_rounds is 100001"),
    (ADDITIVE, {"learning_rate": 2.5}, ValueError, "learning_rate is 2.5"),
    (ADDITIVE, {"max_leaves": 0}, ValueError, "max_leaves is 0 .* at least 1.* None leaves it"),
    (ADDITIVE, {"bin_budget_frac": 1.0}, ValueError, "bin_budget_frac is 1.0 .* suits most"),
    (ADDITIVE, {"outer_bags": 4}, ValueError, "is 4 .*must be 1 and 0.* standard_deviations_"),
    (ADDITIVE, {"validation_size": 0.1}, ValueError, "standard_deviations_"),
    (ADDITIVE, {"n_jobs": 0}, ValueError, "n_jobs is 0; .*or -1.* Pass n_jobs=1"),
    (ADDITIVE, {"exclude": ["weight"]}, ValueError, "the feature 'weight'; .*or a pair of them"),
    (ADDITIVE, {"max_bins": 65_536}, ValueError, "max_bins is 65536 .* at most 65535"),
    (ADDITIVE, {"feature_types": ["quantile"]}, OURS, "one type for each of the 2 columns"),
    (ADDITIVE, {"exclude": [0, 1]}, ValueError, "leaves no feature"),
    *(
        (ADDITIVE, {"interactions": value}, (TypeError, ValueError), "interactions is ")
        for value in (10**400, -1, 1.5, "3", "manyx", True, {"a": "b"}, np.array(2))
    ),
    *(
        (("binary", "regression"), {"interactions": pairs}, (TypeError, ValueError), message)
        for pairs, message in (
            ([("a", "b", "a")], "names 3 features; it must name two"),
            ([("a", "a")], "one feature twice"),
            ([("a", "weight")], "the feature 'weight'"),
            ([("a", 2)], "the feature 2"),
            (["a"], "must be a pair"),
        )
    ),
    (("binary",), PAIR | {"exclude": ["a"]}, dp.SchemaError, "no term of its own"),
    (("binary",), PAIR | RISING, dp.SchemaError, "'a', which monotone_constraints keeps monotone"),
    (ADDITIVE, {"monotone_constraints": np.array(1)}, TypeError, "monotone_constraints is "),
    *((ADDITIVE, {"verbose": value}, TypeError, "verbose is ") for value in (pd.NA, "no", [])),
    (ADDITIVE, {"sample_weight": np.ones(4)}, dp.SchemaError, "X and sample_weight must have"),
    (ADDITIVE, {"sample_weight": np.ones((N_ROWS, 2))}, dp.SchemaError, "weight has 2 columns"),
    (ADDITIVE, {"sample_weight": np.ones((N_ROWS, 1))}, dp.SchemaError, "sample_weight must be 1D"),
    (ADDITIVE, {"sample_weight": TEXTS}, dp.SchemaError, "sample_weight has a dtype"),
    *(
        (ADDITIVE, WEIGHTED | {"privacy_weight_max": maximum}, OURS, "_max is .*public knowledge")
        for maximum in (0, -1, np.nan, np.inf, "1", True)
    ),
    (("binary",), {"init_score": TEXTS}, dp.SchemaError, "init_score has a dtype"),
    (("binary",), {"init_score": np.ones(4)}, dp.SchemaError, "or not as many rows as X; it must"),
    (("binary",), {"init_score": np.ones((N_ROWS, 2))}, dp.SchemaError, "1 columns: the log"),
    (("multiclass",), {"init_score": START}, dp.SchemaError, "3 columns: one score a class"),
    (("regression",), {"init_score": 3}, TypeError, "init_score"),
    (("regression",), {"init_score": 1j * START}, dp.SchemaError, "init_score has dtype complex"),
    (("binary",), {"init_score": LinearRegression()}, TypeError, "has no predict_proba"),
    (("binary",), {"init_score": UNLIKE}, dp.SchemaError, "model of the classes .*'a', 'b'.*0"),
    (("binary",), {"schema": UNLABELLED, "init_score": START}, dp.SchemaError, "without decl"),
    (("counts",), {"init_score": START}, ValueError, "privacy_exposure_max is None"),
    (("counts",), {"schema": NO_COUNTS}, dp.SchemaError, r"is -1.*Continuous\(0, upper\)"),
    (("counts",), {"schema": ONLY_ZERO}, dp.SchemaError, "upper bound is 0"),
    (("counts",), GAMMA | {"schema": FROM_ZERO}, dp.SchemaError, "lower bound is 0.*above 0"),
    (("counts",), GAMMA | {"schema": UNLABELLED}, dp.SchemaError, "is None.*privacy_target_min"),
    (("counts",), {"objective": "huber"}, ValueError, "is 'huber'.*register them in Python"),
    (("counts",), {"objective": "tweedie:p=1.5"}, ValueError, "be variance_power between 1 and 2"),
    (("counts",), {"objective": "tweedie:variance_power=2"}, ValueError, "both excluded"),
    (
        ("counts",),
        {"objective": "quantile:alpha=nan"},
        ValueError,
        "alpha between 0.0001 and 0.9999",
    ),
    (("counts",), {"objective": "quantile:"}, ValueError, "such as 'quantile:alpha=0.5'"),
    (("counts",), {"objective": "rmse:alpha=0.5"}, ValueError, "'rmse' has no parameter"),
    (("counts",), TWEEDIE | {"schema": NO_COUNTS}, dp.SchemaError, "'tweedie_deviance'.*is -1"),
    (("counts",), {"objective": "quantile"} | PAIR, ValueError, "pairs of quantiles are not"),
    (("counts",), {"objective": None}, ValueError, "objective is None"),
    *(
        (("regression",), _undeclared_between(*ends), dp.SchemaError, "Change the unit of the tar")
        for ends in ((0.0, 5e-324), (0.0, 1e200), (None, 5e-324), (-1.7e308, None))
    ),
    *(
        (ADDITIVE, {"monotone_constraints": given}, error, message)
        for given, error, message in (
            ([1], ValueError, r"has 1 entries; .* 2 columns \['a', 'b'\]"),
            ([2, 0], ValueError, r"monotone_constraints\['a'\] is 2 .* at most 1"),
            (["up", 0], TypeError, r"monotone_constraints\['a'\] is 'up' .*1 \(increasing\)"),
            ([True, 0], TypeError, "True"),
            ("increasing", TypeError, "must be a list"),
            (1, TypeError, "must be a list"),
            ({"y": 1}, ValueError, r"names \['y'\]; its keys must be among"),
            ({"b": 1}, dp.SchemaError, r"levels of 'b' have no order.*ordered=True"),
            ([0, -1], dp.SchemaError, "levels of 'b' have no order"),
        )
    ),
    (("multiclass",), RISING, dp.SchemaError, r"are \[0, 1, 2\]; one class'"),
    (("binary",), {"schema": UNLABELLED} | RISING, dp.SchemaError, "classes are not declared; one"),
    (("maps",), {"n_maps": 0}, ValueError, "n_maps is 0"),
    (("maps",), {"delta": 1e-12}, ValueError, "delta is 1e-12"),
    (("maps",), {"projection_dim": -1}, ValueError, "projection_dim is -1"),
    (("maps",), {"learning_rate": 0.0}, ValueError, "learning_rate is 0"),
    (("maps",), {"averaging": 1.0}, ValueError, "averaging is 1"),
    (("maps",), {"projection": "sparse"}, ValueError, "projection is 'sparse'"),
    (("maps",), {"engine": "ghost"}, ValueError, "engine is 'ghost'"),
    (("maps",), {"batch_size": 10}, ValueError, "give one of them"),
    (("maps",), MANY_STEPS | {"epochs": 2e6}, ValueError, "count is 2000001"),
    (("maps",), MANY_STEPS | {"epochs": 9e5, "epsilon": 1e-3}, ValueError, "fewer epochs"),
    (("maps",), {"sampling_rate": 1.5}, ValueError, "sampling_rate is 1.5"),
    (("maps",), {"smoothing": 1.0}, ValueError, "smoothing is 1.0, and rows are no images"),
    (("maps",), {"smoothing": 1e200}, ValueError, r"smoothing is 1e\+200 .*at most 10000"),
    (("maps",), {"image_shape": (2, 3)}, ValueError, "6 pixels, and X has 2 columns"),
    (("maps",), {"image_shape": 28}, TypeError, "image_shape is 28"),
    (("maps",), {"X": np.zeros((N_ROWS, 2, 1, 1, 1))}, TypeError, r"X is \(2, 1, 1, 1\); it must"),
    (("maps",), {"keep_on_interrupt": "yes"}, TypeError, "keep_on_interrupt is 'yes'"),
    (("maps",), {"features": "scattering"}, ValueError, "is 'scattering', and rows are no images"),
    (("maps",), {"background": 0.0}, ValueError, "is 0.0, and rows are no images"),
    *(
        (("maps",), SQUARES | given, (TypeError, ValueError), message)
        for given, message in (
            ({"features": "wavelets"}, "features is 'wavelets'"),
            ({"X": np.zeros((N_ROWS, 7, 8))}, "at least 8 x 8"),
            ({"X": np.zeros((N_ROWS, 64))}, "rows are no images"),
            ({"standardize": (3.0, 4.0)}, r"standardize is \(3.0, 4.0\)"),
            ({"projection_dim": 10}, "projection_dim is 10"),
            ({"background": "black"}, "background"),
            ({"background": 17.0}, r"background is 17.0"),
            ({"schema": ON_LOGARITHMS}, "linear scale"),
        )
    ),
    (("maps",), {"standardize": 3}, TypeError, r"standardize is 3; it must be \(mean, deviation"),
    (("lime",), {"verbose": 1}, TypeError, "verbose is 1"),
    (("lime",), {"model_guarantee": 1.0}, TypeError, "model_guarantee is 1.0"),
    (("lime",), {"model_guarantee": (-1.0, 0.0)}, ValueError, "epsilon of model_guarantee"),
    (("lime",), {"feature_types": ["continuous"] * 2}, dp.SchemaError, "'b' the schema says"),
    (("lime",), {"feature_types": ["continuous"]}, ValueError, "feature_types is "),
    (("lime",), {"model": 3}, TypeError, "must have predict_proba or predict"),
    *(
        (("lime",), given, ValueError, rf"{said}.* Nothing was spent\. .*background=Private")
        for given, said in (
            ({"model": LogisticRegression()}, "NotFittedError: .*not fitted yet"),
            ({"model": LogisticRegression(), "schema": None}, "NotFittedError: .*not fitted yet"),
            ({"model": lambda X: np.full(len(X), np.nan)}, "numbers that are not finite"),
            ({"model": lambda X: X["other"] + X["a"]}, "KeyError: 'other'"),
        )
    ),
    (("lime",), {"X": None}, TypeError, "neither of data and background"),
    (("lime",), {"background": 3}, TypeError, "both of data and background"),
    (("lime",), {"X": None, "background": 3}, TypeError, "background is of type int"),
    (("lime",), {"per_query": 0.1}, TypeError, "has no parameter per_query: it is charged once"),
    (("lime",), {"predict_fn": sum}, TypeError, "has no parameter predict_fn: older versions of"),
    (("lime",), {"colour": 1}, TypeError, r"has no parameter colour\. It takes .*, background"),
    (("lime",), {"trained_on_same_people": "no"}, TypeError, "trained_on_same_people is 'no'"),
    (("metrics",), {"models": {}}, TypeError, "must be a mapping from names"),
    (("metrics",), {"models": {"a": 3}}, TypeError, r"models\['a'\] is of type int; it must be"),
    (("metrics",), {"models": {"a": UNFITTED}}, TypeError, "must be a fitted"),
    (("metrics",), {"X": pd.DataFrame({"a": [1.0] * N_ROWS})}, dp.SchemaError, "lacks column 'b'"),
    (ONE_EACH, {"X": frame().assign(b=1)}, dp.SchemaError, "'b' has a dtype of integers"),
    *(
        (ONE_EACH, {"X": X, "feature_names": None}, TypeError, type(X).__name__)
        for X in (None, 5, "text", b"bytes", {"a": [1]}, object(), (row for row in [[1]]))
    ),
    *(
        (ONE_EACH, {"X": X, "feature_names": None}, (TypeError, ValueError), said)
        for X, said in (
            (np.zeros(()), "0D"),
            (np.zeros(3), "1D"),
            (pd.Series([1.0]), "1D"),
            (np.zeros((2, 0)), "0 feature"),
            (pd.DataFrame([[1, 2]], columns=["a", "a"]), "'a'"),
            (pl.DataFrame({"a": [0.0, 1.0]}).lazy(), "Run its query first"),
        )
    ),
    (("binary", "maps", "background", "lime"), INTERVALS, dp.SchemaError, "edges off.*declare"),
    # The columns of rows to evaluate are those of the models.
    *(
        (ONE_EACH[:-1], {"X": X, "feature_names": None}, dp.SchemaError, said)
        for X, said in (([1, 2], "1D"), ([], "0 feature"))
    ),
    *(
        (ONE_EACH, {"X": frame().assign(a=KINDS[kind](RNG, N_ROWS))}, OURS, "'a'")
        for kind in REFUSED
        # pandas makes objects of bytes, and each of these then counts as an undeclared level.
        if kind != "bytes"
    ),
    *(
        (("binary", "regression", "maps", "metrics"), {"y": y}, OURS, "y")
        for y in (
            *(None, 5, "text", {"a": 1}, object(), [], [0], np.zeros((N_ROWS, 2)), np.array(0)),
            *(1j * START, pd.date_range("2020", periods=N_ROWS)),
        )
    ),
    (("binary", "maps", "metrics"), {"y": TEXTS}, dp.SchemaError, "target has a dtype of texts"),
    (("regression",), {"y": TEXTS}, dp.SchemaError, "a regressor needs numbers"),
]


@pytest.mark.parametrize(
    ("name", "given", "error", "message"),
    [
        pytest.param(*name.values, *case, marks=name.marks)
        for whom, *case in BAD
        for name in names(only=whom)
    ],
    ids=lambda part: "-".join(part) if isinstance(part, dict) else None,
)
def test_bad_parameters_are_refused_before_anything_is_spent(name, given, error, message):
    ledger = new_ledger()
    with unchanged(ledger), pytest.raises(error, match=message) as caught:
        requested(name, ledger, **given)
    check_error(caught.value)
    assert len(str(caught.value)) < 1_000
    assert charged(ledger) == GdpPair(0.0)


# --------------------------------------------------------------------------------- fixed noise


@pytest.mark.parametrize("name", names("metrics"))
def test_random_state_voids_the_promise(name, tmp_path):
    """It makes every number again, and no ledger that is kept takes it for private."""
    explainer = EXPLAINERS[name]
    seeded = []
    for _ in range(2):
        with pytest.warns(dp.PrivacyWarning, match="voids the privacy promise"):
            seeded.append(requested(name, None, random_state=3))
    promise = explainer.promise(seeded[0])
    assert promise.tests_only
    assert "which is for tests only" in promise.sentence
    assert explainer.published(seeded[0]) == explainer.published(seeded[1])
    free = [explainer.published(requested(name, None)) for _ in range(2)]
    assert free[0] != free[1]
    for explanation in explainer.explanations(seeded[0], frame()):
        assert "no privacy guarantee" in explanation.privacy.line.lower()
    ledger = budgeted(DATASET, 8.0, 1e-5, delta_x=5e-6, url=f"sqlite:///{tmp_path / 'privacy.db'}")
    with (
        unchanged(ledger),
        pytest.warns(dp.PrivacyWarning),
        pytest.raises(ValueError, match=r"random_state is set.*Nothing was spent"),
    ):
        requested(name, ledger, random_state=3)
