"""For whoever writes a part of their own: tests that hold it to the port it implements. Needs ``hypothesis``."""
