"""The calendar: entries of a cubicle whose prompts become turns when they are due.

``input`` reads what somebody wants, ``entries`` keeps it and says who may change it, ``runs`` turns what is due into
turns, each once, ``scheduler`` wakes it in time, ``notifications`` tells people what agents did, ``feeds`` and
``published`` show it to calendar apps and to agents, ``day_view`` lays days out. ``recurrence/`` is the arithmetic.
"""
