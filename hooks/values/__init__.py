"""The values that hooks receive: frozen, lazy, masked."""
