"""The history: events, past operations, and what is read of them."""
