"""One process compiles while the others wait: order of work under the same token."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from mottle.utils.compiling import once
from mottle.utils.compiling.once import one_at_first


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(once.tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(once, "_DONE", set())


def while_another_is_inside(first: tuple[str, str], second: tuple[str, str]) -> bool:
    """Whether a second work is done while the first one is going on."""
    inside, entered, ended = (threading.Event() for _ in range(3))

    def work() -> None:
        inside.wait()
        with one_at_first(*second):
            entered.set()
        ended.set()

    other = threading.Thread(target=work)
    other.start()
    with one_at_first(*first):
        inside.set()
        together = entered.wait(1.0)
    other.join()
    assert ended.is_set()
    return together


def test_others_wait_until_the_first_has_compiled() -> None:
    assert not while_another_is_inside(("publish", "run"), ("publish", "run"))


def test_work_of_another_name_does_not_wait() -> None:
    assert while_another_is_inside(("publish", "run"), ("code", "other"))


def test_nobody_waits_after_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    with one_at_first("publish", "run"):
        pass
    monkeypatch.setattr(once, "_DONE", set())  # as in another process
    assert while_another_is_inside(("publish", "run"), ("publish", "run"))


def test_next_is_the_first_if_work_fails() -> None:
    with pytest.raises(ZeroDivisionError), one_at_first("publish", "run"):
        raise ZeroDivisionError
    assert not while_another_is_inside(("publish", "run"), ("publish", "run"))


def test_works_where_no_file_can_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(once.tempfile, "gettempdir", lambda: "/nonexistent")
    with one_at_first("publish", "run"):
        pass
