"""SQLAlchemy, imported at its first use.

To import it takes longer than all else that a short command does, and the statements of such commands are textual (see
:mod:`orchestrator.store.direct`). So the modules that they need take ``sa`` from here, and name it only in annotations,
which are not evaluated, and in functions that such a command does not call.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = ["sa"]

if TYPE_CHECKING:
    import sqlalchemy as sa
else:

    class _AtFirstUse:
        def __getattr__(self, name: str) -> Any:
            found = getattr(import_module("sqlalchemy"), name)
            # From now on, the attribute is found before this function is.
            self.__dict__[name] = found
            return found

    sa = _AtFirstUse()
