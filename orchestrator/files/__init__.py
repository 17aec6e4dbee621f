"""The only code that opens what agents made, and everything that is known of files.

``workspace`` names an agent's folders and does what is done in them; ``safe_open`` opens without following anything
(openat2), ``tree`` walks, ``private_copy`` and ``uploads`` bring bytes out and in. ``names``, ``magic`` and
``mime_types`` say what a name and the first bytes tell.
"""
