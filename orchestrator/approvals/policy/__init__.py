"""Which commands a person is asked about: ``judge`` reads a command, ``rules`` are the tables, ``kinds`` name what a
person may allow in advance. Pure. It is a courtesy, not a wall: the container is the wall."""
