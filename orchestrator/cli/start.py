"""Entry point of the console script: sets up the process before the commands are imported."""

import atexit
import gc
import os

from orchestrator.config.garbage import look_rarely


def main() -> None:
    """Run the console script."""
    look_rarely()
    # At exit, a garbage collection of all live objects would take longer than many a command.
    atexit.register(gc.freeze)
    # pydantic would look through all installed packages for plugins of its own, which takes longer than all settings.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "true")
    from orchestrator.cli.main import main as run

    run()
