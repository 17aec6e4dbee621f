"""Calls to language models: ``proxy`` carries a cubicle's call to its provider, within its ``budget``. ``paid_call``
holds the money and books the cost (``pricing``, ``ledger_rows``). ``providers`` are the models that there are,
``key_store`` keeps keys, ``upstreams/`` speak to them.
"""
