"""What a table is: questions, rows, the rules they are held to, and what a table decides."""
