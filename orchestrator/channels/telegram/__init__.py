"""Telegram: the agent in a person's pocket. One bot per agent, all of them in one thread."""
