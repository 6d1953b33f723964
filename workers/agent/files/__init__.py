"""Files on the agent's machine, inside the directories that its operator allows."""
