"""Which boot of this machine it is: what was known of the machine before means nothing any more."""

from pathlib import Path

from orchestrator.config.settings import Settings


def read_boot_id(settings: Settings) -> str:
    """Return the machine's boot id, from where the settings say; empty where it cannot be read."""
    try:
        return Path(settings.agent.boot_id_file).read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""
