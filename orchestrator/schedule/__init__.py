"""When an entry of the calendar comes due. All of it is pure: there is no clock inside, ``now`` is handed in.

``rules`` and ``cron`` read how something repeats, ``repeats`` lists the times of a wall clock that this gives,
``zones`` turns those into moments, ``plans`` joins them with an end and exceptions, ``drafts`` makes a plan from what
somebody wrote, ``missed`` says what is to be done now, ``words`` says it to people and ``ics`` to calendar apps.
"""
