"""stevedore's manager of one entry point.

It would find entry points in a cache, which loses the packages that bring them, and lets an import end the process:
both are corrected here.
"""

from typing import Any

from stevedore.extension import ExtensionManager

from hooks.loading.entry import Entry


class _Ended(Exception):
    """An import that would have ended the process, or an assertion, which stevedore does not catch."""


class _Guarded:
    """An entry point whose loading raises nothing but exceptions that stevedore catches."""

    def __init__(self, entry: Entry) -> None:
        self._entry, self.name = entry, entry.name

    def load(self) -> object:
        try:
            return self._entry.load()
        except (SystemExit, AssertionError) as error:
            raise _Ended from error


class Manager(ExtensionManager[Any]):
    """stevedore's manager of one entry point, with its object or the error that kept it from being loaded."""

    def __init__(self, entry: Entry) -> None:
        self._entry = entry
        self.error: BaseException | None = None
        super().__init__(entry.group, on_load_failure_callback=self._keep)

    def list_entry_points(self) -> list[Any]:
        """Return the one, whose name and ``load`` is all that stevedore needs."""
        return [_Guarded(self._entry)]

    def _keep(self, _manager: object, _entry: object, error: BaseException) -> None:
        self.error = error.__cause__ if isinstance(error, _Ended) else error
