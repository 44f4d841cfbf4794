"""Kinds and forms as objects: they are their names, and one module adds a kind."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import mottle
from mottle import Form, KAnonymity, Kind, Schema

MODULE = '''
from mottle.kinds.base import Kind, register
from mottle.kinds.forms.base import Form


@register
class Shade(Kind):
    """Text without regard to case."""

    name = "shade"
    form = Form.SET
    usage = "shade"
    is_unordered = True

    def comparable(self, values, name):
        import pyarrow.compute as pc
        return pc.utf8_lower(values)
'''


@pytest.mark.parametrize("family", [Kind, Form])
def test_each_is_one_object_and_its_name(family: type):
    for one in family:
        assert family(str(one)) is one
        assert getattr(family, one.upper()) is one
        assert one == one.name
        assert {one.name: 1}[one] == 1
        assert json.dumps({one: one}) == f'{{"{one.name}": "{one.name}"}}'
        assert f"{one}" == str(one) == one.name
        assert repr(one) == f"<{family.__name__}.{one.name.upper()}: '{one.name}'>"
        assert pickle.loads(pickle.dumps(one)) is one
        assert copy.deepcopy(one) is one
        assert one in family
    assert len(family) == len(list(family))


@pytest.mark.parametrize("family", [Kind, Form])
def test_unknown_names_are_refused(family: type):
    with pytest.raises(ValueError, match="'colour' is not a valid"):
        family("colour")
    with pytest.raises(AttributeError, match="COLOUR"):
        family.COLOUR  # noqa: B018 - the access itself is tested
    assert "colour" not in family


def test_a_wrong_kind_is_answered_with_all_kinds():
    with pytest.raises(mottle.SchemaError) as refused:
        Schema.of(quasi_identifying=["a"], kinds={"a": "prefixes"})
    assert "Did you mean 'prefix'?" in str(refused.value)
    assert all(str(kind) in str(refused.value) for kind in Kind)


def test_every_kind_and_its_options_stand_in_a_new_schema_file():
    text = Schema.of(quasi_identifying=["a"]).to_toml()
    assert all(kind.usage in text.replace("\n#       ", " ") for kind in Kind)
    assert all(len(line) <= 100 for line in text.splitlines())


def test_kernels_distinguish_all_forms():
    codes = [form.kernel_code for form in Form]
    assert len(set(codes)) == len(codes)


def test_kinds_take_no_part_in_the_start_of_a_program():
    program = (
        "import sys, types; package = types.ModuleType('mottle');"
        f"package.__path__ = [{str(Path(mottle.__file__).parent)!r}];"
        "sys.modules['mottle'] = package;"
        "from mottle.schema.model import Kind, Schema;"
        "Schema.of(quasi_identifying=['a'], kinds={'a': 'set'});"
        "heavy = {'numba', 'scipy', 'pandas', 'pyarrow', 'duckdb'};"
        "print(sorted(heavy & set(sys.modules)), len(Kind))"
    )
    out = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert out.stdout.split() == ["[]", str(len(Kind))]


def test_one_module_adds_a_kind(tmp_path: Path):
    """A file put into the package is all it takes, from the schema to the audit."""
    (tmp_path / "shade.py").write_text(MODULE)
    program = (
        f"import mottle.kinds; mottle.kinds.__path__.append({str(tmp_path)!r});"
        "import sys, pyarrow as pa, mottle;"
        "assert 'shade' in mottle.Kind, list(mottle.Kind);"
        "table = pa.table({'c': ['Red', 'red', 'Blue', 'blue']});"
        "schema = mottle.Schema.of(quasi_identifying=['c'], kinds={'c': 'shade'});"
        "release = mottle.anonymize(table, schema, mottle.KAnonymity(2), seed=1);"
        f"release.save({str(tmp_path / 'out')!r});"
        f"again = mottle.read_release({str(tmp_path / 'out')!r});"
        "assert again.table.equals(release.table) and again.columns == release.columns;"
        f"mottle.write_database(release, 'duckdb:///{tmp_path}/x.duckdb', 't');"
        "print(again.columns[0].kind, sorted(set(again.to_text().column('c').to_pylist())),"
        " release.count({'c': 'red'}).expected)"
    )
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert out.returncode == 0, out.stderr
    assert out.stdout.strip() == "shade ['blue', 'red'] 2.0"


def test_old_names_of_kinds_and_forms_stay():
    names = ["number", "date", "category", "ordered", "hierarchy", "set"]
    assert [Kind(name) for name in names] == names
    forms = [Kind(name).form for name in names]
    assert forms == [Form.RANGE, Form.RANGE, Form.SET, Form.RANGE, Form.NODE, Form.WORLDS]
    table = pa.table({"age": [1, 2]})
    schema = Schema.of(quasi_identifying=["age"])
    release = mottle.anonymize(table, schema, KAnonymity(2), seed=1)
    facts = json.loads(release.table.schema.field("age").metadata[b"mottle"])
    assert (facts["kind"], facts["form"]) == ("number", "range")
