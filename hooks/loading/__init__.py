"""Hooks found, ordered, and made from the settings."""
