"""Proofs over all states that the tables can come to, alone and together."""
