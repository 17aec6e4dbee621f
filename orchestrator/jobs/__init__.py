"""Work in the background: one table (``rows``) and one worker pool (``pool``) for everything that takes longer than a
call.

A kind (``kinds``) says how its jobs run: time limit, tries, how many at once, what follows a cancellation or a crash.
Downloads, packages, videos, files to send, thumbnails, PDF pages and summaries are kinds.
"""
