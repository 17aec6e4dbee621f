"""Shells inside a cubicle, for people: ``terminals`` opens and ends them, ``terminal`` is one of them,
``output_buffer`` keeps what was printed, ``kill_session`` runs inside and ends every process of a shell.
"""
