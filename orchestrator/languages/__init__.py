"""The languages that people read: which there are, their catalogues, and how each writes dates and numbers.

``table`` lists them, ``choice`` picks one, ``speech`` says a text in it, ``dates`` and ``numbers`` write what is no
text, ``told`` keeps apart what a sentence says and what it says it of. A text's name is its English wording, so what
nobody translated is English. ``extract`` collects the texts of the tree into ``catalogues/messages.pot``.

The API, the command line, the log and the audit log are English and need none of this.
"""
