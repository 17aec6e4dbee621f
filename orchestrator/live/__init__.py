"""Servers that agents start inside their cubicles, reached from outside without a network: ``harbour`` keeps the
connections that a cubicle's ferry opened outwards through its door, and hands them to whoever has a request for a port
inside. The host never connects to anything that was made inside."""
