"""The loading of hooks: found, ordered, and made from the settings."""
