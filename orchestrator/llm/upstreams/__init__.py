"""Providers of models, spoken to in their own protocols: one module for each protocol, ``catalog`` for the presets, and
``rehearsal``, the built-in demo model that needs no key.
"""
