"""Steps that learn from the private rows before the model are named in a warning."""

import gc
import threading
import warnings
import weakref

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.ensemble import AdaBoostClassifier, StackingClassifier, VotingClassifier
from sklearn.feature_selection import RFE, SelectKBest, SequentialFeatureSelector
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, TunedThresholdClassifierCV, cross_val_score
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    StandardScaler,
    TargetEncoder,
)
from sklearn.semi_supervised import SelfTrainingClassifier
from sklearn.tree import DecisionTreeClassifier

import interpret_dp as dp

SCHEMA = dp.Schema(default=dp.Continuous(-3, 3), target=dp.Categorical([0, 1]))


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    return X, (X[:, 0] > 0).astype(int)


def model(**parameters):
    return dp.DPExplainableBoostingClassifier(schema=SCHEMA, max_rounds=1, **parameters)


def regressor():
    schema = dp.Schema(default=dp.Continuous(-3, 3), target=dp.Continuous(-3, 3))
    return dp.DPExplainableBoostingRegressor(schema=schema, max_rounds=1)


def warnings_of(fit, *arguments):
    """Return the privacy warnings of a call."""
    with warnings.catch_warnings(record=True, action="always") as caught:
        fit(*arguments)
    return [str(one.message) for one in caught if one.category is dp.PrivacyWarning]


# ------------------------------------------------------------------------- what is named


def test_every_learning_step_is_named_and_no_other(rows):
    pipe = Pipeline(
        [
            ("impute", SimpleImputer()),
            ("log", FunctionTransformer(np.tanh)),
            ("nothing", "passthrough"),
            ("scale", StandardScaler()),
            ("model", model()),
        ]
    )
    (message,) = warnings_of(pipe.fit, *rows)
    assert "steps learn from the private rows" in message
    assert ": 'impute' (SimpleImputer), 'scale' (StandardScaler). " in message
    assert "FunctionTransformer, Normalizer" in message
    assert "FrozenEstimator" in message
    # A reader of the model alone learns of it too.
    promise = pipe[-1].guarantee_
    assert promise.state == "does not hold"
    assert promise.sentence.startswith(
        "The promise does not hold: 'impute' (SimpleImputer), 'scale' (StandardScaler) learned"
    )


def test_every_guarantee_names_the_steps(rows):
    X, y = rows
    schema = SCHEMA.replace(target=None)
    for explainer, arguments in (
        (dp.PrivateBackground(schema), (X,)),
        (dp.DPLocallyLinearClassifier(schema=SCHEMA, epochs=1), (X, y)),
    ):
        pipe = make_pipeline(StandardScaler(), explainer)
        assert len(warnings_of(pipe.fit, *arguments)) == 1
        promise = pipe[-1].guarantee_
        assert "'standardscaler'" in promise.failures[0]
        assert pipe[-1].to_released().guarantee.failures == promise.failures


def test_the_warning_does_not_depend_on_rows(rows):
    pipe = make_pipeline(StandardScaler(), model())
    X, y = rows
    assert warnings_of(pipe.fit, X, y) == warnings_of(pipe.fit, X[:0:-3] * 1e6, y[:0:-3])


