"""What an interactive session prints for released things: one line each, with the promise."""

from __future__ import annotations

import dataclasses

import pytest

from interpret_dp import DPExplainableBoostingClassifier


@pytest.fixture(scope="module")
def fitted(cohort):
    model = DPExplainableBoostingClassifier(epsilon=2.0, schema=cohort.schema, dataset="ward")
    return model.fit(cohort.X, cohort.y)


def test_a_released_model_names_task_terms_and_promise(fitted):
    assert repr(fitted.to_released()) == (
        "<AdditiveModel: classification of 10 terms, epsilon 2 at delta 1e-05, data set 'ward'>"
    )


def test_an_explanation_names_kind_title_and_parts(fitted, cohort):
    local = fitted.explain_local(cohort.X[:3], name="three")
    assert repr(local).endswith(
        "'three': local, 3 parts, epsilon 2 at delta 1e-05, data set 'ward'>"
    )


def test_a_spend_prints_its_line(fitted):
    assert str(fitted.privacy_spend_) == fitted.privacy_spend_.line


def test_a_void_promise_is_no_figure(fitted):
    void = dataclasses.replace(fitted.guarantee_, tests_only=True)
    assert void.brief == "for tests only, nothing promised"
    nameless = dataclasses.replace(fitted.guarantee_, dataset=None, epsilon=2.00001)
    assert nameless.brief == "epsilon 2.01 at delta 1e-05"
