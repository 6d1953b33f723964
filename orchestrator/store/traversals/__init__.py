"""Traversals: started, swept, ended, with the ledger of their lifecycle plugin calls."""
