"""Maps of a made-up released model, without torch: numbers, objects, files, figures."""

import dataclasses

import numpy as np
import pytest

from interpret_dp import Categorical, Continuous, Schema
from interpret_dp.explanation.maps import map_use, offered_classes, place_words, read_row
from tests.contract.explainers.test_copies import MADE_UP
from tests.explanation import maps_models as maps

KINDS = [f"{of} {what}" for of in ("table", "image", "stroke") for what in ("classes", "rows")]
HOSTILE = "<img src=x onerror=alert(1)>"


def texts_of(figure):
    return " ".join(
        [figure.layout.title.text, *(note.text for note in figure.layout.annotations or ())]
    ).replace("<br>", " ")


# -------------------------------------------------------------------------------------- numbers


def test_the_top_maps_are_those_of_the_largest_softmax():
    model = maps.table_model(n_maps=5)
    one = read_row(model, maps.TABLE_INPUTS[0], 1)
    values = model.weights[1] @ maps.TABLE_INPUTS[0] + model.biases[1]
    powers = np.exp(values)
    assert one.shares == pytest.approx(powers / powers.sum())
    assert list(one.top) == list(np.argsort(-values)[:3])
    assert one.weighted_map == pytest.approx((powers / powers.sum()) @ model.weights[1])
    fewer = maps.table_rows(model=maps.table_model(n_maps=2)).figure(0, label="low")
    assert sum(trace.type == "scatter" for trace in fewer.data) == 2


def test_the_use_of_maps_is_counted_on_the_given_rows():
    model = maps.table_model()
    rows = np.random.default_rng(0).normal(size=(2_500, model.n_inputs))
    use = map_use(model, rows)
    expected = model.map_shares(rows).argmax(axis=2)
    assert use.n_rows == 2_500
    for index in range(3):
        counts = np.bincount(expected[:, index], minlength=4) / 2_500
        assert use.shares[index] == pytest.approx(counts)
    with pytest.raises(ValueError, match="no rows"):
        map_use(model, rows[:0])


def test_of_many_classes_the_ten_most_probable_and_the_actual_one_are_offered():
    chances = np.arange(30.0)[::-1]
    assert offered_classes(chances, 4) == list(range(10))
    assert offered_classes(chances, 25) == [*range(10), 25]
    assert offered_classes(chances[:3], None) == [0, 1, 2]


def test_pixels_are_compared_with_the_declared_background():
    model = maps.image_model(background=1.0)
    blank = np.full(model.n_inputs, (1.0 - 0.13) / 0.31)
    assert model.reference == pytest.approx(blank)
    assert maps.image_model().reference == pytest.approx(np.full(model.n_inputs, -0.13 / 0.31))
    assert not maps.table_model().reference.any()
    one = read_row(model, blank, 1)
    assert not one.contributions.any()
    assert one.bias == pytest.approx(model.scores(blank[None])[0, 1])


@pytest.mark.parametrize("explanation", [maps.table_rows(), maps.image_rows(), maps.stroke_rows()])
def test_a_comparison_of_two_classes_adds_up_to_the_logarithm_of_their_odds(explanation):
    first, second, _ = explanation.released.classes
    one = explanation.reading(0, first, against=second)
    chances = explanation.released.predict_proba(explanation.inputs[:1])[0]
    total = one.contributions.sum() + one.bias
    assert total == pytest.approx(one.score) == pytest.approx(np.log(chances[0] / chances[1]))
    figure = explanation.figure(0, label=first, against=second)
    assert f", compared with {second}" in figure.layout.title.text
    with pytest.raises(ValueError, match="against is 'nobody'; it must be one of"):
        explanation.figure(0, against="nobody")


# ------------------------------------------------------------------------------------- objects


@pytest.mark.parametrize("kind", KINDS)
def test_every_view_states_its_cost_and_that_the_noise_is_not_known(kind):
    explanation = MADE_UP[kind]()
    for key in (None, 1):
        text = texts_of(explanation.visualize(key))
        assert "Privacy cost of this explanation: 0" in text
        assert "No noise band: these weights come from" in text
        assert "cannot be derived" in text
    assert "Privacy cost" not in texts_of(explanation.figure(1, line=""))


def test_a_row_is_listed_with_what_was_predicted_and_what_came_true():
    explanation = maps.table_rows()
    table = explanation.selector
    best = explanation.released.predict_proba(maps.TABLE_INPUTS).argmax(axis=1)
    assert list(table["Predicted"]) == [explanation.released.classes[i] for i in best]
    assert list(table["Actual"]) == ["high", "middle", ""]
    record = explanation.data(0)
    assert sum(record["scores"]) + record["extra"]["scores"][0] == pytest.approx(record["score"])
    assert record["perf"]["actual"] == 0
    assert list(explanation.data(-1)["mli"][1]["value"]["dataset_y"]) == [0, 2, -1]
    unknown = maps.table_rows(actual=None)
    assert "Actual" not in unknown.selector
    assert unknown.data(-1)["mli"][1]["value"]["dataset_y"] is None


def test_wrong_parts_are_refused():
    model = maps.table_model()
    with pytest.raises(ValueError, match="no rows"):
        maps.rows_of(model, maps.TABLE_INPUTS[:0], [])
    with pytest.raises(ValueError, match=r"must be \(n_rows, 7\)"):
        maps.rows_of(model, maps.TABLE_INPUTS[:, :5], [[1, "a", 2, "b"]] * 3)
    with pytest.raises(ValueError, match="must be one of"):
        maps.table_rows().figure(0, label="nobody")
    with pytest.raises(ValueError, match="no rows; use explain_local"):
        maps.all_maps(model).reading(0)
    for explanation, key in ((maps.all_maps(model), 0), (maps.image_rows(), None)):
        with pytest.raises(ValueError, match="it chooses the class of one row"):
            explanation.figure(key, label=explanation.released.classes[0])
        for wrong in (-1, 99):
            with pytest.raises(ValueError, match=r"must be an integer at least 0 and at most \d\."):
                explanation.figure(wrong)


