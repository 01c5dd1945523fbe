"""A plan of a fit: what it says, and that it reads no private row and writes to no ledger."""

import dataclasses
import math

import numpy as np
import pytest

import interpret_dp as dp
from interpret_dp.datasets import make_cohort, simulate_table
from interpret_dp.ledger import default_ledger

DELTA = 1e-6


@pytest.fixture(scope="module")
def schema():
    features = {"age": dp.Integer(18, 95), "dose": dp.Continuous(0, 50, scale="log")}
    return dp.Schema(
        {**features, "sex": dp.Categorical(["f", "m"])}, target=dp.Categorical(["no", "yes"])
    )


@pytest.fixture(scope="module")
def planned(schema):
    return dp.plan(schema, [4_000, 40_000], [0.5, 2], delta=DELTA, rate=0.3, limit=4, n_fits=1)


def test_a_budget_and_rows_buy_smaller_effects(planned):
    table = planned.to_frame().query("kind == 'all'").set_index(["n_rows", "epsilon"])
    effects = table["smallest_effect"]
    assert effects[4_000, 0.5] > 1.1 * effects[4_000, 2] > 2 * effects[40_000, 2]
    # Finer bins of a larger budget have wider bands, and hide no effect.
    assert effects[40_000, 0.5] > 2 * effects[40_000, 2]
    assert effects[4_000, 0.5] > 1.4 * effects[40_000, 0.5]
    # A level needs rows by the noise of its count, whatever the table's size.
    assert table["level_rows"][4_000, 0.5] > 2 * table["level_rows"][40_000, 2]
    assert list(table["fits_left"]) == [45, 3, 45, 3]
    assert planned.fits[0].total_error is None
    assert 0 < planned.fits[1].label_rows < planned.fits[0].label_rows <= 2_000


def test_the_width_is_that_of_a_fit(schema, planned):
    table = simulate_table(schema, 4_000, rate=0.3, seed=5)
    model = dp.DPExplainableBoostingClassifier(epsilon=2, delta=DELTA, schema=schema)
    terms = model.fit(table.X, table.y).released_.terms
    widths = [1.96 * np.quantile(t.noise_deviations[1:-1], [0.25, 0.75]) for t in terms]
    for (low, high), width in zip(widths, planned.fits[1].widths.values(), strict=True):
        assert 0.7 * low < width < 1.4 * high


def test_the_epsilon_of_an_effect_lies_between_planned_ones(planned):
    largest, smallest = (float(np.median(list(fit.effects.values()))) for fit in planned.fits[:2])
    assert 0.5 < planned.epsilon_for(math.sqrt(largest * smallest), 4_000) < 2
    assert planned.epsilon_for(largest, 4_000) == pytest.approx(0.5)
    with pytest.raises(ValueError, match="Plan larger epsilons"):
        planned.epsilon_for(smallest / 10, 4_000)
    with pytest.raises(ValueError, match="one of the planned"):
        planned.epsilon_for(smallest, 100)


def test_text_figures_and_page_say_the_same(planned):
    text = str(planned)
    assert "no private row was read. Nothing was charged." in text
    assert "rate 0.3 as guessed" in text
    assert "band" not in text
    effects, curves = planned.draw(), planned.draw("curves", 40_000)
    table = planned.to_frame().query("kind != 'all'")
    lines = {trace.name: dict(zip(trace.x, trace.y, strict=True)) for trace in effects.data}
    for row, shown in zip(planned.text_rows(), table.itertuples(), strict=True):
        assert lines[f"{row[2]}, {row[0]} rows"][shown.epsilon] == shown.smallest_effect
        assert row[3] == f"{shown.smallest_effect:.3g}"
        assert row[-1] == f"Shows odds of {math.exp(shown.smallest_effect):.3g} times the average."
        assert row[-1] in text
    assert all(
        list(line.values()) == sorted(line.values(), reverse=True) for line in lines.values()
    )
    assert curves.layout.title.text.startswith("age: one planned fit of 40,000 rows")
    strips = [trace.y[0] for trace in curves.data if trace.fill == "toself"]
    assert strips == [fit.effects["age"] for fit in planned.fits[2:]]
    assert strips[0] > strips[1]
    chosen = planned.draw("slider", 40_000)
    (slider,) = chosen.layout.sliders
    for fit, step in zip(planned.fits[2:], slider.steps, strict=True):
        drawn = [t for t, on in zip(chosen.data, step.args[0]["visible"], strict=True) if on]
        (mark,) = (trace for trace in drawn if trace.name == "chosen epsilon")
        assert mark.x == (fit.epsilon, fit.epsilon)
        assert next(t.y for t in drawn if t.name == "noisy curve")[:-1] == tuple(fit.curve.noisy)
        assert f"levels {mark.y[0]:.3g} at {fit.epsilon:g}" in chosen.layout.meta["alternative"]
    page = planned.to_html()
    assert all(note in page for note in ("Plan of a private fit", planned.text_rows()[0][-1]))
    hopeless = dict.fromkeys(planned.kinds, math.inf)
    fits = tuple(dataclasses.replace(fit, effects=hopeless) for fit in planned.fits)
    none = dataclasses.replace(planned, fits=fits)
    assert {row[-1] for row in none.text_rows()} == {"No effect shows."}
    (low, high) = none.draw("curves", 40_000).layout.yaxis.range
    assert np.isfinite([low, high]).all()
    with pytest.raises(ValueError, match="There is no curve of 7 rows"):
        planned.draw("curves", 7)
    with pytest.raises(ValueError, match="one of the planned"):
        planned.draw("slider", 7)


