"""Facts that are remembered across conversations."""
