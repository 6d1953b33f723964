"""Commands on the agent's machine: started, supervised, found again, ended."""
