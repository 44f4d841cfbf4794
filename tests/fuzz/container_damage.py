"""Damage to files of other programs: zip archives with XML in them, and binary headers."""

from __future__ import annotations

import io
import re
import struct
import warnings
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

import damage

BOMB = 200  # MB of a file in an archive that takes a thousandth of it
FAR = "XFD1048576"  # the last cell that a sheet can have
EXTREMES = (0, 1, 0x7F, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 2**63 - 1, 2**64 - 1)
HEADER = 400  # bytes in which most formats state sizes

ENTITIES = (
    '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">'
    + "".join(f'<!ENTITY {chr(98 + n)} "{f"&{chr(97 + n)};" * 10}">' for n in range(9))
    + "]>"
)
OUTSIDE = '<!DOCTYPE x [<!ENTITY a SYSTEM "file://{}">]>'


@dataclass(frozen=True)
class Bomb:
    """A file of an archive with a filler in it, very often."""

    before: bytes
    filler: bytes
    after: bytes


def change_archive(path: Path, chance: Random) -> None:
    """Change one file of a zip archive, or what the archive says about it."""
    with zipfile.ZipFile(path) as archive:
        items = [(info.filename, archive.read(info)) for info in archive.infolist()]
    texts = [place for place, (name, _) in enumerate(items) if name.endswith((".xml", ".csv"))]
    place = chance.choice(texts)
    name, content = items[place]
    how = chance.choice([*CHANGES, "words", "list", "list"])
    if how != "list":
        changed = CHANGES[how](content, path, chance)
        path.write_bytes(_packed([*items[:place], (name, changed), *items[place + 1 :]]))
        return
    match chance.choice(["removed", "twice", "names", "sizes", "stored", "many", "link"]):
        case "removed":
            path.write_bytes(_packed(items[:place] + items[place + 1 :]))
        case "twice":
            path.write_bytes(_packed([*items, (name, damage.flip(content, chance))]))
        case "names":
            odd = ["../../home/victim.txt", "/etc/passwd", "", "a\\b", "\u202e", "x/"]
            path.write_bytes(_packed([*items, (chance.choice(odd), b"hostile")]))
        case "sizes":
            path.write_bytes(_wrong_sizes(_packed(items), chance))
        case "stored":
            path.write_bytes(_packed(items, zipfile.ZIP_STORED))
        case "many":
            path.write_bytes(_packed([*items, *((f"x{n}", b"") for n in range(70_000))]))
        case "link":
            path.write_bytes(_packed(items, link=name))


def _damaged(content: bytes, _: Path, chance: Random) -> bytes:
    return damage.BYTES[chance.choice(list(damage.BYTES))](content, chance)


def _words(content: bytes, _: Path, chance: Random) -> bytes:
    """Change names, attributes and texts of XML."""
    text = content.decode("utf-8", "replace")
    for _ in range(chance.choice([1, 1, 2, 6])):
        found = list(re.finditer(r"(?<=[\"'>])[^\"'<>]+(?=[\"'<])|[\w:]+", text))
        if not found:
            break
        word = chance.choice(found)
        new = chance.choice(
            ["", "0", "-1", "1", "9" * 30, "1e999", "nan", FAR, f"A1:{FAR}", "A0", "ZZZZZ9", "s",
             "str", "inlineStr", "date", "1048576", "16384", "99999999", "2024-99-99", "P1Y",
             "PT999999999999H", "=1+1", "../../home/victim.txt", "&amp;", "]]>", "<b>", "\u202e",
             word.group() * 3]
        )  # fmt: skip
        text = text[: word.start()] + new + text[word.end() :]
    return text.encode("utf-8", "replace")


def _entities(content: bytes, path: Path, chance: Random) -> bytes:
    """Entities that expand to gigabytes, or name a file outside."""
    text = content.decode("utf-8", "replace")
    declared, used = ENTITIES, "&j;"
    if chance.random() < 0.5:
        declared, used = OUTSIDE.format(path.parent / "home" / "victim.txt"), "&a;"
    start, mark, rest = text.partition("?>") if text.startswith("<?xml") else ("", "", text)
    places = [found.start() + 1 for found in re.finditer(r">[^<>\s]+<", rest)]
    if places:
        place = chance.choice(places)
        rest = rest[:place] + used + rest[place:]
    return (start + mark + declared + rest).encode()


def _bomb(content: bytes, _: Path, chance: Random) -> Bomb:
    """A file that is a thousand times as large as it is compressed."""
    filler = chance.choice([b"\0", b" ", b"<row/>", b"<row><c><v>1</v></c></row>", b"x;y\n"])
    place = content.rfind(b"</")
    if place < 0 or chance.random() < 0.5:
        place = chance.randrange(len(content) + 1)
    return Bomb(content[:place], filler, content[place:])


def _deep(_: bytes, __: Path, chance: Random) -> bytes:
    """Elements in elements."""
    depth = chance.choice([100, 100_000])
    return b"<a>" * depth + b"x" + b"</a>" * depth


CHANGES: dict[str, Callable[[bytes, Path, Random], bytes | Bomb]] = {
    "damaged": _damaged,
    "words": _words,
    "entities": _entities,
    "bomb": _bomb,
    "deep": _deep,
}


def _packed(
    items: list[tuple[str, bytes | Bomb]], method: int = zipfile.ZIP_DEFLATED, link: str = ""
) -> bytes:
    opened = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(opened, "w", method) as archive:
        warnings.simplefilter("ignore")  # two files of one name
        for name, content in items:
            info = zipfile.ZipInfo(name)
            info.compress_type = method
            if name == link:
                info.external_attr = 0o120777 << 16
                content = b"/etc/passwd"
            if isinstance(content, Bomb):
                piece = content.filler * ((1 << 20) // len(content.filler))
                with archive.open(info, "w") as file:
                    file.write(content.before)
                    for _ in range(BOMB):
                        file.write(piece)
                    file.write(content.after)
            else:
                archive.writestr(info, content)
    return opened.getvalue()


def _wrong_sizes(content: bytes, chance: Random) -> bytes:
    """State other sizes, checksums or places of the files in an archive."""
    changed = bytearray(content)
    entries = [found.start() for found in re.finditer(b"PK\x01\x02|PK\x03\x04", content)]
    for _ in range(chance.choice([1, 3])):
        entry = chance.choice(entries)
        place = entry + chance.choice([6, 8, 10, 14, 18, 20, 22, 24, 26, 28, 30, 42])
        value = struct.pack("<I", chance.choice(EXTREMES) & 0xFFFFFFFF)
        changed[place : place + 4] = value
    return bytes(changed)


def change_fields(path: Path, chance: Random) -> None:
    """Overwrite numbers of a binary file, mostly in its header, by extreme ones."""
    content = bytearray(path.read_bytes())
    for _ in range(chance.choice([1, 1, 2, 5])):
        width = chance.choice([1, 2, 4, 8])
        end = len(content) if chance.random() < 0.5 else min(HEADER, len(content))
        place = chance.randrange(max(end - width, 1)) // width * width
        value = chance.choice(EXTREMES) % 256**width
        content[place : place + width] = value.to_bytes(width, chance.choice(["little", "big"]))
    path.write_bytes(content)


def change_format(path: Path, chance: Random) -> None:
    """Put the file of another program under the name of this one."""
    others = [one for one in sorted(path.parent.iterdir()) if one.is_file() and one != path]
    path.write_bytes(chance.choice(others).read_bytes())
