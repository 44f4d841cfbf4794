#!/usr/bin/env python3
"""Check a release made by mottle against its original. Needs Python's standard library only.

python verify_release.py RELEASE            checksums of the files of the published folder
python verify_release.py RELEASE EVIDENCE   everything; EVIDENCE is a folder of the owner, written
                                            by 'mottle verify RELEASE … --export EVIDENCE':
original.csv   the rows from which the release was made, in their order
links.csv      published,original,true: every original that a published row may stand for (rows are
               numbered from 0), and 1 where it really does
columns.json   by column: order of its values, paths in its tree, bins, separator of its sets
Exit code 0: everything holds; 1: it does not; 2: the files cannot be read.
"""

import csv
import hashlib
import json
import math
import re
import sys
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

Column = dict[str, Any]
Columns = dict[str, list[str]]
Links = Sequence[Sequence[int]]


class Wrong(Exception):  # noqa: N818 - what is wrong is the release
    """Something that has to hold does not."""


def require(holds: object, what: str) -> None:
    """Raise `Wrong` unless something holds."""
    if not holds:
        raise Wrong(what)


def unguarded(text: str) -> str:
    """A text without the ' that release.csv puts before texts that begin like a formula."""
    return re.sub(r"\A'('*[=+@\t\r\n\uff1d\uff0b\uff0d\uff20-])", r"\1", text)


def read_csv(path: Path) -> Columns:
    """The columns of a CSV file by name."""
    csv.field_size_limit(1 << 30)
    with open(path, encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file, strict=True)
    columns = map(list, zip(*rows, strict=True)) if rows else ([] for _ in header)
    return dict(zip(map(unguarded, header), columns, strict=True))


