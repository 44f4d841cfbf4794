"""Named objects that behave like the members of an enumeration and like their name.

`Kind` and `Form` are strings, so that they compare with, hash as and are written as their names,
and each is one object, so that ``is`` works. Unlike the members of an enumeration they may be
defined in any module of a package: ``Kind.NUMBER`` and ``Kind("number")`` look the name up in a
`mottle.utils.registry.Registry`, which imports the modules of the package.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from mottle.utils.registry import Registry


class Registered(str):
    """A named object; a class that inherits directly from it has a registry of its own."""

    __slots__ = ()

    name: ClassVar[str]
    registry: ClassVar[Registry[Any]]

    @classmethod
    def named(cls, name: object) -> Any:
        """Look up a registered object, as an enumeration looks up a member by its value.

        Parameters
        ----------
        name : object
            The name, or the object itself.

        Returns
        -------
        Kind or Form
            The one object of that name.

        Raises
        ------
        ValueError
            No object of this family has that name.
        """
        found = cls.registry.get(name) if isinstance(name, str) else None
        if found is None:
            raise ValueError(f"{name!r} is not a valid {cls.__name__}")
        return found

    def __repr__(self) -> str:
        family = next(base for base in type(self).__mro__ if "registry" in vars(base))
        return f"<{family.__name__}.{self.name.upper()}: {self.name!r}>"


class Family(type):
    """The metaclass of a family of registered objects.

    It makes the members attributes of the class and lets a loop over the class list them.
    """

    registry: Registry[Any]

    def member(cls, attribute: str) -> Any:
        """Return the object called ``NAME``, or raise AttributeError."""
        if attribute.isupper() and attribute.lower() in cls.registry:
            return cls.registry[attribute.lower()]
        raise AttributeError(f"{cls.__name__} has no attribute {attribute!r}")

    def members(cls) -> Iterator[Any]:
        """Iterate over all objects, ordered by name."""
        return iter(cls.registry.values())

    def __len__(cls) -> int:
        return len(cls.registry)

    def __contains__(cls, name: object) -> bool:
        return name in cls.registry
