"""Reading bash, bounded: from a command's text to the simple commands in it, however nested. Pure."""