# ------------------------------------------------------------------------------------- figures


def test_the_bars_of_a_row_add_up_to_the_score_for_every_class():
    explanation = maps.table_rows()
    figure = explanation.figure(0)
    bars = [trace for trace in figure.data if trace.meta == "contributions"]
    assert len(bars) == 3
    assert [bar.visible for bar in bars] == [True, False, False]
    order = np.argsort(-explanation.released.predict_proba(maps.TABLE_INPUTS)[0])
    scores = explanation.released.scores(maps.TABLE_INPUTS)[0]
    assert [sum(bar.x) for bar in bars] == pytest.approx(scores[order], abs=1e-5)
    assert any(text.startswith("job = nurse: ") for text in bars[0].customdata)
    assert bars[0].customdata[-1].startswith("bias: ")


def test_the_weights_of_a_row_are_those_of_its_own_level():
    explanation = maps.table_rows()
    one = explanation.reading(0, "low")
    weights = next(t for t in explanation.figure(0, label="low").data if t.meta == "weights")
    drawn = dict(zip(weights.customdata, weights.x, strict=True))
    assert drawn["job = nurse"] == pytest.approx(one.weighted_map[2])
    assert drawn["age = 41"] == pytest.approx(one.weighted_map[0])
    # A missing level has none.
    third = explanation.figure(2, label="low").data
    drawn = dict(zip(third[1].customdata, third[1].x, strict=True))
    assert drawn["job = missing"] == 0


@pytest.mark.parametrize("rows", [maps.image_rows, maps.stroke_rows])
def test_pictures_are_compared_with_the_class_that_came_true_or_the_second(rows):
    explanation = rows(actual=[1, None, 0], n_rows=3)
    best = [explanation.data(row)["perf"]["predicted"] for row in range(3)]
    titles = [note.text for note in explanation.figure().layout.annotations]
    assert any(text.startswith(f"0: {best[0]}, not ") for text in titles)
    (menu,) = explanation.figure(1).layout.updatemenus
    chances = explanation.released.predict_proba(explanation.inputs)[1]
    second = int(np.argsort(-chances)[1])
    assert menu.buttons[0].label == f"class {best[1]} compared with {second}"


@pytest.mark.parametrize("explanation", [maps.image_rows(actual=[1, 0]), maps.stroke_rows()])
def test_what_speaks_for_a_class_lies_over_the_picture_and_is_said_in_a_sentence(explanation):
    first, second, _ = explanation.released.classes
    one = explanation.reading(1, first, against=second)
    evidence = explanation.released.pixels(one.contributions).sum(axis=2)
    figure = explanation.figure(1, label=first, against=second)
    picture, under, over = figure.data[:3]
    cells = np.reshape(explanation.data(1)["values"], evidence.shape)
    assert np.allclose([picture.z, under.z], cells)
    assert (under.xaxis, under.yaxis) == (over.xaxis, over.yaxis) != (picture.xaxis, picture.yaxis)
    assert np.allclose(over.z, evidence, atol=1e-5)
    sentence = figure.layout.annotations[-1].text.split("<br>")[0]
    assert place_words(np.pad([[0, 3.0], [-1, 0]], (1, 0))) == (
        "Of what speaks for it, 100 % is at the right; against it, 100 % is at the bottom."
    )
    assert sentence == place_words(evidence)


def test_the_evidence_of_a_class_of_wavelets_is_that_of_the_released_mean():
    model = maps.stroke_model()
    explanation = maps.all_maps(model)
    evidence = model.weights[:, 0] * model.means
    assert np.sum(explanation.data(2)["scores"]) == pytest.approx(evidence[2].sum())
    by_itself, compared = explanation.figure(0, against=1).data
    assert np.sum(by_itself.z) == pytest.approx(evidence[0].sum(), rel=1e-4)
    assert np.sum(compared.z) == pytest.approx((evidence[0] - evidence[1]).sum(), rel=1e-4)
    assert "at their released mean" in texts_of(explanation.figure())
    unknown = dataclasses.replace(model, means=None)
    assert "at their usual size" in texts_of(maps.all_maps(unknown).figure(1))
    with pytest.raises(ValueError, match=r"explain_local\(X\).figure\(0, against=...\)"):
        maps.all_maps(maps.table_model()).figure(0, against="low")


def test_names_are_shown_literally():
    schema = Schema(
        {HOSTILE: Continuous(0, 1), "level": Categorical([HOSTILE, "b"])},
        target=Categorical([HOSTILE, "no"]),
    )
    model = maps.table_model(
        schema=schema,
        centres=[0.5, 0],
        spreads=[0.3, 1],
        weights=np.arange(12.0).reshape(2, 2, 3) - 5,
        biases=np.zeros((2, 2)),
        classes=(HOSTILE, "no"),
    )
    rows = maps.rows_of(model, [[0.5, 1.0, 0.0]], [[0.7, HOSTILE]])
    figures = [one.figure(key) for one in (maps.all_maps(model), rows) for key in (None, 0)]
    for figure in figures:
        text = figure.to_json()
        assert "&lt;img" in text
        assert "<img" not in text.replace("\\u003c", "<")
