"""Entry point of the console script: sets up garbage collection before the commands are imported."""

import atexit
import gc

from orchestrator.config.garbage import look_rarely


def main() -> None:
    """Run the console script."""
    look_rarely()
    # At exit, a garbage collection of all live objects would take longer than many a command.
    atexit.register(gc.freeze)
    from orchestrator.cli.main import main as run

    run()
