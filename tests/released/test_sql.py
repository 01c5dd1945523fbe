"""Scoring statements: run where a database is at hand, read back by sqlglot's parser elsewhere."""

import re
import sqlite3

import numpy as np
import pandas as pd
import pytest
import sqlglot
from hypothesis import given, settings, strategies as st
from sqlglot import exp

from interpret_dp import Categorical, Continuous, DPExplainableBoostingClassifier
from interpret_dp.released import AdditiveFeature
from interpret_dp.released.sql import DIALECTS, scoring_sql
from tests.released.models import assemble, build_model, odd_rows, score_rows

SQLGLOT_NAMES = {"ansi": "", "mssql": "tsql", "postgresql": "postgres"}
TOLERANCE = 1e-9


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


def run_sqlite(sql, rows, table="people", types=()):
    """Run a statement over rows in SQLite; a column without a type keeps each cell's own."""
    connection = sqlite3.connect(":memory:")
    types = types or [""] * rows.shape[1]
    columns = [f"{quoted(name)} {kind}" for name, kind in zip(rows, types, strict=True)]
    connection.execute(f"CREATE TABLE {quoted(table)} (position INTEGER, {', '.join(columns)})")
    marks = ", ".join("?" * (rows.shape[1] + 1))
    # pandas would turn None into NaN in a column of numbers; SQLite stores both as NULL.
    cells = rows.astype(object).to_numpy().tolist()
    connection.executemany(
        f"INSERT INTO {quoted(table)} VALUES ({marks})",
        [(position, *row) for position, row in enumerate(cells)],
    )
    return _frame(connection.execute(sql))


def run_duckdb(sql, rows):
    """Run a statement over rows in DuckDB, which stores NaN as NaN and not as NULL."""
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed: pip install duckdb")
    connection = duckdb.connect()
    connection.execute("CREATE TABLE people (position INTEGER, age DOUBLE, job VARCHAR)")
    cells = [(k, *row) for k, row in enumerate(rows.astype(object).to_numpy().tolist())]
    connection.executemany("INSERT INTO people VALUES (?, ?, ?)", cells)
    return _frame(connection.execute(sql))


def _frame(cursor):
    names = [column[0] for column in cursor.description]
    return pd.DataFrame(cursor.fetchall(), columns=names).sort_values("position")


def check(result, model, rows):
    """Compare a result with scores, probabilities and labels made in Python."""
    scores = score_rows(model, rows)
    if model.classes is None:
        assert list(result) == ["position", "prediction"]
        np.testing.assert_allclose(result["prediction"], scores[:, 0], atol=TOLERANCE)
        return
    if scores.shape[1] == 1:
        scores = np.c_[np.zeros(len(scores)), scores]
        np.testing.assert_allclose(result["score"], scores[:, 1], atol=TOLERANCE)
        made = result[["probability"]].to_numpy()
    else:
        names = range(scores.shape[1])
        found = result[[f"score_{k}" for k in names]].to_numpy()
        np.testing.assert_allclose(found, scores, atol=TOLERANCE)
        made = result[[f"probability_{k}" for k in names]].to_numpy()
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares = odds / odds.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(made, shares[:, -made.shape[1] :], atol=TOLERANCE)
    assert result["prediction"].tolist() == [model.classes[k] for k in scores.argmax(axis=1)]


# -------------------------------------------------------------------------- one database


@pytest.mark.parametrize("n_classes", [0, 2, 3])
@pytest.mark.parametrize(("dialect", "run"), [("sqlite", run_sqlite), ("duckdb", run_duckdb)])
def test_a_database_reads_every_kind_of_cell_as_the_schema_does(dialect, run, n_classes):
    model, rows = build_model(n_classes), odd_rows()
    sql = scoring_sql(model, dialect, table="people", keep=["position"])
    check(run(sql, rows), model, rows)


# ------------------------------------------------------------- nasty names, levels, labels

_NASTY = ["'", '"', "''", "\\", "\\'", "--", "; DROP TABLE people", "%s", ":x", "?", "\n", "\t"]
_NASTY += ["[a]", "`", "$$", "{x}", " a", "a ", "é", "e\u0301", "日本", "/* */", "__SQLGLOT__LB__"]
_CHARACTERS = st.characters(codec="utf-8", exclude_characters="\0")
_TEXT = st.one_of(
    st.lists(st.sampled_from(_NASTY), min_size=1, max_size=3).map("".join),
    st.text(_CHARACTERS, min_size=1, max_size=6),
)
_NUMBERS = st.one_of(
    st.integers(-(2**40), 2**40), st.floats(-1e9, 1e9, allow_subnormal=False), st.booleans()
)


def _label(level):
    return level if isinstance(level, str) else f"{float(level)!r}"


# SQLite does not round decimals correctly that are next to nothing, such as 1.5e-298.
_CUTS = st.floats(-1e6, 1e6).map(lambda cut: cut if abs(cut) > 1e-100 else 0.0)


