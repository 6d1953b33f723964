"""Pages of the dashboard in a real browser, on a real installation."""
