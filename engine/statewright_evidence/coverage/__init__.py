"""Which rows, cells and answers the journals of runs show."""
