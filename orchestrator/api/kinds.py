"""The kinds of authentication that the API can be started with."""

from typing import Final

#: None at all, tokens by the authenticator of the settings, and keystone's.
NONE, TOKENS, KEYSTONE = "none", "tokens", "keystone"
KINDS: Final = (NONE, TOKENS, KEYSTONE)
