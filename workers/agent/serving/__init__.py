"""The process of an agent: it holds its node's name, answers at its mailbox, and takes mutations from its queue."""
