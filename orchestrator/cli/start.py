"""The console script: how the interpreter is set up before anything is imported."""

import atexit
import gc
from typing import Final

#: So many more objects may come than went before somebody looks for rings among the youngest: to import what a command
#: needs makes some hundred thousand that stay.
YOUNGEST: Final = 20_000


def main() -> None:
    """Run the console script."""
    _, younger, oldest = gc.get_threshold()
    gc.set_threshold(YOUNGEST, younger, oldest)
    # What is there when all is over goes with the process: looking for rings in it would take longer than a command.
    atexit.register(gc.freeze)
    from orchestrator.cli.main import main as run

    run()
