"""Reading web pages: what a page's HTML says, as Markdown, with the standard library alone.

``tree`` parses it leniently, ``article`` finds the part that is meant to be read, ``markdown`` writes that down. It
runs as the agent's own program: what a hostile page breaks is the agent's already.
"""
