"""What differs between two machines, and which recorded runs it would concern."""
