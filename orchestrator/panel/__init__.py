"""What a model may set in motion beside its shell: ``reading`` turns an entry of ``panelActions``, or a JSON object of
the same fields, into one of ``actions``, by the table in ``schemas`` and the kinds of value in ``kinds``; ``writing``
turns an action back into text or an object. All of it is pure, and nothing here carries anything out."""
