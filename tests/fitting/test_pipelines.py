"""Steps that learn from the private rows before the model are named in a warning."""

from __future__ import annotations

import gc
import warnings
import weakref
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.feature_selection import RFE, SelectKBest, SequentialFeatureSelector
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, cross_val_score
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

from interpret_dp import (
    Categorical,
    Continuous,
    DPExplainableBoostingClassifier,
    DPExplainableBoostingRegressor,
    DPLocallyLinearClassifier,
    PrivacyLedger,
    PrivacyWarning,
    PrivateSurrogate,
    Schema,
)

SCHEMA = Schema(default=Continuous(-3, 3), target=Categorical([0, 1]))


@pytest.fixture(scope="module")
def rows() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    return X, (X[:, 0] > 0).astype(int)


def model(**parameters: Any) -> DPExplainableBoostingClassifier:
    return DPExplainableBoostingClassifier(schema=SCHEMA, max_rounds=1, **parameters)


def first_column(X: Any) -> Any:
    return np.asarray(X)[:, 0]


def regressor() -> DPExplainableBoostingRegressor:
    schema = Schema(default=Continuous(-3, 3), target=Continuous(-3, 3))
    return DPExplainableBoostingRegressor(schema=schema, max_rounds=1)


def warnings_of(fit: Any, *arguments: Any) -> list[str]:
    """Return the privacy warnings of a call."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit(*arguments)
    return [str(one.message) for one in caught if one.category is PrivacyWarning]


# ------------------------------------------------------------------------- what is named


def test_every_learning_step_is_named_and_no_other(rows: Any) -> None:
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
    assumptions = pipe[-1].guarantee_.assumptions
    assert assumptions[-1].startswith("'impute' (SimpleImputer), 'scale' (StandardScaler), which")


def test_every_guarantee_names_the_steps(rows: Any) -> None:
    X, y = rows
    schema = SCHEMA.replace(target=None)
    for explainer, arguments in (
        (DPLocallyLinearClassifier(schema=SCHEMA, epochs=1), (X, y)),
        (PrivateSurrogate(first_column, schema, trained_on_same_people=False), (X,)),
    ):
        pipe = make_pipeline(StandardScaler(), explainer)
        assert len(warnings_of(pipe.fit, *arguments)) == 1
        assert any("'standardscaler'" in line for line in pipe[-1].guarantee_.assumptions)
        released = pipe[-1].to_released()
        assert released.guarantee.assumptions == pipe[-1].guarantee_.assumptions


def test_the_warning_does_not_depend_on_rows(rows: Any) -> None:
    pipe = make_pipeline(StandardScaler(), model())
    X, y = rows
    assert warnings_of(pipe.fit, X, y) == warnings_of(pipe.fit, X[:0:-3] * 1e6, y[:0:-3])


class Undeclared(TransformerMixin, BaseEstimator):
    """A step of a user's own that does not say that it needs no fit."""

    def fit(self, X: Any, y: Any = None) -> Undeclared:
        return self

    def transform(self, X: Any) -> Any:
        return X


class WithoutTags(Undeclared):
    """A step that scikit-learn accepts and whose tags cannot be read."""

    def __sklearn_tags__(self) -> Any:
        raise NotImplementedError


class Stateless(Undeclared):
    def __sklearn_tags__(self) -> Any:
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
def bits() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    X = np.tile([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0]], (40, 1))
    return X, X[:, 0].astype(int)


@pytest.mark.parametrize("step", LEARNING + LEARNING_NOTHING, ids=lambda step: type(step).__name__)
def test_steps_that_learn_are_named(bits: Any, step: Any) -> None:
    messages = warnings_of(Pipeline([("before", step), ("model", model())]).fit, *bits)
    if step in LEARNING_NOTHING:
        assert messages == []
    else:
        (message,) = messages
        assert "The step learns from the private rows" in message
        assert f": 'before' ({type(step).__name__}). " in message


