"""Stacks and their resources as rows."""
