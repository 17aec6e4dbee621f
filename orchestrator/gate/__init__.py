"""The way out for what is done for an agent in helper containers, which have no network: a proxy on a unix socket of
the host's, one for each container.

``heads`` reads a request strictly and writes the one that is sent, ``client_hello`` reads the server name of a TLS
connection, ``web_sockets`` the head of a plain WebSocket, ``refusals`` says why not. ``policy`` is who may be reached,
``addresses`` which addresses those have, ``upstream_proxy`` and ``way_out`` how they are connected to. ``connection``
is one connection, ``traffic`` counts, ``gate`` has the sockets and the one thread, ``traffic_log`` writes a row for
each host and minute.
"""
