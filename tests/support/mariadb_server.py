"""A MariaDB server of our own: its data in a temporary folder, on a free port, ended with us."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import arrow_odbc
from postgresql_server import PASSWORD, USER, _die_with_parent, _free_port

_ATTEMPTS = 5
_SETTINGS = (
    "--no-defaults",
    "--innodb-flush-log-at-trx-commit=0",
    "--innodb-doublewrite=0",
    "--innodb-buffer-pool-size=64M",
    "--performance-schema=0",
    "--bind-address=127.0.0.1",
    "--character-set-server=utf8mb4",
    "--sql-mode=ANSI_QUOTES,STRICT_ALL_TABLES",  # the tests quote names as standard SQL does
    "--max-recursive-iterations=1000000",
    "--lock-wait-timeout=10",  # a connection that was left open is an error, and no endless wait
)


@dataclass(frozen=True)
class Server:
    """A running server that asks for a password."""

    port: int
    socket: Path
    user: str = USER
    password: str = PASSWORD

    def url(self, database: str = "", *, password: str | None = None) -> str:
        secret = quote(self.password if password is None else password, safe="")
        return f"mariadb://{self.user}:{secret}@127.0.0.1:{self.port}/{database}"

    def connect(self, database: str = "") -> Any:
        """A connection of our own, over the socket."""
        settings = f"DRIVER={{MariaDB Unicode}};SOCKET={self.socket};CHARSET=utf8mb4;"
        return arrow_odbc.connect(
            f"{settings}DATABASE={database};", user=self.user, password=self.password
        )

    @contextmanager
    def new_database(self) -> Iterator[str]:
        """The name of an empty database, which is dropped at the end."""
        name = f"test_{secrets.token_hex(6)}"
        self.connect().execute(f"CREATE DATABASE {name}")
        try:
            yield name
        finally:
            self.connect().execute(f"DROP DATABASE {name}")


def find_program(name: str) -> str:
    """The path of one of MariaDB's programs."""
    found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
    if found is None:
        raise RuntimeError(
            "MariaDB's server is not installed, and these tests are not left out: run 'make"
            " mariadb' as root, or install it (Debian: apt-get install mariadb-server"
            " odbc-mariadb)."
        )
    return found


@contextmanager
def running_server() -> Iterator[Server]:
    """Start a server, and stop it at the end."""
    folder = Path(tempfile.mkdtemp(prefix="mottle-mariadb-"))
    account = ["--user=root"] if os.geteuid() == 0 else []
    try:
        subprocess.run(
            [
                find_program("mariadb-install-db"),
                "--no-defaults",
                f"--datadir={folder / 'data'}",
                "--auth-root-authentication-method=normal",
                "--skip-test-db",
                *account,
            ],
            check=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        process, server = _start(folder, account)
        try:
            yield server
        finally:
            process.send_signal(signal.SIGKILL)  # at once: nothing of it is needed any more
            process.wait()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _start(folder: Path, account: list[str]) -> tuple[subprocess.Popen[bytes], Server]:
    """Start the server; again on another port when somebody has taken the free one meanwhile."""
    first = folder / "first.sql"  # run at the start, by the server itself
    secret = PASSWORD.replace("'", "''")
    first.write_text(
        f"CREATE USER IF NOT EXISTS {USER}@localhost IDENTIFIED BY '{secret}';\n"
        f"GRANT ALL ON *.* TO {USER}@localhost WITH GRANT OPTION;\n"
    )
    for _ in range(_ATTEMPTS):
        server = Server(_free_port(), folder / "socket")
        with open(folder / "log", "ab") as log:
            process = subprocess.Popen(
                [
                    find_program("mariadbd"),
                    *_SETTINGS,
                    f"--datadir={folder / 'data'}",
                    f"--socket={server.socket}",
                    f"--port={server.port}",
                    f"--pid-file={folder / 'pid'}",
                    f"--init-file={first}",
                    *account,
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                preexec_fn=_die_with_parent,
            )
        while process.poll() is None:
            if _is_ready(server):
                return process, server
            time.sleep(0.05)
    raise RuntimeError(f"MariaDB does not start: {(folder / 'log').read_text()}")


def _is_ready(server: Server) -> bool:
    try:
        server.connect()
    except arrow_odbc.Error as error:
        if "Native error: 1045" in str(error):
            raise
        return False
    return True
