"""What is public, and what its docstrings owe to a reader: a checker of numpydoc sections.

A package is public when `PUBLIC` names it, and a name when the package's ``__all__`` lists it. Each
public function, and each public method of a public class, has to have a docstring whose

- ``Parameters`` section lists exactly its parameters, each with its type and a description,
- ``Returns`` (or ``Yields``) section says what comes back, if anything does,
- ``Raises`` section names the errors that its own body raises.

A class with a hand-written constructor documents the constructor's parameters on the class.
Properties need a docstring and ``Raises``. Fields of data classes are documented where they stand.
"""

from __future__ import annotations

import ast
import dataclasses
import enum
import importlib
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from types import FunctionType

PUBLIC = (
    "mottle",
    "mottle.audit",
    "mottle.datasets",
    "mottle.errors",
    "mottle.evaluation",
    "mottle.hierarchy",
    "mottle.methods",
    "mottle.queries",
    "mottle.risk",
)

_SECTIONS = (
    "Attributes",
    "Examples",
    "Methods",
    "Notes",
    "Other Parameters",
    "Parameters",
    "Raises",
    "References",
    "Returns",
    "See Also",
    "Warns",
    "Yields",
)
_NOTHING = ("None", "Never", "NoReturn")


@dataclasses.dataclass(frozen=True)
class Documented:
    """A function, method, constructor or property whose docstring is checked."""

    function: FunctionType  # what is called
    docstring: str | None  # where it is documented
    is_property: bool = False
    is_constructor: bool = False

    @property
    def name(self) -> str:
        """Where it is defined, and under which name."""
        return f"{self.function.__module__}.{self.function.__qualname__}"


def public_objects(packages: Sequence[str] = PUBLIC) -> list[Documented]:
    """Everything in the packages' ``__all__`` whose docstring is checked, once each, by name."""
    found: dict[FunctionType, Documented] = {}
    for package in packages:
        module = importlib.import_module(package)
        for name in module.__all__:
            for each in documented(getattr(module, name)):
                found.setdefault(each.function, each)
    return sorted(found.values(), key=lambda each: each.name)


def documented(item: object) -> Iterator[Documented]:
    """What there is to check of one public object: a function, or the methods of a class."""
    if inspect.isclass(item):
        yield from _of_class(item)
    elif (function := _function_of(item)) is not None and _is_ours(function):
        yield Documented(function, inspect.getdoc(function))


def _of_class(item: type) -> Iterator[Documented]:
    """Constructor and methods; of an inherited method the version that is called."""
    fields = {field.name for field in dataclasses.fields(item)} if _is_dataclass(item) else set()
    constructor = vars(item).get("__init__")
    generated = _is_dataclass(item) or issubclass(item, enum.Enum)
    if isinstance(constructor, FunctionType) and _is_ours(constructor) and not generated:
        yield Documented(constructor, inspect.getdoc(item), is_constructor=True)
    for attribute in dir(item):
        value = inspect.getattr_static(item, attribute)
        function = None if attribute.startswith("_") or attribute in fields else _function_of(value)
        if function is not None and _is_ours(function):
            is_property = isinstance(value, property | cached_property)
            docstring = inspect.getdoc(value if is_property else getattr(item, attribute))
            yield Documented(function, docstring, is_property)


def _is_dataclass(item: type) -> bool:
    return dataclasses.is_dataclass(item)


def _function_of(item: object) -> FunctionType | None:
    if isinstance(item, classmethod | staticmethod):
        item = item.__func__
    if isinstance(item, property):
        item = item.fget
    if isinstance(item, cached_property):
        item = item.func
    item = getattr(item, "py_func", item)  # Numba keeps the Python function there
    item = inspect.unwrap(item) if callable(item) else item
    return item if isinstance(item, FunctionType) else None


def _is_ours(function: FunctionType) -> bool:
    """Whether somebody wrote it here: generated methods have no file of their own."""
    if not function.__module__.startswith("mottle"):
        return False
    return not function.__code__.co_filename.startswith("<")


# ---------------------------------------------------------------------------------- the checks


