"""The console script: how the interpreter is set up before anything is imported."""

import atexit
import gc

from orchestrator.config.garbage import look_rarely


def main() -> None:
    """Run the console script."""
    look_rarely()
    # What is there when all is over goes with the process: looking for rings in it would take longer than a command.
    atexit.register(gc.freeze)
    from orchestrator.cli.main import main as run

    run()
