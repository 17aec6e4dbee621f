"""Delivery: what lands in a cubicle's ``out/`` reaches the person, once."""
