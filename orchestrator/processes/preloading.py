"""What a worker or a coordinator imports before its processes are forked from it.

They share it then, and neither the first job nor the first check waits for it. A command imports what it uses.
"""

from importlib import import_module
from typing import Final

from hooks.loading.entries import import_shipped
from orchestrator.store.on_demand import import_parts
from orchestrator.store.store import Store

#: What checks and the planning of jobs look up by name.
_GROUPS: Final = (
    *("isotherm.functions", "isotherm.resources", "isotherm.constraints", "isotherm.clients"),
    "isotherm.workers",
)
#: What is imported at its first use, and used by the first job or check.
_MODULES: Final = (
    *("orchestrator.engine.drift", "orchestrator.engine.output_marks", "orchestrator.planning.secrets"),
    *("orchestrator.store.tables.installation", "orchestrator.store.tables.observations"),
    *("orchestrator.store.tables.outputs", "orchestrator.store.tables.stacks", "psycopg", "structlog"),
    *("orchestrator.store.tables.traversals", "sqlalchemy.dialects.postgresql.psycopg"),
)


def preload() -> None:
    """Import what ships with Isotherm. Nothing is connected, and no thread is started.

    Plugins of others are left to the processes: what they do at their import might not outlive a fork. So are modules
    that cannot be imported: who needs one says what is wrong.
    """
    for group in _GROUPS:
        import_shipped(group)
    import_parts(Store)
    for name in _MODULES:
        import_module(name)
