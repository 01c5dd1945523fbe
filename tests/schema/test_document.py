"""Schemas as files: round trips, and documents that are refused."""

import io

from hypothesis import given, strategies as st

from interpret_dp.schema import Categorical, Continuous, Integer, PrivacyUnit, Schema, level_labels

finite = st.floats(allow_nan=False, allow_infinity=False, min_value=-8e307, max_value=8e307)
level = st.one_of(
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])),
    st.booleans(),
    st.integers(-(2**53) + 1, 2**53 - 1),
    st.floats(-(2.0**52), 2.0**52),
)


@st.composite
def continuous(draw):
    lower, upper = sorted((draw(finite), draw(finite)))
    return Continuous(lower, upper, draw(st.sampled_from(["linear", "log"])))


@st.composite
def integer(draw):
    whole = st.integers(-(2**53) + 1, 2**53 - 1)
    lower, upper = sorted((draw(whole), draw(whole)))
    return Integer(lower, upper, draw(st.sampled_from(["linear", "symlog"])))


def _label(value):
    return level_labels(Categorical([value]))[0]


categorical = st.builds(
    Categorical, st.lists(level, min_size=1, unique_by=_label), ordered=st.booleans()
)
spec = st.one_of(continuous(), integer(), categorical)
units = st.builds(
    PrivacyUnit,
    st.lists(st.text("xyz", min_size=4, max_size=6), min_size=1, max_size=3, unique=True),
    max_rows=st.integers(1, 999),
    total_rows=st.none() | st.integers(1000, 2000),
    missing=st.sampled_from(["separate", "drop"]),
)
names = st.text(st.characters(exclude_categories=["Cs"]), max_size=3)
schemas = st.builds(
    Schema,
    st.dictionaries(names, spec, max_size=4),
    target=st.none() | spec,
    default=st.none() | spec,
    unit=st.none() | units | st.just("rows"),
)


@given(schemas)
def test_round_trips_keep_levels_types_and_order(schema):
    twins = [
        Schema.from_dict(schema.to_dict()),
        Schema.from_json(io.StringIO(schema.to_json())),
        Schema.from_toml(io.StringIO(schema.to_toml())),
        Schema.from_json(io.BytesIO(schema.to_json().encode())),
        Schema.from_toml(io.BytesIO(schema.to_toml().encode())),
    ]
    for twin in twins:
        assert twin == schema
        assert list(twin.features) == list(schema.features)


def test_file_objects_may_be_text_or_binary(tmp_path):
    schema = Schema({"age": Continuous(17, 90), "job": Categorical(["a", "b"], ordered=True)})
    with (tmp_path / "a").open("w", encoding="utf-8") as text:
        schema.to_toml(text)
    with (tmp_path / "b").open("wb") as binary:
        schema.to_toml(binary)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    with (tmp_path / "b").open("rb") as binary:
        assert Schema.from_toml(binary) == schema
