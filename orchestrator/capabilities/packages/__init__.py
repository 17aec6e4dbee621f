"""Packages from PyPI and npm."""
