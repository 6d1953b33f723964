"""Files on the agent's machine, inside the directories its operator allows."""