def faults(item: Documented) -> list[str]:
    """Everything that is missing from, or wrong in, a docstring."""
    if not item.docstring:
        return ["has no docstring"]
    sections = sections_of(item.docstring)
    found = [*_faults_of_raises(item, sections)]
    if item.is_property:
        return found
    found += _faults_of_parameters(item, sections)
    owes = not item.is_constructor and _returns_something(item.function)
    if owes and "Returns" not in sections and "Yields" not in sections:
        found.append("has no section Returns")
    return found


def _faults_of_parameters(item: Documented, sections: dict[str, list[str]]) -> Iterator[str]:
    expected = parameters_of(item.function)
    entries = dict(entries_of(sections.get("Parameters", [])))
    entries |= dict(entries_of(sections.get("Other Parameters", [])))
    missing = [name for name in expected if name not in entries]
    if missing:
        yield f"does not document {', '.join(missing)}"
    unknown = [name for name in entries if name not in expected]
    if unknown:
        yield f"documents {', '.join(unknown)}, which it does not have"
    untyped = [name for name, kind in entries.items() if name in expected and not kind]
    if untyped:
        yield f"gives no type of {', '.join(untyped)}"
    order = [name for name in entries if name in expected]
    if order != [name for name in expected if name in entries]:
        yield "documents its parameters in another order"


def _faults_of_raises(item: Documented, sections: dict[str, list[str]]) -> Iterator[str]:
    raised = errors_raised_by(item.function)
    if raised is None:
        return
    if "Raises" not in sections:
        yield "has no section Raises"
        return
    named = {name for name, _ in entries_of(sections["Raises"])}
    if missing := sorted(raised - named):
        yield f"does not say when it raises {', '.join(missing)}"


def parameters_of(function: Callable[..., object]) -> list[str]:
    """Names of the parameters that a caller gives, with stars as numpydoc writes them."""
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    return [
        stars.get(parameter.kind, "") + name
        for name, parameter in inspect.signature(function).parameters.items()
        if name not in ("self", "cls") and not name.startswith("_")
    ]


def _returns_something(function: FunctionType) -> bool:
    annotation = function.__annotations__.get("return", "None")
    return str(annotation) not in _NOTHING and annotation is not None


def errors_raised_by(function: FunctionType) -> set[str] | None:
    """Classes of the errors raised in the function's own body; None when it raises nothing.

    An error that is raised from a variable, or made by a function, counts but has no class here.
    """
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    raises = [node.exc for node in _own_nodes(tree.body[0]) if isinstance(node, ast.Raise)]
    raised = [each for each in raises if each is not None]  # a bare raise passes on what came
    if not raised:
        return None
    made = [each.func if isinstance(each, ast.Call) else each for each in raised]
    names = [each.id for each in made if isinstance(each, ast.Name)]
    classes = {name for name in names if name[:1].isupper()}
    return None if classes == {"NotImplementedError"} else classes  # left to subclasses


def _own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function, those of functions inside it left out."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(
            child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef
        ):
            yield child
            yield from _own_nodes(child)


# ---------------------------------------------------------------------------- reading numpydoc


def sections_of(docstring: str) -> dict[str, list[str]]:
    r"""The lines of every numpydoc section: a known title underlined by as many hyphens.

    >>> sections_of("Add.\n\nParameters\n----------\nx : int\n    A number.")
    {'Parameters': ['x : int', '    A number.']}
    """
    lines = inspect.cleandoc(docstring).splitlines()
    heads = [
        place
        for place in range(len(lines) - 1)
        if lines[place] in _SECTIONS and lines[place + 1] == "-" * len(lines[place])
    ]
    ends = [*heads, len(lines)][1:]
    return {
        lines[head]: [line for line in lines[head + 2 : end] if line.strip()]
        for head, end in zip(heads, ends, strict=True)
    }


def entries_of(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Name and type of the entries of a section that describe something.

    >>> list(entries_of(["x, y : int", "    Numbers.", "z", "    Another."]))
    [('x', 'int'), ('y', 'int'), ('z', '')]
    >>> list(entries_of(["x : int"]))  # no description
    []
    """
    for place, line in enumerate(lines):
        described = place + 1 < len(lines) and lines[place + 1].startswith(" ")
        if line.startswith(" ") or not described:
            continue
        names, _, kind = (part.strip() for part in line.partition(" : "))
        for name in re.split(r",\s*", names):
            yield name, kind
