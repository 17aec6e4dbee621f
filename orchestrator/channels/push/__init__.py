"""Notifications on people's devices by web push, without anybody's app: a browser that is logged in subscribes, and
its own push service brings what we encrypted for it.

::

    devices.py        who gets notifications where: one row for each login that turned them on
    watch.py          looks at what waits and what ended, and writes down whom to tell
    texts.py          what a notification says and offers; pure
    sender.py         the job that sends one
    tickets.py        what a button of a notification proves itself with, beside the login
    answers.py        what a button does
    hosts.py          the push services that we post to
    encryption.py     RFC 8291 and 8188; vapid.py is RFC 8292; lazy_crypto.py loads both when first needed
    push_rows.py      devices and notes in the database

``channel`` puts them together. A note (one thing, one device) is written first, with the job that sends it. Whatever a
death leaves is sent again under the same topic and tag, so a device shows it once.
"""
