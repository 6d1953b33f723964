"""Sandbox: bounds on work whose cost cannot be foreseen, and child processes that can be killed.

Knows neither the template language nor the store.
"""
