"""A signature over the files of a release by the owner's SSH key.

``files.sha256`` lists the checksums of all files of the folder, as ``sha256sum -c`` reads them, and
``files.sha256.sig`` is its signature by ``ssh-keygen -Y sign``. Anybody can check both without
mottle.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from mottle.errors import DataError, StorageError, UsageError
from mottle.io.atomic_write import staged
from mottle.io.hashed_file import sha256_of
from mottle.io.write_release import FILES, LIST, SIGNATURE
from mottle.utils.untrusted.text import read_text

NAMESPACE = "mottle-release"  # signatures made for other purposes are refused
_LINE = re.compile(r"([0-9a-f]{64})  (\S+)")
_MOST_SECONDS = 300  # a passphrase may be asked for


def sign_release(folder: Path, key: Path, *, overwrite: bool = False) -> None:
    """Sign the files of a release folder.

    Parameters
    ----------
    folder : Path
        The folder of a complete release.
    key : Path
        The owner's private SSH key, or the public one if an agent holds the private one.
    overwrite : bool, optional
        Whether an existing signature is replaced.

    Raises
    ------
    StorageError
        There is no complete release, or a signature already.
    UsageError
        The key cannot sign.
    """
    listed = _list_of(folder)
    if not key.is_file():
        raise UsageError(f"There is no SSH key {key}.", "Name a key that ssh-keygen made.")
    with staged(folder, (LIST, SIGNATURE), overwrite=overwrite) as stage:
        (stage / LIST).write_text(listed, encoding="utf-8")
        done = _ssh_keygen("sign", "-f", key, "-n", NAMESPACE, stage / LIST)
        if done.returncode or not (stage / SIGNATURE).is_file():
            raise UsageError(
                f"ssh-keygen cannot sign with {key}.",
                "Check that it is a private key that you may read, and its passphrase.",
            )


def check_signature(folder: Path, signers: Path | None = None, signer: str | None = None) -> str:
    """Check the signature of a release folder.

    Parameters
    ----------
    folder : Path
        The folder.
    signers : Path, optional
        A file of allowed signers, as ``ssh-keygen`` takes it. Without it the signature is checked,
        but not who made it.
    signer : str, optional
        Who has to have signed; by default anybody in that file.

    Returns
    -------
    str
        Who signed, or the fingerprint of the key.

    Raises
    ------
    DataError
        A file was changed or added after signing, or the signature is not valid.
    StorageError
        There is no signature.
    """
    for name in (LIST, SIGNATURE):
        if not (folder / name).is_file():
            raise StorageError(f"{folder} is not signed: there is no {name}.", "See 'mottle sign'.")
    try:
        stated = read_text(folder / LIST)
    except ValueError:  # it is too large or no text
        stated = ""
    if not all(_LINE.fullmatch(line) for line in stated.splitlines()) or stated != _list_of(folder):
        raise DataError(
            f"The files of {folder} are not those that were signed.",
            "A file was changed, added or removed after signing.",
        )
    if signers is None:
        done = _ssh_keygen(
            "check-novalidate", "-n", NAMESPACE, "-s", folder / SIGNATURE, stdin=folder / LIST
        )
        found = re.search(r"(SHA256:\S+)", done.stdout)
        if done.returncode or found is None:
            raise DataError(f"The signature of {folder} is not valid.")
        return f"key {found[1]}"
    if not signers.is_file():
        raise StorageError(f"There is no file of signers {signers}.", "Check the path.")
    name = signer or _who(folder, signers)
    done = _ssh_keygen(
        *("verify", "-f", signers, "-I", name, "-n", NAMESPACE, "-s", folder / SIGNATURE),
        stdin=folder / LIST,
    )
    if done.returncode:
        raise DataError(
            f"The signature of {folder} is not by {name if signer else 'anybody'} in {signers}."
        )
    return name


def _who(folder: Path, signers: Path) -> str:
    """The principal in the file of signers who has the key of the signature."""
    done = _ssh_keygen("find-principals", "-f", signers, "-s", folder / SIGNATURE)
    names = done.stdout.split()
    if done.returncode or not names:
        raise DataError(f"The signature of {folder} is not by anybody in {signers}.")
    return names[0]


def _list_of(folder: Path) -> str:
    """The checksums of the files of a release, a line each."""
    present = [name for name in sorted(FILES) if (folder / name).is_file()]
    if "certificate.json" not in present:
        raise StorageError(f"There is no complete release in {folder}.", "Name its folder.")
    return "".join(f"{sha256_of(folder / name)}  {name}\n" for name in present)


def _ssh_keygen(
    action: str, *arguments: str | Path, stdin: Path | None = None
) -> subprocess.CompletedProcess[str]:
    program = shutil.which("ssh-keygen")
    if program is None:
        raise StorageError(
            "Signatures need ssh-keygen, which is not on this machine.", "Install OpenSSH's client."
        )
    words = [program, "-Y", action, *map(str, arguments)]
    with open(stdin if stdin is not None else "/dev/null", "rb") as given:
        try:
            return subprocess.run(
                words,
                stdin=given,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_MOST_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise StorageError(
                f"ssh-keygen did not end within {_MOST_SECONDS} seconds.",
                "Use a key without a passphrase, or one that an agent holds.",
            ) from None
