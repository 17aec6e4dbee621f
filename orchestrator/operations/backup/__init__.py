"""Everything of an install in one file, and back.

``manifest`` says what is in such a file and ``tar_format`` how it is written; ``collect`` finds what goes in, ``write``
makes the file, ``verify`` checks one, ``unpack`` and ``restore`` put its content in place, ``recovery`` saves what can
be read of a damaged database. ``backups`` makes them on request and keeps a list.
"""
