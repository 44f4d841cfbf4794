"""Schemas state what is wrong with them, and stay the same when written and read."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mottle import (
    Column,
    DataError,
    Hierarchy,
    Kind,
    Role,
    Schema,
    SchemaError,
    StorageError,
    UsageError,
)
from mottle.schema.model import Representation, Unit
from mottle.utils.renamed import notice_renamed


def read(folder: Path, text: str) -> Schema:
    path = folder / "mottle.toml"
    path.write_text(text, encoding="utf-8")
    return Schema.read(path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[columns.a]\nrole = "qausi-identifying"', ["role", "Did you mean 'quasi-identifying'?"]),
        ('[columns.a]\nrole = "nonsense"', ["role", "insensitive", "quasi-identifying"]),
        ("[columns.a]\nrole = 3", ["role", "'quasi-identifying'"]),
        ('[columns.a]\nrole = "sensitive"\nkind = "numbr"', ["kind", "Did you mean 'number'?"]),
        ('[columns.a]\nrole = "sensitive"\nrepresentation = "sets"', ["Did you mean 'set'?"]),
        ('[columns.a]\nrole = "sensitive"\nknd = "x"', ["unknown option", "Did you mean 'kind'?"]),
        ('[columns.a]\nkind = "number"', ["column 'a'", "role", "required"]),
        ('[columns.a]\nrole = "sensitive"\nimportance = 0', ["importance", "greater than 0"]),
        ('[columns.a]\nrole = "sensitive"\nimportance = inf', ["importance", "finite"]),
        ('[columns.a]\nrole = "sensitive"\nimportance = nan', ["importance"]),
        ('[columns.a]\nrole = "sensitive"\nimportance = "x"', ["importance", "number"]),
        ('[columns.a]\nrole = "sensitive"\norder = "a,b"', ["order"]),
        ('[columns.a]\nrole = "sensitive"\norder = ["a", "a"]', ["column 'a'", "twice"]),
        ('[columns.a]\nrole = "sensitive"\norder = []', ["column 'a'", "empty"]),
        (
            '[columns.a]\nrole = "sensitive"\nkind = "number"\norder = ["a"]',
            ["column 'a'", "an order needs kind = 'ordered', not 'number'"],
        ),
        (
            '[columns.a]\nrole = "sensitive"\nkind = "hierarchy"',
            ["column 'a'", "needs a hierarchy file"],
        ),
        (
            '[columns.a]\nrole = "person"\n[columns.b]\nrole = "person"',
            ["'a' and 'b' both say whose row it is"],
        ),
        ('rest = "person"', ["rest cannot be 'person'"]),
        ('unit = "rows"', ["unit", "Did you mean 'row'?"]),
        ('unit = "row"\n[columns.a]\nrole = "person"', ["'a' says whose row it is"]),
        ('rest = "insens"', ["rest", "Did you mean 'insensitive'?"]),
        ('[column.a]\nrole = "sensitive"', ["unknown entry 'column'", "Did you mean 'columns'?"]),
        ("columns = 3", ["[columns.NAME]"]),
        ("[columns]\na = 3", ["[columns.NAME]"]),
        ("[columns.a]\nrole = ", ["not valid TOML"]),
        ('[columns.a]\nrole = "sensitive"\n[columns.a]\nrole = "sensitive"', ["TOML", "twice"]),
    ],
)
def test_mistake_in_the_file_is_explained(tmp_path: Path, text: str, words: list[str]):
    with pytest.raises(SchemaError) as caught:
        read(tmp_path, text)
    assert "mottle.toml" in str(caught.value)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize("mistake", ['role = "x"', 'kind = "x"', "importance = 0", "knd = 1"])
def test_mistake_in_an_option_names_the_column(tmp_path: Path, mistake: str):
    role = "" if mistake.startswith("role") else 'role = "sensitive"\n'
    with pytest.raises(SchemaError, match="'income'"):
        read(tmp_path, f"[columns.income]\n{role}{mistake}")


def test_entry_that_only_the_code_knows_is_unknown_in_a_file(tmp_path: Path):
    with pytest.raises(SchemaError, match="unknown entry 'listed'"):
        read(tmp_path, "listed = 5")


@pytest.mark.parametrize("option", ["hierarchy_file", "name"])
def test_option_that_only_the_code_knows_is_unknown_in_a_file(tmp_path: Path, option: str):
    with pytest.raises(SchemaError, match=f"column 'a': {option}: unknown option"):
        read(tmp_path, f'[columns.a]\nrole = "sensitive"\n{option} = "x"')


def test_file_that_is_not_utf8_is_refused(tmp_path: Path):
    (tmp_path / "mottle.toml").write_bytes(b'[columns.\xff]\nrole = "sensitive"')
    with pytest.raises(SchemaError, match="not valid TOML"):
        Schema.read(tmp_path / "mottle.toml")


def test_file_that_is_not_there_is_refused_by_its_name(tmp_path: Path):
    with pytest.raises(StorageError, match=r"absent\.toml.*No such file"):
        Schema.read(tmp_path / "absent.toml")


@pytest.mark.parametrize("word", ["Quasi_Identifying", " quasi-identifying "])
def test_words_are_read_generously(word: str):
    assert Column(name="a", role=word).role is Role.QUASI_IDENTIFYING


# ------------------------------------------------------------------------------- Schema.of


def test_column_listed_twice_is_refused():
    with pytest.raises(SchemaError, match="'age' is given a role twice"):
        Schema.of(quasi_identifying=["age"], sensitive=["age"])
    with pytest.raises(SchemaError, match="'age' is given a role twice"):
        Schema.of(quasi_identifying=["age", "age"])


@pytest.mark.parametrize("role", ["quasi_identifying", "sensitive", "identifying", "insensitive"])
def test_text_is_not_taken_for_a_list_of_letters(role: str):
    with pytest.raises(UsageError, match="must be a list"):
        Schema.of(**{"quasi_identifying": [], role: "age"})


@pytest.mark.parametrize("option", ["kinds", "importance", "orders", "hierarchies"])
def test_detail_of_an_unlisted_column_is_refused(option: str):
    with pytest.raises(SchemaError, match=r"'agee' is given an? .* but no role.*mean 'age'"):
        Schema.of(quasi_identifying=["age"], **{option: {"agee": "x"}})


def test_details_reach_their_columns(places: Hierarchy):
    schema = Schema.of(
        quasi_identifying=["a", "b", "c"],
        kinds={"a": "category"},
        importance={"a": 2.5},
        orders={"b": ["x", "y"]},
        hierarchies={"c": places},
    )
    a, b, c = schema.columns
    assert (a.kind, a.importance) == (Kind.CATEGORY, 2.5)
    assert (b.kind, b.order) == (Kind.ORDERED, ("x", "y"))
    assert (c.kind, c.hierarchy) == (Kind.HIERARCHY, places)


def test_hierarchy_without_that_kind_is_refused(places: Hierarchy):
    with pytest.raises(SchemaError, match=r"needs kind = 'hierarchy' or 'set', not 'number'"):
        Schema.of(quasi_identifying=["a"], kinds={"a": "number"}, hierarchies={"a": places})


def test_sets_have_a_hierarchy_of_items(places: Hierarchy):
    tree = {"a": places}
    for options in (
        {"kinds": {"a": "set"}},
        {"separators": {"a": ";"}},
        {"node_holders": {"a": 9}},
    ):
        schema = Schema.of(quasi_identifying=["a"], hierarchies=tree, **options)
        assert (schema.columns[0].kind, schema.columns[0].hierarchy) == (Kind.SET, places)


def test_the_number_of_holders_needs_a_hierarchy_and_is_one_or_more(places: Hierarchy):
    with pytest.raises(SchemaError, match=r"'a': node_holders needs a hierarchy"):
        Schema.of(quasi_identifying=["a"], node_holders={"a": 5})
    with pytest.raises(SchemaError, match="node_holders"):
        Schema.of(quasi_identifying=["a"], hierarchies={"a": places}, node_holders={"a": 0})
    with pytest.raises(SchemaError, match=r"node_holders needs kind = 'set'"):
        Schema.of(quasi_identifying=["a"], kinds={"a": "number"}, node_holders={"a": 5})


# -------------------------------------------------------------------------------- covering


def test_columns_without_a_role_are_listed():
    with pytest.raises(SchemaError, match=r"without a role: b, c\.") as caught:
        Schema.of(quasi_identifying=["a"]).covering(["a", "b", "c"])
    assert "--rest insensitive" in caught.value.remedy


def test_rest_gives_the_others_their_role_in_the_order_of_the_table():
    schema = Schema.of(quasi_identifying=["b"], rest="insensitive").covering(["a", "b", "c"])
    assert [column.name for column in schema.columns] == ["a", "b", "c"]
    assert [column.role for column in schema.columns] == [
        Role.INSENSITIVE,
        Role.QUASI_IDENTIFYING,
        Role.INSENSITIVE,
    ]


def test_unknown_column_is_suggested():
    with pytest.raises(SchemaError, match=r"no column 'Gendr'\. Did you mean 'gender'\?"):
        Schema.of(quasi_identifying=["Gendr"]).covering(["age", "gender"])


@pytest.mark.parametrize(
    ("header", "word"), [("a;b", ";"), ("a,b", ","), ("a\tb", "tab"), ("a|b", "|")]
)
def test_header_that_became_one_column_points_at_the_delimiter(header: str, word: str):
    with pytest.raises(SchemaError) as caught:
        Schema.of(quasi_identifying=["a"]).covering([header])
    assert f"--delimiter '{word}'" in caught.value.remedy


@pytest.mark.parametrize("role", ["sensitive", "insensitive", "identifying"])
def test_table_without_quasi_identifier_is_refused(role: str):
    with pytest.raises(SchemaError, match="No column is quasi-identifying"):
        Schema.of(quasi_identifying=[], rest=role).covering(["a", "b"])


# ------------------------------------------------------------------------------ round trip

NAMES = st.text(
    st.one_of(
        st.sampled_from("\"'\\.\n\r\t[]#= \x7f\x00é"), st.characters(exclude_categories=["Cs"])
    ),
    min_size=1,
    max_size=10,
)


# Roles that several columns may have, whatever the others have.
OFTEN = [role for role in Role if not role.names_person and not role.keyed]


@st.composite
def schemas(draw) -> Schema:
    columns = []
    for name in draw(st.lists(NAMES, unique=True, max_size=5)):
        kind = draw(st.sampled_from([None, Kind.NUMBER, Kind.DATE, Kind.CATEGORY, Kind.ORDERED]))
        values = st.lists(NAMES | st.just(""), min_size=1, max_size=4, unique=True).map(tuple)
        columns.append(
            Column(
                name=name,
                role=draw(st.sampled_from(OFTEN)),
                kind=kind,
                order=draw(st.none() | values) if kind is Kind.ORDERED else None,
                importance=draw(st.floats(1e-300, 1e300)),
                representation=draw(st.none() | st.sampled_from(Representation)),
            )
        )
    person = draw(st.none() | st.sampled_from(range(len(columns)))) if columns else None
    if person is not None:
        role = draw(st.sampled_from([Role.PERSON, Role.PSEUDONYM]))
        columns[person] = columns[person].model_copy(update={"role": role})
        moved = {"role": Role.SHIFTED, "shift": draw(st.none() | st.integers(1, 3660))}
        for place in draw(st.sets(st.sampled_from(range(len(columns))))) - {person}:
            columns[place] = columns[place].model_copy(update=moved)
    unit = None if person is not None else draw(st.none() | st.just(Unit.ROW))
    rest = draw(st.none() | st.sampled_from(OFTEN))
    return Schema(columns=tuple(columns), rest=rest, unit=unit)


@given(schemas())
@example(Schema.of(quasi_identifying=["\x7f", '"', "\\", "a.b", "\n", "\x00", "é", "[x]", "#"]))
def test_written_schema_is_read_back(tmp_path_factory, schema: Schema):
    path = tmp_path_factory.mktemp("schema") / "mottle.toml"
    schema.write(path)
    assert Schema.read(path) == schema


def test_person_column_is_removed_like_an_identifying_one():
    schema = Schema.of(quasi_identifying=["age"], identifying=["name"], person="patient")
    assert schema.person == "patient"
    assert schema.removed == {"name", "patient"}
    with pytest.raises(SchemaError, match="'patient' says whose row it is"):
        schema.with_unit("row")
    assert Schema.of(quasi_identifying=["age"]).with_unit("row").unit is Unit.ROW


def test_comments_do_not_change_the_schema(tmp_path: Path):
    schema = Schema.of(quasi_identifying=["a"])
    text = schema.to_toml(comments={"a": 'two\nlines with "quotes" = 1'})
    assert read(tmp_path, text) == schema


def test_hierarchy_is_looked_for_next_to_the_schema(tmp_path: Path, monkeypatch):
    (tmp_path / "schema" / "trees").mkdir(parents=True)
    (tmp_path / "schema" / "trees" / "sex.csv").write_text("f;*\nm;*\n", encoding="utf-8")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    text = '[columns.sex]\nrole = "quasi-identifying"\nhierarchy = "trees/sex.csv"\n'
    schema = read(tmp_path / "schema", text)
    assert schema.columns[0].kind is Kind.HIERARCHY
    assert schema.columns[0].hierarchy == Hierarchy.from_rows([("f", "*"), ("m", "*")])
    schema.write(tmp_path / "schema" / "again.toml")
    assert Schema.read(tmp_path / "schema" / "again.toml") == schema


def test_hierarchy_that_is_not_there_is_refused_by_its_path(tmp_path: Path):
    text = '[columns.sex]\nrole = "quasi-identifying"\nhierarchy = "trees/sex.csv"\n'
    with pytest.raises(StorageError, match=r"trees/sex\.csv"):
        read(tmp_path, text)


def test_hierarchy_that_is_none_is_refused_by_its_path(tmp_path: Path):
    (tmp_path / "sex.csv").write_text("f;*\nm\n", encoding="utf-8")
    text = '[columns.sex]\nrole = "quasi-identifying"\nhierarchy = "sex.csv"\n'
    with pytest.raises(DataError, match=r"sex\.csv"):
        read(tmp_path, text)


def test_schema_with_a_hierarchy_survives_being_written_elsewhere(tmp_path: Path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "a" / "sex.csv").write_text("f;*\nm;*\n", encoding="utf-8")
    text = '[columns.sex]\nrole = "quasi-identifying"\nhierarchy = "sex.csv"\n'
    schema = read(tmp_path / "a", text)
    schema.write(tmp_path / "b" / "mottle.toml")
    again = Schema.read(tmp_path / "b" / "mottle.toml")
    assert again.columns[0].hierarchy == schema.columns[0].hierarchy


def test_schema_that_cannot_be_written_is_an_error_of_ours(tmp_path: Path):
    with pytest.raises(StorageError):
        Schema.of(quasi_identifying=["a"]).write(tmp_path / "absent" / "mottle.toml")


# ------------------------------------------------------------------------------------------- sets


def test_a_separator_makes_a_set_and_survives_the_file(tmp_path: Path):
    schema = Schema.of(quasi_identifying=["a", "b"], kinds={"a": "set"}, separators={"b": '", '})
    assert [column.kind for column in schema.columns] == [Kind.SET, Kind.SET]
    schema.write(tmp_path / "mottle.toml")
    assert Schema.read(tmp_path / "mottle.toml") == schema


@pytest.mark.parametrize("separator", ["", "\n", "a\r"])
def test_a_separator_is_characters_of_a_line(separator: str):
    with pytest.raises(SchemaError, match="separator of items"):
        Schema.of(quasi_identifying=["a"], separators={"a": separator})


def test_a_separator_belongs_to_sets():
    with pytest.raises(SchemaError, match="needs kind = 'set'"):
        Schema.of(quasi_identifying=["a"], kinds={"a": "number"}, separators={"a": ";"})


def test_groups_are_read_from_and_written_to_a_file(tmp_path):
    path = tmp_path / "mottle.toml"
    path.write_text(
        '[columns.age]\nrole = "quasi-identifying"\n[columns.dx]\nrole = "sensitive"\n'
        '[columns.dx.groups]\nheart = ["I20", "I21"]\n"the rest" = ["J10"]\n'
    )
    schema = Schema.read(path)
    assert schema.columns[1].groups == (("heart", ("I20", "I21")), ("the rest", ("J10",)))
    schema.write(tmp_path / "again.toml")
    assert Schema.read(tmp_path / "again.toml") == schema
    assert (
        Schema.of(
            quasi_identifying=["age"],
            sensitive=["dx"],
            groups={"dx": {"heart": ["I20", "I21"], "the rest": ["J10"]}},
        )
        == schema
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"role": "insensitive", "groups": {"x": ["a"]}}, "groups are for sensitive columns"),
        ({"role": "sensitive", "groups": {"x": ["a"], "y": ["a"]}}, "several groups"),
        ({"role": "sensitive", "groups": {"x": ["a"]}, "bins": 3}, "do not go together"),
        (
            {
                "role": "sensitive",
                "groups": {"x": ["a"]},
                "hierarchy": Hierarchy.from_rows([("a", "*")]),
            },
            "groups or a hierarchy, not both",
        ),
    ],
)
def test_groups_that_cannot_be_right_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        Column(name="dx", **options)


def test_the_old_name_of_the_importance_still_works_with_one_notice(caplog, tmp_path: Path):
    notice_renamed.cache_clear()
    file = tmp_path / "mottle.toml"
    file.write_text('[columns.a]\nrole = "quasi-identifying"\nweight = 2.5\n', "utf-8")
    read = Schema.read(file)
    built = Schema.of(quasi_identifying=["a"], weights={"a": 2.5})
    assert read == built == Schema.of(quasi_identifying=["a"], importance={"a": 2.5})
    assert Column(name="a", role="sensitive", weight=3).importance == 3
    assert [record.message.split(";")[0] for record in caplog.records] == [
        "'weight' is now called 'importance'"
    ]
    assert "importance = 2.5" in read.to_toml()


def test_both_names_of_the_importance_together_are_refused():
    with pytest.raises(SchemaError, match="same option"):
        Schema.of(quasi_identifying=["a"], importance={"a": 2}, weights={"a": 2})


def test_a_survey_weight_is_published_as_it_is_unless_it_has_another_role(tmp_path: Path):
    alone = Schema.of(quasi_identifying=["age"], survey_weight="pw")
    assert [column.name for column in alone.with_role(Role.INSENSITIVE)] == ["pw"]
    removed = Schema.of(quasi_identifying=["age"], identifying=["pw"], survey_weight="pw")
    assert removed.removed == {"pw"}
    for schema in (alone, removed):
        schema.write(tmp_path / "mottle.toml")
        assert Schema.read(tmp_path / "mottle.toml") == schema
        assert schema.covering(["age", "pw"]).survey_weight == "pw"
    with pytest.raises(SchemaError, match="cannot be sensitive"):
        Schema.of(quasi_identifying=["age"], sensitive=["pw"], survey_weight="pw")
    with pytest.raises(SchemaError, match="no column 'pw'"):
        alone.covering(["age", "sex"])
