"""Everything of a house in one file, and back.

``layout`` says what is in such a file, ``tape`` how it is written down; ``gathering`` finds what goes in, ``writing``
makes the file, ``reading`` checks one, ``restoring`` puts its content in the place of a house.
"""
