"""Sending files to the person."""
