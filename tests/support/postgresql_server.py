"""A PostgreSQL server of our own: its data in a temporary folder, on a free port, ended with us."""

from __future__ import annotations

import ctypes
import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from adbc_driver_postgresql import dbapi

USER = "owner"
PASSWORD = "s3cret@:/?%'word"  # everything that has to be written otherwise in a URL
_ATTEMPTS = 5
_SETTINGS = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "max_wal_size": "4GB",
    "listen_addresses": "127.0.0.1",
}


@dataclass(frozen=True)
class Server:
    """A running server that asks for a password."""

    port: int
    folder: Path
    user: str = USER
    password: str = PASSWORD

    def url(self, database: str = "postgres", *, password: str | None = None) -> str:
        secret = quote(self.password if password is None else password, safe="")
        return f"postgresql://{self.user}:{secret}@127.0.0.1:{self.port}/{database}"

    def url_without_password(self, database: str = "postgres") -> str:
        return f"postgresql://{self.user}@127.0.0.1:{self.port}/{database}"

    @contextmanager
    def new_database(self) -> Iterator[str]:
        """The URL of an empty database, which is dropped at the end."""
        name = f"test_{secrets.token_hex(6)}"
        run(self.url(), f"CREATE DATABASE {name}")
        try:
            yield self.url(name)
        finally:
            run(self.url(), f"DROP DATABASE {name} WITH (FORCE)")


def run(url: str, *statements: str) -> None:
    """Run statements, each in a transaction of its own."""
    with dbapi.connect(url, autocommit=True) as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def rows(url: str, query: str) -> list[tuple[Any, ...]]:
    """The rows of a query."""
    with dbapi.connect(url) as connection, connection.cursor() as cursor:
        cursor.execute(query)
        return list(cursor.fetchall())


@contextmanager
def running_server() -> Iterator[Server]:
    """Start a server, and stop it at the end."""
    programs = find_programs()
    account = "postgres" if os.geteuid() == 0 else None  # PostgreSQL refuses to run as root
    folder = Path(tempfile.mkdtemp(prefix="mottle-postgresql-"))
    try:
        password_file = folder / "password"
        password_file.write_text(PASSWORD + "\n")
        if account is not None:
            shutil.chown(folder, account)
            shutil.chown(password_file, account)
        data = folder / "data"
        _run(
            account,
            programs / "initdb",
            "-D",
            data,
            "-U",
            USER,
            "--pwfile",
            password_file,
            "--auth=scram-sha-256",
            "--encoding=UTF8",
            "--locale=C",
            "--no-sync",
        )
        process, port = _start(account, programs, data, folder)
        try:
            yield Server(port, folder)
        finally:
            process.send_signal(signal.SIGQUIT)  # at once: nothing of it is needed any more
            process.wait()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def find_programs() -> Path:
    """The folder with initdb and pg_ctl; Debian keeps it out of the path."""
    found = sorted(
        Path("/usr/lib/postgresql").glob("*/bin/initdb"),
        key=lambda path: int(path.parts[-3]),
    )
    in_path = shutil.which("initdb")
    if in_path is not None:
        found.append(Path(in_path).resolve())
    if not found:
        raise RuntimeError(
            "PostgreSQL's server is not installed, and these tests are not left out: run 'make"
            " postgresql' as root, or install it (Debian: apt-get install postgresql)."
        )
    return found[-1].parent


def _start(
    account: str | None, programs: Path, data: Path, folder: Path
) -> tuple[subprocess.Popen[bytes], int]:
    """Start the server; again on another port when somebody has taken the free one meanwhile."""
    for _ in range(_ATTEMPTS):
        port = _free_port()
        settings = {**_SETTINGS, "port": str(port), "unix_socket_directories": str(folder)}
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        with open(folder / "log", "ab") as log:
            process = subprocess.Popen(
                [str(programs / "postgres"), "-D", str(data), *options],
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                preexec_fn=_die_with_parent,
                **_as(account),
            )
        while process.poll() is None:
            if _is_ready(programs, port):
                return process, port
            time.sleep(0.02)
    raise RuntimeError(f"PostgreSQL does not start: {(folder / 'log').read_text()}")


def _is_ready(programs: Path, port: int) -> bool:
    asked = [str(programs / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(port)]
    return subprocess.run(asked, check=False).returncode == 0


def _die_with_parent() -> None:
    """Have Linux stop the server when the tests are killed; elsewhere it would go on."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(1, signal.SIGQUIT)  # PR_SET_PDEATHSIG


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _as(account: str | None) -> dict[str, Any]:
    return {} if account is None else {"user": account, "group": account, "extra_groups": []}


def _run(account: str | None, *command: object) -> None:
    done = subprocess.run(
        [str(word) for word in command],
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
        **_as(account),
    )
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]} failed with exit code {done.returncode}")
