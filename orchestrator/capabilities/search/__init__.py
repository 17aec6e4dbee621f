"""Searching the web: the host asks the search engines that the operator set up, one after the other until one answers.

``engines`` is the table of those we know, ``results`` what they find, ``chain`` asks them, ``engine_keys`` says which
are set up, and ``searches`` is the work that agents' calls wait for.
"""
