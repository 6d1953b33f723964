"""The check: one step of one resource, from the claim to the finish."""
