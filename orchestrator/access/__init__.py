"""Who a caller is: authenticators, and the file of tokens."""
