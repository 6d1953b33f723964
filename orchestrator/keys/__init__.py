"""Keys of an installation, and the envelopes that they sign: every message names its sender's role and proves it."""
