"""Files from the internet: an agent asks, a person agrees, the host fetches into ``in/``.

``downloads`` asks and hears the answer, ``worker`` fetches, ``outcome`` ends the request, ``messages`` are the
sentences. Before somebody agrees, no name is looked up and no connection made.
"""
