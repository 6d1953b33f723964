"""The template language's functions, one small class each, found through the entry points ``isotherm.functions``."""