@pytest.mark.parametrize(
    ("wrap", "name"),
    [
        (lambda step: ColumnTransformer([("part", step, [0, 1, 2])]), "part"),
        (lambda step: ColumnTransformer([("x", Normalizer(), [0])], remainder=step), "remainder"),
        (lambda step: FeatureUnion([("same", "passthrough"), ("part", step)]), "part"),
        (lambda step: Pipeline([("log", FunctionTransformer()), ("part", step)]), "part"),
    ],
)
def test_steps_that_learn_are_found_however_deep(bits: Any, wrap: Any, name: str) -> None:
    for step in (StandardScaler(), Normalizer()):
        messages = warnings_of(Pipeline([("before", wrap(step)), ("model", model())]).fit, *bits)
        assert len(messages) == isinstance(step, StandardScaler)
        assert all(f"'before__{name}' (StandardScaler)" in message for message in messages)


# --------------------------------------------------------------- where the pipeline may be


@pytest.mark.parametrize(
    "wrap",
    [
        lambda one: CalibratedClassifierCV(one, cv=2),
        lambda one: StackingClassifier([("one", one)], cv=2),
        lambda one: SelfTrainingClassifier(one, max_iter=1),
        lambda one: SequentialFeatureSelector(one, n_features_to_select=1, cv=2),
        lambda one: GridSearchCV(one, {"epsilon": [1.0]}, cv=2),
    ],
)
def test_what_learns_around_the_fit_is_named(rows: Any, wrap: Any) -> None:
    wrapper = wrap(model())
    messages = warnings_of(wrapper.fit, *rows)
    assert {message.split(" learns")[0] for message in messages} == {
        f"Around this fit, {type(wrapper).__name__}"
    }
    # Of a search, the fit that has its choice; what is chosen by released importances is released.
    assert len(messages) == 1 or not isinstance(wrapper, GridSearchCV)
    importances = RFE(model(), importance_getter=lambda one: np.array(one.term_importances()))
    assert warnings_of(importances.fit, *rows) == []


def test_a_search_inside_a_pipeline_sees_the_steps_outside(rows: Any) -> None:
    search = GridSearchCV(model(), {"epsilon": [1.0]}, cv=2)
    messages = warnings_of(make_pipeline(StandardScaler(), search).fit, *rows)
    assert len(messages) == 3
    assert ["GridSearchCV" in message for message in messages] == [False, False, True]
    inner = make_pipeline(SelectKBest(k=2), model())
    outer = make_pipeline(StandardScaler(), VotingClassifier([("one", inner)]))
    (message,) = warnings_of(outer.fit, *rows)
    assert "'selectkbest' (SelectKBest), 'standardscaler' (StandardScaler)" in message


def test_a_learned_transformation_of_the_target_counts(rows: Any) -> None:
    X, _ = rows
    learned = TransformedTargetRegressor(regressor(), transformer=StandardScaler())
    (message,) = warnings_of(learned.fit, X, X[:, 0])
    assert "'transformer' (StandardScaler)" in message
    fixed = TransformedTargetRegressor(regressor(), func=np.sinh, inverse_func=np.arcsinh)
    assert warnings_of(fixed.fit, X, X[:, 0]) == []


# ------------------------------------------------------------------------ harmless by itself


def test_a_warning_turned_into_an_error_spends_nothing(rows: Any) -> None:
    ledger = PrivacyLedger.in_memory()
    pipe = make_pipeline(StandardScaler(), model(ledger=ledger, dataset="a"))
    with (
        warnings.catch_warnings(action="error"),
        pytest.raises(PrivacyWarning, match="StandardScaler"),
    ):
        pipe.fit(*rows)
    assert not ledger.datasets()


def test_the_warning_points_at_the_users_line(rows: Any) -> None:
    pipe = make_pipeline(StandardScaler(), model())
    for call in (lambda: pipe.fit(*rows), lambda: cross_val_score(pipe, *rows, cv=2)):
        with pytest.warns(PrivacyWarning) as caught:
            call()
        assert {one.filename for one in caught if one.category is PrivacyWarning} == {__file__}


def test_a_pipeline_that_cannot_be_read_is_warned_of_and_fits(rows: Any) -> None:
    class Odd(Pipeline):
        def fit(self, X: Any, y: Any = None, **params: Any) -> Odd:
            final = self.steps[-1][1]
            self.steps = 7
            final.fit(X, y)
            return self

    (message,) = warnings_of(Odd([("model", model())]).fit, *rows)
    assert "Odd, which has unreadable steps" in message


def test_nothing_is_kept_alive(rows: Any) -> None:
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
