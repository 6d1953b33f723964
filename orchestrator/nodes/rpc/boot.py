"""The boot id of this machine, by which cached states of an earlier boot are recognized."""

from pathlib import Path

from orchestrator.config.settings import Settings


def read_boot_id(settings: Settings) -> str:
    """Return the machine's boot id, from the file ``agent.boot_id_file``; "" if it cannot be read."""
    try:
        return Path(settings.agent.boot_id_file).read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""
