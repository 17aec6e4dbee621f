"""The commands of ``./hermit``, one module for each command or family of commands.

``overview`` is what ``--help`` prints, ``context`` is what every command is given, ``client`` talks to the running
orchestrator over its HTTP API. A command that needs no running orchestrator (``up``, ``doctor``, ``test``, ``backup``)
says so in its module. ``talk/`` is what ``chat`` shows at a terminal.
"""
