"""Shared ground that knows nothing of agents: ``models`` and ``errors``, ``hooks`` and ``events``, settings, logs,
periodic work, text that is made safe to show, and ``db/``, the database.
"""
