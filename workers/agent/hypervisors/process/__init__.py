"""``process``: instances that are commands of the machine."""
