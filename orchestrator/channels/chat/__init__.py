"""What every chat app shares: what comes in and goes out, on disk; questions with buttons, progress and commands."""
