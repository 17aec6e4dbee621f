"""Long-term memory: what an agent knows of one person beyond a conversation.

``facts`` keeps it, ``hybrid_search`` finds what belongs to a text, ``prompt_injection`` puts that into a prompt as
data. Where an embedding model is set up (``embedder``, ``http_embedder``, ``local_embedder``), ``embedding_worker``
gives every fact a vector in the background, ``numpy_index`` compares them, and ``vector_search`` asks both within a
second.
"""
