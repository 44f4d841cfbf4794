"""XML of others: elements and their text, without document types, entities or other files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NoReturn
from xml.parsers import expat

from mottle.utils.untrusted.text import DEEPEST

__all__ = ["Element", "parse_xml"]

MOST_ELEMENTS = 1_000_000


@dataclass
class Element:
    """An element: its name, its text and the elements in it; attributes are left out."""

    name: str
    text: str = ""
    children: list[Element] = field(default_factory=list)

    def all(self, name: str) -> Iterator[Element]:
        """Yield the elements of a name that are directly in this one.

        Parameters
        ----------
        name : str
            The name.

        Yields
        ------
        Element
            In the order of the file.
        """
        return (child for child in self.children if child.name == name)

    def value(self, name: str) -> str | None:
        """Return the text of the first element of a name, or None.

        Parameters
        ----------
        name : str
            The name.

        Returns
        -------
        str or None
            The text as it is.
        """
        return next((child.text for child in self.all(name)), None)


def parse_xml(content: bytes) -> Element:
    """Parse XML of others.

    A document type is refused, and with it every entity that could expand or name another file.

    Parameters
    ----------
    content : bytes
        The file.

    Returns
    -------
    Element
        The root.

    Raises
    ------
    ValueError
        It is not XML, has a document type, or is nested too deeply.

    Examples
    --------
    >>> parse_xml(b"<a><b>x &amp; y</b></a>").value("b")
    'x & y'
    """
    outside = Element("")
    opened, elements = [outside], 0

    def start(name: str, _: object) -> None:
        nonlocal elements
        elements += 1
        if len(opened) > DEEPEST:
            raise ValueError("it is nested too deeply")
        if elements > MOST_ELEMENTS:
            raise ValueError("it has too many elements")
        element = Element(name)
        opened[-1].children.append(element)
        opened.append(element)
        texts.append([])

    def end(_: str) -> None:
        opened.pop().text = "".join(texts.pop())

    def refuse(*_: object) -> NoReturn:
        raise ValueError("it has a document type (DTD)")

    texts: list[list[str]] = [[]]
    parser = expat.ParserCreate()
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = lambda text: texts[-1].append(text)
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    parser.ExternalEntityRefHandler = refuse
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        raise ValueError(f"it is not XML, at line {error.lineno}") from None
    except LookupError:  # of an encoding that the file names
        raise ValueError("it names an encoding that does not exist") from None
    return outside.children[0]