class Undeclared(TransformerMixin, BaseEstimator):
    """A step of a user's own that does not say that it needs no fit."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X


class WithoutTags(Undeclared):
    """A step that scikit-learn accepts and whose tags cannot be read."""

    def __sklearn_tags__(self):
        raise NotImplementedError


class Stateless(Undeclared):
    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags


LEVELS = [[0, 1], [0, 1], [0, 1]]
LEARNING = [
    StandardScaler(),
    Undeclared(),
    WithoutTags(),
    KBinsDiscretizer(3, encode="ordinal", strategy="uniform", subsample=None),
    TargetEncoder(categories=LEVELS),
    OneHotEncoder(sparse_output=False),
    OneHotEncoder(categories=LEVELS, sparse_output=False, handle_unknown="error"),
    OneHotEncoder(
        categories=LEVELS,
        sparse_output=False,
        handle_unknown="infrequent_if_exist",
        min_frequency=2,
    ),
    OrdinalEncoder(),
    SimpleImputer(strategy="constant", fill_value=0, add_indicator=True),
    SimpleImputer(strategy="constant", fill_value=0),
    SimpleImputer(),
]
LEARNING_NOTHING = [
    "passthrough",
    FunctionTransformer(np.tanh),
    Normalizer(),
    Stateless(),
    FrozenEstimator(StandardScaler().fit([[0.0] * 3, [1.0] * 3])),
    OneHotEncoder(categories=LEVELS, sparse_output=False, handle_unknown="ignore"),
    OrdinalEncoder(categories=LEVELS, handle_unknown="use_encoded_value", unknown_value=-1),
    PolynomialFeatures(),
    SimpleImputer(strategy="constant", fill_value=0, keep_empty_features=True),
]


@pytest.fixture(scope="module")
def bits():
    X = np.tile([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0]], (40, 1))
    return X, X[:, 0].astype(int)


@pytest.mark.parametrize("step", LEARNING + LEARNING_NOTHING, ids=lambda step: type(step).__name__)
def test_steps_that_learn_are_named(bits, step):
    pipe = Pipeline([("before", step), ("model", model())])
    messages = warnings_of(pipe.fit, *bits)
    if step in LEARNING_NOTHING:
        assert messages == []
        assert pipe[-1].guarantee_.state == "holds"
    else:
        # What a step of the user's own does is not known.
        is_known = type(step).__module__.startswith("sklearn")
        assert pipe[-1].guarantee_.state == ("does not hold" if is_known else "holds if")
        (message,) = messages
        assert "The step learns from the private rows" in message
        assert f": 'before' ({type(step).__name__}). " in message


NESTINGS = [
    (lambda step: ColumnTransformer([("part", step, [0, 1, 2])]), "part"),
    (lambda step: ColumnTransformer([("x", Normalizer(), [0])], remainder=step), "remainder"),
    (lambda step: FeatureUnion([("same", "passthrough"), ("part", step)]), "part"),
    (lambda step: Pipeline([("log", FunctionTransformer()), ("part", step)]), "part"),
]


@pytest.mark.parametrize(("wrap", "name"), NESTINGS)
def test_steps_that_learn_are_found_however_deep(bits, wrap, name):
    for step in (StandardScaler(), Normalizer()):
        messages = warnings_of(Pipeline([("before", wrap(step)), ("model", model())]).fit, *bits)
        assert len(messages) == isinstance(step, StandardScaler)
        assert all(f"'before__{name}' (StandardScaler)" in message for message in messages)


# --------------------------------------------------------------- where the pipeline may be


WRAPPERS = [
    lambda one: CalibratedClassifierCV(one, cv=2),
    lambda one: StackingClassifier([("one", one)], cv=2),
    lambda one: SelfTrainingClassifier(one, max_iter=1),
    lambda one: SequentialFeatureSelector(one, n_features_to_select=1, cv=2),
    lambda one: GridSearchCV(one, {"epsilon": [1.0, 2.0]}, cv=2),
]


@pytest.mark.parametrize("wrap", WRAPPERS)
def test_what_learns_around_the_fit_is_named(rows, wrap):
    wrapper = wrap(model())
    messages = warnings_of(wrapper.fit, *rows)
    assert {message.split(" learns")[0] for message in messages} == {
        f"Around this fit, {type(wrapper).__name__}"
    }
    # Of a search, the fit that has its choice; what is chosen by released importances is released.
    assert len(messages) == 1 or not isinstance(wrapper, GridSearchCV)
    importances = RFE(model(), importance_getter=lambda one: np.array(one.term_importances()))
    assert warnings_of(importances.fit, *rows) == []


def paid_score(estimator, X, y):
    return float(estimator.epsilon)


SEARCHES = [
    (None, [1.0, 2.0], "does not hold"),
    ("accuracy", [1.0, 2.0], "does not hold"),
    (paid_score, [1.0, 2.0], "holds if"),
    (None, [1.0], "holds"),
]


@pytest.mark.parametrize(("scoring", "epsilons", "state"), SEARCHES)
def test_what_a_search_chose_by_exact_scores_holds_nothing(rows, scoring, epsilons, state):
    for one in (model(), make_pipeline(Normalizer(), model())):
        name = "epsilon" if isinstance(one, dp.DPExplainableBoostingClassifier) else "__epsilon"
        name = name if name == "epsilon" else f"dpexplainableboostingclassifier{name}"
        search = GridSearchCV(one, {name: epsilons}, scoring=scoring, cv=2)
        warnings_of(search.fit, *rows)
        best = search.best_estimator_
        assert (best if name == "epsilon" else best[-1]).guarantee_.state == state
        # Fitted once more, its candidates are not its choice of before.
        assert len(warnings_of(search.fit, *rows)) == (state != "holds")


def test_wrappers_leave_conditions_or_failures(rows):
    """What is learned beside a model may stay unpublished; what it was given may not."""
    calibrated = CalibratedClassifierCV(model(), cv=2)
    stacked = StackingClassifier([("one", DecisionTreeClassifier())], model(), cv=2)
    tuned = TunedThresholdClassifierCV(model(epsilon=1000.0), cv=2)
    boosted = AdaBoostClassifier(model(epsilon=1000.0, privacy_weight_max=0.0125), n_estimators=1)
    for wrapper in (calibrated, stacked, tuned, boosted):
        warnings_of(wrapper.fit, *rows)
    promise = calibrated.calibrated_classifiers_[0].estimator.guarantee_
    assert promise.conditions == (
        "nothing that CalibratedClassifierCV learned around this fit is published",
    )
    assert "predictions of models" in stacked.final_estimator_.guarantee_.failures[0]
    assert tuned.estimator_.guarantee_.state == "holds if"
    assert boosted.estimators_[0].guarantee_.state == "does not hold"


@pytest.mark.parametrize("backend", ["threading", pytest.param("loky", marks=pytest.mark.thorough)])
def test_workers_of_scikit_learn_know_what_started_them_or_say_that_they_do_not(rows, backend):
    # A process takes seconds to begin.
    parts = [("one", model()), ("two", model())][: 2 if backend == "threading" else 1]
    vote = VotingClassifier(parts, n_jobs=2)
    pipe = make_pipeline(StandardScaler(), vote)
    with joblib.parallel_backend(backend):
        warnings_of(pipe.fit, *rows)
    promises = [one.guarantee_ for one in vote.estimators_]
    if backend == "threading":
        assert all("StandardScaler" in promise.failures[0] for promise in promises)
    else:
        assert all("started this worker" in promise.conditions[0] for promise in promises)


def test_other_threads_are_no_concern_of_an_honest_fit(rows):
    """A pipeline that learns runs in another thread, on other rows, at the same time."""
    X, y = rows
    learns, fitted = threading.Event(), threading.Event()

    def wait(table):
        learns.set()
        assert fitted.wait(60)
        return table

    busy = make_pipeline(StandardScaler(), FunctionTransformer(wait), Normalizer())
    other = threading.Thread(target=busy.fit, args=(X.copy(), y.copy()))
    other.start()
    assert learns.wait(60)
    vote = VotingClassifier([("one", model()), ("two", model())], n_jobs=2)
    with joblib.parallel_backend("threading"):
        messages = warnings_of(vote.fit, X, y)
    fitted.set()
    other.join()
    assert messages == []
    assert {one.guarantee_.state for one in vote.estimators_} == {"holds"}


def test_starting_scores_and_exact_scores_are_conditions(rows, tmp_path):
    X, y = rows
    started = model().fit(X, y, init_score=np.zeros(len(y)))
    assert "each row's init_score" in started.guarantee_.conditions[0]
    maps = dp.DPLocallyLinearClassifier(schema=SCHEMA, epochs=1)
    for scored in (model().fit(X, y), maps.fit(X, y)):
        assert scored.guarantee_.state == "holds"
        assert scored.score(X, y) == scored.score(X, y) == np.mean(scored.predict(X) == y)
        (condition,) = scored.guarantee_.conditions
        assert "score()" in condition
        scored.save(tmp_path / "model.json")
        assert dp.load_model(tmp_path / "model.json").guarantee_.conditions == (condition,)
        assert clone(scored).fit(X, y).guarantee_.state == "holds"


def test_the_ledger_knows_what_the_fit_saw(rows):
    ledger = dp.PrivacyLedger.in_memory()
    ledger.create_budget("a", epsilon=9, delta=1e-5)
    one = model(ledger=ledger, dataset="a")
    warnings_of(make_pipeline(StandardScaler(), clone(one)).fit, *rows)
    one.fit(*rows)
    first, second = ledger.to_dict("a")["datasets"][0]["requests"]
    assert "StandardScaler" in first["failures"][0]
    assert not second["failures"]


def test_a_search_inside_a_pipeline_sees_the_steps_outside(rows):
    search = GridSearchCV(model(), {"epsilon": [1.0, 2.0]}, cv=2)
    messages = warnings_of(make_pipeline(StandardScaler(), search).fit, *rows)
    assert len(messages) == 5
    assert ["GridSearchCV" in message for message in messages] == [False] * 4 + [True]
    inner = make_pipeline(SelectKBest(k=2), model())
    outer = make_pipeline(StandardScaler(), VotingClassifier([("one", inner)]))
    (message,) = warnings_of(outer.fit, *rows)
    assert "'selectkbest' (SelectKBest), 'standardscaler' (StandardScaler)" in message


def test_a_learned_transformation_of_the_target_counts(rows):
    X, _ = rows
    learned = TransformedTargetRegressor(regressor(), transformer=StandardScaler())
    (message,) = warnings_of(learned.fit, X, X[:, 0])
    assert "'transformer' (StandardScaler)" in message
    fixed = TransformedTargetRegressor(regressor(), func=np.sinh, inverse_func=np.arcsinh)
    assert warnings_of(fixed.fit, X, X[:, 0]) == []


# ------------------------------------------------------------------------ harmless by itself


def test_a_warning_turned_into_an_error_spends_nothing(rows):
    ledger = dp.PrivacyLedger.in_memory()
    pipe = make_pipeline(StandardScaler(), model(ledger=ledger, dataset="a"))
    with (
        warnings.catch_warnings(action="error"),
        pytest.raises(dp.PrivacyWarning, match="StandardScaler"),
    ):
        pipe.fit(*rows)
    assert not ledger.datasets()


def test_the_warning_points_at_the_users_line(rows):
    pipe = make_pipeline(StandardScaler(), model())
    for call in (lambda: pipe.fit(*rows), lambda: cross_val_score(pipe, *rows, cv=2)):
        with pytest.warns(dp.PrivacyWarning) as caught:
            call()
        assert {one.filename for one in caught if one.category is dp.PrivacyWarning} == {__file__}


def test_a_pipeline_that_cannot_be_read_is_warned_of_and_fits(rows):
    class Odd(Pipeline):
        def fit(self, X, y=None, **params):
            final = self.steps[-1][1]
            self.steps = 7
            final.fit(X, y)
            return self

    odd = Odd([("model", model())])
    (message,) = warnings_of(odd.fit, *rows)
    assert "Odd, which has unreadable steps" in message


def test_nothing_is_kept_alive(rows):
    """The frames that were looked at, and the rows in them, go when the fit ends."""
    X, y = rows
    pipe = make_pipeline(StandardScaler(), model())
    table = pd.DataFrame(X)
    gone = weakref.ref(table)
    gc.disable()
    try:
        assert warnings_of(clone(pipe).fit, table, y)
        del table
        assert gone() is None
    finally:
        gc.enable()
