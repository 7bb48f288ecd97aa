"""What the surroundings of each table may send it: alphabets, bounds, and the facts that stand for others."""
