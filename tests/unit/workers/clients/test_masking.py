"""What was given in confidence is taken out of sentences."""

from workers.clients.masking import masked


def test_long_values_are_masked_before_the_short_ones_they_hold() -> None:
    assert masked("secret-tail secret on", ["secret", "secret-tail", "on"]) == "****** ****** on"
