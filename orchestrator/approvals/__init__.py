"""Questions to a person, each about one exact text.

``approvals`` asks, decides, uses and expires them; ``lock_files`` hold a command back inside the cubicle; ``grants``
are what a person allowed in advance; ``notifications`` tell people what happened. ``policy/`` says which commands must
be asked about, by reading them with ``bash/``.
"""
