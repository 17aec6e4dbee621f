"""The calendar: prompts that come back at a time."""
