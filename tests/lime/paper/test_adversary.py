"""Attacks on explanations that are paid row by row; each found something once, or nearly did."""

import os

import numpy as np
import pytest

from interpret_dp import Continuous, PrivacyLedger, Schema
from interpret_dp.audit import replay
from interpret_dp.audit.neighbours import explanation_parts
from interpret_dp.release import ReleaseSession
from tests.lime.paper.test_explainer import explainer
from tests.lime.tables import Risk, account, table

NUMBERS = Schema(default=Continuous(0, 100))
ROWS = np.random.default_rng(0).uniform(0, 100, (60, 3))
ODD = np.array([[1e200, 1.0, 1.0]])


def published(explanations):
    return {
        f"{at}": (explanation_parts(one), one.privacy.per_row.to_dict("list"))
        for at, one in enumerate(explanations)
    }


class _Halving:
    """Row-wise, but writes into what it is given, and fails on a row."""

    def __init__(self, failure):
        self._failure = failure

    def predict_proba(self, X):
        for row in X:
            row[0] *= 0.5
        ages = np.array([row[0] for row in X])
        if (ages > 1e100).any():
            raise self._failure
        return np.column_stack([1 - ages / 100, ages / 100])


@pytest.mark.parametrize("make", [np.array, np.ndarray.tolist])
@pytest.mark.parametrize("method", ["interactive", "adaptive"])
def test_a_model_that_writes_into_its_rows_does_not_let_one_change_others(method, make):
    """Rows are halved and asked again where one fails: what was written must not come back."""

    def explain(rows):
        model, given = _Halving(ValueError("too large")), {"schema": NUMBERS, "method": method}
        return [explainer(model, make(rows), **given).explain_local(make(ROWS[:2]))]

    report = replay(explain, np.vstack([ROWS, ODD]), ROWS, published=published)
    assert report.ok, report


@pytest.mark.parametrize("kind", [SystemExit, BaseException, GeneratorExit])
def test_a_model_that_exits_at_a_row_does_not_show_that_the_row_is_there(kind):
    rows, queries = np.vstack([ROWS, ODD]), ROWS[:2].copy()
    own = explainer(_Halving(kind("row 60")), rows, schema=NUMBERS)
    assert len(own.explain_local(queries).privacy.rows) == 2
    # What the model writes into the rows that it is given changes none of the user's.
    assert np.array_equal(rows, np.vstack([ROWS, ODD]))
    assert np.array_equal(queries, ROWS[:2])


class _Interrupted(Risk):
    """The user loses patience the first time that the private rows are asked about."""

    _is_first = True

    def predict_proba(self, X):
        if len(X) > 10 and self._is_first:
            self._is_first = False
            raise KeyboardInterrupt
        return super().predict_proba(X)


@pytest.mark.parametrize("method", ["interactive", "adaptive"])
def test_an_interruption_is_charged_alike_to_both_accounts(method, monkeypatch):
    """By nothing if it comes before any release, as while the model is asked."""
    release = ReleaseSession.gaussian

    def interrupted(session, *arguments, **named):
        release(session, *arguments, **named)
        raise KeyboardInterrupt

    ledger = account(10.0)
    own = explainer(_Interrupted(), ledger=ledger, dataset="people", method=method)
    with pytest.raises(KeyboardInterrupt):
        own.explain_local(table(2, seed=5))
    assert ledger.spent("people").mu == own.spent_mu == 0
    with monkeypatch.context() as patched:
        patched.setattr(ReleaseSession, "gaussian", interrupted)
        with pytest.raises(KeyboardInterrupt):
            own.explain_local(table(2, seed=5))
    spent = ledger.spent("people").mu
    assert spent > 0
    assert own.spent_mu == pytest.approx(spent, rel=1e-9)
    own.explain_local(table(2, seed=5))
    assert ledger.spent("people").mu > spent


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
def test_a_forked_copy_cannot_spend_the_explainer_s_budget_again(tmp_path):
    ledger = PrivacyLedger(f"sqlite:///{tmp_path / 'privacy.db'}")
    ledger.create_budget("people", 10.0, 1e-6)
    own = explainer(per_query=1.0, ledger=ledger, dataset="people")
    child = os.fork()
    if child == 0:  # pragma: no cover
        try:
            own.explain_local(table(1, seed=5))
        except Exception as error:
            os._exit(7 if "forked" in str(error) else 8)
        os._exit(9)
    assert os.waitpid(child, 0)[1] >> 8 == 7
    assert ledger.spent("people").mu == 0


@pytest.mark.parametrize("kind", ["numpy array", "list"])
def test_rows_that_the_model_might_not_read_are_refused_before_they_are_paid_for(kind):
    """The model would fail on all private rows, in silence, and be paid for."""
    cells = table(20).to_numpy(dtype=object)
    data = cells if kind == "numpy array" else cells.tolist()
    own = explainer(data=data, feature_names=["age", "site", "noise"])
    with pytest.raises(TypeError, match=f"X is a pandas DataFrame, and .* are a {kind}"):
        own.explain_local(table(1, seed=5))
    assert own.spent_mu == 0
