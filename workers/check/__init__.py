"""The check: one attempt at one node, from claim to finish."""
