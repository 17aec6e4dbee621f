"""What an agent can see of itself: budget, disk, open questions, what comes next."""
