"""What callers see of a run. Views only: nothing here decides anything."""
