"""Fetching from the public internet: ``urls`` reads addresses strictly, ``ip_rules`` says which are public, ``network``
connects to the address that was checked, ``fetcher`` gets a file within ``limits``, ``url_warnings`` tells a person
what is odd about an address. Whoever calls it has asked a person first.
"""