def check_files(folder: Path, certificate: Column) -> str:
    """The files have the checksums that the certificate states."""
    there = {"release.csv", "release.parquet"} & {path.name for path in folder.iterdir()}
    require(there <= set(certificate["sha256"]), "the certificate states no checksum of a file")
    for name, stated in certificate["sha256"].items():
        require(Path(name).name == name, "the certificate names a file elsewhere")
        require((folder / name).is_file(), "the certificate names a file that is not there")
        with open(folder / name, "rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        require(found == stated, f"{name} has another checksum than the certificate states")
    return f"{len(certificate['sha256'])} files"


def read_links(path: Path, rows: int) -> tuple[list[list[int]], list[int]]:
    """By published row: its originals, and the true one. Every row truly is one original."""
    links = read_csv(path)
    originals: list[list[int]] = [[] for _ in range(rows)]
    truth: list[list[int]] = [[] for _ in range(rows)]
    for row, one, is_true in zip(
        *(links[n] for n in ("published", "original", "true")), strict=True
    ):
        require(0 <= int(row) < rows, "links.csv names rows that do not exist")
        originals[int(row)].append(int(one))
        truth[int(row)] += [int(one)] if is_true == "1" else []
    require(all(len(each) == 1 for each in truth), "a published row has not one true original")
    require(sorted(truth) == [[n] for n in range(rows)], "two published rows have one original")
    return originals, [each[0] for each in truth]


def check_graph(originals: Links, k: int) -> str:
    """Everybody may be as many published rows as a row may be people, and at least k."""
    rows_of = Counter(person for each in originals for person in each)
    require(set(rows_of) == set(range(len(originals))), "links.csv names other originals")
    for each in originals:
        require(len(set(each)) == len(each), "links.csv names an original of a row twice")
        require(all(rows_of[one] == len(each) for one in each), "the graph is not regular")
    fewest = min(map(len, originals))
    require(fewest >= k, f"a published row may stand for {fewest} originals only, not {k}")
    return f"every row may stand for at least {fewest} originals"


def members_of(text: str, ends: int = 1) -> list[tuple[str | None, str | None]]:
    """Split a cell (28, 28..39, {a|b}) into pairs of ends; (None, None) is a missing value."""
    is_set = text[:1] == "{" and text[-1:] == "}"
    members: list[list[str]] = [[""]]
    for piece in re.split(r"(\\.|\||\.\.)", text[1:-1] if is_set else text, flags=re.DOTALL):
        if piece == "|" and is_set:
            members.append([""])
        elif piece == "..":
            members[-1].append("")
        else:
            members[-1][-1] += piece
    fit = all(len(e) == 1 or (len(e) == ends and all(e) and e[0] != e[1]) for e in members)
    require(text == "{|}" or len({*map(tuple, members)}) == len(members), "a value twice in a cell")
    require(fit, "a cell holds a range where none can be, or one without two different ends")
    return [(None, None) if e == [""] else (plain(e[0]), plain(e[-1])) for e in members]


def plain(text: str) -> str:
    """A value without backslashes."""
    return "" if text == r"\e" else re.sub(r"\\(.)", r"\1", text, flags=re.DOTALL)


def items_of(text: str, separator: str | None) -> frozenset[str | None] | None:
    """The items of a set; None where it is missing."""
    if text[:1] == "{" and text[-1:] == "}":
        return frozenset(low for low, _ in members_of(text)) if text != "{}" else frozenset()
    items = (item.strip() for item in text.split(separator or ";"))
    return None if text == "" else frozenset(filter(None, items))


def key_of(column: Column) -> Callable[[str], Any]:
    """How values of a column compare: numbers by size, ordered ones by place, others as text."""
    order = {value: place for place, value in enumerate(column.get("order") or ())}

    def key(text: str) -> Any:
        if order or column.get("text"):
            return order[text] if order else text
        try:
            return text if Decimal(text).is_nan() else Decimal(text)
        except InvalidOperation:
            return text

    return key


def wanted(column: Column, values: Collection[str]) -> Any:
    """What a cell has to say about the values of its originals; "" is a missing value."""
    present, missing, key = [plain(text) for text in values if text], "" in values, key_of(column)
    if column["form"] == "node":
        paths = [column["tree"][value] for value in present]
        shared = [label for label in paths[0] if all(label in path for path in paths)] or [None]
        return shared[-1 if missing else 0]
    if column["form"] == "set":
        return {key(value) for value in present}, missing
    keys = [key(value) for value in present]
    if "bins" in column:
        return binned(column["bins"], keys, key), missing
    return (min(keys), max(keys)), missing


def binned(bins: Sequence[Column], keys: Sequence[Any], key: Callable[[str], Any]) -> str:
    """The text of the run of bins that holds all values."""
    starts = [key(one["from"]) for one in bins]
    places = [max(bisect_right(starts, each) - 1, 0) for each in keys]
    first, last = bins[min(places)], bins[max(places)]
    below, above = first.get("open") == "below", last.get("open") == "above"
    if below or above:
        return ".." + ("" if above else last["high"]) if below else first["low"] + "+"
    return str(first["low"] if first["low"] == last["high"] else f"{first['low']}..{last['high']}")


def said(column: Column, text: str) -> Any:
    """What a cell says, in the form of `wanted`."""
    if "bins" in column:
        optional = text[:1] == "{" and text[-2:] == "|}"
        return text[1:-2] if optional else text, optional
    members, key = members_of(text, 2 if column["form"] == "range" else 1), key_of(column)
    ends = [(low, high) for low, high in members if low is not None and high is not None]
    missing = len(ends) < len(members)
    if column["form"] == "node":
        return members[0][0] if len(members) == 1 else members
    if column["form"] == "set":
        return {key(low) for low, _ in ends}, missing
    return ((key(ends[0][0]), key(ends[0][1])) if len(ends) == 1 else ends), missing


def voted(sets: Sequence[Collection[Any] | None], nodes: Column) -> tuple[Any, ...]:
    """What a cell of a set has to say; the base is what more than half of the originals hold."""
    present = [{[x, *nodes.get(x, ())][-1] for x in each} for each in sets if each is not None]
    votes = Counter(item for each in present for item in each)
    base = {item for item, number in votes.items() if 2 * number > len(present)}
    uncertain = {item for item, number in votes.items() if number < len(present)}
    distance = max((len(base ^ each) for each in present), default="")
    missing = {None} if len(present) < len(sets) else set()
    return base if present else None, uncertain | missing, str(distance)


def wrong_cells(name: str, column: Column, new: Columns, old: Columns, links: Links) -> list[int]:
    """The rows whose cell is not what its originals have in common, no less and no more."""
    values, wrong, known = old[name], list[int](), dict[frozenset[str], Any]()
    if column["form"] == "worlds":
        sets = [items_of(text, column.get("separator")) for text in values]
        lists = [[items_of(x, None) for x in new[f"{name}.{y}"]] for y in ("base", "uncertain")]
        named = {item for part in lists for each in part for item in each or ()}
        nodes = {x: [y for y in z if y in named] for x, z in column.get("tree", {}).items()}
        for row, cell in enumerate(zip(*lists, new[f"{name}.distance"], strict=True)):
            wrong += [row] if cell != voted([sets[p] for p in links[row]], nodes) else []
        return wrong
    for row, text in enumerate(new[name]):
        content = frozenset(values[person] for person in links[row])
        if content not in known:
            known[content] = None if content == {""} else wanted(column, content)
        try:
            same = (said(column, unguarded(text)) if text else None) == known[content]
        except (KeyError, IndexError, TypeError, Wrong):
            same = False
        wrong += [] if same else [row]
    return wrong


def cap_of(parts: Sequence[Column], share: float) -> float:
    """The highest share of a value that is allowed among anybody's rows; 1 if none is stated."""
    caps = [1.0] + [1 / part["l"] for part in parts if "l" in part and "c" not in part]
    for part in (part for part in parts if "beta" in part):
        growth = min(part["beta"], -math.log(share)) if part["enhanced"] else part["beta"]
        caps.append((1 + growth) * share)
    return float(min(caps))


def highest_share(parts: list[Column], values: list[str], links: Links, truth: list[int]) -> float:
    """How often a value occurs at most among the rows that may be a person's; within its cap."""
    shown: list[Counter[str]] = [Counter() for _ in links]
    for row, each in enumerate(links):
        for person in each:
            shown[person][values[truth[row]]] += 1
    caps = {v: cap_of(parts, number / len(values)) for v, number in Counter(values).items()}
    shares = [(n / each.total(), caps[value]) for each in shown for value, n in each.items()]
    require(all(share <= cap + 1e-9 for share, cap in shares), "a sensitive value above its cap")
    return max(share for share, _ in shares)


def check_all(folder: Path, evidence: Path | None, say: Callable[[str, object], None]) -> None:
    """Run all checks that the given files allow."""
    certificate = json.loads((folder / "certificate.json").read_text("utf-8"))
    say("checksums", check_files(folder, certificate))
    if evidence is None:
        return
    require(certificate["kind"] != "two tables", "releases of two tables cannot be checked here")
    columns: dict[str, Column] = json.loads((evidence / "columns.json").read_text("utf-8"))
    release, original = read_csv(folder / "release.csv"), read_csv(evidence / "original.csv")
    rows = {len(cells) for cells in (*release.values(), *original.values())}
    require(rows == {certificate["rows"]}, "the files have other numbers of rows")
    parts = certificate["guarantee"].get("parts") or [certificate["guarantee"]]
    k = max([part["k"] for part in parts if "k" in part], default=1)
    links, truth = read_links(evidence / "links.csv", certificate["rows"])
    say("graph", check_graph(links, k))
    for name, column in columns.items():
        if column.get("form"):
            wrong = wrong_cells(name, column, release, original, links)
            require(not wrong, f"row {wrong[:1]}, column {name}: not what its originals share")
            say(f"column {name}", "every cell says what its originals have in common")
        elif column.get("unchanged"):
            key, cells = key_of(column), [unguarded(text) for text in release[name]]
            values = [key(plain(original[name][person])) for person in truth]
            same = [key(text) == value for text, value in zip(cells, values, strict=True)]
            require(all(same), f"column {name}: a cell that is not its true original's")
            say(f"column {name}", "every cell is its true original's")
        if column.get("capped"):
            share = highest_share(parts, original[name], links, truth)
            say(f"column {name}", f"highest share of a value among anybody's rows: {share:.4g}")
    unit = certificate.get("unit") or {}
    if unit.get("protects") == "person" and unit.get("column") in original:
        who = [name.casefold() for name in original[unit["column"]]]
        most = max(max(Counter(who[p] for p in each).values()) / len(each) for each in links)
        require(most * k <= 1 + 1e-9, f"more than one in {k} originals of a row are one person's")
        say("people", f"at most {most:.4g} of the originals of a row are one person's")


def show(what: str, found: object) -> None:
    """Print a line; what is not ASCII, which might control the terminal, is escaped."""
    print(f"{what}: {found}".encode("unicode_escape").decode())


def main(arguments: Sequence[str]) -> int:
    """Check the folders that the command line names."""
    if len(arguments) not in (1, 2):
        print(__doc__)
        return 2
    evidence = Path(arguments[1]) if len(arguments) == 2 else None
    try:
        check_all(Path(arguments[0]), evidence, show)
    except Wrong as wrong:
        show("WRONG", wrong)
        return 1
    except Exception as error:  # whatever files of others can raise
        print(f"The files cannot be read: {type(error).__name__}")
        return 2
    print("Everything holds.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
