"""Turns: one message to an agent, worked on until it is answered.

``queue`` is what happens to a turn from submitting to its end, ``steps`` are the commands in it, ``live_output`` and
``partial_replies`` what is seen meanwhile, ``prompt_history`` what the model is told of before, ``summaries`` shortens
old turns, ``history`` searches, ``read_marks`` know what a person has seen.
"""
