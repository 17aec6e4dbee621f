"""How much disk each cubicle uses: ``sampling`` chooses whom to measure next, ``monitor`` measures, warns and stops
what is over its limit."""
