"""The vocabulary: jobs, orders, graphs, plans, actions and names, as frozen values.

Nothing here does I/O or reads a setting.
"""
