"""Nothing that lies in a received folder is obeyed: no file outside it is written or removed."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from command_line import mottle_command, refused, said

from mottle import Release
from mottle.io.atomic_write import staged
from mottle.io.write_release import FILES, save_release

CONTENT = "planted"
CHECKSUM = hashlib.sha256(CONTENT.encode()).hexdigest()

pytestmark = pytest.mark.usefixtures("own_work")


def old_format(stage: Path, names: list[str]) -> None:
    """What versions before this one obeyed."""
    (stage / "payload").write_text(CONTENT)
    (stage / "complete").write_text(json.dumps({"move": {"payload": names[0]}, "remove": names}))


def record(stage: Path, new: dict[str, str], old: list[str]) -> None:
    (stage / "record").write_text(json.dumps({"new": new, "old": old, "release": "", "place": ""}))


def planted_record(stage: Path, names: list[str]) -> None:
    for part in ("new", "old"):
        (stage / part).mkdir()
        (stage / part / "payload").write_text(CONTENT)
    record(stage, dict.fromkeys(names, CHECKSUM), names)


def linked_parts(stage: Path, names: list[str]) -> None:
    """The folders of new and old files are links to the victim's folder."""
    victim = stage.parent.parent / "home"
    for part in ("new", "old"):
        (stage / part).symlink_to(victim)
    record(stage, {"release.csv": CHECKSUM, "victim.txt": CHECKSUM}, ["victim.txt"])


def linked_old(stage: Path, names: list[str]) -> None:
    (stage / "old").symlink_to(stage.parent.parent / "home")


def linked_files(stage: Path, names: list[str]) -> None:
    victim = stage.parent.parent / "home" / "victim.txt"
    for part in ("new", "old"):
        (stage / part).mkdir()
        (stage / part / "release.csv").symlink_to(victim)
    checksum = hashlib.sha256(victim.read_bytes()).hexdigest()
    record(stage, {"release.csv": checksum}, ["release.csv"])


def linked_record(stage: Path, names: list[str]) -> None:
    (stage / "record").symlink_to(stage.parent.parent / "home" / "victim.txt")


def deep_record(stage: Path, names: list[str]) -> None:
    (stage / "record").write_text("[" * 30_000)


def pipe(stage: Path, names: list[str]) -> None:
    os.mkfifo(stage / "record")


def linked_lock(stage: Path, names: list[str]) -> None:
    (stage / "lock").symlink_to(stage.parent.parent / "home" / "new-file")


PLANTED = [
    old_format,
    planted_record,
    linked_parts,
    linked_old,
    linked_files,
    linked_record,
    deep_record,
    pipe,
    linked_lock,
]


def received(folder: Path, release: Release, plant: Callable[[Path, list[str]], None]) -> Path:
    """A release folder that somebody has sent, unpacked by the victim with the victim's rights."""
    home, out = folder / "home", folder / "out"
    home.mkdir()
    (home / "victim.txt").write_text("mine")
    save_release(release, out, None, overwrite=False, report=lambda _: "page")
    escapes = [
        str(home / "authorized_keys"),
        "../home/victim.txt",
        "../home/authorized_keys",
        "..",
        "release.csv/../../home/victim.txt",
    ]
    for number, modes in enumerate((0o700, 0o777)):
        stage = out / f".mottle-unfinished-{number}"
        stage.mkdir()
        plant(stage, escapes)
        stage.chmod(modes)
    (out / ".mottle-unfinished-link").symlink_to(home)
    (out / ".mottle-unfinished-file").write_text("x")
    return out


def check_unharmed(folder: Path) -> None:
    found = {path.name: path.read_text() for path in (folder / "home").iterdir()}
    assert found == {"victim.txt": "mine"}
    assert {path.name for path in folder.iterdir()} <= {"home", "out", "people.parquet", "work"}


@pytest.mark.parametrize("plant", PLANTED)
def test_commands_that_read_change_nothing(plant, release, people, tmp_path: Path) -> None:
    """Not even looking at a received release runs any recovery."""
    out = received(tmp_path, release, plant)
    pq.write_table(people[0], tmp_path / "people.parquet")
    before = sorted(str(path) for path in out.rglob("*"))
    for arguments in (
        ["query", out, "SELECT count(*) FROM release"],
        ["audit", tmp_path / "people.parquet", out, "--adversary", "linkage"],
        ["report", out / "nothing"],
    ):
        mottle_command(*arguments)
        assert sorted(str(path) for path in out.rglob("*")) == before
    check_unharmed(tmp_path)


@pytest.mark.parametrize("plant", PLANTED)
def test_commands_that_write_there_write_their_own_files_only(
    plant, release, other_release, tmp_path: Path
) -> None:
    out = received(tmp_path, release, plant)
    assert mottle_command("report", out, "--overwrite").exit_code == 0  # the command of S1
    check_unharmed(tmp_path)
    save_release(other_release, out, None, overwrite=True, report=lambda _: "mine")
    check_unharmed(tmp_path)
    assert {path.name for path in out.iterdir() if not path.name.startswith(".")} <= set(FILES)
    assert (out / "report.html").read_text() == "mine"
    with staged(out, ["report.html"], overwrite=True) as stage:
        (stage / "report.html").write_text("again")
    assert (out / "report.html").read_text() == "again"
    check_unharmed(tmp_path)


