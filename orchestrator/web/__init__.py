"""Fetching from the public internet, and posting to it.

``urls`` reads addresses strictly, ``ip_rules`` says which are public, ``network`` looks up and connects, ``connector``
connects to the address that was checked. ``fetcher`` gets a file within ``limits``, after a person was asked;
``url_warnings`` tells them what is odd about an address. ``exchange`` sends a request of ours to a
service that was chosen.
"""
