"""The process of an agent: it holds its node's lease, answers at its mailbox, and takes mutations from its queue."""
