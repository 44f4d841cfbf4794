"""The owner's key file: made once, kept secret, never inside a release."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from mottle import DataError, StorageError, UsageError
from mottle.io.owner_key import check_key_path, owner_key


def test_key_is_made_once_and_read_again(tmp_path: Path) -> None:
    path = tmp_path / "key"
    key = owner_key(path)
    assert len(key) == 32
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_text().startswith("mottle key 1")
    content = path.read_bytes()
    assert owner_key(str(path)) == key
    assert path.read_bytes() == content
    assert os.listdir(tmp_path) == ["key"]
    assert owner_key(tmp_path / "another") != key


def test_wide_umask_does_not_widen_the_key(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        owner_key(tmp_path / "key")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o610])
def test_key_that_others_may_use_is_refused(tmp_path: Path, mode: int) -> None:
    owner_key(tmp_path / "key")
    (tmp_path / "key").chmod(mode)
    with pytest.raises(StorageError, match=r"--key.*chmod 600"):
        owner_key(tmp_path / "key")


@pytest.mark.parametrize(
    "change",
    [
        lambda content: b"",
        lambda content: content[:-10],
        lambda content: content.replace(b"mottle", b"muddle"),
        lambda content: content + b"00",
        lambda content: content.replace(b"\n", b"\nzz", 1),
        lambda content: b"\xff" + content,
    ],
)
def test_file_that_is_no_complete_key_is_refused_and_kept(tmp_path: Path, change) -> None:
    path = tmp_path / "key"
    owner_key(path)
    changed = change(path.read_bytes())
    path.write_bytes(changed)
    with pytest.raises(DataError, match="--key") as caught:
        owner_key(path)
    assert path.read_bytes() == changed
    assert not any(part in str(caught.value) for part in changed.decode("latin-1").split()[-1:])


def test_key_in_a_release_folder_is_refused(tmp_path: Path) -> None:
    for inside in (tmp_path / "out" / "key", tmp_path / "out" / "deep" / "key"):
        with pytest.raises(UsageError, match="--key"):
            check_key_path(inside, tmp_path / "out")
    check_key_path(tmp_path / "key", tmp_path / "out")
    check_key_path(bytes(32), tmp_path / "out")
    check_key_path(None, tmp_path / "out")
    (tmp_path / "certificate.json").write_text("{}")
    with pytest.raises(UsageError, match="--key"):
        owner_key(tmp_path / "key")
    assert not (tmp_path / "key").exists()


def test_key_in_python_has_32_bytes(tmp_path: Path) -> None:
    assert owner_key(bytes(range(32))) == bytes(range(32))
    with pytest.raises(UsageError, match="31 bytes"):
        owner_key(bytes(31))
    with pytest.raises(UsageError, match="int is not a key"):
        owner_key(7)


def test_folder_that_does_not_exist_is_reported(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="--key"):
        owner_key(tmp_path / "missing" / "key")
    with pytest.raises(StorageError, match="--key"):
        owner_key(tmp_path)


def test_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "key", 0o600)
    with pytest.raises(StorageError, match="not a file"):
        owner_key(tmp_path / "key")
