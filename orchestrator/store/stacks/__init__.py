"""Stacks as rows: their resources, nested stacks, snapshots, annotations and health."""
