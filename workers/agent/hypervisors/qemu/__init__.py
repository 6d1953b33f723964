"""``qemu``: virtual machines, one process each."""
