"""One entry point: where a package says that a plugin of its is."""

from functools import reduce
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    # It imports parsers of e-mails and of archives, which take longer than many a command.
    from importlib.metadata import Distribution


class Entry(NamedTuple):
    """An entry point, with the attributes of ``importlib.metadata.EntryPoint``."""

    name: str
    #: The object: a module, and a name in it, such as ``acme.mail:Sink``.
    value: str
    group: str
    #: The package that brings it, or the path of its metadata; None if none is known.
    package: "Distribution | str | None" = None

    @property
    def module(self) -> str:
        """The module."""
        return self._parts()[0]

    @property
    def attr(self) -> str:
        """The name in the module, possibly with dots; empty for the module itself."""
        return self._parts()[1]

    @property
    def dist(self) -> "Distribution | None":
        """The package that brings it; None if none is known."""
        if isinstance(self.package, str):
            from importlib.metadata import Distribution

            return Distribution.at(self.package)
        return self.package

    def load(self) -> Any:
        """Return the object.

        Raises:
            BaseException: whatever the import of its module raises.
        """
        module, attribute = self._parts()
        return reduce(getattr, filter(None, attribute.split(".")), import_module(module))

    def _parts(self) -> tuple[str, str]:
        # What may follow in brackets, the extras, has no meaning any more.
        module, _, attribute = self.value.partition("[")[0].partition(":")
        return module.strip(), attribute.strip()
