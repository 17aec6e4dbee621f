"""Bringing an agent over from another product's folder: OpenClaw, Hermes or nanobot.

The zip is hostile. ``archive`` reads it within bounds, ``layouts`` says which product's it is and what each file
is, ``markdown`` reads persona, memories and skills, ``schedules`` what was planned, ``secrets`` finds what nobody
shall copy unseen, ``planning`` puts it together as what would come and what not. ``imports`` keeps plans
until somebody decides, and carries one out: all of it in one transaction, files from rows that outlive a death
(``import_rows``).
"""
