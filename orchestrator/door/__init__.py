"""The cubicle's one way out: HTTP over one unix socket for each cubicle.

``sockets`` makes the sockets (a socket is an identity), ``router`` finds the handler of a request and turns errors into
answers, ``api`` holds the handlers, with ``api_calls`` and ``api_streams``; ``bodies`` and ``request`` read what comes
in. ``reverse_tunnel`` keeps connections that a cubicle opened, so that a server inside it can be reached. ``http/`` is
the HTTP server that the dashboard uses too.
"""
