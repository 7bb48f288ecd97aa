"""What is claimed of each table beyond what is claimed of any."""
