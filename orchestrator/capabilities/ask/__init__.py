"""Questions to a person, with choices or a free answer, until a time that the agent names."""
