"""``./hermit chat`` at a terminal.

``conversation`` begins it and turns keys into deeds (``keys`` says which does what). ``desk`` is what all parts share,
``tabs`` what is known of each agent's conversation. ``watch`` follows the install's news for all tabs and tells each
turn as a ``story``, made of ``pieces``; ``blocks`` finds what of growing Markdown stands, ``canvas`` draws it safely.
``asking`` turns approvals and questions into ``cards``, ``deeds`` does what ``slash`` reads, ``changes`` lists what a
turn changed, ``dropped`` reads files that were dropped. ``screen`` puts all of it onto the terminal, with ``status``
below.
"""
