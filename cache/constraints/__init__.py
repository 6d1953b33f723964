"""The constraint cache: whether something exists in an external system, one look-up for all callers."""
