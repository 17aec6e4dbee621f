"""Points of time of a workspace: taken without git, compared, and gone back to.

``checkpoints`` is what the rest of the program uses, one ``store`` for each cubicle behind it. Looking: ``journal``
hears which folders changed, ``looking`` looks into those or into all, ``recorder`` compares with what is known,
``capture`` reads a file while its owner still writes. Keeping: ``history_db`` and ``history_rows`` are the database,
``packs`` the bytes, ``blobs`` one content once, ``size_cap`` lets the oldest go. Going back: ``planning`` says what
differs, ``tree_writer`` puts it back. ``models`` has the words.
"""
