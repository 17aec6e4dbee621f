"""Calls to language models: ``proxy`` carries a cubicle's call to its provider, within its ``budget``, and books the
cost (``paid_call``, ``pricing``, ``ledger_rows``). ``providers`` are the models that there are, ``key_store`` keeps keys,
``upstreams/`` speak to them.
"""
