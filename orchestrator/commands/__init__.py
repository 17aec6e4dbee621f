"""The commands of ``./hermit``: each module adds its own to the parser and carries it out. They print; nothing else
does."""
