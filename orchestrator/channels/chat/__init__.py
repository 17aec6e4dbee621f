"""What every chat app shares; it knows no app, only ``adapter``.

``runner`` is the thread and the loop, ``wiring`` puts the parts together. In: ``inbox``, ``inbound`` (one after the
other in each chat), ``inbound_messages``, ``inbound_files``, ``callbacks`` (pressed buttons), ``commands``. Out:
``outbox`` and ``outbox_sender``, ``replies_to_turns``, ``file_sender``, ``app_messages``, ``notifications``,
``progress``. Asked and answered: ``approval_prompts``, ``question_prompts``, ``access_requests``, ``groups``,
``time_zone_prompt``. Rows are in ``*_rows``, seen through ``channel_store``.
"""
