"""DPLimeTabular as its users meet it: what it returns, whom it protects, what it refuses."""

import math
from importlib import import_module

import numpy as np
import pandas as pd
import pytest

from interpret_dp import DPLimeTabular, Guarantee, PrivacyWarning, PrivateBackground
from tests.lime.tables import SCHEMA, Risk, Three, account, table


def explainer(model=None, **given):
    arguments = {"schema": SCHEMA, "trained_on_same_people": False} | given
    return DPLimeTabular(Risk() if model is None else model, table(), **arguments)


def test_it_explains_what_the_background_explains():
    """A background that was released before costs nothing and needs no rows."""
    ledger = account()
    own = explainer(ledger=ledger, dataset="people")
    head = ledger.head
    assert own.guarantee_.epsilon == 0.1
    rows = table(3, seed=5)
    record = own.explain_local(rows, y=["low"] * 3, name="mine").data(1)
    for background in (own.background, own.background.to_released()):
        again = DPLimeTabular(Risk(), background=background, trained_on_same_people=False)
        assert again.guarantee_ == own.guarantee_
        assert again.explain_local(rows, y=["low"] * 3).data(1) == record
    assert ledger.head == head


ACTUAL_LABELS = [
    (["low", "high"], ["high", "low", "unknown"]),
    *(
        (classes, [1.0, 0.0, math.nan])
        for classes in (["0.0", "1.0"], [0.0, 1.0], [0, 1], [False, True])
    ),
]


@pytest.mark.parametrize(("classes", "y"), ACTUAL_LABELS)
def test_actual_labels_are_shown_beside_the_prediction(classes, y):
    own = explainer(type("Labelled", (Risk,), {"classes_": np.array(classes)})())
    explanation = own.explain_local(table(3, seed=2), y=y)
    actual = [explanation.data(row)["perf"]["actual"] for row in range(3)]
    np.testing.assert_array_equal(actual, [1.0, 0.0, math.nan])
    with pytest.raises(ValueError, match=r"y has shape \(2,\)"):
        own.explain_local(table(3), y=y[:2])


def model_promise_of(epsilon, delta=1e-6, **given):
    return Guarantee(epsilon=epsilon, delta=delta, mu=None, mechanism="some", **given)


PROMISES = [
    (False, None, "with the model taken as given; nothing is promised to the people that it"),
    (True, None, "nothing protects against what the model itself reveals"),
    (False, (2.0, 1e-5), "keep the model's own promise, epsilon 2 at delta 1e-05"),
    (True, (2.0, 1e-5), "together are (2.1, 1.11e-05)-differentially private"),
    (True, model_promise_of(0.5), "together are (0.6, 2e-06)-differentially private"),
    (True, model_promise_of(1.0, neighboring="replace_one"), "do not add up to one figure"),
]


@pytest.mark.parametrize(("same", "promise", "says"), PROMISES)
def test_the_guarantee_says_whom_it_is_about(same, promise, says):
    own = explainer(trained_on_same_people=same, model_guarantee=promise)
    assert says in own.guarantee_.sentence
    assert "Rows that are asked about are not protected" in own.guarantee_.sentence
    assert ("nobody in the explanation data" in str(own.guarantee_)) is not same
    assert own.explain_local(table(1)).privacy.guarantee == own.guarantee_
    assert Guarantee.from_dict(own.guarantee_.to_dict()) == own.guarantee_


@pytest.mark.parametrize("same", [True, False])
def test_a_model_whose_promise_does_not_hold(same):
    """It reveals the same people too; others keep what the explanations promise them."""
    void = model_promise_of(1.0, tests_only=True)
    own = explainer(trained_on_same_people=same, model_guarantee=void).guarantee_
    assert own.state == ("does not hold" if same else "holds")
    assert "fixed seed" in own.sentence
    assert "epsilon 1 " not in own.sentence


def test_the_promise_of_our_own_models_is_found_and_composed_exactly():
    model = Risk()
    model.guarantee_ = Guarantee(epsilon=1.0, delta=1e-6, mu=0.2, mechanism="a", dataset="people")
    own = explainer(
        model, trained_on_same_people=True, epsilon=1.0, ledger=account(), dataset="people"
    )
    assert "together are (" in own.guarantee_.sentence
    # Squares add up: far below the sum of both epsilons.
    assert "(2," not in own.guarantee_.sentence
    with pytest.warns(PrivacyWarning, match="two names|both are about the same people"):
        explainer(model, trained_on_same_people=True)