@pytest.mark.parametrize("plant", PLANTED)
def test_cleaning_a_received_folder_stays_in_it(plant, release, tmp_path: Path) -> None:
    out = received(tmp_path, release, plant)
    result = mottle_command("clean", out, "--yes")
    assert result.exit_code == 0, result.output
    check_unharmed(tmp_path)
    assert (out / "certificate.json").exists()


def test_folders_that_others_could_have_made_are_named(release, tmp_path, caplog) -> None:
    out = received(tmp_path, release, planted_record)
    with staged(out, ["report.html"], overwrite=True) as stage:
        (stage / "report.html").write_text("again")
    for name in ("-0", "-1", "-link", "-file"):
        assert f".mottle-unfinished{name}" in caplog.text
    assert "remove it before the folder is published" in caplog.text


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to make files of other users")
def test_folder_of_another_user_is_left_alone(release, other_release, tmp_path, caplog) -> None:
    save_release(release, tmp_path / "out", None, overwrite=False)
    stage = tmp_path / "out" / ".mottle-unfinished-other"
    (stage / "new").mkdir(parents=True)
    (stage / "old").mkdir()
    (stage / "new" / "release.csv").write_text(CONTENT)
    record(stage, {"release.csv": CHECKSUM}, [])
    stage.chmod(0o700)
    os.chown(stage, 12345, 12345)
    save_release(other_release, tmp_path / "out", None, overwrite=True)
    assert (tmp_path / "out" / "release.csv").read_text() != CONTENT
    assert (stage / "new" / "release.csv").exists()
    assert "is not a private folder of this user" in caplog.text


def test_link_in_the_place_of_a_file_is_refused(release: Release, tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("mine")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "release.csv").symlink_to(tmp_path / "victim")
    (tmp_path / "people.csv").write_text("age\n" + "1\n2\n" * 5)
    result = mottle_command(
        "anonymize", tmp_path / "people.csv", "--qi", "age", "--k", 2, "-o", tmp_path / "out",
        "--overwrite",
    )  # fmt: skip
    refused(result, 5, "symbolic link")
    assert (tmp_path / "victim").read_text() == "mine"


@pytest.mark.parametrize("kind", ["link", "open", "foreign"])
def test_planted_work_folder_is_refused(tmp_path: Path, own_work: Path, kind: str) -> None:
    """Rows of the original never go to a folder that somebody else has prepared."""
    own_work.mkdir(mode=0o700)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    place = own_work / f"mottle-work-{os.geteuid()}"
    if kind == "link":
        place.symlink_to(elsewhere)
    else:
        place.mkdir(mode=0o700)
        if kind == "open":
            place.chmod(0o777)
        elif os.geteuid() == 0:
            os.chown(place, 12345, 12345)
        else:
            pytest.skip("needs root to make files of other users")
    (tmp_path / "people.csv").write_text("age\n" + "1\n2\n" * 5)
    result = mottle_command(
        "anonymize", tmp_path / "people.csv", "--qi", "age", "--k", 2, "-o", tmp_path / "out",
        "--memory", "2GB",
    )  # fmt: skip
    refused(result, 5, "not a private folder of this user", "--work")
    assert not list(elsewhere.iterdir())
    assert not (tmp_path / "out").exists()


def test_work_folder_in_a_place_that_others_can_change_is_refused(
    tmp_path: Path, own_work: Path
) -> None:
    own_work.mkdir()
    own_work.chmod(0o777)
    (tmp_path / "people.csv").write_text("age\n" + "1\n2\n" * 5)
    run = [
        "anonymize", tmp_path / "people.csv", "--qi", "age", "--k", 2, "-o", tmp_path / "out",
        "--memory", "2GB",
    ]  # fmt: skip
    refused(mottle_command(*run), 5, "others can change what is in it", "--work")
    own_work.chmod(0o1777)  # as /tmp
    result = mottle_command(*run)
    assert result.exit_code == 0, result.output
    assert "Intermediate rows:" in said(result)
    assert not list(own_work.iterdir())


def test_work_folder_inside_the_published_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("age\n" + "1\n2\n" * 5)
    result = mottle_command(
        "anonymize", tmp_path / "people.csv", "--qi", "age", "--k", 2, "-o", tmp_path / "out",
        "--memory", "2GB", "--work", tmp_path / "out" / "work",
    )  # fmt: skip
    refused(result, 2, "which is published")
    assert not (tmp_path / "out").exists()


def test_run_folder_planted_in_the_work_folder_is_refused(tmp_path, own_work, monkeypatch) -> None:
    """Whatever has the name of the run's folder is looked at before it is used."""
    from mottle.pipeline.streaming import run  # its key is what an attacker would predict

    monkeypatch.setattr(run, "_key", lambda *_: "key")
    root = own_work / f"mottle-work-{os.geteuid()}"
    root.mkdir(parents=True, mode=0o700)
    (tmp_path / "elsewhere").mkdir()
    (root / "run-key").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "people.csv").write_text("age\n" + "1\n2\n" * 5)
    result = mottle_command(
        "anonymize", tmp_path / "people.csv", "--qi", "age", "--k", 2, "-o", tmp_path / "out",
        "--memory", "2GB",
    )  # fmt: skip
    refused(result, 5, "not a private folder of this user")
    assert not list((tmp_path / "elsewhere").iterdir())
    shutil.rmtree(root)
