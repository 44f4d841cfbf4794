"""Texts that may quote an address, without the passwords in it."""

from __future__ import annotations

import re

_USER_AND_PASSWORD = re.compile(r"([A-Za-z][\w+.-]+:/{1,2})[^\s'\"]*@")  # a path has one slash
_ODD_PASSWORD = re.compile(r"([A-Za-z][\w+.-]+://)[^/\n@]*@")  # with spaces or quotes
_PASSWORD_SETTING = re.compile(
    r"(password\s*=\s*)(?:'(?:[^'\\]|\\.)*'|\"[^\"]*\"|[^\s&'\")]*)", re.IGNORECASE
)


def redacted(text: str) -> str:
    """Remove user names and passwords from the addresses in a text.

    >>> redacted("unexpected argument (postgresql://ada:secret@db.example/clinic)")
    'unexpected argument (postgresql://db.example/clinic)'
    >>> redacted("host=db.example password='my secret' user=ada")
    'host=db.example password=… user=ada'
    """
    for pattern in (_USER_AND_PASSWORD, _ODD_PASSWORD):
        text = pattern.sub(r"\1", text)
    return _PASSWORD_SETTING.sub(r"\1…", text)