def test_several_scores_are_no_probabilities_and_names_must_fit():
    def scores(X):
        return np.column_stack([X["age"].fillna(50), X["noise"].fillna(0)])

    def marks(X):
        return np.full((len(X), 3), 0.5)

    own = explainer(scores)
    background = own.background
    assert own.explain_local(table(1), explained_class=1).data(0)["output"] == "output 1"
    assert background.explain_local(marks, table(1)).data(0)["output"] == "output 0"
    assert background.explain_global(marks).output == "value of each output"
    assert background.explain_global(Three()).output == "probability of each class"
    scores.classes_ = ["no", "yes", "maybe"]
    with pytest.raises(ValueError, match=r"classes_ is 3, and of its output for a row 2"):
        own.explain_local(table(1))

    def risk(X):
        return Risk().predict_proba(X)[:, 1]

    risk.classes_ = ["low", "high"]
    assert background.explain_local(risk, table(1)).data(0)["output"] == "probability of high"


def needs_more(X):
    return X["other"] + X["age"]


def test_a_model_of_more_columns_is_explained_by_rows_that_have_them():
    background = PrivateBackground(SCHEMA, epsilon=10).fit(table())
    own = DPLimeTabular(needs_more, background=background, trained_on_same_people=False)
    with pytest.raises(ValueError, match=r"KeyError: 'other'\. It has columns 'age', .* rows="):
        own.explain_global()
    assert own.explain_global(rows=table(2).assign(other=1.0)).data(0)["scores"][0] < 0


@pytest.mark.filterwarnings("ignore::interpret_dp.UndeclaredWarning")
def test_no_value_of_an_undeclared_column_is_known_to_try_a_model_with():
    def picky(X):
        return X["site"].map({"a": 0.0, "b": 0.5, "c": 1.0})

    own = explainer(picky, schema=SCHEMA.drop(["site"]), epsilon=3.0)
    assert own.explain_local(table(1)).data(0)["scores"][1] != 0


def test_it_prints_its_promise_and_no_row():
    own = explainer(epsilon=2.0, ledger=account(), dataset="people")
    assert repr(own) == "<DPLimeTabular: epsilon 2 at delta 1e-06, data set 'people'>"


def test_what_the_earlier_form_had_is_named_with_what_replaces_it():
    with pytest.raises(TypeError, match=r"trained_on_same_people is None .*True or False"):
        DPLimeTabular(Risk(), table(), schema=SCHEMA)
    with pytest.raises(TypeError, match=r"no parameter method: .* paid for row by row"):
        explainer(method="auto")
    with pytest.raises(TypeError, match=r"PrivateBackground\(\.\.\., dependence=False\)"):
        explainer(dependence=False)
    with pytest.raises(AttributeError, match="no cost: it is charged once"):
        explainer().cost(3)
    with pytest.raises(Exception, match="not fitted"):
        DPLimeTabular(Risk(), background=PrivateBackground(), trained_on_same_people=False)


def test_a_model_that_writes_into_its_rows_changes_nothing():
    def scaled(X):
        X["age"] = (X["age"].fillna(50) - 50) / 10
        return 1 / (1 + np.exp(-X["age"].to_numpy()))

    own, rows = explainer(scaled), table(2, seed=5)
    given = rows.copy()
    record = own.explain_local(rows).data(0)
    copied = DPLimeTabular(
        lambda X: scaled(X.copy()), background=own.background, trained_on_same_people=False
    )
    assert record["scores"] == copied.explain_local(rows).data(0)["scores"]
    assert record["values"][0] == given["age"][0]
    pd.testing.assert_frame_equal(rows, given)


@pytest.mark.parametrize("constant", [0.0, 0.8])
def test_a_constant_model_has_no_effects(constant):
    explanation = explainer(lambda X: np.full(len(X), constant)).explain_local(table(1))
    assert set(explanation.data(0)["scores"]) == {0.0}
    assert explanation.data(0)["fit"] == {"prediction": pytest.approx(constant), "fidelity": 1.0}
    assert "0 of 3 effects" in explanation.visualize(0).layout.annotations[-1].text


def test_what_a_background_has_of_its_own_cannot_be_given_beside_it():
    background = explainer().background
    given = {"schema": SCHEMA, "epsilon": 0.2, "unit": [1], "ledger": account()}
    with pytest.raises(TypeError, match="background and schema, epsilon, unit, ledger are given"):
        DPLimeTabular(Risk(), background=background, trained_on_same_people=False, **given)
    # A released background has no ledger: it can be read from one that is given.
    given = {"ledger": account(), "trained_on_same_people": False}
    own = DPLimeTabular(Risk(), background=background.to_released(), **given)
    assert own.background.ledger is given["ledger"]
    assert own.background.privacy_spend_.subject == "background"
    with pytest.raises(TypeError, match="model is the class Risk"):
        explainer(Risk)


def test_the_removed_surrogate_says_what_replaces_it():
    with pytest.raises(ImportError, match=r"removed\. Fit an additive model .*docs/surrogate\.md"):
        import_module("interpret_dp").PrivateSurrogate  # noqa: B018
