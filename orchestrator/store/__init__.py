"""The only SQL of the house: ``database`` owns the file, each other module the rows of one noun.

Row functions take the connection of a transaction that the caller opened, so that one change may span several tables.
"""
