"""Calls to language models: ``proxy`` carries a cubicle's call to its provider, within its ``budget``, and books the
cost (``paid_call``, ``pricing``, ``ledger_rows``); ``retry`` says whether a failed call is sent once more.
``providers`` lists the providers there are, ``key_store`` keeps their keys, ``upstreams/`` speaks to them, and
``provider_check`` tests one with a real call. ``first_tasks`` are ten messages to begin with.
"""
