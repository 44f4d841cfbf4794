"""A registry of named items, each registered by a module of its own."""

from __future__ import annotations

import importlib
import pkgutil
import sys
import threading
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Generic, Protocol, TypeVar

from mottle.errors import UsageError, did_you_mean

__all__ = ["ExtensionWarning", "Named", "Registry"]


class ExtensionWarning(UserWarning):
    """An item that another distribution announces could not be loaded, and is left out."""


class Named(Protocol):
    """An item of a registry."""

    @property
    def name(self) -> str:
        """The name under which it is found."""
        ...


T = TypeVar("T", bound=Named)


class Registry(Generic[T], Mapping[str, T]):
    """Items by name, sorted by name.

    The modules that register items are imported when they are looked up, so that importing a
    package does not load all of its members: a module of the item's own name is tried first, then
    all are imported. Adding an item means adding one module to the package.

    Other distributions announce items as entry points. They are loaded last, when a name was not
    found or all items are listed, so they cannot replace an item of the package; one that cannot be
    loaded is left out with an `ExtensionWarning`.

    Parameters
    ----------
    noun : str
        What an item is called in messages.
    package : str
        Full name of the package whose public modules, and those of its packages, register items.
    leaving_out : collection of str
        Names of modules that register nothing and would be costly to import.
    group : str, optional
        The group of entry points of other distributions: each has the name of an item and leads to
        the module, or to a name in it, whose import registers the item.
    """

    def __init__(
        self,
        noun: str,
        package: str,
        leaving_out: Collection[str] = (),
        group: str | None = None,
    ) -> None:
        self._noun = noun
        self._package = package
        self._leaving_out = leaving_out
        self._group = group
        self._items: dict[str, T] = {}
        self._loading: str | None = None  # the distribution whose entry point is being loaded
        self._origins: dict[str, str] = {}  # the distribution of each item that is not ours
        self._loaded = False
        self._lock = threading.RLock()  # another thread waits until all modules are imported

    def add(self, item: T) -> None:
        """Register an item.

        Parameters
        ----------
        item : Named
            The item, under its name.

        Raises
        ------
        ValueError
            There is an item of that name: a defect of the program.
        """
        if item.name in self._items:
            raise ValueError(f"{self._noun} {item.name} is registered twice")
        self._items[item.name] = item
        if self._loading is not None:
            self._origins[item.name] = self._loading

    def distribution_of(self, name: str) -> str | None:
        """Return the name of the distribution that announced an item.

        Parameters
        ----------
        name : str
            The name of an item.

        Returns
        -------
        str or None
            The distribution; None for items of the package itself.
        """
        return self._origins.get(name)

    def get_named(self, name: object) -> T:
        """Return the item of a name that a user gave.

        Parameters
        ----------
        name : object
            The name.

        Returns
        -------
        Named
            The item.

        Raises
        ------
        UsageError
            There is none; the message suggests similar names.
        """
        if not isinstance(name, str) or name not in self:
            raise UsageError(
                f"There is no {self._noun} '{name}'.", did_you_mean(str(name), list(self))
            )
        return self[name]

    def __getitem__(self, name: str) -> T:
        if name not in self._items and not self._loaded:
            self._load_module_of(name)
        return self._items[name] if name in self._items else self._load()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._load()))

    def __len__(self) -> int:
        return len(self._load())

    def _load_module_of(self, name: str) -> None:
        """Import the module, or the package and its module, of the item's own name, if any."""
        own = name.replace("-", "_")
        if own.startswith("_") or not own.isidentifier():
            return
        for module in (f"{self._package}.{own}", f"{self._package}.{own}.{own}"):
            try:
                importlib.import_module(module)
            except ModuleNotFoundError as error:
                if error.name != module:
                    raise
                return

    def _load(self) -> dict[str, T]:
        with self._lock:
            if not self._loaded:
                self._loaded = True  # first: the modules may look items up while they are imported
                package = importlib.import_module(self._package)
                _import_modules(self._package, package.__path__, self._leaving_out)
                if self._group is not None:
                    self._load_entry_points(self._group)
        return self._items

    def _load_entry_points(self, group: str) -> None:
        """Load what other distributions announce; what cannot be loaded is left out."""
        from importlib.metadata import entry_points  # takes as long as the rest of this module

        for point in entry_points(group=group):
            distribution = "an unknown distribution" if point.dist is None else point.dist.name
            imported_before = point.module in sys.modules
            items, origins = dict(self._items), dict(self._origins)
            self._loading = distribution
            try:
                point.load()
                if imported_before and point.name in self._items:
                    self._origins.setdefault(point.name, distribution)
                if self._origins.get(point.name) != distribution:
                    raise LookupError(f"it registers no {self._noun} of that name")
            except Exception as error:  # whatever the code of others raises
                self._items, self._origins = items, origins
                warnings.warn(
                    f"The {self._noun} '{point.name}' of {distribution} (entry points {group}) is"
                    f" left out ({type(error).__name__}: {error}). Update or uninstall"
                    f" {distribution}.",
                    ExtensionWarning,
                    stacklevel=2,
                )
            finally:
                self._loading = None


def _import_modules(package: str, path: Iterable[str], leaving_out: Collection[str]) -> None:
    """Import the public modules of a package and of the packages in it."""
    for module in pkgutil.iter_modules(path):
        if module.name.startswith("_") or module.name in leaving_out:
            continue
        name = f"{package}.{module.name}"
        imported = importlib.import_module(name)
        if module.ispkg:
            _import_modules(name, imported.__path__, leaving_out)
