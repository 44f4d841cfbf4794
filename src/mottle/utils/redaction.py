"""Texts that may quote an address, without the passwords in it."""

from __future__ import annotations

import re

_USER_AND_PASSWORD = re.compile(r"([A-Za-z][\w+.-]+:/{1,2})[^\s'\"]*@")  # a path has one slash
_PASSWORD_SETTING = re.compile(r"(password=)[^\s&'\")]*", re.IGNORECASE)


def redacted(text: str) -> str:
    """Remove user names and passwords from the addresses in a text.

    >>> redacted("unexpected argument (postgresql://ada:secret@db.example/clinic)")
    'unexpected argument (postgresql://db.example/clinic)'
    """
    return _PASSWORD_SETTING.sub(r"\1…", _USER_AND_PASSWORD.sub(r"\1", text))
