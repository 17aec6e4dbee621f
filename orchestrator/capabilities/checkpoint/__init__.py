"""Points of time that agents look at, name and go back to."""
