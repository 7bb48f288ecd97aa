"""What a model is shown: the messages of an attempt, their size, and what is asked about them."""
