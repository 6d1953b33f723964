"""The values that hooks are shown: frozen, lazy, masked."""
