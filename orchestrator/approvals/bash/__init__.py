"""Reading bash: a command as a tree of words, without running any of it. Pure."""
