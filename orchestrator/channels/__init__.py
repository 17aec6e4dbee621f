"""Chat apps that people already use, and notifications on their devices.

    chat/       the core that every chat app shares: inbox, outbox, prompts, buttons, progress, commands, access
    push/       notifications by web push, which the dashboard's pages turn on
    telegram/   what is Telegram's alone: its client, updates, bots and text format

The core imports nothing of an adapter. ``docs/extending.md`` says how a chat app is added.
"""