def test_a_ledger_is_read_and_never_written(schema, tmp_path):
    url = f"sqlite:///{tmp_path / 'privacy.db'}"
    dp.PrivacyLedger(url).create_budget("ward", epsilon=4, delta=DELTA)
    file = tmp_path / "privacy.db"
    before, of_process = file.read_bytes(), default_ledger().datasets()
    file.chmod(0o400)
    planned = dp.plan(schema, 1_000, 2, delta=DELTA, rate=0.3, ledger=url, dataset="ward", n_fits=1)
    assert planned.fits[0].fits_left == 3
    assert [path.name for path in tmp_path.iterdir()] == ["privacy.db"]
    assert file.read_bytes() == before
    assert default_ledger().datasets() == of_process
    with pytest.raises(dp.LedgerError):
        dp.plan(schema, 1_000, 2, delta=DELTA, rate=0.3, ledger=url, dataset="other", n_fits=1)


def test_the_same_arguments_give_the_same_plan(schema):
    settings = {"delta": DELTA, "rate": 0.3, "n_fits": 1}
    first, second = (dp.plan(schema, 500, 1, **settings) for _ in range(2))
    assert str(first) == str(second)


def test_public_rows_say_which_accuracy_to_expect():
    public = make_cohort(3_000, seed=2)
    with pytest.warns(dp.PrivacyWarning, match="must be public"):
        planned = dp.plan(
            public.schema, 3_000, [0.05, 4], delta=DELTA, like=(public.X, public.y), n_fits=1
        )
    table = planned.to_frame().query("kind == 'all'")
    assert table["auroc"].iloc[0] < table["auroc"].iloc[1]
    assert 0.6 < table["auroc"].iloc[1] < 0.9
    assert table["correlated_width"].isna().all()


def test_a_unit_with_more_rows_needs_wider_bands():
    features, target = {"age": dp.Integer(18, 95)}, dp.Continuous(0, 100)

    def planned(unit, **given):
        schema = dp.Schema(features, target=target, unit=unit)
        return dp.plan(schema, 20_000, 1, delta=DELTA, spread=10, n_fits=1, **given)

    row, unit = planned(None), planned(dp.PrivacyUnit("id", max_rows=4))
    people = planned(dp.PrivacyUnit(["id", "house"], max_rows=4), population="people")
    assert people.fits[0].level_rows == pytest.approx(unit.fits[0].level_rows / 4)
    more = planned(dp.PrivacyUnit("id", max_rows=4, total_rows=9))
    assert more.fits[0].total_error > unit.fits[0].total_error
    assert "on average, of up to 9 rows of each. Nothing was charged" in str(more)
    assert unit.fits[0].effects["age"] > 2 * row.fits[0].effects["age"]
    assert unit.unit == "units of the target"
    assert 0 < 2 * row.fits[0].total_error < unit.fits[0].total_error
    said = f"of all predictions is right to within ±{row.fits[0].total_error:.2g} at epsilon 1"
    assert said in str(row)
    assert (
        row.text_rows()[0][-1] == f"Shows means {row.fits[0].effects['age']:.3g} off the average."
    )


UNUSABLE_ARGUMENTS = [
    ({"rate": None}, ValueError, "your own public guess"),
    ({"rate": 1.5}, ValueError, "rate"),
    ({"spread": 2.0}, ValueError, "not the other one"),
    ({"n_rows": []}, ValueError, "one each or more"),
    ({"epsilon": 0}, ValueError, "epsilon"),
    ({"limit": 4, "ledger": "sqlite://"}, ValueError, "both given"),
    ({"ledger": "sqlite:///x.db"}, ValueError, "without dataset="),
    ({"like": 3, "rate": None}, TypeError, "pair"),
    ({"schema": dp.Schema({"age": dp.Integer(0, 9)})}, dp.SchemaError, "target"),
]


@pytest.mark.parametrize(("changed", "error", "match"), UNUSABLE_ARGUMENTS)
def test_unusable_arguments_are_refused(schema, changed, error, match):
    given = {"schema": schema, "n_rows": 100, "epsilon": 1, "delta": DELTA, "rate": 0.3}
    with pytest.raises(error, match=match):
        dp.plan(**given | changed)
