"""What is Telegram's: ``channel`` runs a ``bot`` for every agent that has one; ``client`` is the one place that knows
the library, with its ``ptb_…`` parts. ``updates`` fetches, ``update_filter`` and ``update_parser`` make the core's
events of it, ``update_inbox`` keeps them. ``accounts/`` says whose a bot is, ``format/`` what Telegram can show.
"""
