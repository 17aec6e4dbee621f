"""Shells inside a cubicle, for people: ``terminals`` opens and ends them, ``terminal`` is one of them, and
``output_buffer`` keeps what was printed."""
