"""Long-term memory: what an agent knows of one person beyond a conversation.

``facts`` keeps it, ``searching`` finds what belongs to a text, ``recollection`` puts that into a prompt as data,
``offers`` is how agents ask for it. Where an embedding model is set up (``embedder``, ``http_embedder``,
``local_embedder``), ``vectorizing`` gives every fact a vector in the background, ``nearest`` compares them, and
``meaning`` asks both for a search, within a second or not at all.
"""
