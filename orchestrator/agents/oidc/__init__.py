"""Logins by an OpenID Connect provider: the provider says who somebody is, and who that is here is known already.

``logins`` is what surfaces call: it begins a login or a connection and finishes it. ``flow`` is what a browser carries
in between, ``provider`` speaks to the provider within bounds, ``id_tokens`` checks what it signed, and ``rows`` keeps
whose account is whose.
"""
