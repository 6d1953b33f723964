"""Sandbox: bounds on work of unpredictable cost, and child processes that can be killed.

Knows neither the template language nor the store.
"""
