"""Fetching what a person approved from the internet, by the host.

``addresses`` says which addresses are of the public internet, ``urls`` reads a URL and says what a person should know
before saying yes, ``body`` bounds what comes over the wire, ``fetcher`` does it. The first two are pure: until
somebody has agreed, no name is looked up and nothing is connected.
"""
