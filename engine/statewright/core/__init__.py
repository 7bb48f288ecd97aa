"""What the entries of a run determine. Pure: no input or output, no time, no chance."""
