"""Web apps of agents, on an origin of their own: a server without logins and cookies.

``apps`` lists the apps there are, ``signed_urls`` says who may open which one until when, ``origins`` where it is
shown, ``csp`` what it may do there. ``server`` and ``routes`` answer requests: from files (``static_files``) or from a
server inside the cubicle (``live_proxy``). ``shares`` are public links, ``storage`` is what an app keeps for a person.
"""
