"""Files from the internet."""
