"""What answers the browser: pages, data, streams and actions."""