@st.composite
def _features(draw):
    # SQLite takes names that differ in case alone for one.
    names = draw(st.lists(_TEXT, min_size=1, max_size=3, unique_by=str.casefold))
    names = [name for name in names if name.casefold() != "position"] or ["a"]
    features = []
    for name in names:
        if draw(st.booleans()):
            cuts = draw(st.lists(_CUTS, max_size=4, unique=True).map(sorted))
            features.append(AdditiveFeature(name, Continuous(-1e6, 1e6), np.array(cuts)))
        else:
            levels = st.lists(st.one_of(_TEXT, _NUMBERS), min_size=1, max_size=5, unique_by=_label)
            try:
                features.append(AdditiveFeature(name, Categorical(draw(levels))))
            except ValueError:  # "1" beside 1
                features.append(AdditiveFeature(name, Categorical(["'", "1"])))
    return features


def _cells(feature):
    if feature.cuts is not None:
        return st.one_of(
            st.none(), st.floats(-1e7, 1e7), st.sampled_from([*feature.cuts.tolist(), 0.0])
        )
    levels = list(feature.spec.levels)
    twisted = [f(v) for v in levels if isinstance(v, str) for f in (str.upper, str.strip, repr)]
    return st.sampled_from([None, 0, 1, *levels, *twisted])


@pytest.mark.thorough
@settings(max_examples=80)
@given(data=st.data())
def test_any_names_levels_and_labels_score_alike_in_sqlite(data):
    features = data.draw(_features())
    n_classes = data.draw(st.sampled_from([0, 2, 3]))
    width = n_classes if n_classes > 2 else 1
    # Multiples of 1/64 add up without rounding, so that ties are ties in any order of adding.
    value = st.integers(-640, 640).map(lambda number: number / 64)
    scores = [
        np.array(data.draw(st.lists(value, min_size=size, max_size=size))).reshape(-1, width)
        for size in (feature.n_codes * width for feature in features)
    ]
    scores = [values[:, 0] if width == 1 else values for values in scores]
    labels = data.draw(st.lists(_TEXT, min_size=n_classes, max_size=n_classes, unique=True))
    model = assemble(features, scores, np.zeros(width), labels)
    n_rows = 6
    rows = pd.DataFrame(
        {
            feature.name: pd.Series(
                data.draw(st.lists(_cells(feature), min_size=n_rows, max_size=n_rows)), dtype=object
            )
            for feature in features
        }
    )
    table = data.draw(_TEXT.filter(lambda name: not name.lower().startswith("sqlite_")))
    sql = scoring_sql(model, "sqlite", table=table, keep=["position"])
    check(run_sqlite(sql, rows, table=table), model, rows)


@settings(max_examples=60)
@given(
    dialect=st.sampled_from(DIALECTS),
    names=st.lists(_TEXT, min_size=2, max_size=2, unique=True),
    levels=st.lists(_TEXT, min_size=1, max_size=3, unique=True),
    labels=st.lists(_TEXT, min_size=2, max_size=2, unique=True),
)
def test_every_dialect_is_read_back_as_one_select_with_its_texts(dialect, names, levels, labels):
    column, table = names
    # BigQuery's names hold no backtick, backslash or dot: no such column can exist there.
    if dialect == "bigquery":
        column, table = (name.translate(dict.fromkeys(map(ord, "`\\."), "_")) for name in names)
    # SQL Server's names with a leading # are those of temporary tables.
    table = f"t{table}" if dialect == "mssql" and table.startswith("#") else table
    feature = AdditiveFeature("f", Categorical(levels))
    model = assemble([feature], [np.arange(len(levels) + 2.0)], 0.0, labels)
    sql = scoring_sql(model, dialect, table=table, columns={"f": column})
    statements = sqlglot.parse(sql, dialect=SQLGLOT_NAMES.get(dialect, dialect))
    assert len(statements) == 1
    assert isinstance(statements[0], exp.Select)
    kinds = (exp.Literal, exp.National)
    texts = {
        node.this
        for node in statements[0].find_all(*kinds)
        if node.args.get("is_string") is not False
    }
    texts |= {text[:-1] for text in texts if dialect == "mssql"}
    assert {*levels, *labels} <= texts
    assert column in {node.name for node in statements[0].find_all(exp.Column)}
    assert table in {node.name for node in statements[0].find_all(exp.Table)}


# ------------------------------------------------------------------------------- refusals


BAD_ARGUMENTS = [
    ({"dialect": "sql"}, ValueError, "dialect is 'sql'.*'sqlite'"),
    ({"table": ""}, ValueError, "a part of table is ''"),
    ({"table": ("a", "b", "c", "d")}, ValueError, "up to three"),
    ({"table": ()}, ValueError, "up to three"),
    ({"table": (1,)}, TypeError, "must be a string"),
    ({"columns": {"agee": "x"}}, ValueError, r"\['agee'\].*'age', 'job'"),
    ({"columns": {"age": "a\0"}}, ValueError, "column of 'age'"),
    ({"keep": "id"}, TypeError, "list of names"),
    ({"keep": ["score"]}, ValueError, "'prediction', 'probability', 'score'"),
    ({"keep": ["id", "id"]}, ValueError, "differ from one another"),
]


@pytest.mark.parametrize(("arguments", "error", "message"), BAD_ARGUMENTS)
def test_bad_arguments_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        scoring_sql(build_model(n_classes=2), **arguments)


def test_the_method_names_dialects_that_there_are():
    named = re.findall(r'``"(\w+)"``', DPExplainableBoostingClassifier.to_sql.__doc__)
    assert set(named) <= set(DIALECTS)
