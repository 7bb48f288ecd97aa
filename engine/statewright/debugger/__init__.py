"""The debugger: a run, recorded or live, that is moved along entry by entry. It shows, and decides nothing itself.

``session`` holds where one stands; ``commands`` is the table of everything that can be done, from which the commands of
``--plain``, the keys, the palette and the help are made; ``plain`` reads commands from a stream, ``application`` is the screen.
"""
