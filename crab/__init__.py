"""The crab: the agent loop inside a cubicle. Standard library only; it knows the door and nothing behind it."""
