"""The calendar: entries of a cubicle whose prompts become turns when they are due.

``wishes`` reads what somebody wants in the calendar, ``agenda`` keeps it and says who may, ``runs`` turns what is due
into turns, each once, ``clock`` wakes it in time, ``offers`` is what agents may do, ``announcing`` tells people what
agents did, ``feeds`` and ``snapshot`` show it to calendar apps and to agents, ``outlook`` lays days out for people, and
``saying`` and ``telling`` say it.
"""
